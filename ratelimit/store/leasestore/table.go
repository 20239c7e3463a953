package leasestore

import (
	"bytes"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// groupSize is the number of slots in which a key can be.
const groupSize = 8

// table finds leases by key, without locks. A key has a tag only until it comes twice in a short
// time, so that other keys need no memory of their own.
type table struct {
	short  int64 // that time, in nanoseconds
	groups []group
	shift  uint
	locks  [64]sync.Mutex // to change a group: by its index
}

type group [groupSize]slot

// slot is empty if the tag is 0. The lease belongs to the tag, or to an earlier one for a moment.
type slot struct {
	tag   atomic.Uint64
	lease atomic.Pointer[lease]
	seen  int64 // when the key was seen, while there is no lease, in nanoseconds
}

// groupsFor returns the number of groups for a number of keys, and the shift that makes an index of a tag.
func groupsFor(keys int) (n int, shift uint) {
	for n = 1; n*groupSize < keys; {
		n *= 2
	}
	return n, uint(64 - bits.Len(uint(n-1)))
}

// index returns that of the group of a tag.
func (t *table) index(tag uint64) uint64 { return tag >> t.shift & uint64(len(t.groups)-1) }

// find returns the lease of a hit, or nil.
func (t *table) find(tag uint64, h *ratelimit.Hit) *lease {
	g := &t.groups[t.index(tag)]
	for i := range g {
		if g[i].tag.Load() == tag {
			if e := g[i].lease.Load(); e != nil && e.is(h) {
				return e
			}
		}
	}
	return nil
}

// enter returns the lease of a hit whose key was seen a short time ago, or whose key must have one. It
// notes that the key was seen otherwise, and returns nil, also if there is no room.
func (t *table) enter(tag uint64, h *ratelimit.Hit, now int64, must bool) *lease {
	at := t.index(tag)
	lock := &t.locks[at%uint64(len(t.locks))]
	lock.Lock()
	defer lock.Unlock()
	g := &t.groups[at]
	seen := -1
	for i := range g {
		if g[i].tag.Load() != tag {
			continue
		}
		switch e := g[i].lease.Load(); {
		case e == nil:
			seen = i
		case e.is(h):
			return e
		}
	}
	known := seen >= 0 && now-g[seen].seen <= t.short
	if seen < 0 {
		if seen = g.victim(h, tag); seen < 0 {
			return nil
		}
		g[seen].lease.Store(nil)
		g[seen].tag.Store(tag)
	}
	if g[seen].seen = now; !known && !must {
		return nil
	}
	e := &lease{hit: *h}
	e.hit.Key, e.hit.N, e.hit.Count = bytes.Clone(h.Key), 0, 0
	g[seen].lease.Store(e)
	return e
}

// victim returns a slot that may be reused, the first kind that there is: empty, of a window that
// has ended, of a key that was seen once, of a lease without claims. It returns -1 if all
// are in use.
func (g *group) victim(h *ratelimit.Hit, tag uint64) int {
	first := int(tag>>8) % groupSize // another one for each key
	once := -1
	for j := range g {
		i := (first + j) % groupSize
		e := g[i].lease.Load()
		switch {
		case g[i].tag.Load() == 0:
			return i
		case e == nil:
			once = i
		case e.hit.End() <= h.Window && e.retire():
			return i
		}
	}
	for j := 0; j < groupSize && once < 0; j++ {
		if i := (first + j) % groupSize; g[i].lease.Load().retire() {
			once = i
		}
	}
	return once
}
