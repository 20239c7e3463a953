package records

import (
	"errors"
	"net"
	"net/mail"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// reasonNotIP is the reason to refuse an address. The specification has a message for it.
const reasonNotIP = "must be an IP address such as 192.0.2.1 or 2001:db8::1, without a prefix length"

// canonical returns the stored form of a string that is not empty. Filters use it as well,
// so that they match stored values. The error says what is expected.
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
		return "", errors.New(reasonNotIP)
	}
	return addr.Unmap().String(), nil
}

func canonicalCIDR(s string) (string, error) {
	prefix, err := netip.ParsePrefix(s)
	if err != nil || prefix != prefix.Masked() {
		return "", errors.New("must be a network such as 192.0.2.0/24 or 2001:db8::/32, without host bits")
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
		return errors.New("must be an email address such as jane@example.org, without a display name")
	}
	return nil
}

// checkTimezone checks the form only: the known zones depend on the machine, and a name from
// a client is not looked up in the file system.
func checkTimezone(s string) error {
	other := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("/_+-", c)
	}
	if strings.ContainsFunc(s, other) || strings.HasPrefix(s, "/") || strings.HasSuffix(s, "/") {
		return errors.New("must be the name of a time zone such as Europe/Berlin or UTC")
	}
	return nil
}

func checkLine(s string) error {
	if strings.TrimSpace(s) == "" || strings.ContainsFunc(s, unicode.IsControl) {
		return errors.New("must be one line of text without control characters, and not blank")
	}
	return nil
}

func checkText(s string) error {
	control := func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\r' && c != '\t' }
	if strings.TrimSpace(s) == "" || strings.ContainsFunc(s, control) {
		return errors.New("must be text without control characters, and not blank")
	}
	return nil
}

var errSpeed = errors.New("must be a number and a unit, such as 10Gbps, 2.5Gbps or 100Mbps")

// ParseSpeed parses a speed such as 10Gbps, 2.5 Gbps, 100Mbps or 1.6Tbps, in any case, and
// returns it in Mbps: a whole number from 1 to 1,000,000,000. The error says what is
// expected.
func ParseSpeed(s string) (mbps int64, err error) {
	number, places := cutUnit(s)
	if places < 0 || len(number) > 16 {
		return 0, errSpeed
	}
	whole, fraction, point := strings.Cut(number, ".")
	if point && fraction == "" || len(fraction) > places {
		return 0, errSpeed
	}
	digits := whole + fraction + strings.Repeat("0", places-len(fraction))
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || whole == "" || n < 1 || n > 1_000_000_000 {
		return 0, errSpeed
	}
	return int64(n), nil
}

// cutUnit returns the number before the unit, and the decimal places between the unit and
// Mbps; -1 for an unknown unit.
func cutUnit(s string) (number string, places int) {
	s = strings.ToLower(s)
	for i, unit := range []string{"mbps", "gbps", "tbps"} {
		if number, ok := strings.CutSuffix(s, unit); ok {
			return strings.TrimRight(number, " "), 3 * i
		}
	}
	return "", -1
}

// FormatSpeed returns the stored form of a speed: in Gbps from 1000 Mbps, otherwise in Mbps,
// as in 10Gbps, 2.5Gbps and 100Mbps.
func FormatSpeed(mbps int64) string {
	if mbps < 1000 {
		return strconv.FormatInt(mbps, 10) + "Mbps"
	}
	whole := strconv.FormatInt(mbps/1000, 10)
	if rest := mbps % 1000; rest != 0 {
		whole += "." + strings.TrimRight(strconv.FormatInt(1000+rest, 10)[1:], "0")
	}
	return whole + "Gbps"
}
