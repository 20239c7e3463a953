package httpx_test

import (
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
)

func hosts(t *testing.T, addr net.Addr, names ...string) *httpx.Hosts {
	t.Helper()
	h, err := httpx.NewHosts(addr, &httpx.HostsOptions{Names: names, Setting: "ALLOWED_HOSTS"})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHosts(t *testing.T) {
	t.Parallel()
	tcp := func(addr string) net.Addr { return net.TCPAddrFromAddrPort(mustAddrPort(addr)) }
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name             string
		hosts            *httpx.Hosts
		allowed, refused string
	}{
		{
			"loopback", hosts(t, tcp("127.0.0.1:80")),
			"localhost localhost:80 LOCALHOST. a.localhost 127.0.0.1:9 127.1.2.3 [::1]:80 [::1] ::1",
			"evil.example localhost.evil.example evil.example:80 192.0.2.1:80 local intranet " + machine + ".evil.example",
		},
		{
			"one address", hosts(t, tcp("192.0.2.1:80")),
			"192.0.2.1 192.0.2.1:8080 [::ffff:192.0.2.1]:80 " + machine,
			"localhost 127.0.0.1 192.0.2.2 evil.example api",
		},
		{
			"all addresses", hosts(t, tcp("[::]:80")),
			"localhost 127.0.0.1 192.0.2.7:80 [2001:db8::1]:80 api ratelimit:8080 ratelimit.default.svc ratelimit.default.svc.cluster.local " + machine,
			"evil.example evil.example. 192.0.2.1.evil.example local.evil.example . a@b.example",
		},
		{
			"names", hosts(t, tcp("127.0.0.1:80"), "API.example.com", "*.shop.example", "192.0.2.9", "2001:db8::9"),
			"api.example.com API.EXAMPLE.COM.:443 a.shop.example a.b.shop.example 192.0.2.9:1 [2001:db8::9]:1 localhost",
			"example.com x.api.example.com shop.example ashop.example 192.0.2.8",
		},
		{"all names", hosts(t, tcp("127.0.0.1:80"), httpx.AnyHost), "evil.example 192.0.2.1", ""},
		{"a Unix socket", hosts(t, &net.UnixAddr{Name: "/x", Net: "unix"}), "evil.example", ""},
	} {
		for _, host := range append(strings.Fields(tc.allowed), "") {
			if !tc.hosts.Allowed(host) {
				t.Errorf("%s: %q is refused", tc.name, host)
			}
		}
		for _, host := range strings.Fields(tc.refused) {
			if tc.hosts.Allowed(host) {
				t.Errorf("%s: %q is allowed", tc.name, host)
			}
		}
	}
}

func TestInvalidHosts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "*.", ".example.com", "https://example.com", "example.com:80", "a b", "a*.example.com", "*example.com"} {
		_, err := httpx.NewHosts(&net.TCPAddr{}, &httpx.HostsOptions{Names: []string{name}})
		if err == nil || !strings.Contains(err.Error(), "write a name") {
			t.Errorf("%q: %v, want an error that says what to write", name, err)
		}
	}
}

// TestHostsInChain checks that a request for another host is refused with all headers and a message
// that names the setting, and that it counts for the rate limit.
func TestHostsInChain(t *testing.T) {
	t.Parallel()
	h := httpx.Standard(&httpx.StandardOptions{Hosts: hosts(t, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}), Limit: limited})(text("hello"))
	r := request("GET", "http://evil.example/", "")
	w := serve(h, r)
	if body := errorOf(t, w, http.StatusMisdirectedRequest); !strings.Contains(body.Message, "evil.example") || !strings.Contains(body.Message, "ALLOWED_HOSTS") {
		t.Errorf("the message is %q", body.Message)
	}
	want(t, w.Header(), "X-RateLimit-Limit", "100")
	want(t, w.Header(), "X-Frame-Options", "DENY")
	if w := serve(h, request("GET", "http://localhost:80/", "")); w.Code != 200 {
		t.Errorf("localhost: %d", w.Code)
	}
}
