package memstore

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

const (
	defaultMaxBytes = 512 << 20
	// minShardBytes is the minimum memory of a shard.
	minShardBytes = 64 << 10
	// maxShards bounds the memory of the shards themselves.
	maxShards = 1 << 14
	// shardsPerCPU makes it unlikely that two goroutines create counters in one shard, and
	// keeps the pause short when a table grows.
	shardsPerCPU = 32
)

// Options are the optional settings of a Store. nil and the zero value suit a service with
// up to some millions of counters.
type Options struct {
	// MaxBytes limits the memory of the counters, all bookkeeping included. An eighth of it
	// is for counters with Hit.Fixed only. Values below 64 KiB mean 64 KiB. Default, when 0:
	// 512 MiB.
	MaxBytes int64
	// WhenFull decides what happens to the hits of a new counter when MaxBytes is used up.
	// Default, when empty: EvictFewest.
	WhenFull WhenFull
	// Shards is the number of locks. It is rounded up to a power of two, and down
	// again until there are 64 KiB of MaxBytes for each, and is at most 16,384.
	// Default, when 0: 32 for each of runtime.GOMAXPROCS(0).
	Shards int
	// Now returns the current time, which determines which windows have ended. It should be
	// the clock of the Engine. It is called with locks held and must not call the Store.
	// Default: time.Now.
	Now func() time.Time
}

// WhenFull selects what a full Store does for a new counter: see the package documentation.
type WhenFull string

// The choices. Hits on counters that exist are counted exactly with each of them.
const (
	// EvictFewest drops the counters with the fewest hits, which then begin at zero again.
	EvictFewest WhenFull = "evict-fewest"
	// EvictOldest drops the counters that were created first, approximately.
	EvictOldest WhenFull = "evict-oldest"
	// Deny drops nothing. New counters of a window share a fixed set of counters until it
	// ends, so that no limit is exceeded and new keys are soon denied.
	Deny WhenFull = "deny"
	// Allow drops nothing. Hits of new counters are not counted.
	Allow WhenFull = "allow"
)

// Store keeps counters in the memory of the process. It is a
// ratelimit.ConditionalStore, a ratelimit.SubtractStore, a ratelimit.ChargeStore and a
// ratelimit.LedgerStore. Only Update, for which see there, returns errors. Counting on an
// existing counter does not block, unless its table is growing; a new counter may wait for
// others in its shard. So a Store does not use contexts. Create one with New.
type Store struct {
	seeds  [2]maphash.Seed
	shards []shard
	clock  func() int64
	// swept is the second of the last sweep.
	swept atomic.Int64
}

