package records

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
)

// Address reports whether the values are IP addresses, with or without a prefix length, or networks
// in their order.
func (f *Field) Address() bool {
	return f.Kind == Text && (f.Format == "ip" || f.Format == "interface-ip" || f.Format == "network")
}

// Addresses returns the fields with IP addresses that clients see.
func (r *Resource) Addresses() []*Field {
	return slices.DeleteFunc(slices.Clone(r.fields), func(f *Field) bool { return !f.Address() || !f.Scalar() })
}

// Keyed reports whether lists are sorted by a key of the values: names in natural order, and
// addresses. Stores keep the key of each record beside the value.
func (f *Field) Keyed() bool { return f.Natural || f.Address() }

// OrderKey returns the key of a value of a field that is Keyed: the [NaturalKey] of a name, or the
// [AddressKey] of an address. A string that is no address comes after all addresses. The key is
// empty for nil and the empty string only.
func (f *Field) OrderKey(value any) string {
	s, _ := value.(string)
	if s == "" || f.Natural {
		return NaturalKey(s)
	}
	if key, ok := AddressKey(s); ok {
		return key
	}
	return "z" + s
}

// contained reports whether a value is an address, or a network of the field, in a network, which is a
// netip.Prefix.
func (f *Field) contained(network, value any) bool {
	s, _ := value.(string)
	p, _ := network.(netip.Prefix)
	if p = unmap(p); !p.IsValid() {
		return false
	}
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr.Zone() == "" && p.Contains(addr.Unmap())
	}
	own, err := netip.ParsePrefix(s)
	own = unmap(own)
	return err == nil && p.Contains(own.Addr()) && (f.Format != "network" || own.Bits() >= p.Bits())
}

// KeyRange returns the range of the keys of the field's values in a network: from <= key < to. A
// network that is larger is not in it.
func (f *Field) KeyRange(network netip.Prefix) (from, to string) {
	from, to = NetworkRange(network)
	if f.Format == "network" && network.IsValid() {
		from, _ = AddressKey(unmap(network).Masked().String())
	}
	return from, to
}

// parseNetwork parses a network. One without a prefix length is that of one address. Host bits are
// ignored.
func parseNetwork(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil && addr.Zone() == "" {
		return netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return p, BadFormat("a network such as 192.0.2.0/24 or 2001:db8::/32, or an IP address")
	}
	return unmap(p).Masked(), nil
}

// maxShortRun is the number of digits whose length a [NaturalKey] has as one digit.
const maxShortRun = 8

// NaturalKey returns a string whose byte order is the natural order of names: a run of ASCII
// digits counts as a number, so that eth2 sorts before eth10 and Gi1/0/2 before Gi1/0/10. The
// other bytes are compared one by one, with ASCII case folded. A name that is the beginning of
// another sorts before it, unless the other continues its last number.
//
// Names that differ in ASCII case or leading zeros only have the same key: stores break the tie
// by the id. The key of s has at most 2 len(s) bytes, whatever the length of its numbers. It is
// UTF-8 if s is.
func NaturalKey(s string) string {
	key := make([]byte, 0, len(s)+8)
	for i := 0; i < len(s); {
		if c := s[i]; c < '0' || c > '9' {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			key = append(key, c)
			i++
			continue
		}
		end := i + 1
		for end < len(s) && '0' <= s[end] && s[end] <= '9' {
			end++
		}
		for i < end-1 && s[i] == '0' {
			i++
		}
		key = appendLength(key, end-i)
		key = append(key, s[i:end]...)
		i = end
	}
	return string(key)
}

// appendLength appends the length of a number so that longer numbers sort after shorter ones,
// and numbers sort among other bytes as a digit does: one digit up to maxShortRun, and beyond
// it a 9, the number of digits of the length, and the length.
func appendLength(key []byte, n int) []byte {
	if n <= maxShortRun {
		return append(key, '0'+byte(n))
	}
	length := strconv.Itoa(n)
	key = append(key, '9', '0'+byte(len(length)))
	return append(key, length...)
}

// AddressKey returns a string whose byte order is the order of IP addresses: IPv4 before IPv6,
// then by number, then by the prefix length. It accepts an address with or without a prefix
// length; the one without sorts first. An IPv4 address in IPv6 counts as IPv4. It returns false
// for anything else, such as an address with a zone.
//
// All keys of one version of IP have the same length. The keys of the addresses of a network
// are one range: see [NetworkRange].
func AddressKey(s string) (string, bool) {
	addr, err := netip.ParseAddr(s)
	if err == nil {
		return addressDigits(addr.Unmap()) + "00", addr.Zone() == ""
	}
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		return "", false
	}
	prefix = unmap(prefix)
	return addressDigits(prefix.Addr()) + fmt.Sprintf("%02x", prefix.Bits()+1), true
}

// NetworkRange returns the range of the keys of all addresses in a network, with any prefix
// length of their own: from <= key < to. The network of one address, such as 192.0.2.1/32, is
// the range of that address with any prefix length. An invalid prefix has an empty range.
func NetworkRange(network netip.Prefix) (from, to string) {
	if !network.IsValid() {
		return "", ""
	}
	network = unmap(network).Masked()
	first := network.Addr()
	last := first.AsSlice()
	for bit := network.Bits(); bit < first.BitLen(); bit++ {
		last[bit/8] |= 0x80 >> (bit % 8)
	}
	end, _ := netip.AddrFromSlice(last)
	return addressDigits(first), addressDigits(end) + "g" // after all hexadecimal digits
}

// unmap returns a network of IPv4 addresses in IPv6 as one of IPv4.
func unmap(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// addressDigits returns the version of an address and its hexadecimal digits.
func addressDigits(addr netip.Addr) string {
	version := "6"
	if addr.Is4() {
		version = "4"
	}
	return version + hex.EncodeToString(addr.AsSlice())
}
