package httplimit_test

import (
	"bufio"
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
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
)

func TestFailOpen(t *testing.T) {
	f := newFixture()
	f.store.fail = errDown
	var reported []error
	h := f.perKey(t, 0, &httplimit.Options{OnError: func(r *http.Request, err error) {
		if r.URL.Path != "/" {
			t.Errorf("OnError was called for request %v", r.URL)
		}
		reported = append(reported, err)
	}})
	for range 2 {
		w := get(h)
		wantStatus(t, w, http.StatusOK)
		wantHeaders(t, w, map[string]string{"RateLimit-Limit": "", "Retry-After": ""})
	}
	if f.calls != 2 || len(reported) != 2 {
		t.Fatalf("the handler was called %d times and OnError %d times, want 2 and 2", f.calls, len(reported))
	}
	if !errors.Is(reported[0], errDown) || ratelimit.KindOf(reported[0]) != ratelimit.StoreFailure {
		t.Errorf("reported %v, want a store failure because of %v", reported[0], errDown)
	}
	f.store.fail = nil
	wantStatus(t, get(h), http.StatusTooManyRequests)
}

func TestFailClosed(t *testing.T) {
	f := newFixture()
	f.store.fail = errDown
	reported := 0
	h := f.perKey(t, 100, &httplimit.Options{FailClosed: true, OnError: func(*http.Request, error) { reported++ }})
	w := get(h)
	wantStatus(t, w, http.StatusServiceUnavailable)
	wantHeaders(t, w, map[string]string{
		"Retry-After": "1", "RateLimit-Limit": "", "Content-Type": "application/json",
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
	})
	wantBody(t, w, "rate limit unavailable: try again in 1 s")
	if strings.Contains(w.Body.String(), "refused") {
		t.Error("the body gives the cause away")
	}
	if f.calls != 0 || reported != 1 {
		t.Errorf("the handler was called %d times and OnError %d times, want 0 and 1", f.calls, reported)
	}
	f.store.fail = nil
	wantStatus(t, get(h), http.StatusOK)
}

func TestWithoutRules(t *testing.T) {
	f := newFixture()
	engine := ratelimit.MustNew(f.store, nil)
	var reported error
	opts := &httplimit.Options{OnError: func(_ *http.Request, err error) { reported = err }}
	wantStatus(t, get(httplimit.PerRequest(engine, "api", byPath, opts)(f.handler())), http.StatusOK)
	if ratelimit.KindOf(reported) != ratelimit.NotReady {
		t.Errorf("reported %v, want that the engine has no rules", reported)
	}
	opts.FailClosed = true
	wantStatus(t, get(httplimit.PerRequest(engine, "api", byPath, opts)(f.handler())), http.StatusServiceUnavailable)
}

// waitStore returns when the context of the call is done, with an error of its own like
// a client of a store.
type waitStore struct{ waiting chan struct{} }

func (s *waitStore) Add(ctx context.Context, _ []ratelimit.Hit) error {
	s.waiting <- struct{}{}
	<-ctx.Done()
	return errors.New("read: i/o timeout")
}

func TestCancelledWhileCounting(t *testing.T) {
	for _, closed := range []bool{false, true} {
		store := &waitStore{waiting: make(chan struct{})}
		limiter, err := ratelimit.NewLimiter("test", store, ratelimit.Per(1, ratelimit.Minute), nil)
		if err != nil {
			t.Fatal(err)
		}
		opts := &httplimit.Options{FailClosed: closed, OnError: func(_ *http.Request, err error) {
			t.Errorf("a client that hung up was reported: %v", err)
		}}
		h := httplimit.PerKey(limiter, httplimit.RemoteHost, opts)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			t.Error("a client that hung up passed uncounted")
		}))
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			<-store.waiting
			cancel()
		}()
		w := serve(h, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
		wantStatus(t, w, 499)
	}
}

// A deadline is set by the server, and a store that misses it has failed.
func TestDeadlineIsAFailure(t *testing.T) {
	store := &waitStore{waiting: make(chan struct{}, 1)}
	limiter, err := ratelimit.NewLimiter("test", store, ratelimit.Per(1, ratelimit.Minute), nil)
	if err != nil {
		t.Fatal(err)
	}
	reported := 0
	opts := &httplimit.Options{FailClosed: true, OnError: func(*http.Request, error) { reported++ }}
	h := httplimit.PerKey(limiter, httplimit.RemoteHost, opts)(http.NotFoundHandler())
	ctx, cancel := context.WithDeadline(context.Background(), time.Now())
	defer cancel()
	wantStatus(t, serve(h, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx)), http.StatusServiceUnavailable)
	if reported != 1 {
		t.Errorf("OnError was called %d times, want 1", reported)
	}
}

