package httpx_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
)

func TestAccessLog(t *testing.T) {
	t.Parallel()
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for _, tc := range []struct {
		why     string
		handler http.Handler
		target  string
		line    string
	}{
		{"what was answered", text("hello"), "/a?secret=1", `level=INFO msg=request method=GET path=/a status=200 bytes=5 client=192.0.2.1 request_id=""`},
		{"who writes nothing responses 200", nothing, "/", `level=INFO msg=request method=GET path=/ status=200 bytes=0 client=192.0.2.1 request_id=""`},
		{
			"errors with their cause", failing(&httpx.Error{Status: 503, Message: "later", Err: errors.New("dial\ntcp")}), "/",
			`level=ERROR msg=request method=GET path=/ status=503 bytes=58 client=192.0.2.1 request_id="" error="later: dial\\ntcp"`,
		},
		{"control characters stay escaped", text(""), "/a%0A%22b%20c", `level=INFO msg=request method=GET path=/a%0A%22b%20c status=200 bytes=0 client=192.0.2.1 request_id=""`},
	} {
		var log bytes.Buffer
		serve(httpx.AccessLog(logTo(&log), nil)(tc.handler), request("GET", tc.target, ""))
		if got := strings.TrimSuffix(log.String(), "\n"); got != tc.line {
			t.Errorf("%s:\n got %s\nwant %s", tc.why, got, tc.line)
		}
	}
}

func TestAccessLogBounds(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	serve(httpx.AccessLog(logTo(&log), nil)(text("")), request("GET", "/"+strings.Repeat("x", 10_000), ""))
	if log.Len() > 2000 {
		t.Errorf("the path takes %d bytes of the log", log.Len())
	}
}

func TestAccessLogOnlyFailures(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	middleware := httpx.AccessLog(logTo(&log), &httpx.AccessLogOptions{OnlyFailures: true})
	serve(middleware(text("")), request("GET", "/", ""))
	serve(middleware(failing(httpx.Errorf(404, "no"))), request("GET", "/", ""))
	if log.Len() > 0 {
		t.Errorf("the log is %q, want nothing", &log)
	}
	serve(middleware(failing(errors.New("disk"))), request("GET", "/", ""))
	if !strings.Contains(log.String(), `error=disk`) {
		t.Errorf("the log is %q, want the failure", &log)
	}
}

// TestAccessLogOfPanic checks that a response that was cut off is logged as a failure.
func TestAccessLogOfPanic(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	defer func() {
		if recover() == nil || !strings.Contains(log.String(), "level=ERROR msg=request method=GET path=/ status=500 bytes=4 ") {
			t.Errorf("the log is %q", &log)
		}
	}()
	serve(httpx.AccessLog(logTo(&log), nil)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic(http.ErrAbortHandler)
	})), request("GET", "/", ""))
}

func TestAccessLogOfHead(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	serve(httpx.AccessLog(logTo(&log), nil)(text("hello")), request("HEAD", "/", ""))
	if !strings.Contains(log.String(), "bytes=0 ") {
		t.Errorf("the log is %q, and net/http sends no body for HEAD", &log)
	}
}

// TestAccessLogOfUnixSocket checks that a peer without an address is no trouble.
func TestAccessLogOfUnixSocket(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := request("GET", "/", "")
	r.RemoteAddr = "@"
	serve(httpx.AccessLog(logTo(&log), nil)(text("")), r)
	if !strings.Contains(log.String(), "client=@ ") {
		t.Errorf("the log is %q", &log)
	}
}

// TestAccessLogWritersBelow checks that flushing, and what http.ResponseController
// does, still reach the connection, and that errors are returned to all callers.
func TestAccessLogWritersBelow(t *testing.T) {
	t.Parallel()
	var outer, inner bytes.Buffer
	h := httpx.Chain(httpx.AccessLog(logTo(&outer), nil), httpx.Gzip(nil), httpx.AccessLog(logTo(&inner), nil))(
		failing(errors.New("disk")))
	serve(h, request("GET", "/", "", "Accept-Encoding", "gzip"))
	if !strings.Contains(outer.String(), "error=disk") || !strings.Contains(inner.String(), "error=disk") {
		t.Errorf("the logs are %q and %q, want the error in both", &outer, &inner)
	}
	flush := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "x")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	})
	if w := serve(httpx.Chain(httpx.ResponseTime, httpx.Gzip(nil), httpx.Recover(nil))(flush), request("GET", "/", "")); !w.Flushed {
		t.Error("the flush did not reach the connection")
	}
}

