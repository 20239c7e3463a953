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

// TestServeDrains says that a request under way is finished, with a context that is
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
	answer := make(chan string, 1)
	go func() {
		body, err := get(http.DefaultClient, r.url)
		answer <- body + errorText(err)
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
	if got := <-answer; got != "finished" {
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
	r := start(t, httpx.SecurityHeaders(nil)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto+w.Header().Get("Strict-Transport-Security"))
	})), &httpx.ServeOptions{TLS: &tls.Config{Certificates: borrowed.TLS.Certificates, MinVersion: tls.VersionTLS12}})
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
}

// TestServeTimeouts says that a client that sends nothing is not waited for.
func TestServeTimeouts(t *testing.T) {
	t.Parallel()
	r := start(t, text(""), &httpx.ServeOptions{ReadHeaderTimeout: 10 * time.Millisecond})
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\n")
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("the connection is still open: %v", err)
	}
}
