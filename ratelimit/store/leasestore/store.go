package leasestore

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// leased is the store with leases.
type leased struct{ l *Leases }

// leases reports whether a hit may be leased.
func (l *Leases) leases(h *ratelimit.Hit) bool {
	return (h.Lease || l.opts.All) && !h.Claim && len(h.Key) <= maxKeyLen
}

func (l *Leases) tag(key []byte) uint64 { return maphash.Bytes(l.seed, key) | 1 }

// Add implements ratelimit.Store.
func (s *leased) Add(ctx context.Context, hits []ratelimit.Hit) error {
	l := s.l
	for i := range hits {
		h := &hits[i]
		if l.leases(h) {
			tag := l.tag(h.Key)
			e := l.table.find(tag, h)
			if e != nil && e.decide(h) {
				continue
			}
			if e == nil && len(hits) == 1 { // an infrequent key
				return l.addUnknown(ctx, hits, tag)
			}
		}
		return l.add(ctx, hits[i:])
	}
	return nil
}

// addUnknown counts a hit without a lease, and begins one if the key comes often.
func (l *Leases) addUnknown(ctx context.Context, hits []ratelimit.Hit, tag uint64) error {
	if l.table.enter(tag, &hits[0], l.now(), false) != nil {
		return l.add(ctx, hits)
	}
	if err := l.inner.Add(ctx, hits); err != nil {
		return err
	}
	if hits[0].Count > uint64(hits[0].Limit) {
		l.settle(&hits[0], hits[0].N, nil)
	}
	return nil
}

// call is the memory of a call whose hits are not all decided by leases.
type call struct {
	rest    []ratelimit.Hit // for the store
	at      []int           // their indices
	of      []*lease        // theirs, or nil
	pending []pending
	awaited []pending // the pending ones before
	held    []held
}

// pending is a hit that waits for a claim.
type pending struct {
	at    int
	claim *claim
	own   bool // the hit is part of it
}

// release keeps the memory for other calls, unless it is large.
func (c *call) release(l *Leases) {
	if cap(c.rest) > 100 {
		return
	}
	clear(c.rest)
	clear(c.of)
	clear(c.pending)
	clear(c.awaited)
	clear(c.held)
	c.rest, c.at, c.of, c.pending, c.awaited, c.held = c.rest[:0], c.at[:0], c.of[:0], c.pending[:0], c.awaited[:0], c.held[:0]
	l.calls.Put(c)
}

func (c *call) toStore(hits []ratelimit.Hit, at int, of *lease) {
	c.rest, c.at, c.of = append(c.rest, hits[at]), append(c.at, at), append(c.of, of)
}

// attempts bounds how often a hit waits for a claim of others before it goes to the store itself.
const attempts = 3

// add counts hits of which the first is not decided.
func (l *Leases) add(ctx context.Context, hits []ratelimit.Hit) error {
	if !l.leasesAny(hits) {
		return l.inner.Add(ctx, hits)
	}
	c := l.calls.Get().(*call)
	defer c.release(l)
	for i := range hits {
		l.route(ctx, c, hits, i)
	}
	if len(hits) == 1 && len(c.rest) == 1 {
		if err := l.inner.Add(ctx, hits); err != nil {
			return err
		}
		l.settle(&hits[0], hits[0].N, c.of[0])
		return nil
	}
	for try := 1; ; try++ {
		if len(c.rest) > 0 {
			if err := l.flush(ctx, c, hits, l.inner.Add); err != nil {
				return err
			}
		}
		if len(c.pending) == 0 {
			return nil
		}
		if err := l.await(ctx, c, hits, try); err != nil {
			return err
		}
	}
}

func (l *Leases) leasesAny(hits []ratelimit.Hit) bool {
	return slices.ContainsFunc(hits, func(h ratelimit.Hit) bool { return l.leases(&h) })
}

// route decides a hit if its lease can, or else notes its outcome.
func (l *Leases) route(ctx context.Context, c *call, hits []ratelimit.Hit, at int) {
	h := &hits[at]
	e := l.lease(h)
	if e == nil {
		c.toStore(hits, at, nil)
		return
	}
	switch decided, claim, begun := e.next(ctx, l, h, true); {
	case claim != nil:
		c.pending = append(c.pending, pending{at, claim, begun})
	case !decided:
		c.toStore(hits, at, e)
	}
}

// lease returns the lease of a hit, or nil.
func (l *Leases) lease(h *ratelimit.Hit) *lease {
	if !l.leases(h) {
		return nil
	}
	tag := l.tag(h.Key)
	if e := l.table.find(tag, h); e != nil {
		return e
	}
	return l.table.enter(tag, h, l.now(), false)
}

