package memstore

import (
	"context"
	"crypto/sha256"
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
	// minShardBytes is the least that a shard can work with.
	minShardBytes = 64 << 10
	// maxShards bounds what the shards themselves cost.
	maxShards = 1 << 14
	// shardsPerCPU makes it unlikely that two goroutines make counters in one shard, and
	// keeps the pause short when a shard's table grows.
	shardsPerCPU = 32
)

// Options are the choices of a Store. The zero value, like nil, is good for a
// service with up to some millions of counters.
type Options struct {
	// MaxBytes bounds the memory that the counters take, all bookkeeping included.
	// When it is used up new counters share the ones that were set aside for that:
	// see the package's documentation. Default, when 0 or less: 512 MiB. The least
	// is 64 KiB, and less is taken as that.
	MaxBytes int64
	// Shards is the number of locks. It is rounded up to a power of two, and down
	// again until there are 64 KiB of MaxBytes for each, and is at most 16,384.
	// Default, when 0 or less: 32 for each of runtime.GOMAXPROCS(0).
	Shards int
	// Now is the clock, needed only to know which windows have passed. It should be
	// the Engine's. It is called with locks held and must not call the Store.
	// Default: time.Now.
	Now func() time.Time
}

// Store keeps counters in the memory of the process. It is a
// ratelimit.ConditionalStore and a ratelimit.SubtractStore and never returns an error. Counting waits for nothing
// where there is a counter already, unless its table is just growing; a new one may
// wait for others in its shard. So a Store has no use for a context. Create it with New.
type Store struct {
	seed   maphash.Seed
	shift  uint // by which a hash becomes the index of a shard
	shards []shard
	clock  func() int64
	// swept is the second in which the shards were last looked through.
	swept atomic.Int64
}

// New returns an empty Store. opts may be nil.
func New(opts *Options) *Store {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	total := maxBytes(o.MaxBytes)
	n := shardCount(o.Shards, total)
	s := &Store{
		seed:   maphash.MakeSeed(),
		shift:  uint(64 - bits.Len(uint(n-1))),
		shards: make([]shard, n),
		clock:  func() int64 { return o.Now().Unix() },
	}
	for i := range s.shards {
		s.shards[i].allot(total / n)
	}
	return s
}

func maxBytes(asked int64) int {
	if asked <= 0 {
		return defaultMaxBytes
	}
	return int(max(min(asked, math.MaxInt), minShardBytes))
}

func shardCount(asked, total int) int {
	if asked <= 0 {
		asked = shardsPerCPU * runtime.GOMAXPROCS(0)
	}
	n := 1
	for n < min(asked, maxShards) && 2*n*minShardBytes <= total {
		n *= 2
	}
	return n
}

// allot sets aside what the shard may need in any case, with all windows in use
// and full, and leaves the rest to the counters.
func (sh *shard) allot(bytes int) {
	sh.sharedLen = 1 << (bits.Len(uint(bytes/(8*maxWindows*16))) - 1)
	sh.sharedLen = min(sh.sharedLen, 1024)
	sh.limit = bytes - shardSize - maxWindows*(tableSize+8*sh.sharedLen)
}

func (s *Store) index(k name) uint64 { return k.sum >> s.shift }

func (s *Store) shard(k name) *shard { return &s.shards[s.index(k)] }

// Add implements ratelimit.Store. The error is always nil.
//
// It counts without a lock where there is a counter already, which is nearly
// always.
func (s *Store) Add(_ context.Context, hits []ratelimit.Hit) error {
	for i := range hits {
		h := &hits[i]
		if len(h.Key) > maxKey {
			s.addLong(h)
			continue
		}
		k := s.name(h.Key)
		sh := s.shard(k)
		if t := sh.at(h.End()); t != nil {
			if c := t.find(k); c != nil && s.addTo(c, h) {
				continue
			}
		}
		s.addLocked(sh, h, k)
	}
	return nil
}

func (s *Store) addLong(h *ratelimit.Hit) {
	var buf [sha256.Size]byte
	k := s.longName(h.Key, &buf)
	s.addLocked(s.shard(k), h, k)
}

// addTo reports whether the cell was still good for counting.
func (s *Store) addTo(c *cell, h *ratelimit.Hit) (ok bool) {
	if h.N == 0 {
		h.Count, ok = c.load()
		return ok
	}
	if h.Count, ok = c.add(h.N); ok && h.Count%lookEvery == 0 {
		s.sweep()
	}
	return ok
}

// lookEvery says how often the clock is looked at, in case there are windows to let
// go of: when a count is a multiple of it, and for one in so many new counters.
const lookEvery = 64

func (s *Store) addLocked(sh *shard, h *ratelimit.Hit, k name) {
	sh.mu.Lock()
	if h.N == 0 {
		h.Count = sh.existing(h, k).value()
	} else {
		h.Count = sh.add(sh.counter(h, k, s.clock), h.N)
	}
	sh.mu.Unlock()
	if k.sum%lookEvery == 0 {
		s.sweep()
	}
}

// sweep lets go of the windows that have passed, in all shards, once a second. A
// shard that is busy has to wait for the next second.
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

// Trim lets go of the windows that have passed by now. Any call of Add sees to
// that as it goes, so Trim is for programs that go idle and want the memory back:
// two seconds after a window's end it is all free. It takes a microsecond per
// some ten shards.
func (s *Store) Trim(now time.Time) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sh.trim(now.Unix())
		sh.mu.Unlock()
	}
}

// Stats is what a Store holds.
type Stats struct {
	// Keys is the number of counters, those not yet let go of included, the shared
	// ones not.
	Keys int
	// Bytes is the memory taken. It is never more than Options.MaxBytes.
	Bytes int64
	// Shared is how many hits have been counted on shared counters since New, for
	// want of memory. If it grows, limits may be reached early: raise MaxBytes.
	Shared uint64
}

// Stats looks at one shard after the other, so under load the sums are not of
// one moment.
func (s *Store) Stats() Stats {
	var sum Stats
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sum.Keys += sh.keys()
		sum.Bytes += int64(sh.bytes())
		sum.Shared = plus(sum.Shared, sh.shared)
		sh.mu.Unlock()
	}
	return sum
}
