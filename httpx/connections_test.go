package httpx_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
)

func mustAddrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// from returns a client that connects from a loopback address.
func from(t *testing.T, addr string) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: dialerFrom(addr).DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// patience is the time that anything may take on a busy machine.
const patience = 30 * time.Second

func dialerFrom(addr string) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(addr)}}
}

// hold opens a connection and sends text. It is closed with the test.
func hold(t *testing.T, url, addr, text string) net.Conn {
	t.Helper()
	conn, err := dialerFrom(addr).Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		if strings.Contains(err.Error(), "cannot assign") {
			t.Skipf("no address %s on this system: %v", addr, err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, _ = io.WriteString(conn, text) // the server may have closed it
	return conn
}

// closed reports whether the server closes a connection. It waits for that if it should be.
func closed(t *testing.T, conn net.Conn, should bool) bool {
	t.Helper()
	wait := patience
	if !should {
		wait = 50 * time.Millisecond
	}
	_ = conn.SetReadDeadline(time.Now().Add(wait))
	_, err := conn.Read(make([]byte, 1))
	return err != nil && !os.IsTimeout(err)
}

const (
	halfHeader = "GET / HTTP/1.1\r\nHost: x\r\nX-Half: "
	halfBody   = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nhalf"
)

// reading is a handler that reads the body.
var reading = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	_, _ = io.WriteString(w, "ok")
})

// TestConnectionFlood opens many more connections than the limits allow, from one and from many
// addresses, each with half a request. Clients of other addresses, and of the same, are served.
func TestConnectionFlood(t *testing.T) {
	t.Parallel()
	for name, half := range map[string]string{"header": halfHeader, "body": halfBody, "nothing": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, reading, &httpx.ServeOptions{MaxConnections: 20, MaxConnectionsPerAddress: 8, IdleTimeout: time.Hour})
			client := from(t, "127.0.0.9")
			for round := range 3 {
				for i := range 60 {
					hold(t, r.url, "127.0.0."+string(rune('2'+i%6)), half)
				}
				for _, c := range []*http.Client{client, from(t, "127.0.0.2")} {
					if body, err := get(c, r.url); body != "ok" || err != nil {
						t.Fatalf("round %d: %q, %v; want ok", round, body, err)
					}
				}
			}
		})
	}
}

// TestIdleConnections checks that idle connections of others make room for a new client, the
// longest idle one first.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	r := start(t, reading, &httpx.ServeOptions{MaxConnections: 3})
	var conns []net.Conn
	for range 3 {
		conns = append(conns, hold(t, r.url, "127.0.0.2", ""))
	}
	for _, i := range []int{1, 0, 2} { // the order in which they become idle
		_, _ = io.WriteString(conns[i], "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		response, err := http.ReadResponse(bufio.NewReader(conns[i]), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
	}
	// The server marks a connection as idle after it has responded, which cannot be observed. Either
	// way the new client is served and one connection is closed.
	if body, err := get(from(t, "127.0.0.3"), r.url); body != "ok" {
		t.Errorf("a new client: %q, %v", body, err)
	}
	open := 0
	for _, c := range conns {
		if !closed(t, c, false) {
			open++
		}
	}
	if open != 2 {
		t.Errorf("%d of 3 idle connections are open, want 2", open)
	}
}

// TestBusyConnections checks that the limit of an address closes no request in progress, and
// that a client with no connection displaces one of those who have many.
func TestBusyConnections(t *testing.T) {
	t.Parallel()
	began, finish := make(chan struct{}, 10), make(chan struct{})
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			began <- struct{}{}
			<-finish
		}
	}), &httpx.ServeOptions{MaxConnections: 3, MaxConnectionsPerAddress: 2})
	defer close(finish)
	slow := "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
	first, second := hold(t, r.url, "127.0.0.2", slow), hold(t, r.url, "127.0.0.2", slow)
	<-began
	<-began
	if third := hold(t, r.url, "127.0.0.2", slow); !closed(t, third, true) {
		t.Error("a third connection of the address is open")
	}
	hold(t, r.url, "127.0.0.3", slow)
	<-began
	if _, err := get(from(t, "127.0.0.4"), r.url+"/"); err != nil {
		t.Errorf("a new client: %v", err)
	}
	if a, b := closed(t, first, false), closed(t, second, false); a == b {
		t.Errorf("closed: %v and %v; want one of the address with the most connections", a, b)
	}
}

// TestEqualClients checks that a new client displaces a connection that waits, whichever of several
// clients with one connection each has it.
func TestEqualClients(t *testing.T) {
	t.Parallel()
	began, finish := make(chan struct{}), make(chan struct{})
	r := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		began <- struct{}{}
		<-finish
	}), &httpx.ServeOptions{MaxConnections: 3, ReadHeaderTimeout: time.Hour, ReadTimeout: time.Hour})
	defer close(finish)
	for _, addr := range []string{"127.0.0.2", "127.0.0.3"} {
		hold(t, r.url, addr, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		<-began
	}
	waiting := hold(t, r.url, "127.0.0.4", halfHeader)
	for i := range 3 {
		next := hold(t, r.url, "127.0.0.1"+string(rune('0'+i)), halfHeader)
		if !closed(t, waiting, true) {
			t.Fatalf("client %d is refused", i)
		}
		waiting = next
	}
}

