package localcache

import (
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
)

// Stats is what a Cache has done, in the reference service's terms (1.14). All
// but EntryCount, AverageAccessTime and Bytes only go up.
type Stats struct {
	EntryCount     uint64 // entries held
	HitCount       uint64 // look-ups that found their key
	MissCount      uint64 // look-ups that did not, or found it expired
	LookupCount    uint64 // both
	ExpiredCount   uint64 // entries that went because their time was up
	EvacuateCount  uint64 // entries that went to make room
	OverwriteCount uint64 // entries added while they were there already

	// AverageAccessTime is the mean over the entries of the Unix second in which
	// each was last found or added; 0 if there are none. How far it lies behind the
	// clock says how cold the entries are.
	AverageAccessTime int64
	// Bytes is what the entries count for, at the most the size.
	Bytes uint64
}

// Stats first drops what has expired, which makes it a chore too: a cache that
// nobody uses any more keeps its memory until someone asks. An entry may stay for
// about a second after its time; it is not found then, but still counted.
// Calls under way may be seen in one count and not yet in another.
func (c *Cache) Stats() Stats {
	c.entries.CleanUp()
	l := c.lookups.Snapshot()
	s := Stats{
		EntryCount:     uint64(c.entries.EstimatedSize()),
		HitCount:       l.Hits,
		MissCount:      l.Misses,
		LookupCount:    l.Hits + l.Misses,
		ExpiredCount:   c.events.expired.Load(),
		EvacuateCount:  c.events.evicted.Load(),
		OverwriteCount: c.events.overwritten.Load(),
		Bytes:          c.entries.WeightedSize(),
	}
	if s.EntryCount > 0 {
		s.AverageAccessTime = c.events.seen.Load() / int64(s.EntryCount)
	}
	return s
}

// events counts why entries went, and keeps the sum of when those that are left
// were last seen.
type events struct {
	expired, evicted, overwritten atomic.Uint64
	seen                          atomic.Int64 // Unix seconds, all entries together
}

// entry is the value behind a key.
type entry struct {
	ttl  time.Duration
	seen atomic.Int64 // Unix second; gone once the entry has left the cache
}

// gone tells a look-up that found the entry just before it left that its time
// must not enter the sum any more.
const gone = -1

// see notes that the entry was found or added at the second.
func (e *entry) see(second int64, sum *events) {
	old := e.seen.Load()
	if old != second && old != gone && e.seen.CompareAndSwap(old, second) {
		sum.seen.Add(second - old)
	}
}

// deleted is called for each entry that leaves. It runs under a lock of the
// cache and must not call it.
func (s *events) deleted(d otter.DeletionEvent[string, *entry]) {
	s.seen.Add(-d.Value.seen.Swap(gone))
	switch d.Cause {
	case otter.CauseExpiration:
		s.expired.Add(1)
	case otter.CauseOverflow:
		s.evicted.Add(1)
	case otter.CauseReplacement:
		s.overwritten.Add(1)
	}
}
