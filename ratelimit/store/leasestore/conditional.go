package leasestore

import (
	"context"
	"errors"
	"slices"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// held is a hit of a conditional call that a lease has decided.
type held struct {
	at   int
	of   *lease
	over bool
}

// AddUnlessOver implements ratelimit.ConditionalStore. Hits that leases cover are not over, so
// they are counted first, and returned to the lease if another hit of the call is over. If leases refuse
// a hit and the store decides others, it decides that one too. It returns errors.ErrUnsupported if
// the inner store can't decide at once.
func (s *leased) AddUnlessOver(ctx context.Context, hits []ratelimit.Hit) error {
	l := s.l
	inner, ok := l.inner.(ratelimit.ConditionalStore)
	switch {
	case !ok:
		return errors.ErrUnsupported
	case !l.leasesAny(hits):
		return inner.AddUnlessOver(ctx, hits)
	case len(hits) == 1: // it is added in either case
		return s.Add(ctx, hits)
	}
	c := l.calls.Get().(*call)
	defer c.release(l)
	for i := range hits {
		e, err := l.hold(ctx, &hits[i])
		switch {
		case err != nil:
			l.undo(ctx, c, hits)
			return err
		case e == nil:
			c.toStore(hits, i, l.lease(&hits[i]))
		default:
			c.held = append(c.held, held{i, e, hits[i].Count > uint64(hits[i].Limit)})
		}
	}
	if len(c.rest) > 0 {
		for _, u := range c.held {
			if u.over { // the store must see it
				c.toStore(hits, u.at, u.of)
			}
		}
		if err := l.flush(ctx, c, hits, inner.AddUnlessOver); err != nil {
			l.undo(ctx, c, hits)
			return err
		}
	}
	if slices.ContainsFunc(hits, func(h ratelimit.Hit) bool { return h.Count > uint64(h.Limit) }) {
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
