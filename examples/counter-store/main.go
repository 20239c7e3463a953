// Command counter-store counts in a store of its own: one map, swept when windows have
// passed. A store is one method, and ratelimit/store/storetest says whether it is right.
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

// mapStore keeps counters in a map. It forgets one when its window has passed, and refuses
// new ones when there are too many: whatever clients choose must be bounded.
type mapStore struct {
	now      func() time.Time
	mu       sync.Mutex
	counters map[string]counter
	swept    int64 // in Unix seconds
}

type counter struct {
	count uint64
	end   int64 // of its window, in Unix seconds
}

// Add counts hits. It is the whole of a ratelimit.Store.
func (s *mapStore) Add(_ context.Context, hits []ratelimit.Hit) error {
	const maxCounters = 1_000_000 // some 100 MiB
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(s.now().Unix())
	for i := range hits {
		h := &hits[i]
		c, known := s.counters[string(h.Key)]
		if !known && h.N > 0 && len(s.counters) >= maxCounters {
			return fmt.Errorf("there are %d counters already", len(s.counters))
		}
		c.count += min(h.N, math.MaxUint64-c.count) // a full counter stays full
		if c.end = h.End(); h.N > 0 {
			s.counters[string(h.Key)] = c // a copy: the key belongs to the caller
		}
		h.Count = c.count
	}
	return nil
}

// sweep forgets what has passed, once a minute. A hit may come a little late.
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
		log.Fatal(err) // the limit makes no sense
	}
	for range 3 {
		status, err := logins.Allow(context.Background(), "ann")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("ann:", status.Allowed(), status.Remaining, "left")
	}
}