// New returns an empty Store, or an error if an option is invalid. opts may be nil.
func New(opts *Options) (*Store, error) {
	o := *cmp.Or(opts, new(Options))
	switch {
	case o.MaxBytes < 0:
		return nil, fmt.Errorf("memstore: option MaxBytes %d: must be more than 0, or 0 for %d", o.MaxBytes, defaultMaxBytes)
	case o.Shards < 0:
		return nil, fmt.Errorf("memstore: option Shards %d: must be more than 0, or 0 for %d for each processor", o.Shards, shardsPerCPU)
	case o.WhenFull != "" && o.WhenFull != EvictFewest && o.WhenFull != EvictOldest && o.WhenFull != Deny && o.WhenFull != Allow:
		return nil, fmt.Errorf("memstore: option WhenFull '%.100s': must be %s, %s, %s or %s", o.WhenFull, EvictFewest, EvictOldest, Deny, Allow)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.WhenFull = cmp.Or(o.WhenFull, EvictFewest)
	total := int(max(min(cmp.Or(o.MaxBytes, defaultMaxBytes), math.MaxInt), minShardBytes))
	n := shardCount(o.Shards, total)
	s := &Store{
		seeds:  [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		shards: make([]shard, n),
		clock:  func() int64 { return o.Now().Unix() },
	}
	for i := range s.shards {
		s.shards[i].allot(total / n)
		s.shards[i].whenFull = o.WhenFull
	}
	return s, nil
}

// MustNew is New for options that are known to be valid, such as nil: it panics where New returns an error.
func MustNew(opts *Options) *Store {
	s, err := New(opts)
	if err != nil {
		panic(err)
	}
	return s
}

func shardCount(asked, total int) int {
	if asked == 0 {
		asked = shardsPerCPU * runtime.GOMAXPROCS(0)
	}
	n := 1
	for n < min(asked, maxShards) && 2*n*minShardBytes <= total {
		n *= 2
	}
	return n
}

// allot reserves what the shard needs with all windows of units in use and full, and leaves the
// rest to the counters and to other windows.
func (sh *shard) allot(bytes int) {
	sh.sharedLen = 1 << (bits.Len(uint(bytes/(8*unitWindows*16))) - 1)
	sh.sharedLen = min(sh.sharedLen, 1024)
	sh.limit = bytes - shardSize - unitWindows*sh.tableBytes()
	sh.reserve = sh.limit / 8
}

// index returns the index of the shard for a hash.
func (s *Store) index(sum uint64) uint64 {
	i, _ := bits.Mul64(sum, uint64(len(s.shards)))
	return i
}

func (s *Store) shard(k name) *shard { return &s.shards[s.index(k.sum)] }

// Add implements ratelimit.Store. The error is always nil.
//
// It takes no lock if the counter exists, which is the usual case.
func (s *Store) Add(_ context.Context, hits []ratelimit.Hit) error {
	for i := range hits {
		h := &hits[i]
		k := s.name(h.Key)
		sh := s.shard(k)
		t := sh.at(tableEnd(h))
		if t == nil || !s.addTo(t.find(k), h) {
			s.addLocked(sh, h, k)
		}
	}
	return nil
}

// addTo counts a hit. It returns false if the cell is nil or frozen.
func (s *Store) addTo(c *cell, h *ratelimit.Hit) (ok bool) {
	switch {
	case c == nil:
		return false
	case h.N == 0:
		h.Count, ok = c.load()
		return ok
	}
	h.Count, ok = c.add(h.N)
	if ok && h.Count%sweepEvery == 0 {
		s.sweep()
	}
	return ok
}

// sweepEvery determines how often Add reads the clock to find windows that have ended: when a
// count is a multiple of it, and for one of so many new counters.
const sweepEvery = 64

func (s *Store) addLocked(sh *shard, h *ratelimit.Hit, k name) {
	sh.mu.Lock()
	if h.N == 0 {
		h.Count = sh.existing(h, k).value()
	} else {
		h.Count = sh.add(sh.counter(h, k, s.clock), h.N)
	}
	sh.mu.Unlock()
	if k.check%sweepEvery == 0 {
		s.sweep()
	}
}

// sweep frees the windows that have ended, in all shards, once a second. It skips shards that
// are locked until the next second.
func (s *Store) sweep() {
	now := s.clock()
	if last := s.swept.Load(); last == now || !s.swept.CompareAndSwap(last, now) {
		return
	}
	for i := range s.shards {
		if sh := &s.shards[i]; sh.mu.TryLock() {
			sh.trim(now)
			sh.mu.Unlock()
		}
	}
}

// Trim frees the windows that have ended two seconds before now. Calls of Add do that too, so
// Trim is for programs that become idle and want the memory back. It takes about a
// microsecond for ten shards.
func (s *Store) Trim(now time.Time) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sh.trim(now.Unix())
		sh.dropExpired(now.UnixMicro())
		sh.mu.Unlock()
	}
}

// Stats are the statistics of a Store.
type Stats struct {
	// Keys is the number of counters, including those of ended windows that are not freed
	// yet, without the shared ones.
	Keys int
	// Bytes is the memory in use, at most Options.MaxBytes.
	Bytes int64

	// The rest grows only while memory is used up, and counts from New: raise MaxBytes.

	// Evicted is the number of counters that were dropped before their window ended.
	Evicted uint64
	// Shared is the number of hits counted on shared counters: limits may be reached early.
	Shared uint64
	// Uncounted is the number of hits that were not counted.
	Uncounted uint64
}

// Overflow is the sum of Evicted, Shared and Uncounted: while it grows, the Store is full.
func (s Stats) Overflow() uint64 { return plus(plus(s.Evicted, s.Shared), s.Uncounted) }

// Stats reads one shard after the other, so under load the sums are not a consistent
// snapshot.
func (s *Store) Stats() Stats {
	var sum Stats
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sum.Keys += sh.keys()
		sum.Bytes += int64(sh.bytes())
		sum.Evicted += sh.evicted
		sum.Shared = plus(sum.Shared, sh.shared)
		sum.Uncounted = plus(sum.Uncounted, sh.uncounted)
		sh.mu.Unlock()
	}
	return sum
}
