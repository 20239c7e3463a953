package discovery

import (
	"encoding/hex"
	"net"
	"regexp"
	"slices"
	"strings"
)

// interfaceName is the type of an interface and the rest. Some vendors begin the type with a speed.
var interfaceName = regexp.MustCompile(`^((?:1|2\.5|5|10|25|40|50|100|400)?[a-z][a-z-]*)(.*)$`)

// interfaceTypes has the forms of types of interfaces, in lower case, the one of keys first.
var interfaceTypes = [][]string{
	{"ethernet", "eth", "et", "e"},
	{"fastethernet", "fast", "fas", "fa"},
	{"gigabitethernet", "gigabit-ethernet", "gigabit", "gigabite", "gige", "gig", "gi", "ge"},
	{"twogigabitethernet", "twogige", "two", "tw"},
	{"fivegigabitethernet", "fivegige", "five", "fiv", "fi"},
	{"tengigabitethernet", "tengige", "tengig", "tengigabit", "10gigabitethernet", "10gige", "xgigabitethernet", "ten-gigabitethernet", "ten", "te", "xge", "10ge"},
	{"twentyfivegige", "twentyfivegigabitethernet", "25gigabitethernet", "25gige", "twenty-fivegige", "twentyfive", "twe", "25ge"},
	{"fortygigabitethernet", "fortygige", "40gigabitethernet", "40gige", "forty", "for", "fo", "40ge"},
	{"fiftygige", "fiftygigabitethernet", "fif"},
	{"hundredgige", "hundredgigabitethernet", "100gigabitethernet", "100gige", "hundred", "hun", "hu", "100ge"},
	{"fourhundredgige", "fourhundredgigabitethernet", "400gigabitethernet", "400gige", "fou", "fh", "400ge"},
	{"multige", "multigigabitethernet"},
	{"port-channel", "portchannel", "po"},
	{"bundle-ether", "be"},
	{"loopback", "loop", "lo"},
	{"management", "mgmteth", "mgmt", "ma"},
	{"serial", "ser", "se"},
	{"tunnel", "tun", "tu"},
	{"vlan", "vl"},
}

// InterfaceKey returns a key for the name of an interface of one device: long and short forms of a name
// have the same key, in any case and with spaces before the number or without. Of an unknown type it is
// the name in lower case.
func InterfaceKey(name string) string {
	name = strings.ToLower(strings.Join(strings.Fields(name), ""))
	parts := interfaceName.FindStringSubmatch(name)
	if parts == nil {
		return name
	}
	kind, rest := parts[1], parts[2]
	if short := strings.TrimRight(kind, "-"); short != kind {
		kind, rest = short, kind[len(short):]+rest
	}
	for _, forms := range interfaceTypes {
		if slices.Contains(forms, kind) {
			return forms[0] + rest
		}
	}
	return kind + rest
}

// MAC returns a MAC address as lower-case pairs with colons, from any common notation, or false for any
// other string.
func MAC(s string) (string, bool) {
	b, err := hex.DecodeString(separators.Replace(s))
	if err != nil || len(b) != 6 {
		return "", false
	}
	return net.HardwareAddr(b).String(), true
}

// separators removes what separates the digits of a MAC address.
var separators = strings.NewReplacer(":", "", ".", "", "-", "", " ", "")

// SameHost reports whether two names are those of one device: equal in any case, or one is the other
// with a domain after it. NX-OS adds the serial number in parentheses, which is ignored. No name is
// the same as none.
func SameHost(a, b string) bool {
	return sameKey(hostKey(a), hostKey(b))
}

// sameKey is SameHost for keys of names.
func sameKey(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a != "" && b[:len(a)] == a && (len(a) == len(b) || b[len(a)] == '.')
}

// HostLabel returns the first label of a name, in lower case: names that are the same ([SameHost]) have
// the same one.
func HostLabel(name string) string {
	label, _, _ := strings.Cut(hostKey(name), ".")
	return label
}

func hostKey(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if i := strings.IndexByte(name, '('); i > 0 && strings.HasSuffix(name, ")") {
		name = name[:i]
	}
	return strings.TrimSuffix(name, ".")
}
