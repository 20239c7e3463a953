package collect

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gosnmp/gosnmp"
)

// maxText is the maximum length in bytes of a string, as of SnmpAdminString (RFC 3411).
const maxText = 255

// value is a value of a device.
type value gosnmp.SnmpPDU

// exists reports whether the device has the object.
func (v value) exists() bool {
	switch v.Type {
	case gosnmp.NoSuchObject, gosnmp.NoSuchInstance, gosnmp.EndOfMibView, gosnmp.Null:
		return false
	}
	return true
}

// raw returns the bytes of an octet string, at most maxText of them.
func (v value) raw() []byte {
	b, ok := v.Value.([]byte)
	if !ok || v.Type != gosnmp.OctetString {
		return nil
	}
	return b[:min(len(b), maxText)]
}

// text returns an octet string as one line.
func (v value) text() string { return line(v.raw()) }

// line returns bytes as one line of UTF-8 without control characters.
func line(b []byte) string {
	if len(b) == maxText { // a character may have been cut
		for i := 1; i < utf8.UTFMax && i < len(b); i++ {
			if start := len(b) - i; utf8.RuneStart(b[start]) {
				if !utf8.FullRune(b[start:]) {
					b = b[:start]
				}
				break
			}
		}
	}
	s := strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(b), " "))
	return strings.Join(strings.Fields(s), " ")
}

// number returns an integer, or 0.
func (v value) number() int64 {
	switch v.Type {
	case gosnmp.Integer, gosnmp.Gauge32, gosnmp.Uinteger32, gosnmp.Counter32:
		if n := gosnmp.ToBigInt(v.Value); n.IsInt64() {
			return n.Int64()
		}
	}
	return 0
}

// oid returns an object identifier, or "".
func (v value) oid() string {
	s, ok := v.Value.(string)
	if !ok || v.Type != gosnmp.ObjectIdentifier || len(s) > maxText {
		return ""
	}
	return strings.TrimPrefix(s, ".")
}

// mac returns an address of 6 bytes with colons, or "" for none.
func mac(b []byte) string {
	if len(b) != 6 || string(b) == "\x00\x00\x00\x00\x00\x00" {
		return ""
	}
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5])
}

// networkAddress returns an address of a family of IANA: 1 is IPv4, 2 is IPv6.
func networkAddress(family uint32, b []byte) string {
	if family == 1 && len(b) == 4 || family == 2 && len(b) == 16 {
		addr, _ := netip.AddrFromSlice(b)
		return addr.Unmap().String()
	}
	return ""
}
