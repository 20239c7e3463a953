package inventory

import (
	"errors"
	"net"
	"net/mail"
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// notAnAddress is what is wrong with an address. The specification has a message for it.
const notAnAddress = "must be an IP address such as 192.0.2.1 or 2001:db8::1, without a prefix length"

// canonical is the one form of a text that is not empty, for the formats that have one.
// The error says what would be right. Filters go through it like records do, so that they
// find each other.
func (f *Field) canonical(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", errors.New("must be UTF-8")
	}
	switch f.Format {
	case "enum":
		return oneOf(f.Enum, s)
	case "uuid":
		return canonicalID(s)
	case "ip":
		return canonicalIP(s)
	case "cidr":
		return canonicalCIDR(s)
	case "interface-ip":
		return canonicalInterfaceIP(s)
	case "mac":
		return canonicalMAC(s)
	case "email":
		return strings.ToLower(s), checkEmail(s) // one mailbox, one user
	case "timezone":
		return s, checkTimezone(s)
	case "speed":
		mbps, err := ParseSpeed(s)
		return FormatSpeed(mbps), err
	case "text":
		return s, checkText(s)
	}
	return s, checkLine(s)
}

func canonicalID(s string) (string, error) {
	if !ValidID(s) {
		return "", errors.New("must be a UUID such as 018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f")
	}
	id, err := uuid.Parse(s)
	return id.String(), err
}

func canonicalIP(s string) (string, error) {
	addr, err := netip.ParseAddr(s)
	if err != nil || addr.Zone() != "" {
		return "", errors.New(notAnAddress)
	}
	return addr.Unmap().String(), nil
}

func canonicalCIDR(s string) (string, error) {
	prefix, err := netip.ParsePrefix(s)
	if err != nil || prefix != prefix.Masked() {
		return "", errors.New("must be a network such as 192.0.2.0/24 or 2001:db8::/32, with no bits behind its prefix")
	}
	return prefix.String(), nil
}

func canonicalInterfaceIP(s string) (string, error) {
	if addr, err := canonicalIP(s); err == nil {
		return addr, nil
	}
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		return "", errors.New("must be an IP address such as 192.0.2.1 or 2001:db8::1, or one with a prefix length such as 192.0.2.1/24")
	}
	return prefix.String(), nil
}

func canonicalMAC(s string) (string, error) {
	mac, err := net.ParseMAC(s)
	if err != nil || len(mac) != 6 {
		return "", errors.New("must be a MAC address of six octets such as 00:1a:2b:3c:4d:5e")
	}
	return mac.String(), nil
}

func checkEmail(s string) error {
	addr, err := mail.ParseAddress(s)
	if err != nil || addr.Address != s || strings.ContainsFunc(s, unicode.IsSpace) || checkLine(s) != nil {
		return errors.New("must be a mail address such as jane@example.org, and nothing else")
	}
	return nil
}

// checkTimezone looks at the form only: which zones there are depends on the machine, and
// a name that comes from a client is not looked up in files.
func checkTimezone(s string) error {
	strange := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("/_+-", c)
	}
	if strings.ContainsFunc(s, strange) || strings.HasPrefix(s, "/") || strings.HasSuffix(s, "/") {
		return errors.New("must be the name of a time zone such as Europe/Berlin or UTC")
	}
	return nil
}

func checkLine(s string) error {
	if strings.TrimSpace(s) == "" || strings.ContainsFunc(s, unicode.IsControl) {
		return errors.New("must be one line of text without control characters, and not only blanks")
	}
	return nil
}

func checkText(s string) error {
	control := func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\r' && c != '\t' }
	if strings.TrimSpace(s) == "" || strings.ContainsFunc(s, control) {
		return errors.New("must be text without control characters, and not only blanks")
	}
	return nil
}