// TestExemptNetworks checks that a trusted proxy may have more connections than others, and that
// they stay open in a flood.
func TestExemptNetworks(t *testing.T) {
	t.Parallel()
	r := start(t, reading, &httpx.ServeOptions{
		MaxConnections: 12, MaxConnectionsPerAddress: 2, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.1.0/24")},
	})
	var proxy []net.Conn
	for range 6 {
		proxy = append(proxy, hold(t, r.url, "127.0.1.1", halfHeader))
	}
	for i := range 60 {
		hold(t, r.url, "127.0.0."+string(rune('2'+i%6)), halfHeader)
	}
	if body, err := get(from(t, "127.0.0.9"), r.url); body != "ok" {
		t.Errorf("a new client: %q, %v", body, err)
	}
	for i, c := range proxy {
		if closed(t, c, false) {
			t.Errorf("connection %d of the proxy is closed", i)
		}
	}
}

// TestUnlimitedConnections checks that the constant switches a limit off.
func TestUnlimitedConnections(t *testing.T) {
	t.Parallel()
	r := start(t, reading, &httpx.ServeOptions{MaxConnectionsPerAddress: httpx.Unlimited, MaxConnections: httpx.Unlimited})
	first := hold(t, r.url, "127.0.0.2", halfHeader)
	for range 200 {
		hold(t, r.url, "127.0.0.2", halfHeader)
	}
	if body, err := get(from(t, "127.0.0.2"), r.url); body != "ok" || closed(t, first, false) {
		t.Errorf("with 200 other connections: %q, %v", body, err)
	}
}

// TestSlowReader checks that a client that stops reading loses its connection long before
// WriteTimeout, and that one that reads slowly gets the whole response.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	failed := make(chan struct{}, 1)
	body := strings.Repeat("x", 12<<20) // more than the buffers of the systems
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, err := io.WriteString(w, body); err != nil {
			failed <- struct{}{}
		}
	}), &httpx.ServeOptions{WriteTimeout: time.Hour, WriteStallTimeout: time.Second})
	hold(t, r.url, "127.0.0.2", "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	select {
	case <-failed:
	case <-time.After(patience):
		t.Error("the server still waits for a client that does not read")
	}
	if got, err := get(from(t, "127.0.0.3"), r.url); len(got) != len(body) {
		t.Errorf("a client that reads got %d bytes, %v", len(got), err)
	}
}

// TestLimitListener checks the limits for a server of another protocol: a connection that has sent
// something is not closed for a new one of the same address.
func TestLimitListener(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := httpx.LimitListener(inner, &httpx.ConnectionLimits{PerAddress: 1, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	url := "http://" + l.Addr().String()
	silent := hold(t, url, "127.0.0.2", "")
	speaking := hold(t, url, "127.0.0.2", "x")
	if _, err := io.ReadFull(speaking, make([]byte, 1)); err != nil || !closed(t, silent, true) {
		t.Errorf("the silent connection is open: %v", err)
	}
	if third := hold(t, url, "127.0.0.2", "x"); !closed(t, third, true) {
		t.Error("a third connection is open")
	}
	_ = speaking.Close()
	deadline, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for { // until the server has seen the end
		next := hold(t, url, "127.0.0.2", "x")
		if !closed(t, next, false) {
			return
		}
		if deadline.Err() != nil {
			t.Fatal("a connection that has ended still counts")
		}
	}
}

// dialed is a listener with one connection from each address, over which a byte is sent.
type dialed struct {
	net.Listener
	from []string
}

// Accept implements net.Listener.
func (l *dialed) Accept() (net.Conn, error) {
	if len(l.from) == 0 {
		return nil, net.ErrClosed
	}
	c, client := net.Pipe()
	go func() { _, _ = client.Write([]byte{0}) }()
	peer := net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(l.from[0]), 1))
	l.from = l.from[1:]
	return addressed{c, peer}, nil
}

type addressed struct {
	net.Conn
	peer net.Addr
}

// RemoteAddr implements net.Conn.
func (c addressed) RemoteAddr() net.Addr { return c.peer }

// TestExemptAddressInNetwork checks that a trusted proxy exempts only itself from the limit of
// its IPv6 network, and is not bound by what others in the network do.
func TestExemptAddressInNetwork(t *testing.T) {
	t.Parallel()
	const proxy, other = "2001:db8::1", "2001:db8::2"
	for _, order := range [][]string{{proxy, proxy, other, other}, {other, other, proxy, proxy}} {
		l := httpx.LimitListener(&dialed{from: order}, &httpx.ConnectionLimits{
			PerAddress: 1, Exempt: []netip.Prefix{netip.MustParsePrefix(proxy + "/128")}, Log: slog.New(slog.DiscardHandler),
		})
		var open []net.Conn
		for range order {
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, c)
		}
		for i, c := range open {
			_, err := c.Read(make([]byte, 1))
			if want := order[i] == other && i%2 == 0; (err != nil) != want {
				t.Errorf("%v: connection %d: %v, want it closed: %t", order, i, err, want)
			}
			_ = c.Close()
		}
	}
}
