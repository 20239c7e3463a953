package memcachestore

import (
	"errors"
	"sync/atomic"

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
	multiGet, increment, add codes
	decrement, swap          codes
	keysRequested, keysFound atomic.Uint64
	held, lost               atomic.Uint64
	circuits                 circuit.Totals
}

type codes struct{ success, failure, miss, notStored, conflict atomic.Uint64 }

func (c *codes) load() Codes {
	return Codes{c.success.Load(), c.failure.Load(), c.miss.Load(), c.notStored.Load(), c.conflict.Load()}
}

// count counts a command that ended with err.
func (c *codes) count(err error) {
	switch {
	case err == nil:
		c.success.Add(1)
	case errors.Is(err, memcache.ErrCacheMiss):
		c.miss.Add(1)
	case errors.Is(err, memcache.ErrNotStored):
		c.notStored.Add(1)
	case errors.Is(err, memcache.ErrCASConflict):
		c.conflict.Add(1)
	default:
		c.failure.Add(1)
	}
}

// Stats returns the statistics.
func (s *Store) Stats() Stats {
	t := &s.totals
	stats := Stats{
		MultiGet: t.multiGet.load(), Increment: t.increment.load(), Add: t.add.load(),
		Decrement: t.decrement.load(), CompareAndSwap: t.swap.load(),
		KeysRequested: t.keysRequested.Load(), KeysFound: t.keysFound.Load(),
		Held: t.held.Load(), Lost: t.lost.Load(),
		Suspended: t.circuits.Open.Load(), Suspensions: t.circuits.Opened.Load(), Refused: t.circuits.Refused.Load(),
	}
	for _, q := range s.allQueues() {
		q.mu.Lock()
		stats.Pending += q.pending()
		q.mu.Unlock()
	}
	return stats
}
