package memstore

import (
	"context"
	"slices"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// fewHits is the number of hits up to which AddUnlessOver does not allocate.
const fewHits = 8

// AddUnlessOver implements ratelimit.ConditionalStore. From the comparison to the last addition
// it holds the locks of all counters and keeps the counters frozen. The error is always nil.
func (s *Store) AddUnlessOver(_ context.Context, hits []ratelimit.Hit) error {
	var tickets [fewHits]ticket
	var locks [fewHits]uint64
	b := batch{hits: hits, tickets: tickets[:], locks: locks[:]}
	if len(hits) > fewHits {
		b.tickets, b.locks = make([]ticket, len(hits)), make([]uint64, len(hits))
	}
	b.locks = s.prepare(&b)
	for _, i := range b.locks { // in ascending order, as all calls do, which prevents deadlocks
		s.shards[i].mu.Lock()
	}
	s.create(&b)
	s.freeze(&b)
	b.count()
	s.thaw(&b)
	for _, i := range b.locks {
		s.shards[i].mu.Unlock()
	}
	if slices.ContainsFunc(hits, func(h ratelimit.Hit) bool { return h.Count%sweepEvery == 0 }) {
		s.sweep()
	}
	return nil
}

// batch is one call of AddUnlessOver. Nothing that it points to may point to a part of it,
// so that the compiler can keep it on the stack.
type batch struct {
	hits    []ratelimit.Hit
	tickets []ticket // one per hit
	locks   []uint64 // indexes of the shards, ascending
}

// ticket is a hit's name and its counter.
type ticket struct {
	name    name
	counter counter
	first   int    // the first hit of the batch with the same counter
	value   uint64 // of the counter; only that of the first hit is maintained
}

// prepare determines the names of the hits and returns the shards to lock.
func (s *Store) prepare(b *batch) []uint64 {
	locks := b.locks[:len(b.hits)]
	for i := range b.hits {
		b.tickets[i].name = s.name(b.hits[i].Key)
		locks[i] = s.index(b.tickets[i].name.sum)
	}
	slices.Sort(locks)
	return slices.Compact(locks)
}

// create creates missing counters. If there is no memory for one, its hit counts on a shared
// counter, which may be over the limit: this must be known before anything is added. A counter
// that evicts one of the same call is rare, and leaves half of its table empty: then all are
// created again.
func (s *Store) create(b *batch) {
	for range 2 {
		evicted := false
		for i := range b.hits {
			if h, k := &b.hits[i], b.tickets[i].name; h.N > 0 {
				sh := s.shard(k)
				before := sh.evicted
				sh.counter(h, k, s.clock)
				evicted = evicted || sh.evicted != before
			}
		}
		if !evicted {
			return
		}
	}
}

// freeze finds the counters, none of which can move now, and reads their values.
func (s *Store) freeze(b *batch) {
	var seen map[counter]int
	if len(b.hits) > fewHits {
		seen = make(map[counter]int, len(b.hits))
	}
	for i := range b.hits {
		t := &b.tickets[i]
		t.counter = s.shard(t.name).existing(&b.hits[i], t.name)
		t.first = b.firstOf(i, seen)
		if t.first != i {
			continue
		}
		if t.counter.own != nil {
			t.value = t.counter.own.freeze()
		} else {
			t.value = t.counter.value()
		}
	}
}

// firstOf returns the first hit that has the counter of hit i.
func (b *batch) firstOf(i int, seen map[counter]int) int {
	c := b.tickets[i].counter
	if c == (counter{}) { // not counted, so it has nothing in common with others
		return i
	}
	if seen != nil {
		if first, ok := seen[c]; ok {
			return first
		}
		seen[c] = i
		return i
	}
	for first := range i {
		if b.tickets[first].counter == c {
			return first
		}
	}
	return i
}

// count adds all hits or, if any of them would exceed its limit, only those that would.
func (b *batch) count() {
	over := false
	for i := range b.hits {
		b.hits[i].Count = b.tickets[b.tickets[i].first].value
		over = over || exceeds(&b.hits[i])
	}
	for i := range b.hits {
		h, value := &b.hits[i], &b.tickets[b.tickets[i].first].value
		if !over || exceeds(h) {
			*value = plus(*value, h.N)
		}
		h.Count = *value
	}
}

// thaw stores the values in the counters.
func (s *Store) thaw(b *batch) {
	for i := range b.hits {
		switch t := &b.tickets[i]; {
		case t.first != i:
		case t.counter.own != nil:
			t.counter.own.thaw(t.value)
		case t.counter.shared != nil:
			sh := s.shard(t.name)
			sh.shared = plus(sh.shared, t.value-*t.counter.shared)
			*t.counter.shared = t.value
		default:
			sh := s.shard(t.name)
			sh.uncounted = plus(sh.uncounted, t.value)
		}
	}
}

// exceeds reports whether Count, as read, and N are more than the limit.
func exceeds(h *ratelimit.Hit) bool { return plus(h.Count, h.N) > uint64(h.Limit) }