// flush makes a call of the store for the hits in c.rest.
func (l *Leases) flush(ctx context.Context, c *call, hits []ratelimit.Hit, add func(context.Context, []ratelimit.Hit) error) error {
	if err := add(ctx, c.rest); err != nil {
		return err
	}
	for i, at := range c.at {
		hits[at].Count = c.rest[i].Count
		l.settle(&hits[at], c.rest[i].N, c.of[i])
	}
	clear(c.rest)
	c.rest, c.at, c.of = c.rest[:0], c.at[:0], c.of[:0]
	return nil
}

// settle notes the count of a hit from the store, of which n were added. e may be nil.
func (l *Leases) settle(h *ratelimit.Hit, n uint64, e *lease) {
	over := h.Count > uint64(h.Limit)
	if over && e == nil && l.leases(h) {
		e = l.table.enter(l.tag(h.Key), h, l.now(), true)
	}
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.note(l, h.Count)
	if over && n > 0 && n <= leftMask && !e.retired && l.list(e) {
		e.excess += n // counted in vain
	}
}

// await waits for the claims of the pending hits. A hit for which the claim of another caller was not
// enough is routed again.
func (l *Leases) await(ctx context.Context, c *call, hits []ratelimit.Hit, try int) error {
	c.pending, c.awaited = c.awaited[:0], c.pending
	for _, p := range c.awaited {
		if err := p.claim.wait(ctx); err != nil {
			return err
		}
		switch {
		case p.own:
			hits[p.at].Count = p.claim.count
		case try < attempts:
			l.route(ctx, c, hits, p.at)
		default:
			c.toStore(hits, p.at, l.lease(&hits[p.at]))
		}
	}
	return nil
}

// wait returns the error of the claim, or of the context if that ends before.
func (c *claim) wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return fmt.Errorf("leasestore: given up: %w", context.Cause(ctx))
	}
}

// Charge implements ratelimit.ChargeStore. Token buckets are leased. It returns errors.ErrUnsupported
// if the inner store is no ChargeStore.
func (s *leased) Charge(ctx context.Context, charges []ratelimit.Charge) error {
	inner, ok := s.l.inner.(ratelimit.ChargeStore)
	switch {
	case !ok:
		return errors.ErrUnsupported
	case len(charges) == 0:
		return inner.Charge(ctx, charges)
	}
	return s.l.charge(ctx, inner, charges)
}

// Update implements ratelimit.LedgerStore: reservations are not leased. It returns errors.ErrUnsupported if the inner store
// is no LedgerStore.
func (s *leased) Update(ctx context.Context, key []byte, change func([]byte) ([]byte, time.Duration)) error {
	inner, ok := s.l.inner.(ratelimit.LedgerStore)
	if !ok {
		return errors.ErrUnsupported
	}
	return inner.Update(ctx, key, change)
}

// Now implements ratelimit.ClockStore, by the clock of the inner store.
func (s *leased) Now() time.Time {
	if inner, ok := s.l.inner.(ratelimit.ClockStore); ok {
		return inner.Now()
	}
	return time.Now()
}

// Supports implements ratelimit.AlgorithmStore.
func (s *leased) Supports(a ratelimit.Algorithm) error { return a.SupportedBy(s.l.inner) }

// Subtract implements ratelimit.SubtractStore. What is left of the leases of the counters is given
// back too, so that the counts are exact if no other instance has leases. It
// returns errors.ErrUnsupported if the inner store can't subtract.
func (s *leased) Subtract(ctx context.Context, hits []ratelimit.Hit) error {
	l := s.l
	if l.subtracts == nil {
		return errors.ErrUnsupported
	}
	own := slices.Clone(hits)
	held := make([]*lease, len(hits))
	for i := range own {
		if e := l.table.find(l.tag(own[i].Key), &own[i]); e != nil {
			held[i] = e
			own[i].N = plus(own[i].N, e.drain())
		}
	}
	err := l.subtracts.Subtract(ctx, own)
	for i, e := range held {
		switch more := own[i].N - hits[i].N; {
		case e == nil:
		case errors.Is(err, errors.ErrUnsupported):
			l.restore(ctx, e, more)
		case err != nil:
			l.stats.lost.Add(more)
		default:
			l.stats.returned.Add(more)
			e.mu.Lock()
			e.seen = own[i].Count
			e.mu.Unlock()
		}
		hits[i].Count = own[i].Count
	}
	return err
}

// restore returns hits to a lease that were withdrawn and not used.
func (l *Leases) restore(ctx context.Context, e *lease, n uint64) {
	if n == 0 {
		return
	}
	e.mu.Lock()
	if !e.retired && l.list(e) {
		e.put(n, 0)
		e.mu.Unlock()
		return
	}
	e.mu.Unlock()
	_, _ = l.giveBack(ctx, []ratelimit.Hit{e.hitOf(n)})
}
