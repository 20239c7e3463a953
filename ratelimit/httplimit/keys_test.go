package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
)

func TestRemoteHost(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1:1234":                        "192.0.2.1",
		"192.0.2.1":                             "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:1234":           "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff::]:80":              "2001:db8:1:2::/64",
		"[2001:db8:1:3::1]:80":                  "2001:db8:1:3::/64",
		"2001:db8:1:2::1":                       "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80":                     "fe80::/64",
		"[::ffff:192.0.2.1]:80":                 "192.0.2.1",
		"[::1]:80":                              "::/64",
		"@":                                     "@",
		"":                                      "",
		"localhost:80":                          "localhost:80",
		"/run/app.sock":                         "/run/app.sock",
		"[2001:db8:1:2:3:4:5:6:7]:1234":         "[2001:db8:1:2:3:4:5:6:7]:1234",
		"[::ffff:192.0.2.1%eth0]:80":            "192.0.2.1",
		"[2001:0DB8:0001:0002:0000::0001]:4433": "2001:db8:1:2::/64",
	} {
		if got := httplimit.RemoteHost(&http.Request{RemoteAddr: addr}); got != want {
			t.Errorf("of %q: %q, want %q", addr, got, want)
		}
	}
}

func TestForwardedFor(t *testing.T) {
	const peer = "192.0.2.9"
	for _, tt := range []struct {
		proxies int
		lines   []string
		want    string
	}{
		{1, []string{"198.51.100.1"}, "198.51.100.1"},
		{1, []string{"203.0.113.7, 198.51.100.1"}, "198.51.100.1"},
		{2, []string{"203.0.113.7, 198.51.100.1"}, "203.0.113.7"},
		{2, []string{"1.1.1.1,203.0.113.7 ,\t198.51.100.1"}, "203.0.113.7"},
		{2, []string{"1.1.1.1", "203.0.113.7", "198.51.100.1"}, "203.0.113.7"},
		{3, []string{"1.1.1.1", "203.0.113.7, 198.51.100.1"}, "1.1.1.1"},
		{1, []string{"2001:db8:1:2:3:4:5:6"}, "2001:db8:1:2::/64"},
		{1, []string{"[2001:db8:1:2:3:4:5:6]:443"}, "2001:db8:1:2::/64"},
		{1, []string{"198.51.100.1:4711"}, "198.51.100.1"},

		{1, nil, peer},
		{1, []string{""}, peer},
		{1, []string{"unknown"}, peer},
		{1, []string{"198.51.100.1,"}, peer},
		{2, []string{"198.51.100.1"}, peer},
		{3, []string{"203.0.113.7, 198.51.100.1"}, peer},
		{0, []string{"198.51.100.1"}, peer},
		{-1, []string{"198.51.100.1"}, peer},
	} {
		r := &http.Request{RemoteAddr: peer + ":1234", Header: http.Header{"X-Forwarded-For": tt.lines}}
		if got := httplimit.ForwardedFor(tt.proxies)(r); got != tt.want {
			t.Errorf("behind %d proxies, of %q: %q, want %q", tt.proxies, tt.lines, got, tt.want)
		}
	}
}

func TestHeader(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	key := httplimit.Header("x-api-key")
	if got := key(r); got != "" {
		t.Errorf("without the header: %q", got)
	}
	r.Header.Add("X-API-Key", "one")
	r.Header.Add("X-API-Key", "two")
	if got := key(r); got != "one" {
		t.Errorf("of two: %q, want the first", got)
	}
}

func FuzzForwardedFor(f *testing.F) {
	f.Add("1.1.1.1, 2.2.2.2", "3.3.3.3", 2)
	f.Add(",,,", "[::1]:80", 4)
	f.Fuzz(func(t *testing.T, one, two string, proxies int) {
		r := &http.Request{RemoteAddr: "192.0.2.9:1", Header: http.Header{"X-Forwarded-For": {one, two}}}
		got := httplimit.ForwardedFor(proxies)(r)
		if got == "" || len(got) > len("2001:db8:1111:2222::/64")+1 {
			t.Errorf("key %q: neither an IPv4 address nor a network", got)
		}
		// Whatever a client puts before what the proxies wrote changes nothing.
		r.Header["X-Forwarded-For"] = []string{"8.8.8.8, " + one, two}
		if n := count(one, two); proxies <= n && httplimit.ForwardedFor(proxies)(r) != got {
			t.Errorf("a client's own entry changes the key from %q to %q", got, httplimit.ForwardedFor(proxies)(r))
		}
	})
}

func count(lines ...string) int {
	n := 0
	for _, l := range lines {
		n++
		for _, c := range l {
			if c == ',' {
				n++
			}
		}
	}
	return n
}
