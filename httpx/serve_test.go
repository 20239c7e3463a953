package httpx_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
)

// running is a server in the background.
type running struct {
	url  string
	stop context.CancelFunc
	done chan error
}

func start(t *testing.T, h http.Handler, opts *httpx.ServeOptions) running {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := running{"http://" + l.Addr().String(), cancel, make(chan error, 1)}
	if opts != nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	go func() { r.done <- httpx.Serve(ctx, l, h, opts) }()
	t.Cleanup(cancel)
	return r
}

func get(client *http.Client, url string) (string, error) {
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// TestServeDrains checks that a request under way is finished, with a context that is
// alive, and that no other is taken.
func TestServeDrains(t *testing.T) {
	t.Parallel()
	began, finish := make(chan struct{}), make(chan struct{})
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(began)
		<-finish
		if r.Context().Err() != nil {
			t.Error("the request's context ended with the server's")
		}
		_, _ = io.WriteString(w, "finished")
	}), nil)
	response := make(chan string, 1)
	go func() {
		body, err := get(http.DefaultClient, r.url)
		response <- body + errorText(err)
	}()
	<-began
	r.stop()
	for { // until the listener is closed
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			break
		}
		_ = conn.Close()
	}
	close(finish)
	if got := <-response; got != "finished" {
		t.Errorf("the request under way got %q", got)
	}
	if err := <-r.done; err != nil {
		t.Errorf("Serve returned %v after an orderly end", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestServeCutsOff(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	r := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	}), &httpx.ServeOptions{DrainTimeout: 10 * time.Millisecond, DrainDelay: time.Millisecond})
	go func() { _, _ = get(http.DefaultClient, r.url) }()
	<-began
	r.stop()
	if err := <-r.done; !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("Serve returned %v, want that requests were cut off", err)
	}
}

func TestServeFails(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := httpx.Serve(t.Context(), l, text(""), nil); err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("Serve on a closed listener returned %v, want an error that names it", err)
	}
}

func TestServeTLS(t *testing.T) {
	t.Parallel()
	borrowed := httptest.NewTLSServer(nil) // for its certificate, and a client that trusts it
	borrowed.Close()
	config := &tls.Config{Certificates: borrowed.TLS.Certificates, MinVersion: tls.VersionTLS12}
	r := start(t, httpx.SecurityHeaders(nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto+w.Header().Get("Strict-Transport-Security"))
	})), &httpx.ServeOptions{TLS: config})
	transport := borrowed.Client().Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = true
	defer transport.CloseIdleConnections()
	url := strings.Replace(r.url, "http://", "https://", 1)
	if body, err := get(&http.Client{Transport: transport}, url); err != nil || !strings.HasPrefix(body, "HTTP/2.0max-age=") {
		t.Errorf("over TLS: %q, %v; want HTTP/2.0 and HSTS", body, err)
	}
	r.stop()
	if err := <-r.done; err != nil {
		t.Error(err)
	}
	if len(config.NextProtos) > 0 {
		t.Errorf("the configuration, which other servers may have too, was changed: %q", config.NextProtos)
	}
}

// TestServeTLSWithoutCertificates checks that the error names what is missing, and that the
// listener is closed all the same.
func TestServeTLSWithoutCertificates(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = httpx.Serve(t.Context(), l, text(""), &httpx.ServeOptions{TLS: &tls.Config{MinVersion: tls.VersionTLS12}})
	if err == nil || !strings.Contains(err.Error(), "set Certificates") {
		t.Errorf("Serve returned %v, want an error that says what to set", err)
	}
	if err := l.(*net.TCPListener).SetDeadline(time.Now()); !errors.Is(err, net.ErrClosed) {
		t.Error("the listener is still open")
	}
}

// dial sends text to a server as it is, and returns what comes until the server hangs up.
func dial(t *testing.T, url string, parts ...string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	for _, part := range parts {
		if _, err := io.WriteString(conn, part); err != nil {
			break // the server has heard enough
		}
	}
	response, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection is still open")
	}
	return string(response)
}

// TestServeTimeouts checks that a client that sends nothing, or half a request, is not waited
// for.
func TestServeTimeouts(t *testing.T) {
	t.Parallel()
	body := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	r := start(t, body, &httpx.ServeOptions{
		ReadHeaderTimeout: 10 * time.Millisecond, ReadTimeout: 20 * time.Millisecond, IdleTimeout: 10 * time.Millisecond,
	})
	for _, sent := range []string{
		"", "GET / HTTP/1.1\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n", // and no other request
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf",
	} {
		dial(t, r.url, sent)
	}
}

// TestServeHeaderFlood checks that a header that does not end is refused with 431, in bounded
// memory, and that the connection is closed.
func TestServeHeaderFlood(t *testing.T) {
	t.Parallel()
	r := start(t, text(""), &httpx.ServeOptions{MaxHeaderBytes: 4 << 10})
	line := "X-Flood: " + strings.Repeat("x", 1000) + "\r\n"
	flood := append([]string{"GET / HTTP/1.1\r\nHost: x\r\n"}, slices.Repeat([]string{line}, 64)...)
	if response := dial(t, r.url, append(flood, "\r\n")...); response != "" && !strings.HasPrefix(response, "HTTP/1.1 431 ") {
		t.Errorf("the response is %.100q", response)
	}
	// At the bound of net/http, which is 4 KiB more, nothing is left unread that could make the system
	// drop the response.
	exact := "GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat(line, 8)
	exact += "X-Flood: " + strings.Repeat("x", 8<<10-len(exact)-len("X-Flood: "))
	if response := dial(t, r.url, exact); !strings.HasPrefix(response, "HTTP/1.1 431 ") || !strings.Contains(response, "Connection: close") {
		t.Errorf("the response is %.100q", response)
	}
}
