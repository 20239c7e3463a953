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
// they are taken first, and put back if another hit of the call is over.
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
	call := s.inner.AddUnlessOver
	if over {
		call = l.addOver
	}
	if len(c.rest) > 0 {
		if err := l.flush(ctx, c, hits, call); err != nil {
			l.undo(ctx, c, hits)
			return err
		}
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
	switch way, claim := e.next(ctx, l, h, false); way {
	case decided:
		return e, nil
	case withClaim, afterward:
		if err := claim.wait(ctx); err != nil {
			return nil, err
		}
		if e.decide(h) {
			return e, nil
		}
	}
	return nil, nil
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

// addOver adds the hits that are over their limit, and reads the others: another hit of the call
// is over. As nothing is admitted, hits that others add in between do no harm.
func (l *Leases) addOver(ctx context.Context, hits []ratelimit.Hit) error {
	n := make([]uint64, len(hits))
	for i := range hits {
		n[i], hits[i].N = hits[i].N, 0
	}
	if err := l.inner.Add(ctx, hits); err != nil {
		return err
	}
	any := false
	for i := range hits {
		if hits[i].N = n[i]; plus(hits[i].Count, n[i]) <= uint64(hits[i].Limit) {
			hits[i].N = 0
		}
		any = any || hits[i].N > 0
	}
	if !any {
		return nil
	}
	return l.inner.Add(ctx, hits)
}
