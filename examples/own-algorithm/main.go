// Command own-algorithm limits with an algorithm of its own: an exact sliding window, which remembers the time of each
// hit. At most the limit passes in any window, wherever it begins; the SlidingWindow of package ratelimit estimates.
//
//	go run ./examples/own-algorithm
package main

import (
	"context"
	"fmt"
	"log"
	"maps"
	"slices"
	"sync"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// exact is a ratelimit.ChargeStore that decides about limits with a SlidingWindow. Others are those of the inner store.
type exact struct {
	ratelimit.ChargeStore
	mu   sync.Mutex
	hits map[string][]int64 // of each key the times of the hits of the last window, in Unix microseconds
}

// Charge implements [ratelimit.ChargeStore].
func (s *exact) Charge(ctx context.Context, charges []ratelimit.Charge) (err error) {
	for i := 0; i < len(charges) && err == nil; i++ {
		if c := &charges[i]; c.Algorithm == ratelimit.SlidingWindow {
			err = s.charge(c)
		} else {
			err = s.ChargeStore.Charge(ctx, charges[i:i+1])
		}
	}
	return err
}

func (s *exact) charge(c *ratelimit.Charge) error {
	const maxKeys, maxHits = 100_000, 1000
	start, limit, end := c.Params[0], c.Params[3], c.Params[4] // go doc ratelimit.Charge
	old := func(at int64) bool { return at <= c.Now-(end-start) }
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.hits) >= maxKeys { // clients make up keys: forget those without hits
		maps.DeleteFunc(s.hits, func(_ string, of []int64) bool { return len(of) == 0 || old(of[len(of)-1]) })
	}
	if len(s.hits) >= maxKeys || limit > maxHits {
		return fmt.Errorf("a limit of %d with %d keys in use: up to %d and %d are held", limit, len(s.hits), maxHits, maxKeys)
	}
	hits := slices.DeleteFunc(s.hits[string(c.Key)], old)
	n := min(int64(c.N), limit+1)
	switch c.Allowed = true; {
	case c.Refund:
		hits = hits[:max(int64(len(hits))-n, 0)]
	case int64(len(hits))+n <= limit:
		hits = append(hits, slices.Repeat([]int64{c.Now}, int(n))...)
	default:
		c.Allowed = n == 0
	}
	s.hits[string(c.Key)] = hits
	c.State = ratelimit.State{start, int64(len(hits))} // the engine computes what remains from it
	return nil
}

func main() {
	store := &exact{ChargeStore: memstore.MustNew(nil), hits: map[string][]int64{}}
	limit := ratelimit.Limit{RequestsPerUnit: 2, Unit: ratelimit.Minute, Algorithm: ratelimit.SlidingWindow}
	calls, err := ratelimit.NewLimiter("calls", store, limit, nil)
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		status, err := calls.Allow(context.Background(), "ann")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("ann:", status.Allowed(), status.Remaining, "left")
	}
}
