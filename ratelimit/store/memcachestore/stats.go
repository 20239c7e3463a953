package memcachestore

import (
	"errors"
	"sync"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/ashlar-go/ashlar/internal/circuit"
)

// Stats are the statistics of a Store since it was created (REFERENCE.md, 6.2).
type Stats struct {
	// MultiGet, Increment, Add, Decrement and CompareAndSwap count commands by their result. A
	// read may serve several calls.
	MultiGet, Increment, Add, Decrement, CompareAndSwap Codes
	// KeysRequested and KeysFound count the keys of reads, and those that existed.
	KeysRequested, KeysFound uint64

	// Pending is the number of counters that wait for an increment now, or are being
	// incremented.
	Pending int
	// Held counts increments that calls had to send themselves, because
	// Options.MaxPending counters were waiting.
	Held uint64
	// Lost counts hits that were not added to their counter, because the node failed after
	// Add had returned. Hits that were not given back are not included.
	Lost uint64

	// Suspended is to how many nodes calls are suspended now. Suspensions is how often that
	// happened, and Refused how many calls have failed with ErrSuspended.
	Suspended            int64
	Suspensions, Refused uint64
}

// Codes counts commands by their result.
type Codes struct {
	Success, Error uint64
	Miss           uint64 // the counter does not exist
	NotStored      uint64 // additions of a counter that already exists
	Conflict       uint64 // swaps of a state that another instance has written meanwhile
}

// totals collects Stats.
type totals struct {
	mu sync.Mutex
	Stats
	circuits circuit.Totals
}

// addTo adds to one of the Stats.
func (t *totals) addTo(number *uint64, n uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*number += n
}

// count counts a command that ended with err.
func (t *totals) count(codes *Codes, err error) {
	number := &codes.Error
	switch {
	case err == nil:
		number = &codes.Success
	case errors.Is(err, memcache.ErrCacheMiss):
		number = &codes.Miss
	case errors.Is(err, memcache.ErrNotStored):
		number = &codes.NotStored
	case errors.Is(err, memcache.ErrCASConflict):
		number = &codes.Conflict
	}
	t.addTo(number, 1)
}

// Stats returns the statistics.
func (s *Store) Stats() Stats {
	t := &s.totals
	t.mu.Lock()
	stats := t.Stats
	t.mu.Unlock()
	stats.Suspended, stats.Suspensions, stats.Refused = t.circuits.Open.Load(), t.circuits.Opened.Load(), t.circuits.Refused.Load()
	for _, q := range s.allQueues() {
		q.mu.Lock()
		stats.Pending += q.pending()
		q.mu.Unlock()
	}
	return stats
}
