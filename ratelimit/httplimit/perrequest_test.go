package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
)

func byPath(r *http.Request, d *httplimit.Descriptors) {
	d.Add(ratelimit.Entry{Key: "path", Value: r.URL.Path})
}

func perMinute(n uint32) *ratelimit.Limit {
	l := ratelimit.Per(n, ratelimit.Minute)
	return &l
}

func perHour(n uint32) *ratelimit.Limit {
	l := ratelimit.Per(n, ratelimit.Hour)
	return &l
}

// abc describes every request by the entries a, b and c.
func abc(_ *http.Request, d *httplimit.Descriptors) {
	for _, key := range []string{"a", "b", "c"} {
		d.Add(ratelimit.Entry{Key: key, Value: "x"})
	}
}

func TestTightestLimitIsShown(t *testing.T) {
	f := newFixture()
	h := httplimit.PerRequest(f.engine(
		t, nil,
		ratelimit.Rule{Key: "a", Limit: perHour(3)},
		ratelimit.Rule{Key: "b", Limit: perMinute(2)},
	), "api", abc, nil)(f.handler())

	for i, want := range []struct {
		status                         int
		limit, remaining, reset, retry string
	}{
		{200, "2", "1", "40", ""},
		{200, "2", "0", "40", ""},
		{429, "2", "0", "40", "40"},
		{429, "2", "0", "40", "2800"}, // both are over: the hour has to turn
	} {
		w := get(h)
		wantStatus(t, w, want.status)
		wantHeaders(t, w, map[string]string{
			plainNames[0]: want.limit, plainNames[1]: want.remaining, plainNames[2]: want.reset, "Retry-After": want.retry,
		})
		if t.Failed() {
			t.Fatalf("at request %d", i)
		}
	}
}

func TestNoLimitNoHeaders(t *testing.T) {
	f := newFixture()
	engine := f.engine(
		t, nil,
		ratelimit.Rule{Key: "a"},
		ratelimit.Rule{Key: "b", Limit: &ratelimit.Limit{Unlimited: true}},
	)
	for name, describe := range map[string]func(*http.Request, *httplimit.Descriptors){
		"no rule applies": abc,
		"not described":   func(*http.Request, *httplimit.Descriptors) {},
		"no entries":      func(_ *http.Request, d *httplimit.Descriptors) { d.Add() },
	} {
		w := get(httplimit.PerRequest(engine, "api", describe, nil)(f.handler()))
		if w.Code != http.StatusOK {
			t.Errorf("%s: status %d", name, w.Code)
		}
		for _, header := range plainNames {
			if got := w.Header().Get(header); got != "" {
				t.Errorf("%s: %s is %q, want none", name, header, got)
			}
		}
	}
}

// Limits in quota mode reject only together, so the first reset lifts them.
func TestRetryAfterInQuotaMode(t *testing.T) {
	for _, limits := range [][2]*ratelimit.Limit{{perHour(1), perMinute(2)}, {perMinute(1), perHour(2)}} {
		f := newFixture()
		h := httplimit.PerRequest(f.engine(
			t, nil,
			ratelimit.Rule{Key: "a", Limit: limits[0], QuotaMode: true},
			ratelimit.Rule{Key: "b", Limit: limits[1], QuotaMode: true},
			ratelimit.Rule{Key: "c", Limit: perHour(9)},
		), "api", abc, nil)(f.handler())
		for _, want := range []int{200, 200, 429} { // the second is over one of two
			wantStatus(t, get(h), want)
		}
		wantHeaders(t, get(h), map[string]string{"Retry-After": "40"})
	}
}

func TestRetryAfterBesideAQuotaThatIsNotOver(t *testing.T) {
	f := newFixture()
	h := httplimit.PerRequest(f.engine(
		t, nil,
		ratelimit.Rule{Key: "a", Limit: perHour(0), QuotaMode: true},
		ratelimit.Rule{Key: "b", Limit: perHour(9), QuotaMode: true},
		ratelimit.Rule{Key: "c", Limit: perMinute(0)},
	), "api", abc, nil)(f.handler())
	w := get(h)
	wantStatus(t, w, http.StatusTooManyRequests)
	wantHeaders(t, w, map[string]string{"Retry-After": "40"})
}

