package localcache

import (
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
)

// Stats are the statistics of a Cache, with the names of the reference service (REFERENCE.md,
// 5.1). All but EntryCount, AverageAccessTime and Bytes are counters.
type Stats struct {
	EntryCount     uint64 // entries in the cache
	HitCount       uint64 // lookups that found their key
	MissCount      uint64 // lookups that did not, or found it expired
	LookupCount    uint64 // the sum of both
	ExpiredCount   uint64 // entries removed after their expiry
	EvacuateCount  uint64 // entries evicted to make room
	OverwriteCount uint64 // entries added while they were stored already

	// AverageAccessTime is the mean of the Unix seconds in which the entries were last found or
	// added; 0 without entries.
	AverageAccessTime int64
	// Bytes is the size of the entries, at most the size of the cache.
	Bytes uint64
}

// Stats first removes expired entries; an unused cache keeps its memory until then. An entry
// may stay for about a second after its expiry: it is not found any more, but still counted.
// The counters are not a consistent snapshot of concurrent calls.
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

// events counts removals by cause, and sums the access times of the entries in the cache.
type events struct {
	expired, evicted, overwritten atomic.Uint64
	seen                          atomic.Int64 // Unix seconds, all entries together
}

// entry is the value of a key.
type entry struct {
	ttl  time.Duration
	seen atomic.Int64 // Unix second, or gone after the removal of the entry
}

// gone marks removed entries: a concurrent lookup that has found one must not add its access
// time to the sum.
const gone = -1

// see records an access to the entry, and reports whether it is the first one in its second.
func (e *entry) see(second int64, sum *events) bool {
	old := e.seen.Load()
	first := old != second && old != gone && e.seen.CompareAndSwap(old, second)
	if first {
		sum.seen.Add(second - old)
	}
	return first
}

// deleted is called for each entry that is removed. It is called with a lock of the cache held
// and must not call the cache.
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
