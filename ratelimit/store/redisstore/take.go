package redisstore

import (
	"context"
	"fmt"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Take implements ratelimit.TakeStore. Takes from one key that calls of this process make at
// the same time reach the server as one script call. The error wraps errors.ErrUnsupported
// if the server does not execute scripts. If ctx ends first, hits that were under way are taken once.
func (s *Store) Take(ctx context.Context, takes []ratelimit.Take) error {
	return s.queue.do(ctx, request{kind: takeCall, takes: takes})
}

// Subtract implements ratelimit.SubtractStore; for errors see Take.
func (s *Store) Subtract(ctx context.Context, hits []ratelimit.Hit) error {
	return s.queue.do(ctx, request{kind: subtractCall, hits: hits})
}

// Take is like Store.Take. Each server gets its part of the takes. If one part fails, others
// may have been taken.
func (c *Cluster) Take(ctx context.Context, takes []ratelimit.Take) error {
	return c.do(ctx, request{kind: takeCall, takes: takes})
}

// Subtract is like Store.Subtract. If one part of the hits fails, others may have been subtracted.
func (c *Cluster) Subtract(ctx context.Context, hits []ratelimit.Hit) error {
	return c.do(ctx, request{kind: subtractCall, hits: hits})
}

// takeItem is a take. Its key is a copy, as that of an item.
type takeItem struct {
	keyFrom, keyTo int // in the call's keys
	index          int // in the caller's takes
	take           ratelimit.Take

	scripted, position int // in the batch
	err                error
}

// addTake copies the take at an index of the caller's takes.
func (c *call) addTake(t *ratelimit.Take, index int) {
	from := len(c.keys)
	c.keys = append(c.keys, t.Key...)
	c.takes = append(c.takes, takeItem{keyFrom: from, keyTo: len(c.keys), index: index, take: *t})
	c.takes[len(c.takes)-1].take.Key = nil
}

func (c *call) takeKey(it *takeItem) []byte { return c.keys[it.keyFrom:it.keyTo] }

// request is what a caller asks for: hits or takes.
type request struct {
	kind  callKind
	hits  []ratelimit.Hit
	takes []ratelimit.Take
}

func (r *request) len() int { return len(r.hits) + len(r.takes) }

// key returns the key of a hit or take.
func (r *request) key(i int) []byte {
	if r.kind == takeCall {
		return r.takes[i].Key
	}
	return r.hits[i].Key
}

// check returns an error for takes that no script is for.
func (r *request) check() error {
	for i := range r.takes {
		if a := r.takes[i].Algorithm; algorithmOf(a) == nil {
			return fmt.Errorf("redisstore: a take has the algorithm %s: must be another one than fixed_window", a)
		}
	}
	return nil
}

// copyTo copies a hit or take to a call.
func (r *request) copyTo(c *call, i int) {
	if r.kind == takeCall {
		c.addTake(&r.takes[i], i)
	} else {
		c.add(&r.hits[i], i)
	}
}
