package httplimit_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
)

// defaultLog returns what slog.Default logs during the test.
func defaultLog(t *testing.T) *logtest.Log {
	log, before := new(logtest.Log), slog.Default()
	slog.SetDefault(log.Logger())
	t.Cleanup(func() { slog.SetDefault(before) })
	return log
}

// warnings sends three requests within a minute and one afterwards, checks their status and returns
// the lines of the log.
func warnings(t *testing.T, status int, h func() http.Handler) (lines []string) {
	t.Helper()
	log := defaultLog(t)
	synctest.Test(t, func(t *testing.T) {
		h := h()
		for _, wait := range []time.Duration{0, 0, 59 * time.Second, 2 * time.Second} {
			time.Sleep(wait)
			wantStatus(t, get(h), status)
		}
	})
	return strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
}

// Without OnError, requests that pass without a limit are logged once a minute.
func TestUnenforcedLimitsAreLogged(t *testing.T) {
	f := newFixture()
	down := newFixture()
	down.store.fail = errDown
	for name, tt := range map[string]struct {
		handler func(*httplimit.Options) http.Handler
		closed  int      // the status with FailClosed
		words   []string // the cause, and what to do
	}{
		"store": {func(o *httplimit.Options) http.Handler { return down.perKey(t, 1, o) }, http.StatusServiceUnavailable, []string{"connection refused", "FailClosed"}},
		"no rules": {func(o *httplimit.Options) http.Handler {
			return httplimit.PerRequest(ratelimit.MustNew(f.store, nil), "api", byPath, o)(f.handler())
		}, http.StatusServiceUnavailable, []string{"no rate limit configuration", "Engine.Use"}},
		"unknown domain": {func(o *httplimit.Options) http.Handler {
			return httplimit.PerRequest(f.engine(t, nil, ratelimit.Rule{Key: "path", Limit: perMinute(1)}), "apj", byPath, o)(f.handler())
		}, http.StatusOK, []string{"apj", "domain", "Engine.Use"}},
	} {
		t.Run(name, func(t *testing.T) {
			for closed, status := range map[bool]int{false: http.StatusOK, true: tt.closed} {
				lines := warnings(t, status, func() http.Handler { return tt.handler(&httplimit.Options{FailClosed: closed}) })
				if len(lines) != 2 {
					t.Errorf("%d records in a minute and a second, want 2:\n%s", len(lines), strings.Join(lines, "\n"))
				}
				for _, word := range append(tt.words, "level=WARN") {
					if !strings.Contains(lines[0], word) {
						t.Errorf("%s does not say %q", lines[0], word)
					}
				}
			}
			if tt.closed == http.StatusOK {
				return // the engine logs domains, whatever OnError does
			}
			reported := 0
			opts := &httplimit.Options{OnError: func(*http.Request, error) { reported++ }}
			if lines := warnings(t, http.StatusOK, func() http.Handler { return tt.handler(opts) }); lines[0] != "" || reported != 4 {
				t.Errorf("with OnError, which was called %d times for 4 requests: %v", reported, lines)
			}
		})
	}
}

// Requests that a known domain does not limit are no mistake.
func TestUnmatchedRequestsAreNotLogged(t *testing.T) {
	f := newFixture()
	engine := f.engine(t, nil, ratelimit.Rule{Key: "other", Limit: perMinute(1)})
	h := httplimit.PerRequest(engine, "api", byPath, &httplimit.Options{FailClosed: true})(f.handler())
	if lines := warnings(t, http.StatusOK, func() http.Handler { return h }); lines[0] != "" {
		t.Errorf("logged %v", lines)
	}
}

// A middleware that was built wrong serves nothing, and says why.
func TestMistakesOfTheCaller(t *testing.T) {
	f := newFixture()
	l, e := f.limiter(t, ratelimit.Per(1, ratelimit.Minute)), f.engine(t, nil)
	describe := func(*http.Request, *httplimit.Descriptors) {}
	for word, build := range map[string]func() func(http.Handler) http.Handler{
		"NewLimiter":   func() func(http.Handler) http.Handler { return httplimit.PerKey(nil, httplimit.RemoteHost, nil) },
		"key function": func() func(http.Handler) http.Handler { return httplimit.PerKey(l, nil, nil) },
		"engine":       func() func(http.Handler) http.Handler { return httplimit.PerRequest(nil, "api", describe, nil) },
		"domain":       func() func(http.Handler) http.Handler { return httplimit.PerRequest(e, "", describe, nil) },
		"describes":    func() func(http.Handler) http.Handler { return httplimit.PerRequest(e, "api", nil, nil) },
		"Headers": func() func(http.Handler) http.Handler {
			return httplimit.PerKey(l, httplimit.RemoteHost, &httplimit.Options{Headers: 9, OnError: func(*http.Request, error) {}})
		},
	} {
		lines := warnings(t, http.StatusInternalServerError, func() http.Handler { return build()(f.handler()) })
		if len(lines) != 2 || !strings.Contains(lines[0], word) {
			t.Errorf("logged %q, want %s twice in a minute and a second", lines, word)
		}
	}
	if f.calls > 0 {
		t.Errorf("the handler was called %d times", f.calls)
	}
}
