package records

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"math"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// expected describes the values of the formats.
var expected = map[string]string{
	"ip":           notIP,
	"cidr":         "a network such as 192.0.2.0/24 or 2001:db8::/32, without host bits",
	"network":      "a network such as 192.0.2.0/24 or 2001:db8::/32, without host bits",
	"interface-ip": "an IP address such as 192.0.2.1 or 2001:db8::1, or one with a prefix length such as 192.0.2.1/24",
	"mac":          "a MAC address of six octets such as 00:1a:2b:3c:4d:5e, 001a-2b3c-4d5e or 001a2b3c4d5e",
	"email":        "an email address such as jane@example.org, without a display name",
	"timezone":     "the name of a time zone such as Europe/Berlin or UTC",
	"text":         "text without control characters, and not blank",
	"date":         "a date such as 2026-01-31",
	"url":          "an absolute URL such as https://example.org/path",
	"line":         "one line of text without control characters, and not blank",
}

// canonical returns the stored form of a string that is not empty. Filters use it as well,
// so that they match stored values. The error says what is expected.
func (f *Field) canonical(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", BadFormat("UTF-8")
	}
	stored, ok := s, false
	switch f.Format {
	case "enum":
		return oneOf(f.Enum, s)
	case "uuid":
		return canonicalID(s)
	case "speed":
		return CanonicalSpeed(s)
	case "ip":
		stored, ok = canonicalIP(s)
	case "cidr", "network":
		prefix, err := netip.ParsePrefix(s)
		stored, ok = prefix.String(), err == nil && prefix == prefix.Masked()
	case "interface-ip":
		if stored, ok = canonicalIP(s); !ok {
			prefix, err := netip.ParsePrefix(s)
			stored, ok = prefix.String(), err == nil
		}
	case "mac":
		stored, ok = canonicalMAC(s)
	case "email":
		addr, err := mail.ParseAddress(s)
		stored, ok = strings.ToLower(s), err == nil && addr.Address == s && isWord(s) // one mailbox, one user
	case "timezone":
		ok = isTimezone(s)
	case "text":
		ok = isText(s)
	case "date":
		_, err := time.Parse(time.DateOnly, s)
		ok = err == nil && s >= "0001"
	case "url":
		u, err := url.Parse(s)
		ok = err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && isWord(s)
	default:
		ok = isLine(s)
	}
	if !ok {
		return "", BadFormat(expected[cmp.Or(f.Format, "line")])
	}
	return stored, nil
}

func canonicalID(s string) (string, error) {
	if !ValidID(s) {
		return "", BadID()
	}
	return strings.ToLower(s), nil
}

func canonicalIP(s string) (stored string, ok bool) {
	addr, err := netip.ParseAddr(s)
	return addr.Unmap().String(), err == nil && addr.Zone() == ""
}

// canonicalMAC accepts twelve hexadecimal digits, and groups of two, four or six of them
// between colons, hyphens, dots or spaces. A zero at the start of a group of two may be
// missing.
func canonicalMAC(s string) (stored string, ok bool) {
	groups := []string{s}
	if i := strings.IndexAny(s, ":-. "); i >= 0 {
		groups = strings.Split(s, s[i:i+1])
	}
	var digits string
	for _, g := range groups {
		if len(groups) == 6 && len(g) == 1 {
			g = "0" + g
		}
		if len(g)*len(groups) != 12 {
			return "", false
		}
		digits += g
	}
	mac, err := hex.DecodeString(digits)
	return net.HardwareAddr(mac).String(), err == nil
}

// isTimezone checks the form only: the known zones depend on the machine, and a name from
// a client is not looked up in the file system.
func isTimezone(s string) bool {
	other := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("/_+-", c)
	}
	return !strings.ContainsFunc(s, other) && !strings.HasPrefix(s, "/") && !strings.HasSuffix(s, "/")
}

func isLine(s string) bool {
	return strings.TrimSpace(s) != "" && !strings.ContainsFunc(s, unicode.IsControl)
}

// isWord reports whether a string is a line without spaces.
func isWord(s string) bool { return isLine(s) && !strings.ContainsFunc(s, unicode.IsSpace) }

func isText(s string) bool {
	control := func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\r' && c != '\t' }
	return strings.TrimSpace(s) != "" && !strings.ContainsFunc(s, control)
}

var errSpeed = BadFormat("auto, or a number and a unit such as 10Gbps, 2.5G, 100Mbit or 64kbps; a number without a unit is in Mbps")

// speedAuto is the speed of an interface that negotiates it.
const speedAuto = "auto"

// maxSpeed is the highest speed in bit/s: 1,000,000,000 Mbps.
const maxSpeed = 1_000_000_000_000_000

// ParseSpeed parses a speed, in any case, and returns it in Mbps, from 0 to 1,000,000,000,
// rounded to the nearest whole number like ifHighSpeed (RFC 2863, section 6): below 0.5 Mbps
// it is 0. A speed is a number, such as 2.5 or 1e3, and a unit: bps, kbps, Mbps, Gbps or
// Tbps, also written as 10G, 10Gbit, 10 Gb/s or 10 Gbit/s. Without a unit it is in Mbps. The
// speed auto is 0. The error says what is expected.
func ParseSpeed(s string) (mbps int64, err error) {
	bps, err := parseSpeed(s)
	return (bps + 500_000) / 1_000_000, err
}

