package memstore

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// fewHits is for how many hits AddUnlessOver needs no memory of its own.
const fewHits = 8

// AddUnlessOver implements ratelimit.ConditionalStore: it holds the locks of all
// counters from the comparison to the last addition. The error is always nil.
func (s *Store) AddUnlessOver(_ context.Context, hits []ratelimit.Hit) error {
	var tickets [fewHits]ticket
	var locks [fewHits]uint64
	b := batch{hits: hits, tickets: tickets[:], locks: locks[:]}
	if len(hits) > fewHits {
		b.tickets, b.locks = make([]ticket, len(hits)), make([]uint64, len(hits))
	}
	b.locks = s.prepare(&b)
	s.lock(&b)
	over := s.read(&b)
	if !over && s.create(&b) {
		over = s.read(&b)
	}
	s.apply(&b, over)
	if s.unlock(&b) {
		s.sweep()
	}
	return nil
}

// batch is one call of AddUnlessOver. Nothing that it points to may point to a
// part of it, or the compiler won't keep it on the stack.
type batch struct {
	hits    []ratelimit.Hit
	tickets []ticket // one per hit
	locks   []uint64 // indexes of the shards, ascending
}

// ticket is a name, but for the bytes of the key.
type ticket struct {
	sum    uint64
	mark   uint16
	digest [sha256.Size]byte
}

// at is the i-th hit and its name.
func (b *batch) at(i int) (*ratelimit.Hit, name) {
	h, t := &b.hits[i], &b.tickets[i]
	if t.mark&digested != 0 {
		return h, name{t.digest[:], t.sum, t.mark}
	}
	return h, name{h.Key, t.sum, t.mark}
}

// prepare names the hits and returns the shards to lock.
func (s *Store) prepare(b *batch) []uint64 {
	locks := b.locks[:len(b.hits)]
	for i := range b.hits {
		t := &b.tickets[i]
		k := s.name(b.hits[i].Key, &t.digest)
		t.sum, t.mark = k.sum, k.mark
		locks[i] = s.index(k)
	}
	slices.Sort(locks)
	return slices.Compact(locks)
}

// lock locks in ascending order, as all calls do, so none waits for another in
// a circle.
func (s *Store) lock(b *batch) {
	for _, i := range b.locks {
		s.shards[i].mu.Lock()
	}
}

// unlock reports whether it is time to look at the clock.
func (s *Store) unlock(b *batch) (look bool) {
	for _, i := range b.locks {
		sh := &s.shards[i]
		look = sh.called() || look
		sh.mu.Unlock()
	}
	return look
}

// read reads all counters and reports whether any addition would go over its
// limit.
func (s *Store) read(b *batch) (over bool) {
	for i := range b.hits {
		h, k := b.at(i)
		h.Count = s.shard(k).value(h, k)
		over = over || exceeds(h)
	}
	return over
}

// create makes the counters that read did not find, and reports whether there
// were any. If there is no memory for one, its hit will be counted on a shared
// counter, which may be over the limit: this has to be known before any is added.
func (s *Store) create(b *batch) (created bool) {
	for i := range b.hits {
		h, k := b.at(i)
		if h.Count == 0 && h.N > 0 {
			s.shard(k).counter(h, k, s.clock)
			created = true
		}
	}
	return created
}

// apply adds all hits or, if any of them is over its limit, only those that are.
func (s *Store) apply(b *batch, over bool) {
	for i := range b.hits {
		h, k := b.at(i)
		sh := s.shard(k)
		if over && !exceeds(h) {
			h.Count = sh.value(h, k)
			continue
		}
		h.Count = sh.add(h, k, s.clock)
	}
}

// exceeds reports whether Count, as read, and N are more than the limit.
func exceeds(h *ratelimit.Hit) bool { return plus(h.Count, h.N) > uint64(h.Limit) }
