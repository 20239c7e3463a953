package memcachestore

import "sync/atomic"

// Stats are a store's statistics since it was made. Those that the reference service
// has too are its ratelimit.memcache.* (reference 1.10).
type Stats struct {
	// MultiGet, Increment and Add count commands by how they ended. A read may serve
	// several calls.
	MultiGet, Increment, Add Codes
	// KeysRequested and KeysFound count the keys of reads, and those that had a value.
	KeysRequested, KeysFound uint64

	// Pending is how many counters wait for an increment now, or are being incremented.
	Pending int
	// Held counts increments that calls had to make themselves, because there were
	// Options.MaxPending.
	Held uint64
	// Lost counts hits that were added to no counter, because the node failed after the
	// call was answered.
	Lost uint64
}

// Codes is how often commands ended in each way.
type Codes struct {
	Success, Error uint64
	Miss           uint64 // increments of a counter that is not there yet
	NotStored      uint64 // additions of a counter that is there already
}

// tally is Stats as it grows.
type tally struct {
	multiGet, increment, add codes
	keysRequested, keysFound atomic.Uint64
	held, lost               atomic.Uint64
}

type codes struct{ success, failure, miss, notStored atomic.Uint64 }

func (c *codes) read() Codes {
	return Codes{c.success.Load(), c.failure.Load(), c.miss.Load(), c.notStored.Load()}
}

// done counts a command that was answered, or not.
func (c *codes) done(err error) {
	if err != nil {
		c.failure.Add(1)
	} else {
		c.success.Add(1)
	}
}

// Stats returns the statistics.
func (s *Store) Stats() Stats {
	t := &s.tally
	stats := Stats{
		MultiGet: t.multiGet.read(), Increment: t.increment.read(), Add: t.add.read(),
		KeysRequested: t.keysRequested.Load(), KeysFound: t.keysFound.Load(),
		Held: t.held.Load(), Lost: t.lost.Load(),
	}
	for _, l := range s.allLanes() {
		stats.Pending += l.pending()
	}
	return stats
}
