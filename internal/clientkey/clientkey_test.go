package clientkey_test

import (
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/clientkey"
)

func TestNetwork(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1":              "192.0.2.1",
		"192.0.2.1:80":           "192.0.2.1",
		"[2001:db8:1:2:3::4]:80": "2001:db8:1:2::/64",
		"2001:db8:1:2:3::4":      "2001:db8:1:2::/64",
		"fe80::1%eth0":           "fe80::/64",
		"::ffff:192.0.2.1":       "192.0.2.1",
		"":                       "",
		"localhost:80":           "",
		"/run/app.sock":          "",
	} {
		if got, ok := clientkey.Network(addr); got != want || ok != (want != "") {
			t.Errorf("Network(%q) = %q, %v, want %q", addr, got, ok, want)
		}
	}
}

func TestShort(t *testing.T) {
	for _, length := range []int{0, 1, 256, 257, 100_000} {
		key := strings.Repeat("k", length)
		got := clientkey.Short(key)
		if length <= 256 && got != key || length > 256 && len(got) != len("sha256:")+64 {
			t.Errorf("of %d bytes: %q", length, got)
		}
	}
	if a, b := clientkey.Short(strings.Repeat("k", 300)), clientkey.Short(strings.Repeat("k", 301)); a == b {
		t.Errorf("two long keys have the hash %q", a)
	}
}
