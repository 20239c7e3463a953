package memstore

import (
	"context"
	"hash/maphash"
	"slices"
	"unsafe"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// states is a hash table, open addressing with linear probing, of the states of limits that are
// not fixed windows. They outlive windows, so each has an expiry: they are dropped when the
// table is full, or a minute after the last time. The lock of the shard guards it.
type states struct {
	slots []slot
	used  int
	check int64 // when to search for those that have expired, in Unix microseconds
}

// slot is a state. Its key is represented by a hash with a secret seed: among ten million keys two
// have the same with a probability of 3 in a million. What a token bucket uses comes first and fills
// half a cache line, so that it never lies in two.
type slot struct {
	sum     uint64 // 0 is an empty slot
	expires int64  // Unix microseconds
	state   ratelimit.State
	fixed   bool
}

const (
	stateSize = int(unsafe.Sizeof(slot{}))
	// checkAfter is the time after which expired states are dropped, in microseconds.
	checkAfter = 60_000_000
)

// Charge implements ratelimit.ChargeStore. The error is always nil.
func (s *Store) Charge(_ context.Context, charges []ratelimit.Charge) error {
	for i := range charges {
		t := &charges[i]
		sum := max(maphash.Bytes(s.seeds[0], t.Key), 1)
		sh := &s.shards[s.index(sum)]
		sh.mu.Lock()
		sh.charge(t, sum)
		sh.mu.Unlock()
	}
	return nil
}

// charge applies a charge. The shard must be locked.
func (sh *shard) charge(t *ratelimit.Charge, sum uint64) {
	switch wait := sh.states.check - t.Now; {
	case wait > checkAfter || wait < -checkAfter: // the clock may have been set, and may be set back
		sh.states.check = t.Now + checkAfter
	case wait <= 0:
		sh.dropExpired(t.Now)
	}
	counts := t.N > 0 && !t.Refund
	sl, free := sh.states.find(sum, t.Now)
	if sl == nil && counts {
		sl = sh.newState(sum, free, t)
	}
	if sl != nil {
		t.Apply(&sl.state)
		if t.Ahead() && sl.expires <= t.Now {
			sl.state = ratelimit.State{}
			t.Apply(&sl.state)
		}
		if expires := t.Expires(); !t.Ahead() || expires < sl.expires {
			sl.expires = expires
		}
		return
	}
	none, n := ratelimit.State{}, t.N
	switch {
	case counts && sh.whenFull == Deny:
		sh.shared = plus(sh.shared, n)
		t.N = 0 // reads
	case counts:
		sh.uncounted = plus(sh.uncounted, n)
	}
	t.Apply(&none)
	t.N, t.Allowed = n, t.Allowed && t.N == n
}

// find returns the slot of a state, or nil, and then one that it may take over from a state that
// has expired, or nil.
func (st *states) find(sum uint64, now int64) (found, free *slot) {
	if len(st.slots) == 0 {
		return nil, nil
	}
	for i := st.home(sum); ; {
		sl := &st.slots[i]
		switch {
		case sl.sum == sum:
			return sl, nil
		case sl.sum == 0:
			return nil, free
		case free == nil && sl.expires <= now:
			free = sl
		}
		if i++; i == len(st.slots) {
			i = 0
		}
	}
}

// home returns the first slot to examine. The high bits of the hash choose the shard.
func (st *states) home(sum uint64) int {
	return int(sum & (1<<32 - 1) * uint64(len(st.slots)) >> 32)
}

// insert copies a state into an empty slot, of which there must be one.
func (st *states) insert(from *slot) *slot {
	i := st.home(from.sum)
	for st.slots[i].sum != 0 {
		if i++; i == len(st.slots) {
			i = 0
		}
	}
	st.slots[i] = *from
	st.used++
	return &st.slots[i]
}

// newState creates a state, in place of one that has expired if there is one. It returns nil if
// there is no memory for it.
func (sh *shard) newState(sum uint64, free *slot, t *ratelimit.Charge) *slot {
	st := &sh.states
	if free != nil {
		*free = slot{sum: sum, fixed: t.Fixed}
		return free
	}
	if 5*(st.used+1) > 4*len(st.slots) && !sh.growStates(t) {
		return nil
	}
	return st.insert(&slot{sum: sum, fixed: t.Fixed})
}

// growStates makes room for a state: without those that have expired, if they are an eighth or more, then
// in a larger table, then without half of those that expire first.
func (sh *shard) growStates(t *ratelimit.Charge) bool {
	st := &sh.states
	before := st.used
	st.sweep(t.Now)
	if before-st.used > before/8 {
		return true
	}
	more := max(len(st.slots)/2, minSlots)
	if sh.room(more*stateSize, t.Fixed) {
		sh.resizeStates(len(st.slots)+more, every)
		return true
	}
	if st.used < before {
		return true
	}
	if sh.whenFull != EvictFewest && sh.whenFull != EvictOldest {
		return false
	}
	return sh.evictStates(len(st.slots)) || sh.evict() && sh.room(more*stateSize, t.Fixed) && sh.resizeStates(len(st.slots)+more, every)
}

// sweep drops the states that have expired at a time, in place. It begins after an empty slot, so that a
// state only moves to slots that were examined before.
func (st *states) sweep(now int64) {
	n := len(st.slots)
	first := slices.IndexFunc(st.slots, func(sl slot) bool { return sl.sum == 0 })
	for i := range n {
		at := &st.slots[(first+1+i)%n]
		if sl := *at; sl.sum != 0 {
			*at = slot{}
			st.used--
			if sl.expires > now {
				st.insert(&sl)
			}
		}
	}
}

// dropExpired drops the states that have expired at a time, and memory that they leave unused.
func (sh *shard) dropExpired(now int64) {
	sh.dropLedgers(now / 1_000_000)
	st := &sh.states
	st.check = now + checkAfter
	left := 0
	for i := range st.slots {
		if st.slots[i].sum != 0 && st.slots[i].expires > now {
			left++
		}
	}
	if left < st.used {
		n := len(st.slots)
		if left < n/4 {
			n = 2 * left
		}
		sh.resizeStates(n, func(sl *slot) bool { return sl.expires > now })
	}
}

// evictStates drops the half of the states that expires first, without fixed ones, and leaves n
// slots at most. It returns false if that is less than an eighth of all.
func (sh *shard) evictStates(n int) bool {
	st := &sh.states
	var ends []int64
	for i := range st.slots {
		if sl := &st.slots[i]; sl.sum != 0 && !sl.fixed {
			ends = append(ends, sl.expires)
		}
	}
	drop := len(ends) / 2
	if drop < max(minEvict, st.used/8) {
		return false
	}
	slices.Sort(ends)
	before := st.used
	sh.resizeStates(max(n, 5*(st.used-drop)/4+1), func(sl *slot) bool { return sl.fixed || sl.expires > ends[drop-1] })
	sh.evicted += uint64(before - st.used)
	return true
}

// resizeStates replaces the table by one of n slots, or none, with the states that keep selects. It
// returns true.
func (sh *shard) resizeStates(n int, keep func(*slot) bool) bool {
	st := &sh.states
	old := st.slots
	st.slots, st.used = nil, 0
	if n > 0 {
		st.slots = make([]slot, n)
	}
	for i := range old {
		if sl := &old[i]; sl.sum != 0 && keep(sl) {
			st.insert(sl)
		}
	}
	sh.extra += (len(st.slots) - len(old)) * stateSize
	return true
}

func every(*slot) bool { return true }
