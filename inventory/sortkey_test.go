package inventory_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/inventory/records"
)

func TestNaturalKey(t *testing.T) {
	t.Parallel()
	want := []string{
		"", "1", "2", "10", "802.1Q", "eth", "eth-1", "eth0", "eth2", "eth2.7", "eth2a", "eth10",
		"eth99999999", "eth100000000", "eth" + strings.Repeat("9", 300), "eth1" + strings.Repeat("0", 300), "Ethernet1/1", "Ethernet1/2", "Ethernet1/10", "Ethernet2/1", "ethX", "Gi1/0/2", "Gi1/0/10", "xe-0/0/1:0", "xe-0/0/1:10", "ä1",
	}
	got := slices.Clone(want)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	slices.SortFunc(got, func(a, b string) int { return cmp.Compare(records.NaturalKey(a), records.NaturalKey(b)) })
	equal(t, "the order", got, want)
	for _, same := range [][2]string{{"eth1", "ETH01"}, {"a0b", "a000b"}, {"007", "7"}} {
		equal(t, "the key of "+same[1], records.NaturalKey(same[1]), records.NaturalKey(same[0]))
	}
}

var parts = regexp.MustCompile(`(?s)[0-9]+|.`)

// naturalOrder compares two names of ASCII characters part by part.
func naturalOrder(a, b string) int {
	return slices.CompareFunc(parts.FindAllString(strings.ToLower(a), -1), parts.FindAllString(strings.ToLower(b), -1), func(a, b string) int {
		x, isX := new(big.Int).SetString(a, 10)
		y, isY := new(big.Int).SetString(b, 10)
		if isX && isY {
			return x.Cmp(y)
		}
		return cmp.Compare(a[0], b[0])
	})
}

// FuzzNaturalKey compares the order of keys with that of names.
func FuzzNaturalKey(f *testing.F) {
	for _, pair := range [][2]string{
		{"eth2", "eth10"}, {"a00", "a0"}, {"a", "a1"}, {"a09", "a9b"}, {"1a", "a1"}, {"123456789", "99999999"}, {"0", "00x"}, {"a/1", "a1"}, {"10:a", "9:b"},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		ascii := func(c rune) rune { return c & 0x7f }
		a, b = strings.Map(ascii, a), strings.Map(ascii, b)
		x, y := records.NaturalKey(a), records.NaturalKey(b)
		if cmp.Compare(x, y) != naturalOrder(a, b) {
			t.Errorf("%q %q have the keys %q %q", a, b, x, y)
		}
		if len(x) > 2*len(a) {
			t.Errorf("%q has the key %q", a, x)
		}
	})
}

func TestAddressKey(t *testing.T) {
	t.Parallel()
	want := []string{
		"0.0.0.0", "9.255.255.255/8", "10.0.0.0", "10.9.9.1", "10.9.9.1/0", "10.9.9.1/8", "10.9.9.1/24", "10.9.9.1/32", "10.9.9.2", "10.10.0.0", "192.0.2.1",
		"::", "::1/128", "2001:db8::1", "2001:db8::1/64", "2001:db8::a", "2001:db8::10", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128",
	}
	got := slices.Clone(want)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	slices.SortFunc(got, func(a, b string) int { return cmp.Compare(addressKey(t, a), addressKey(t, b)) })
	equal(t, "the order", got, want)
	equal(t, "IPv4 in IPv6", addressKey(t, "::ffff:10.9.9.1/120"), addressKey(t, "10.9.9.1/24"))
	for _, s := range []string{"", "x", "10.0.0", "fe80::1%eth0", "10.0.0.1/33", "10.0.0.1/"} {
		if _, ok := records.AddressKey(s); ok {
			t.Errorf("%q has a key", s)
		}
	}
	from, to := records.NetworkRange(netip.Prefix{})
	equal(t, "the range of nothing", from, to)
}

func addressKey(t *testing.T, s string) string {
	t.Helper()
	key, ok := records.AddressKey(s)
	if !ok {
		t.Fatalf("%q has no key", s)
	}
	return key
}

// FuzzAddressKey compares the order and the ranges of keys with those of package netip.
func FuzzAddressKey(f *testing.F) {
	f.Add([]byte{10, 9, 9, 1}, []byte{10, 0, 0, 0}, uint8(8), uint8(24))
	f.Add([]byte{10, 9, 9, 1}, []byte{10, 9, 9, 1}, uint8(32), uint8(0))
	f.Add(bytes.Repeat([]byte{0xff}, 16), make([]byte, 16), uint8(0), uint8(64))
	f.Add(bytes.Repeat([]byte{0x20}, 16), bytes.Repeat([]byte{0x20}, 16), uint8(127), uint8(128))
	f.Add([]byte{1, 2, 3, 4}, make([]byte, 16), uint8(0), uint8(7))
	f.Fuzz(func(t *testing.T, x, y []byte, network, own uint8) {
		a, ok := netip.AddrFromSlice(x)
		b, ok2 := netip.AddrFromSlice(y)
		if !ok || !ok2 {
			return
		}
		a, b = a.Unmap(), b.Unmap()
		bare, withLength := addressKey(t, a.String()), addressKey(t, fmt.Sprintf("%s/%d", a, int(own)%(a.BitLen()+1)))
		if order := cmp.Compare(bare, addressKey(t, b.String())); order != a.Compare(b) {
			t.Errorf("%s and %s compare as %d", a, b, order)
		}
		prefix := netip.PrefixFrom(b, int(network)%(b.BitLen()+1))
		from, to := records.NetworkRange(prefix)
		for _, key := range []string{bare, withLength} {
			if (from <= key && key < to) != prefix.Contains(a) {
				t.Errorf("%s in %s: the key %s is not in the range %s to %s", a, prefix, key, from, to)
			}
		}
	})
}
