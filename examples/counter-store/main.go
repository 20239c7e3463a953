// Command counter-store implements a counter store with a map that removes expired windows. A
// store has one method; package ratelimit/store/storetest tests it.
//
//	go run ./examples/counter-store
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// mapStore stores counters in a map. It removes a counter after its window. Because clients can
// create counters, it limits their number.
type mapStore struct {
	now      func() time.Time
	mu       sync.Mutex
	counters map[string]counter
	swept    int64 // time of the last sweep, in Unix seconds
}

type counter struct {
	count uint64
	end   int64 // end of the window, in Unix seconds
}

// Add implements [ratelimit.Store].
func (s *mapStore) Add(_ context.Context, hits []ratelimit.Hit) error {
	const maxCounters = 1_000_000 // about 100 MiB
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(s.now().Unix())
	for i := range hits {
		h := &hits[i]
		c, known := s.counters[string(h.Key)]
		if !known && h.N > 0 && len(s.counters) >= maxCounters {
			return fmt.Errorf("too many counters: the limit is %d", maxCounters)
		}
		c.count += min(h.N, math.MaxUint64-c.count) // saturates instead of overflowing
		if c.end = h.End(); h.N > 0 {
			s.counters[string(h.Key)] = c // a copy: the key belongs to the caller
		}
		h.Count = c.count
	}
	return nil
}

// sweep removes expired counters once per minute, a minute late because hits may be late too.
func (s *mapStore) sweep(now int64) {
	if now < s.swept+60 {
		return
	}
	for key, c := range s.counters {
		if c.end < now-60 {
			delete(s.counters, key)
		}
	}
	s.swept = now
}

func main() {
	store := &mapStore{now: time.Now, counters: map[string]counter{}}
	logins, err := ratelimit.NewLimiter("logins", store, ratelimit.Per(2, ratelimit.Year), nil)
	if err != nil {
		log.Fatal(err) // the limit is invalid
	}
	for range 3 {
		status, err := logins.Allow(context.Background(), "ann")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("ann:", status.Allowed(), status.Remaining, "left")
	}
}