// TestClients checks whose word counts for where a request comes from: that of trusted
// proxies only.
func TestClients(t *testing.T) {
	t.Parallel()
	proxies := httpx.BehindProxies(netip.MustParsePrefix("10.1.2.3/8"), netip.MustParsePrefix("2001:db8:aaaa::/48"))
	for _, tc := range []struct {
		why       string
		clients   *httpx.Clients
		peer      string
		forwarded []string
		addr, key string
	}{
		{"nobody is believed", nil, "10.0.0.1:5", []string{"1.1.1.1"}, "10.0.0.1", "10.0.0.1"},
		{"a stranger is not believed", proxies, "9.9.9.9:5", []string{"1.1.1.1"}, "9.9.9.9", "9.9.9.9"},
		{"a proxy is", proxies, "10.0.0.1:5", []string{"1.1.1.1"}, "1.1.1.1", "1.1.1.1"},
		{"what a client claims is not", proxies, "10.0.0.1:5", []string{"6.6.6.6, 1.1.1.1, 10.0.0.2"}, "1.1.1.1", "1.1.1.1"},
		{"the lines of a header are one", proxies, "10.0.0.1:5", []string{"6.6.6.6", "1.1.1.1:80 ", ",10.0.0.2"}, "1.1.1.1", "1.1.1.1"},
		{"all are proxies: the first", proxies, "10.0.0.1:5", []string{"10.0.0.9, 10.0.0.2"}, "10.0.0.9", "10.0.0.9"},
		{"who can't be read was seen by", proxies, "10.0.0.1:5", []string{"1.1.1.1, unknown, 10.0.0.2"}, "10.0.0.2", "10.0.0.2"},
		{"no header", proxies, "10.0.0.1:5", nil, "10.0.0.1", "10.0.0.1"},
		{"IPv6 is keyed by its network", nil, "[2001:db8:1:2:3:4:5:6%eth0]:5", nil, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
		{"IPv4 within IPv6 is IPv4", proxies, "[::ffff:10.0.0.1]:5", []string{"[::ffff:1.1.1.1]:80"}, "1.1.1.1", "1.1.1.1"},
		{"a proxy by IPv6", proxies, "[2001:db8:aaaa::1]:5", []string{"2001:db8::7"}, "2001:db8::7", "2001:db8::/64"},
		{"no address", proxies, "@", []string{"1.1.1.1"}, "invalid IP", "@"},
	} {
		r := request("GET", "/", "")
		r.RemoteAddr = tc.peer
		r.Header["X-Forwarded-For"] = tc.forwarded
		if addr, key := tc.clients.Addr(r).String(), tc.clients.Key(r); addr != tc.addr || key != tc.key {
			t.Errorf("%s: %s and %s, want %s and %s", tc.why, addr, key, tc.addr, tc.key)
		}
	}
}

func FuzzClients(f *testing.F) {
	f.Add("1.1.1.1, 10.0.0.1")
	f.Add(",,[::1]:5,%")
	proxies := httpx.BehindProxies(netip.MustParsePrefix("10.0.0.0/8"))
	f.Fuzz(func(t *testing.T, forwarded string) {
		r := request("GET", "/", "")
		r.RemoteAddr = "10.0.0.1:5"
		r.Header["X-Forwarded-For"] = []string{forwarded}
		if addr := proxies.Addr(r); !addr.IsValid() || addr.Zone() != "" || addr.Is4In6() {
			t.Errorf("the client is %v", addr)
		}
		r.Header["X-Forwarded-For"] = []string{forwarded, "7.7.7.7"}
		if addr := proxies.Addr(r); addr.String() != "7.7.7.7" {
			t.Errorf("what the client claims makes it %v", addr)
		}
	})
}
