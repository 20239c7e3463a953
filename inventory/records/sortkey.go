package records

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
)

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

// appendLength appends the length of a number so that longer numbers sort behind shorter ones,
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
	return addressDigits(first), addressDigits(end) + "g" // behind all hexadecimal digits
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
