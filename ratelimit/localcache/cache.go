package localcache

import (
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/maypok86/otter/v2"
	"github.com/maypok86/otter/v2/stats"
)

const (
	// MinSize is the minimum size in bytes. New raises smaller sizes to it, as the reference
	// service does (REFERENCE.md, 3.5).
	MinSize = 512 << 10

	// Overhead is the size of an entry besides its key: its node, its value, and its share of
	// the hash table and of the frequency sketch just after they have grown.
	Overhead = 160

	// An entry may take up to 1/maxShare of the size, and its key maxKey bytes, so that a
	// client that sends long values cannot evict many entries with one.
	maxShare = 256
	maxKey   = 64 << 10
)

// Options are the optional settings of a Cache. nil and the zero value mean the defaults.
type Options struct {
	// Now returns the current time, which determines expiry. Default: time.Now.
	Now func() time.Time
}

// Cache implements ratelimit.OverLimitCache. Create one with New. It is safe for concurrent
// use and needs no Close.
type Cache struct {
	entries *otter.Cache[string, *entry]
	clock   *clock
	lookups *stats.Counter
	events  *events
	longest int
}

// New returns an empty cache for entries of up to sizeInBytes in total, each counted as 9/8 of
// the length of its key and Overhead. It raises sizes below MinSize to MinSize. Memory is
// allocated as entries are added.
//
// New returns an error if the size is zero or negative. To disable the cache, leave
// ratelimit.Options.OverLimitCache nil. opts may be nil.
func New(sizeInBytes int, opts *Options) (*Cache, error) {
	if sizeInBytes <= 0 {
		return nil, fmt.Errorf("localcache: size of %d bytes: must be at least 1 (sizes below %d are raised to it); to disable the cache, create none",
			sizeInBytes, MinSize)
	}
	size := max(sizeInBytes, MinSize)
	c := &Cache{clock: newClock(opts), lookups: stats.NewCounter(), events: &events{}}
	c.longest = min((size/maxShare-Overhead)*8/9, maxKey)
	entries, err := otter.New(&otter.Options[string, *entry]{
		MaximumWeight: uint64(size),
		// The allocator wastes up to an eighth of a key.
		Weigher:          func(key string, _ *entry) uint32 { return uint32(len(key) + len(key)/8 + Overhead) },
		ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[string, *entry]) time.Duration { return e.Value.ttl }),
		OnAtomicDeletion: c.events.deleted,
		StatsRecorder:    c.lookups,
		Clock:            c.clock,
		// Maintenance runs in the call that causes it: nothing runs in the background, and keys cannot be added
		// faster than others are evicted.
		Executor: func(maintenance func()) { maintenance() },
	})
	if err != nil {
		return nil, fmt.Errorf("localcache: %w", err)
	}
	// The goroutine for expiry ends at once, because the clock does not tick. Wait for its
	// end.
	entries.StopAllGoroutines()
	c.entries = entries
	return c, nil
}

// Contains reports whether key was added and has not expired, and whether this is the first time in this
// second that it is found. It does not allocate and does not retain key.
func (c *Cache) Contains(key []byte) (found, first bool) {
	// #nosec G103 -- a lookup only compares the key, so the string may share the caller's buffer
	e, ok := c.entries.GetIfPresent(unsafe.String(unsafe.SliceData(key), len(key)))
	return ok, ok && e.see(c.clock.second(), c.events)
}

// Add stores a copy of key for the duration ttl, which begins again if the key is already
// stored. It ignores a ttl of zero or less, and keys that take more than 1/256 of the size or
// are longer than 64 KiB.
func (c *Cache) Add(key []byte, ttl time.Duration) {
	if ttl <= 0 || len(key) > c.longest {
		return
	}
	e := &entry{ttl: ttl}
	c.entries.Set(string(key), e) // reads the clock
	e.see(c.clock.second(), c.events)
}

// Remove removes key.
func (c *Cache) Remove(key []byte) { c.entries.Invalidate(string(key)) }

// clock implements otter.Clock.
type clock struct {
	nano func() int64 // since 1970
	// last is the second of the last NowNano. Every lookup reads the time, so it is accurate
	// enough for the access times of entries.
	last atomic.Int64
}

// newClock returns a clock that calls opts.Now. Without it, the clock is monotonic: that takes
// half the time of reading the wall clock, and is not affected when that is set.
func newClock(opts *Options) *clock {
	start := time.Now()
	c := &clock{nano: func() int64 { return start.UnixNano() + int64(time.Since(start)) }}
	if opts != nil && opts.Now != nil {
		now := opts.Now
		c.nano = func() int64 { return now().UnixNano() }
	}
	c.NowNano()
	return c
}

// NowNano returns the time in nanoseconds since 1970.
func (c *clock) NowNano() int64 {
	n := c.nano()
	// Stored only when it changes, to avoid contention for the cache line.
	if s := n / int64(time.Second); s != c.last.Load() {
		c.last.Store(s)
	}
	return n
}

// Tick returns nil: without ticks the cache needs no goroutine.
func (c *clock) Tick(time.Duration) <-chan time.Time { return nil }

// second returns the Unix second of the last NowNano.
func (c *clock) second() int64 { return c.last.Load() }
