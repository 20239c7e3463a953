package leasestore

import (
	"context"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// leasedConditional is a conditional store with leases.
type leasedConditional struct {
	leased
	inner ratelimit.ConditionalStore
}

// held is a hit of a conditional call that a lease has decided.
type held struct {
	at   int
	of   *lease
	over bool
}

// AddUnlessOver implements ratelimit.ConditionalStore. Hits that leases cover are not over, so
// they are counted first, and returned to the lease if another hit of the call is over.
func (s *leasedConditional) AddUnlessOver(ctx context.Context, hits []ratelimit.Hit) error {
	l := s.l
	switch {
	case !l.leasesAny(hits):
		return s.inner.AddUnlessOver(ctx, hits)
	case len(hits) == 1: // it is added in either case
		return s.Add(ctx, hits)
	}
	c := l.calls.Get().(*call)
	defer c.release(l)
	over := false
	for i := range hits {
		e, err := l.hold(ctx, &hits[i])
		if err != nil {
			l.undo(ctx, c, hits)
			return err
		}
		if e == nil {
			c.toStore(hits, i, l.lease(&hits[i]))
			continue
		}
		isOver := hits[i].Count > uint64(hits[i].Limit)
		c.held = append(c.held, held{i, e, isOver})
		over = over || isOver
	}
	var err error
	switch {
	case len(c.rest) == 0:
	case over:
		err = l.countOver(ctx, c, hits)
	default:
		err = l.flush(ctx, c, hits, s.inner.AddUnlessOver)
	}
	if err != nil {
		l.undo(ctx, c, hits)
		return err
	}
	for i := range hits {
		over = over || hits[i].Count > uint64(hits[i].Limit)
	}
	if over {
		l.undo(ctx, c, hits)
	}
	return nil
}

// hold has the lease of a hit decide it, after a claim if need be. It returns nil if the hit
// is for the store.
func (l *Leases) hold(ctx context.Context, h *ratelimit.Hit) (*lease, error) {
	e := l.lease(h)
	if e == nil {
		return nil, nil
	}
	decided, claim, _ := e.next(ctx, l, h, false)
	if claim != nil {
		if err := claim.wait(ctx); err != nil {
			return nil, err
		}
		decided = e.decide(h)
	}
	if !decided {
		return nil, nil
	}
	return e, nil
}

// undo puts the hits back that leases have decided, and makes their counts those without them.
func (l *Leases) undo(ctx context.Context, c *call, hits []ratelimit.Hit) {
	for _, u := range c.held {
		if !u.over {
			l.restore(ctx, u.of, hits[u.at].N)
		}
	}
	for _, u := range c.held {
		if !u.over {
			s := u.of.state.Load()
			hits[u.at].Count = s>>32 - s&leftMask
		}
	}
}

// countOver reads the hits for the store: another hit of the call is over. Those that are over
// too are added, unless they are leased.
func (l *Leases) countOver(ctx context.Context, c *call, hits []ratelimit.Hit) error {
	for i := range c.rest {
		c.rest[i].N = 0
	}
	if err := l.inner.Add(ctx, c.rest); err != nil {
		return err
	}
	more := false
	for i, at := range c.at {
		h := &hits[at]
		h.Count = c.rest[i].Count
		switch sum := plus(h.Count, h.N); {
		case sum <= uint64(h.Limit):
		case l.leases(h):
			h.Count = min(sum, maxCount)
		default:
			c.rest[i].N, more = h.N, true
		}
	}
	if !more {
		return nil
	}
	if err := l.inner.Add(ctx, c.rest); err != nil {
		return err
	}
	for i, at := range c.at {
		if c.rest[i].N > 0 {
			hits[at].Count = c.rest[i].Count
		}
	}
	return nil
}
