package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// perSecond returns a limiter of one request per second and key, on the clock of the test.
func perSecond(t *testing.T) *ratelimit.Limiter {
	t.Helper()
	limiter, err := ratelimit.NewLimiter("client", memstore.MustNew(&memstore.Options{Now: time.Now}),
		ratelimit.Limit{Algorithm: ratelimit.TokenBucket, RequestsPerUnit: 1, Unit: ratelimit.Second}, &ratelimit.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return limiter
}

// base is a RoundTripper within a bubble, where a network has no place.
type base func(*http.Request) *http.Response

func (b base) RoundTrip(r *http.Request) (*http.Response, error) { return b(r), nil }

func respondWith(status int, header ...string) *http.Response {
	h := http.Header{}
	if len(header) > 0 {
		h.Set(header[0], header[1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: http.NoBody}
}

func TestTransportWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		key  func(*http.Request) string
		want time.Duration // of 3 requests to each of two hosts
	}{
		"host": {nil, 2 * time.Second},
		"all":  {func(*http.Request) string { return "all" }, 5 * time.Second},
		"none": {func(*http.Request) string { return "" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &http.Client{Transport: &httplimit.Transport{
					Limiter: perSecond(t), Key: tt.key, Base: base(func(*http.Request) *http.Response { return respondWith(200) }),
				}}
				begin := time.Now()
				var all sync.WaitGroup
				for i := range 6 {
					all.Go(func() {
						response, err := client.Get([]string{"http://a.example/", "http://b.example/x"}[i%2])
						if err != nil {
							t.Error(err)
							return
						}
						_ = response.Body.Close()
					})
				}
				all.Wait()
				if took := time.Since(begin); took.Round(100*time.Millisecond) != tt.want {
					t.Errorf("six requests took %v, want %v", took, tt.want)
				}
			})
		})
	}
}

// A request whose context can't wait is not sent, and its body is closed.
func TestTransportHonoursTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		transport := &httplimit.Transport{Limiter: perSecond(t), Base: base(func(*http.Request) *http.Response { sent++; return respondWith(200) })}
		for i, want := range []error{nil, context.DeadlineExceeded} {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			body := &closeRecorder{Reader: strings.NewReader("x")}
			r, err := http.NewRequestWithContext(ctx, "POST", "http://a.example/", body)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := transport.RoundTrip(r); !errors.Is(err, want) { //nolint:bodyclose // NoBody
				t.Errorf("request %d: %v, want %v", i, err, want)
			}
			if i == 1 && !body.closed {
				t.Error("the body of the request that was not sent is not closed")
			}
			cancel()
		}
		if sent != 1 {
			t.Errorf("%d requests were sent, want 1", sent)
		}
	})
}

type closeRecorder struct {
	io.Reader
	closed bool
}

func (c *closeRecorder) Close() error { c.closed = true; return nil }

// Retry-After is waited out once.
func TestTransportRetries(t *testing.T) {
	for name, tt := range map[string]struct {
		status     int
		retryAfter string // "date" is a time in 10 s
		timeout    time.Duration
		requests   int
		took       time.Duration
	}{
		"seconds":                  {429, "20", 0, 2, 20 * time.Second},
		"unavailable":              {503, "20", 0, 2, 20 * time.Second},
		"date":                     {429, "date", 0, 2, 10 * time.Second},
		"a date in the past":       {429, "Thu, 01 Jan 1970 00:00:00 GMT", 0, 2, 0},
		"another status":           {500, "20", 0, 1, 0},
		"too long":                 {429, "61", 0, 1, 0},
		"a minute":                 {429, "60", 0, 2, time.Minute},
		"longer than the deadline": {429, "20", 15 * time.Second, 1, 0},
		"no header":                {429, "", 0, 1, 0},
		"nonsense":                 {429, "soon", 0, 1, 0},
		"negative":                 {429, "-1", 0, 1, 0},
		"overflow":                 {429, "99999999999999999999", 0, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				client := &http.Client{Timeout: tt.timeout, Transport: &httplimit.Transport{
					Limiter: perSecond(t), Key: func(*http.Request) string { return "" },
					Base: base(func(r *http.Request) *http.Response {
						requests++
						if body, err := io.ReadAll(r.Body); string(body) != "body" || err != nil {
							t.Errorf("request %d has the body %q, %v", requests, body, err)
						}
						value := tt.retryAfter
						if value == "date" {
							value = time.Now().Add(10 * time.Second).UTC().Format(http.TimeFormat)
						}
						return respondWith(tt.status, "Retry-After", value)
					}),
				}}
				begin := time.Now()
				response, err := client.Post("http://a.example/", "text/plain", strings.NewReader("body"))
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				if response.StatusCode != tt.status || requests != tt.requests || time.Since(begin) != tt.took {
					t.Errorf("status %d after %d requests and %v, want %d, %d and %v", response.StatusCode, requests, time.Since(begin), tt.status, tt.requests, tt.took)
				}
			})
		})
	}
}

// Two instances of a server refuse once and then serve. A body that can't be sent again is not.
func TestTransportAgainstAServer(t *testing.T) {
	var requests, connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if requests.Add(1) == 1 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write(make([]byte, 10_000))
			return
		}
		_, _ = w.Write(body)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	limiter, err := ratelimit.NewLimiter("client", memstore.MustNew(nil), ratelimit.Per(100, ratelimit.Second), nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &httplimit.Transport{Limiter: limiter, Base: server.Client().Transport}, Timeout: 20 * time.Second}
	for _, tt := range []struct {
		body   io.Reader
		status int
	}{{strings.NewReader("hello"), 200}, {io.MultiReader(strings.NewReader("hello")), 429}} {
		requests.Store(0)
		response, err := client.Post(server.URL, "text/plain", tt.body)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != tt.status || err != nil || tt.status == 200 && string(text) != "hello" {
			t.Errorf("%d %q %v, want %d", response.StatusCode, text, err, tt.status)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections, want 1: a refused response is read to its end", n)
	}
}

// Without a limiter nothing is sent.
func TestTransportWithoutALimiter(t *testing.T) {
	client := &http.Client{Transport: &httplimit.Transport{
		Key:  func(*http.Request) string { return "" },
		Base: base(func(*http.Request) *http.Response { t.Error("a request was sent"); return respondWith(200) }),
	}}
	response, err := client.Get("http://a.example/")
	if err == nil {
		_ = response.Body.Close()
		t.Error("no error")
	}
}

// A client that sends at most ten requests a second to each host.
func ExampleTransport() {
	limiter, err := ratelimit.NewLimiter("outgoing", memstore.MustNew(nil), ratelimit.Limit{
		Algorithm: ratelimit.TokenBucket, RequestsPerUnit: 10, Unit: ratelimit.Second,
	}, nil)
	if err != nil {
		return
	}
	client := &http.Client{Transport: &httplimit.Transport{Limiter: limiter}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
}