// parseSpeed returns a speed in bit/s: a whole number from 1 to maxSpeed, or 0 for auto.
func parseSpeed(s string) (bps int64, err error) {
	s = strings.TrimSuffix(strings.ToLower(s), "-speed") // as some switches write it
	if s == speedAuto {
		return 0, nil
	}
	number, exponent := cutUnit(s)
	mantissa, power, hasPower := strings.Cut(number, "e")
	whole, fraction, hasFraction := strings.Cut(mantissa, ".")
	if hasPower {
		n, err := strconv.ParseInt(power, 10, 8)
		if err != nil {
			return 0, errSpeed
		}
		exponent += int(n)
	}
	digits := whole + fraction
	if whole == "" || hasFraction && fraction == "" || len(digits) > 24 || strings.Trim(digits, "0123456789") != "" {
		return 0, errSpeed
	}
	exponent -= len(fraction)
	digits = strings.TrimLeft(digits, "0")
	for ; exponent < 0 && strings.HasSuffix(digits, "0"); exponent++ {
		digits = digits[:len(digits)-1]
	}
	if exponent < 0 || exponent > 15 || digits == "" {
		return 0, errSpeed
	}
	bps, err = strconv.ParseInt(digits+strings.Repeat("0", exponent), 10, 64)
	if err != nil || bps > maxSpeed {
		return 0, errSpeed
	}
	return bps, nil
}

// cutUnit returns the number before a unit in lower case, and the decimal exponent of the unit
// in bit/s.
func cutUnit(s string) (number string, exponent int) {
	number = s
	bits := false
	for _, unit := range []string{"bits/sec", "bits/s", "bit/s", "bps", "b/s", "bits", "bit"} {
		if number, bits = strings.CutSuffix(s, unit); bits {
			break
		}
	}
	exponent = 6
	if bits {
		exponent = 0
	}
	if i := len(number) - 1; i >= 0 {
		if prefix := strings.IndexByte("kmgt", number[i]); prefix >= 0 {
			number, exponent = number[:i], 3*(prefix+1)
		}
	}
	return strings.TrimRight(number, " "), exponent
}

// CanonicalSpeed returns the stored form of a speed.
func CanonicalSpeed(s string) (string, error) {
	bps, err := parseSpeed(s)
	if err != nil {
		return "", err
	}
	if bps == 0 {
		return speedAuto, nil
	}
	return formatSpeed(bps), nil
}

// FormatSpeed returns the stored form of a speed in Mbps: in Gbps from 1000 Mbps, otherwise in
// Mbps, as in 10Gbps, 2.5Gbps and 100Mbps. The stored forms of lower speeds are those such as
// 1.544Mbps, 64kbps and 300bps.
func FormatSpeed(mbps int64) string { return formatSpeed(mbps * 1_000_000) }

// formatSpeed writes a speed in bit/s with the largest unit up to Gbps in which it is at
// least 1.
func formatSpeed(bps int64) string {
	unit, name := int64(1_000_000_000), "Gbps"
	for _, smaller := range []string{"Mbps", "kbps", "bps"} {
		if bps < unit {
			unit, name = unit/1000, smaller
		}
	}
	whole := strconv.FormatInt(bps/unit, 10)
	if rest := bps % unit; rest != 0 {
		whole += "." + strings.TrimRight(strconv.FormatInt(unit+rest, 10)[1:], "0")
	}
	return whole + name
}

// wholeNumber returns a JSON number without a fraction and an exponent, if its value is a
// whole one below 2^53: 1000.0 and 1e3 are 1000. It returns other JSON unchanged.
func wholeNumber(doc []byte) []byte {
	if !bytes.ContainsAny(doc, ".eE") {
		return doc
	}
	n, err := strconv.ParseFloat(string(bytes.TrimSpace(doc)), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) >= 1<<53 {
		return doc
	}
	return strconv.AppendInt(nil, int64(n), 10)
}

// Enum is a string type with a fixed set of values. The empty string is no value.
type Enum interface {
	~string
	// Values returns all values, in lower case.
	Values() []string
}

// ParseEnum parses a value of an enumeration, ignoring case, spaces, hyphens and underscores:
// lower-layer-down is lowerLayerDown of RFC 2863. The error lists the values.
func ParseEnum[E Enum](s string) (E, error) {
	var e E
	value, err := oneOf(e.Values(), s)
	return E(value), err
}

// separators removes the separators of words.
var separators = strings.NewReplacer(" ", "", "-", "", "_", "")

func oneOf(values []string, s string) (string, error) {
	value := separators.Replace(strings.ToLower(s))
	i := slices.IndexFunc(values, func(v string) bool { return separators.Replace(strings.ToLower(v)) == value })
	if i < 0 {
		return "", NotOneOf(s, values...)
	}
	return values[i], nil
}

// formula are the characters with which a cell begins that spreadsheets take for a formula, or that hide
// such a character; the full-width ones count in some languages. The apostrophe is the mark itself.
const formula = "=+-@\t\r\n＝＋－＠'"

// EscapeCell returns a text for a cell of a CSV file. A text that spreadsheets would take for a formula,
// or that begins with an apostrophe, gets an apostrophe in front, so that its content is not executed.
// [UnescapeCell] is its inverse, for every text.
func EscapeCell(s string) string {
	if risky(s) {
		return "'" + s
	}
	return s
}

// UnescapeCell returns the text that [EscapeCell] has put into a cell. Other texts are unchanged.
func UnescapeCell(s string) string {
	if rest, ok := strings.CutPrefix(s, "'"); ok && risky(rest) {
		return rest
	}
	return s
}

func risky(s string) bool {
	c, _ := utf8.DecodeRuneInString(s)
	return s != "" && strings.ContainsRune(formula, c)
}
