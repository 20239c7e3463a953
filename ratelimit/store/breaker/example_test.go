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

// remote is a store that can be cut off.
type remote struct {
	down  bool
	asked int
	ratelimit.Store
}

func (r *remote) Add(ctx context.Context, hits []ratelimit.Hit) error {
	if r.asked++; r.down {
		return errors.New("connection refused")
	}
	return r.Store.Add(ctx, hits)
}

// After two failures nobody asks the store any more; a second later one call is let
// through, to see whether it is back. Meanwhile the engine counts by itself.
func ExampleNew() {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := func() time.Time { return now }
	far := &remote{Store: memstore.New(&memstore.Options{Now: clock}), down: true}
	store, control := breaker.New(far, &breaker.Options{
		Failures: 2, Wait: time.Second, Now: clock, Log: slog.New(slog.DiscardHandler),
	})
	limiter, err := ratelimit.NewLimiter("logins", store, ratelimit.Per(100, ratelimit.Hour), &ratelimit.Options{
		Now: clock, OnStoreFailure: ratelimit.FailLocal, Fallback: memstore.New(&memstore.Options{Now: clock}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	take := func() {
		status, err := limiter.Allow(context.Background(), "ann")
		fmt.Println(status.Remaining, err, "asked:", far.asked, "breaker:", control.State())
	}
	take()
	take()
	take()
	far.down = false // nobody knows yet
	take()
	now = now.Add(time.Second)
	take()
	// Output:
	// 99 <nil> asked: 1 breaker: closed
	// 98 <nil> asked: 2 breaker: open
	// 97 <nil> asked: 2 breaker: open
	// 96 <nil> asked: 2 breaker: open
	// 99 <nil> asked: 3 breaker: closed
}