func TestShadowModePasses(t *testing.T) {
	f := newFixture()
	opts := f.engineOptions()
	opts.ShadowMode = true
	w := get(httplimit.PerRequest(f.engine(t, opts, ratelimit.Rule{Key: "a", Limit: perMinute(0)}), "api", abc, nil)(f.handler()))
	wantStatus(t, w, http.StatusOK)
	wantHeaders(t, w, map[string]string{"RateLimit-Limit": "0", "Retry-After": ""})
}

func TestDescriptorsTakeLimitAndHits(t *testing.T) {
	f := newFixture()
	hits := uint64(3)
	h := httplimit.PerRequest(f.engine(t, nil), "api", func(_ *http.Request, d *httplimit.Descriptors) {
		own := d.Add(ratelimit.Entry{Key: "own", Value: "x"})
		own.Limit = &ratelimit.Override{RequestsPerUnit: 10, Unit: ratelimit.Hour}
		own.HitsAddend = &hits
	}, nil)(f.handler())
	for _, remaining := range []string{"7", "4", "1", "0"} {
		wantHeaders(t, get(h), map[string]string{"RateLimit-Limit": "10", "RateLimit-Remaining": remaining, "RateLimit-Reset": "2800"})
	}
	wantStatus(t, get(h), http.StatusTooManyRequests)
}

func TestInvalidDescriptionIsAnError(t *testing.T) {
	f := newFixture()
	var reported error
	opts := &httplimit.Options{OnError: func(_ *http.Request, err error) { reported = err }}
	h := httplimit.PerRequest(f.engine(t, nil), "api", func(_ *http.Request, d *httplimit.Descriptors) {
		d.Add(ratelimit.Entry{Key: "a", Value: "x"}).Limit = &ratelimit.Override{RequestsPerUnit: 1}
	}, opts)(f.handler())
	wantStatus(t, get(h), http.StatusOK)
	if ratelimit.KindOf(reported) != ratelimit.Invalid {
		t.Errorf("reported %v, want an invalid unit", reported)
	}
}

// Memory is reused: entries of one request must not appear in the next.
func TestDescriptionsDoNotLeak(t *testing.T) {
	f := newFixture()
	n := 0
	h := httplimit.PerRequest(f.engine(t, nil, ratelimit.Rule{Key: "a", Limit: perMinute(1000)}), "api",
		func(_ *http.Request, d *httplimit.Descriptors) {
			for i := range n {
				d.Add(ratelimit.Entry{Key: "a", Value: fmt.Sprint(i)}, ratelimit.Entry{Key: "b", Value: "y"})
			}
			d.Add(ratelimit.Entry{Key: "a", Value: "last"})
		}, nil)(f.handler())
	for i, size := range []int{0, 3, 1, 1000, 0, 7} {
		n = size
		wantHeaders(t, get(h), map[string]string{"RateLimit-Remaining": fmt.Sprint(999 - i)})
	}
	if len(f.store.counts) != 1 {
		t.Errorf("counters %v, want one", f.store.counts)
	}
}

func TestPanicWhileDescribing(t *testing.T) {
	f := newFixture()
	bad := true
	h := httplimit.PerRequest(f.engine(t, nil, ratelimit.Rule{Key: "a", Limit: perMinute(9)}), "api",
		func(r *http.Request, d *httplimit.Descriptors) {
			abc(r, d)
			if bad {
				panic("bad")
			}
		}, nil)(f.handler())
	func() {
		defer func() { _ = recover() }()
		get(h)
		t.Error("the panic was swallowed")
	}()
	bad = false
	wantHeaders(t, get(h), map[string]string{"RateLimit-Remaining": "8"})
}

func TestSlowHandlerHoldsNoDecision(t *testing.T) {
	f := newFixture()
	var h http.Handler
	depth := 0
	h = httplimit.PerRequest(f.engine(t, nil, ratelimit.Rule{Key: "a", Limit: perMinute(9)}), "api", abc, nil)(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			before := w.Header().Get("RateLimit-Remaining")
			if depth++; depth < 5 {
				f.now = f.now.Add(time.Second)
				serve(h, httptest.NewRequest(http.MethodGet, "/", nil))
			}
			if after := w.Header().Get("RateLimit-Remaining"); after != before {
				t.Errorf("headers changed from %s to %s while another request was decided", before, after)
			}
		}))
	wantHeaders(t, get(h), map[string]string{"RateLimit-Remaining": "8"})
}
