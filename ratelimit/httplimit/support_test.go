package httplimit_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
)

// mapStore is a minimal store. It allocates only for new counters.
type mapStore struct {
	mu     sync.Mutex
	counts map[string]*uint64
	fail   error // returned instead of counting
}

func newMapStore() *mapStore { return &mapStore{counts: map[string]*uint64{}} }

func (s *mapStore) Add(_ context.Context, hits []ratelimit.Hit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	for i := range hits {
		h := &hits[i]
		count := s.counts[string(h.Key)]
		if count == nil {
			count = new(uint64)
			s.counts[string(h.Key)] = count
		}
		*count += h.N
		h.Count = *count
	}
	return nil
}

var errDown = errors.New("connection refused")

// start is 20 s into a minute, and 13 min 20 s into an hour.
var start = time.Unix(1_700_000_000, 0)

// fixture is a store and a clock, and a handler that responds with "served".
type fixture struct {
	store *mapStore
	now   time.Time
	calls int // of the handler
}

func newFixture() *fixture { return &fixture{store: newMapStore(), now: start} }

func (f *fixture) engineOptions() *ratelimit.Options {
	return &ratelimit.Options{Now: func() time.Time { return f.now }}
}

func (f *fixture) limiter(t testing.TB, limit ratelimit.Limit) *ratelimit.Limiter {
	t.Helper()
	l, err := ratelimit.NewLimiter("test", f.store, limit, f.engineOptions())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// engine returns an engine with the rules in the domain "api".
func (f *fixture) engine(t testing.TB, opts *ratelimit.Options, rules ...ratelimit.Rule) *ratelimit.Engine {
	t.Helper()
	set, err := ratelimit.Compile([]ratelimit.Domain{{Name: "api", Rules: rules}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if opts == nil {
		opts = f.engineOptions()
	}
	e := ratelimit.MustNew(f.store, opts)
	e.Use(set)
	return e
}

func (f *fixture) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		f.calls++
		_, _ = w.Write([]byte("served"))
	})
}

// perKey limits the handler to n requests per minute and peer.
func (f *fixture) perKey(t testing.TB, n uint32, opts *httplimit.Options) http.Handler {
	t.Helper()
	return httplimit.PerKey(f.limiter(t, ratelimit.Per(n, ratelimit.Minute)), httplimit.RemoteHost, opts)(f.handler())
}

func get(h http.Handler) *httptest.ResponseRecorder {
	return serve(h, httptest.NewRequest(http.MethodGet, "/", nil))
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// wantHeaders checks headers; an empty value means none.
func wantHeaders(t testing.TB, w *httptest.ResponseRecorder, want map[string]string) {
	t.Helper()
	for name, value := range want {
		got := w.Result().Header.Values(name)
		switch {
		case value == "" && len(got) > 0:
			t.Errorf("%s: %q, want none", name, got)
		case value != "" && (len(got) != 1 || got[0] != value):
			t.Errorf("%s: %q, want %q once", name, got, value)
		}
	}
}

func wantStatus(t testing.TB, w *httptest.ResponseRecorder, want int) {
	t.Helper()
	if w.Code != want {
		t.Errorf("status %d, want %d", w.Code, want)
	}
}
