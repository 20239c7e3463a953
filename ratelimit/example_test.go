package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// exampleNow makes the output independent of the time of day.
func exampleNow() time.Time { return time.Date(2026, 1, 2, 3, 4, 50, 0, time.UTC) }

func ExampleEngine() {
	rules, err := ratelimit.Compile([]ratelimit.Domain{{
		Name: "shop",
		Rules: []ratelimit.Rule{
			{Key: "user", Limit: &ratelimit.Limit{RequestsPerUnit: 2, Unit: ratelimit.Minute}},
			{Key: "user", Value: "admin", Limit: &ratelimit.Limit{Unlimited: true}},
		},
	}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	engine := ratelimit.MustNew(newMapStore(), &ratelimit.Options{Now: exampleNow})
	engine.Use(rules)

	var d ratelimit.Decision // reused: no allocation
	for _, user := range []string{"ann", "ann", "ann", "admin"} {
		request := ratelimit.Request{Domain: "shop", Descriptors: []ratelimit.Descriptor{
			{Entries: []ratelimit.Entry{{Key: "user", Value: user}}},
		}}
		if err := engine.DecideInto(context.Background(), &request, &d); err != nil {
			fmt.Println(err)
			return
		}
		s := &d.Statuses[0]
		fmt.Println(user, d.Code, s.Remaining, s.Reset())
	}
	// Output:
	// ann OK 1 10s
	// ann OK 0 10s
	// ann OVER_LIMIT 0 10s
	// admin OK 4294967295 0s
}

// An operator lets a user go on who was refused.
func ExampleEngine_ResetCounters() {
	rules, err := ratelimit.Compile([]ratelimit.Domain{{
		Name: "shop", Rules: []ratelimit.Rule{{Key: "user", Limit: &ratelimit.Limit{RequestsPerUnit: 2, Unit: ratelimit.Minute}}},
	}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	engine := ratelimit.MustNew(subtractStore{newMapStore()}, &ratelimit.Options{Now: exampleNow})
	engine.Use(rules)
	request := &ratelimit.Request{Domain: "shop", HitsAddend: 5, Descriptors: []ratelimit.Descriptor{
		{Entries: []ratelimit.Entry{{Key: "user", Value: "ann"}}},
	}}
	if _, err := engine.Decide(context.Background(), request); err != nil {
		fmt.Println(err)
		return
	}
	for _, call := range []func(context.Context, *ratelimit.Request) ([]ratelimit.CounterState, error){engine.Counters, engine.ResetCounters} {
		states, err := call(context.Background(), request)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(states[0].Used, "used,", states[0].Remaining, "remaining")
	}
	// Output:
	// 5 used, 0 remaining
	// 0 used, 2 remaining
}

// A smaller limit on trial: what it would refuse is counted, and nothing is refused.
func ExampleCandidate() {
	limit := ratelimit.Per(100, ratelimit.Minute)
	limit.Candidate = &ratelimit.Candidate{RequestsPerUnit: 80}
	stats := newMapStats()
	limiter, err := ratelimit.NewLimiter("search", newMapStore(), limit, &ratelimit.Options{Now: exampleNow, Stats: stats})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 95 {
		status, err := limiter.Allow(context.Background(), "192.0.2.1")
		if err != nil || !status.Allowed() {
			fmt.Println("refused", err)
		}
	}
	fmt.Println("the candidate would have refused", stats.Limit("search.key").Candidate().Load().OverLimit)
	// Output:
	// the candidate would have refused 15
}

func ExampleLimiter_TopKeys() {
	limiter, err := ratelimit.NewLimiter("logins", newMapStore(), ratelimit.Per(2, ratelimit.Minute), &ratelimit.Options{Now: exampleNow, TopKeys: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, address := range []string{"192.0.2.1", "198.51.100.7", "198.51.100.7", "198.51.100.7", "198.51.100.7"} {
		if _, err := limiter.Allow(context.Background(), address); err != nil {
			fmt.Println(err)
			return
		}
	}
	for _, rule := range limiter.TopKeys().Rules {
		for _, k := range rule.ByRefusals {
			fmt.Println(k.Entries[0].Value, "was refused", k.Count, "times")
		}
	}
	// Output:
	// 198.51.100.7 was refused 2 times
}

func ExampleLimiter() {
	logins, err := ratelimit.NewLimiter("logins", newMapStore(), ratelimit.Per(2, ratelimit.Minute), &ratelimit.Options{Now: exampleNow})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		status, err := logins.Allow(context.Background(), "192.0.2.1")
		if err != nil {
			fmt.Println(err) // the store failed: whether to go on is up to you
			return
		}
		if !status.Allowed() {
			fmt.Println("come back in", status.Reset())
			continue
		}
		fmt.Println("welcome,", status.Remaining, "left")
	}
	// Output:
	// welcome, 1 left
	// welcome, 0 left
	// come back in 10s
}

func ExampleLimiter_AllowN() {
	tokens, err := ratelimit.NewLimiter("tokens", newMapStore(), ratelimit.Per(1000, ratelimit.Hour), &ratelimit.Options{Now: exampleNow})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	peek, _ := tokens.AllowN(ctx, "ann", 0) // reads without counting
	fmt.Println(peek.Code, peek.Remaining)
	used, _ := tokens.AllowN(ctx, "ann", 700)
	fmt.Println(used.Code, used.Remaining)
	more, _ := tokens.AllowN(ctx, "ann", 700)
	fmt.Println(more.Code, more.Remaining)
	// Output:
	// OK 1000
	// OK 300
	// OVER_LIMIT 0
}

func ExampleCompile() {
	_, err := ratelimit.Compile([]ratelimit.Domain{{
		Name: "shop",
		Rules: []ratelimit.Rule{
			{Key: "user", Limit: &ratelimit.Limit{RequestsPerUnit: 2}},
			{Key: "path", Value: "/api/*", Rules: []ratelimit.Rule{{Value: "x"}}},
		},
	}}, nil)
	fmt.Println(err)
	// Output:
	// domain "shop": descriptors[0].rate_limit.unit: invalid rate limit unit '': use second, minute, hour, day, week, month or year
	// domain "shop": descriptors[1].descriptors[0].key: descriptor has empty key
}

func ExampleRuleset_Warnings() {
	rules, err := ratelimit.Compile([]ratelimit.Domain{{
		Name: "shop",
		Rules: []ratelimit.Rule{
			{Key: "path", Value: "/api/*"},
			{Key: "path", Value: "/api/orders/*"},
		},
	}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, w := range rules.Warnings() {
		fmt.Println(w.Path, w.Reason)
	}
	// Output:
	// [1] unreachable: the earlier wildcard '/api/*' matches everything that '/api/orders/*' matches
}

// totalStats is a Stats that adds up all keys. A program would return counters for each key
// and export them with its other metrics.
type totalStats struct {
	limits *ratelimit.LimitStats
	others ratelimit.Counter
}

func (t *totalStats) Limit(string) *ratelimit.LimitStats       { return t.limits }
func (t *totalStats) DomainNotFound(string) *ratelimit.Counter { return &t.others }
func (t *totalStats) GlobalShadowMode() *ratelimit.Counter     { return &t.others }

// An engine counts into the counters of its Stats, which may be read at any time.
func ExampleNewLimitStats() {
	counters := &totalStats{limits: ratelimit.NewLimitStats()}
	logins, err := ratelimit.NewLimiter("logins", newMapStore(), ratelimit.Per(2, ratelimit.Hour),
		&ratelimit.Options{Now: exampleNow, Stats: counters})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 5 {
		if _, err := logins.Allow(context.Background(), "ann"); err != nil {
			fmt.Println(err)
		}
	}
	n := counters.limits.Load()
	fmt.Println(n.TotalHits, "hits,", n.OverLimit, "over the limit")
	// Output:
	// 5 hits, 3 over the limit
}

// Windows are aligned to the Unix epoch: this one began at the full minute.
func ExampleParseUnit() {
	unit, ok := ratelimit.ParseUnit("Minute")
	fmt.Println(unit, unit.Seconds(), ok)
	began := time.Unix(unit.Window(exampleNow().Unix()), 0).UTC()
	fmt.Println(exampleNow().Format(time.TimeOnly), "is in the window of", began.Format(time.TimeOnly))
	_, ok = ratelimit.ParseUnit("fortnight")
	fmt.Println(ok)
	// Output:
	// minute 60 true
	// 03:04:50 is in the window of 03:04:00
	// false
}

// A worker that may make 20 calls a second.
func ExampleLimiter_Wait() {
	limit := ratelimit.Limit{Algorithm: ratelimit.TokenBucket, RequestsPerUnit: 20, Burst: 1, Unit: ratelimit.Second}
	limiter, err := ratelimit.NewLimiter("calls", memstore.MustNew(nil), limit, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	began := time.Now()
	for range 3 {
		if err := limiter.Wait(context.Background(), "api.example.com"); err != nil {
			fmt.Println(err)
		}
		// call the API
	}
	fmt.Println(time.Since(began) >= 100*time.Millisecond)

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println(errors.Is(limiter.Wait(ctx, "api.example.com"), context.DeadlineExceeded)) // at once
	// Output:
	// true
	// true
}
