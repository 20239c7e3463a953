package redisstore

import (
	"context"
	"fmt"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Charge implements ratelimit.ChargeStore. Takes from one key that calls of this process make at
// the same time reach the server as one script call. The error wraps errors.ErrUnsupported
// if the server does not execute scripts. If ctx ends first, hits that were under way are taken once.
func (s *Store) Charge(ctx context.Context, charges []ratelimit.Charge) error {
	return s.queue.do(ctx, request{kind: chargeCall, charges: charges})
}

// Subtract implements ratelimit.SubtractStore; for errors see Take.
func (s *Store) Subtract(ctx context.Context, hits []ratelimit.Hit) error {
	return s.queue.do(ctx, request{kind: subtractCall, hits: hits})
}

// Charge is like Store.Take. Each server gets its part of the charges. If one part fails, others
// may have been taken.
func (c *Cluster) Charge(ctx context.Context, charges []ratelimit.Charge) error {
	return c.do(ctx, request{kind: chargeCall, charges: charges})
}

// Subtract is like Store.Subtract. If one part of the hits fails, others may have been subtracted.
func (c *Cluster) Subtract(ctx context.Context, hits []ratelimit.Hit) error {
	return c.do(ctx, request{kind: subtractCall, hits: hits})
}

// chargeItem is a charge. Its key is a copy, as that of an item.
type chargeItem struct {
	keyFrom, keyTo int // in the call's keys
	index          int // in the caller's takes
	charge         ratelimit.Charge

	scripted, position int // in the batch
	err                error
}

// addCharge copies the charge at an index of the caller's takes.
func (c *call) addCharge(t *ratelimit.Charge, index int) {
	from := len(c.keys)
	c.keys = append(c.keys, t.Key...)
	c.charges = append(c.charges, chargeItem{keyFrom: from, keyTo: len(c.keys), index: index, charge: *t})
	c.charges[len(c.charges)-1].charge.Key = nil
}

func (c *call) chargeKey(it *chargeItem) []byte { return c.keys[it.keyFrom:it.keyTo] }

// request is what a caller asks for: hits or charges.
type request struct {
	kind    callKind
	hits    []ratelimit.Hit
	charges []ratelimit.Charge
}

func (r *request) len() int { return len(r.hits) + len(r.charges) }

// key returns the key of a hit or take.
func (r *request) key(i int) []byte {
	if r.kind == chargeCall {
		return r.charges[i].Key
	}
	return r.hits[i].Key
}

// check returns an error for takes that no script is for.
func (r *request) check() error {
	for i := range r.charges {
		if a := r.charges[i].Algorithm; algorithmOf(a) == nil {
			return fmt.Errorf("redisstore: a charge has the algorithm %s: must be another one than fixed_window", a)
		}
	}
	return nil
}

// copyTo copies a hit or take to a call.
func (r *request) copyTo(c *call, i int) {
	if r.kind == chargeCall {
		c.addCharge(&r.charges[i], i)
	} else {
		c.add(&r.hits[i], i)
	}
}