func TestOwnAnswers(t *testing.T) {
	f := newFixture()
	respond := func(status int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.URL.Path+" can't be had: "+w.Header().Get("Retry-After"), status)
		})
	}
	h := f.perKey(t, 0, &httplimit.Options{FailClosed: true, Denied: respond(418), Unavailable: respond(504)})
	w := get(h)
	wantStatus(t, w, 418)
	wantHeaders(t, w, map[string]string{"RateLimit-Limit": "0", "Content-Type": "text/plain; charset=utf-8", "Cache-Control": ""})
	if got := w.Body.String(); got != "/ can't be had: 40\n" {
		t.Errorf("body %q", got)
	}
	f.store.fail = errDown
	w = get(h)
	wantStatus(t, w, 504)
	if got := w.Body.String(); got != "/ can't be had: 1\n" {
		t.Errorf("body %q", got)
	}
}

func TestHandlerMayOverrideHeaders(t *testing.T) {
	f := newFixture()
	limit := httplimit.PerKey(f.limiter(t, ratelimit.Per(5, ratelimit.Minute)), httplimit.RemoteHost, nil)
	w := get(limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("RateLimit-Limit", "7")
		w.Header().Del("RateLimit-Reset")
	})))
	wantHeaders(t, w, map[string]string{"RateLimit-Limit": "7", "RateLimit-Remaining": "4", "RateLimit-Reset": ""})

	w = get(limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("RateLimit-Limit", "8")
	})))
	if got := w.Result().Header.Values("RateLimit-Limit"); len(got) != 2 || got[0] != "5" || got[1] != "8" {
		t.Errorf("after Add: %q, want 5 and 8", got)
	}
	wantHeaders(t, w, map[string]string{"RateLimit-Remaining": "3", "RateLimit-Reset": "40"})
}

func TestPanicPassesThrough(t *testing.T) {
	f := newFixture()
	h := httplimit.PerKey(f.limiter(t, ratelimit.Per(5, ratelimit.Minute)), httplimit.RemoteHost, nil)(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer func() {
		if r := recover(); r != http.ErrAbortHandler {
			t.Errorf("recovered %v, want the handler's own panic", r)
		}
	}()
	get(h)
	t.Error("the handler's panic was swallowed")
}

func TestResponseWriterIsNotWrapped(t *testing.T) {
	f := newFixture()
	outer := httptest.NewRecorder()
	inner := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if w != http.ResponseWriter(outer) {
			t.Errorf("the handler writes to a %T", w)
		}
	})
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	httplimit.PerKey(f.limiter(t, ratelimit.Per(5, ratelimit.Minute)), httplimit.RemoteHost, nil)(inner).ServeHTTP(outer, r)
	httplimit.PerRequest(f.engine(t, nil), "api", byPath, nil)(inner).ServeHTTP(outer, r)
}

func TestFlushAndHijack(t *testing.T) {
	f := newFixture()
	limit := httplimit.PerKey(f.limiter(t, ratelimit.Per(5, ratelimit.Minute)), httplimit.RemoteHost, nil)
	release := make(chan struct{})
	mux := http.NewServeMux()
	mux.Handle("/flush", limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "first\n")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("flush: %v", err)
		}
		<-release
	})))
	mux.Handle("/hijack", limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Errorf("hijack: %v", err)
			return
		}
		_, _ = io.WriteString(conn, "raw\n")
		_ = conn.Close()
	})))
	server := httptest.NewServer(mux)
	defer server.Close()

	resp, err := http.Get(server.URL + "/flush")
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if line != "first\n" || resp.Header.Get("RateLimit-Limit") != "5" {
		t.Errorf("before the handler ended: %q, %v, headers %v", line, err, resp.Header)
	}
	close(release)
	_ = resp.Body.Close()

	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET /hijack HTTP/1.1\r\nHost: x\r\n\r\n")
	if raw, err := io.ReadAll(conn); string(raw) != "raw\n" {
		t.Errorf("hijacked: %q, %v", raw, err)
	}
}

func TestConcurrentUse(t *testing.T) {
	f := newFixture()
	var served atomic.Int64
	count := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) })
	const workers, each, limit = 8, 100, 300
	perKey := httplimit.PerKey(f.limiter(t, ratelimit.Per(limit, ratelimit.Minute)), httplimit.RemoteHost, nil)(count)
	perRequest := httplimit.PerRequest(f.engine(t, nil, ratelimit.Rule{Key: "path", Limit: perMinute(limit)}), "api", byPath, nil)(count)
	for name, h := range map[string]http.Handler{"PerKey": perKey, "PerRequest": perRequest} {
		served.Store(0)
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range each {
					if w := get(h); w.Header().Get("RateLimit-Limit") != "300" {
						t.Errorf("%s: headers %v", name, w.Header())
					}
				}
			})
		}
		wg.Wait()
		if served.Load() != limit {
			t.Errorf("%s: %d of %d requests were served, want %d", name, served.Load(), workers*each, limit)
		}
	}
}
