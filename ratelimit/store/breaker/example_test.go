package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/breaker"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// remote is a store that can be made to fail.
type remote struct {
	down  bool
	calls int
	ratelimit.Store
}

func (r *remote) Add(ctx context.Context, hits []ratelimit.Hit) error {
	if r.calls++; r.down {
		return errors.New("connection refused")
	}
	return r.Store.Add(ctx, hits)
}

// After two failures within half a second the store is no longer called; a second later one
// call is let through as a probe. Meanwhile the engine counts in its fallback.
func ExampleNew() {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := func() time.Time { return now }
	far := &remote{Store: memstore.New(&memstore.Options{Now: clock}), down: true}
	b := breaker.New(far, &breaker.Options{
		Failures: 2, Wait: time.Second, Now: clock, Log: slog.New(slog.DiscardHandler),
	})
	limiter, err := ratelimit.NewLimiter("logins", b.Store(), ratelimit.Per(100, ratelimit.Hour), &ratelimit.Options{
		Now: clock, OnStoreFailure: ratelimit.FailLocal, Fallback: memstore.New(&memstore.Options{Now: clock}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	take := func() {
		status, err := limiter.Allow(context.Background(), "ann")
		fmt.Println(status.Remaining, err, "calls:", far.calls, "breaker:", b.State())
	}
	take()
	now = now.Add(500 * time.Millisecond)
	take()
	take()
	far.down = false // not noticed before the next probe
	take()
	now = now.Add(time.Second)
	take()
	// Output:
	// 99 <nil> calls: 1 breaker: closed
	// 98 <nil> calls: 2 breaker: open
	// 97 <nil> calls: 2 breaker: open
	// 96 <nil> calls: 2 breaker: open
	// 99 <nil> calls: 3 breaker: closed
}
