package localcache

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/maypok86/otter/v2"
	"github.com/maypok86/otter/v2/stats"
)

const (
	// MinSize is the smallest size there is, in bytes: New takes less for this
	// much, as the reference service does (1.9).
	MinSize = 512 << 10

	// Overhead is what an entry is counted at beside its key: its node, the value
	// it points to, and its share of the hash table and of the frequency sketch when
	// these have just grown.
	Overhead = 160

	// A client who sends long values must not drive out many entries with one, so
	// an entry may take one part in so many of the size, and its key be so long.
	maxShare = 256
	maxKey   = 64 << 10
)

// Options are the choices of a Cache. The zero value, like nil, is fit for use.
type Options struct {
	// Now is the clock that entries expire by. Default: time.Now.
	Now func() time.Time
}

// Cache is a ratelimit.OverLimitCache. Make one with New. Any number of
// goroutines may use it, and there is nothing to close.
type Cache struct {
	entries *otter.Cache[string, *entry]
	clock   *clock
	lookups *stats.Counter
	events  *events
	longest int
}

// New returns an empty cache that holds as many entries as count for sizeInBytes,
// each at 9/8 of its key's length and Overhead. A size from 1 to MinSize is taken
// for MinSize. The memory is not taken at once: it grows with the entries.
//
// It fails if the size is zero or negative: whoever wants no cache leaves
// ratelimit.Options.OverLimitCache nil. opts may be nil.
func New(sizeInBytes int, opts *Options) (*Cache, error) {
	if sizeInBytes <= 0 {
		return nil, fmt.Errorf("localcache: size of %d bytes: must be at least 1 (less than %d counts as that); for no cache, make none",
			sizeInBytes, MinSize)
	}
	size := max(sizeInBytes, MinSize)
	c := &Cache{clock: newClock(opts), lookups: stats.NewCounter(), events: &events{}}
	c.longest = min((size/maxShare-Overhead)*8/9, maxKey)
	entries, err := otter.New(&otter.Options[string, *entry]{
		MaximumWeight:    uint64(size),
		Weigher:          weigh,
		ExpiryCalculator: otter.ExpiryWritingFunc(timeToLive),
		OnAtomicDeletion: c.events.deleted,
		StatsRecorder:    c.lookups,
		Clock:            c.clock,
		Executor:         callerRuns,
	})
	if err != nil {
		return nil, fmt.Errorf("localcache: %w", err)
	}
	// The one goroutine of a cache with expiry ends at once, since the clock
	// does not tick. Wait for it, so that none is left behind.
	entries.StopAllGoroutines()
	c.entries = entries
	return c, nil
}

// callerRuns makes upkeep part of the calls that give rise to it: nothing runs on
// in the background, and a flood of keys cannot run ahead of eviction.
func callerRuns(upkeep func()) { upkeep() }

// Contains reports whether key was added and its time is not up. It allocates
// nothing and does not keep key.
func (c *Cache) Contains(key []byte) bool {
	// Looking a key up compares it and lets it go, so it may lie in the caller's
	// buffer. What is kept of a hit is the entry's own key.
	e, ok := c.entries.GetIfPresent(unsafe.String(unsafe.SliceData(key), len(key)))
	if ok {
		e.see(c.clock.second(), c.events)
	}
	return ok
}

// Add remembers a copy of key for as long as ttl; one that is there already gets
// that time from now. A ttl of zero or less is passed over, and so is a key that
// would count for more than 1/256 of the size or is longer than 64 KiB.
func (c *Cache) Add(key []byte, ttl time.Duration) {
	if ttl <= 0 || len(key) > c.longest {
		return
	}
	e := &entry{ttl: ttl}
	c.entries.Set(string(key), e) // reads the clock
	e.see(c.clock.second(), c.events)
}

// Remove forgets key.
func (c *Cache) Remove(key []byte) { c.entries.Invalidate(string(key)) }

// weigh is what an entry counts for. The allocator wastes up to an eighth of a key.
func weigh(key string, _ *entry) uint32 { return uint32(len(key) + len(key)/8 + Overhead) }

func timeToLive(e otter.Entry[string, *entry]) time.Duration { return e.Value.ttl }
