package explain_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Algorithms are described in words, with the counter and, where there is one, the window.
func TestExplainAlgorithms(t *testing.T) {
	limited := func(key string, l ratelimit.Limit) ratelimit.Rule { return ratelimit.Rule{Key: key, Limit: &l} }
	rules := []ratelimit.Rule{
		limited("bucket", ratelimit.Limit{RequestsPerUnit: 100, Unit: ratelimit.Minute, Algorithm: ratelimit.TokenBucket, Burst: 20}),
		limited("even", ratelimit.Limit{RequestsPerUnit: 1, Unit: ratelimit.Second, UnitMultiplier: 10, Algorithm: ratelimit.TokenBucket}),
		limited("slide", ratelimit.Limit{RequestsPerUnit: 5, Unit: ratelimit.Minute, UnitMultiplier: 15, Algorithm: ratelimit.SlidingWindow}),
		limited("month", ratelimit.Limit{RequestsPerUnit: 5, Unit: ratelimit.Month, Align: ratelimit.AlignCalendar, TimeZone: "Europe/Vienna", Algorithm: ratelimit.SlidingWindow}),
		limited("permits", ratelimit.Limit{RequestsPerUnit: 10, Unit: ratelimit.Hour, Algorithm: ratelimit.Concurrency}),
	}
	for _, row := range []struct{ key, size, rest string }{
		{"bucket", "a bucket of 20 requests", "    counter     domain_bucket_x_token_bucket_minute\n    statistics"},
		{"even", "a bucket of 1 request,", "    counter     domain_even_x_token_bucket_10_seconds\n    statistics"},
		{
			"slide", "5 requests in a sliding window",
			"    counter     domain_slide_x_sliding_window_15_minutes\n    window      1970-01-01T00:15:00Z to 1970-01-01T00:30:00Z\n",
		},
		{
			"month", "5 requests in a sliding window",
			"    window      1969-12-31T23:00:00Z to 1970-01-31T23:00:00Z\n",
		},
		{
			"permits", "at most 10 requests",
			"    held        for 1 hour if it is not released\n    counter     domain_permits_x_concurrency_hour\n    statistics",
		},
	} {
		x := explanation(t, rules, desc(row.key, "x"))
		for _, want := range []string{"  result: " + row.size, row.rest} {
			if text := x.String(); !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", row.key, want, text)
			}
		}
	}
	l := explanation(t, rules, desc("bucket", "x")).Descriptors[0].Limit
	equal(t, "rule", l.Rule, rules[0])
	if l.CounterKey != "domain_bucket_x_token_bucket_minute" || l.StatisticsKey != "domain.bucket" {
		t.Errorf("counter %s, statistics %s", l.CounterKey, l.StatisticsKey)
	}
}

// drawLimit draws a limit that refuses all hits or none, of any algorithm and window.
func drawLimit(r *rand.Rand, pick func(...string) string) *ratelimit.Limit {
	l := &ratelimit.Limit{Name: pick("", "n1", "n1", "n2")}
	if name := pick("", "n1", "n2"); name != "" && name != l.Name {
		l.Replaces = []string{name}
	}
	if l.Unlimited = r.IntN(6) == 0; !l.Unlimited {
		l.RequestsPerUnit, l.Unit = uint32(50*r.IntN(2)), ratelimit.Unit(1+r.IntN(7))
		l.Algorithm = ratelimit.Algorithm(max(r.IntN(7)-3, 0)) // mostly FixedWindow
		l.UnitMultiplier, l.Lease = uint32(max(r.IntN(5)-2, 0)), r.IntN(4) == 0
		switch {
		case l.Algorithm == ratelimit.TokenBucket && l.RequestsPerUnit > 0:
			l.Burst = uint32(r.IntN(3))
		case l.Algorithm <= ratelimit.SlidingWindow && r.IntN(4) == 0:
			l.Align, l.TimeZone = ratelimit.AlignCalendar, pick("", "Europe/Vienna", "America/St_Johns")
		}
		if l.Algorithm == ratelimit.FixedWindow && r.IntN(4) == 0 { // others have a counter of their own for it
			l.Candidate = &ratelimit.Candidate{RequestsPerUnit: uint32(r.IntN(60))}
		}
	}
	return l
}
