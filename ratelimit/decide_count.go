package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
)

// count has the stores add the hits. With Options.StopIncrementWhenOverLimit it increments only the
// counters that exceed their limit, if there are any (REFERENCE.md, 3.6).
func (e *Engine) count(ctx context.Context, w *workspace) error {
	if !e.opts.StopIncrementWhenOverLimit {
		return e.add(ctx, w)
	}
	if w.anyCached {
		w.holdBack()
		w.restore(func(c *check) bool { return c.refund }) // no limit prevents a refund
		return e.add(ctx, w)
	}
	if list, n := w.lists(); n == 1 && list < refunds {
		if cs, ok := e.storeOf(list).(ConditionalStore); ok {
			if err := guard(func() error { return cs.AddUnlessOver(ctx, w.hits[list]) }); !errors.Is(err, errors.ErrUnsupported) {
				return w.note(list, err)
			}
		}
	}
	return e.readThenAdd(ctx, w)
}

// recheck reads the counters that have been in the over-limit cache for a while: another instance may have
// given hits back. Those that are over still, and all if that is not known, are as if they had not been read.
func (e *Engine) recheck(ctx context.Context, w *workspace) {
	w.holdBack()
	err := e.add(ctx, w)
	w.failed = [len(w.failed)]bool{}
	for i := range w.checks {
		c := &w.checks[i]
		if !c.recheck {
			continue
		}
		if h := &w.hits[c.store][c.hit]; err == nil && h.Count <= uint64(h.Limit) {
			e.opts.OverLimitCache.Remove(h.Key)
			c.cached = false
		}
		w.anyCached = w.anyCached || c.cached
	}
	if !slices.ContainsFunc(w.checks, func(c check) bool { return c.live && !c.cached }) {
		for i := range w.hits {
			w.hits[i] = w.hits[i][:0]
		}
	}
	w.restore(func(*check) bool { return true })
}

// add has the stores add, subtract and charge, at the same time if there are several lists. It
// returns only when no store writes to them any more.
func (e *Engine) add(ctx context.Context, w *workspace) error {
	switch first, n := w.lists(); n {
	case 0:
		return nil
	case 1:
		return w.note(first, e.call(ctx, w, first))
	default:
		return e.addAll(ctx, w, first)
	}
}

// lists returns the first list that is not empty, and how many there are.
func (w *workspace) lists() (first, n int) {
	for i := range w.failed {
		if w.len(i) > 0 {
			if n++; n == 1 {
				first = i
			}
		}
	}
	return first, n
}

// storeOf returns the store of a list.
func (e *Engine) storeOf(list int) Store {
	if list%refunds == perSecond {
		return e.opts.PerSecond
	}
	return e.store
}

// addAll is add for several lists.
func (e *Engine) addAll(ctx context.Context, w *workspace, first int) error {
	var others sync.WaitGroup
	var errs [len(w.failed)]error
	for i := first + 1; i < len(errs); i++ {
		if w.len(i) == 0 {
			continue
		}
		errs[i] = errors.New("the counter store ended its goroutine")
		others.Add(1)
		go func() {
			defer others.Done() // runtime.Goexit included
			errs[i] = e.call(ctx, w, i)
		}()
	}
	errs[first] = e.call(ctx, w, first)
	// The hits belong to the caller's Decision: wait even if a store has failed.
	others.Wait()
	for i, err := range errs {
		if w.len(i) > 0 {
			_ = w.note(i, err)
		}
	}
	return cmp.Or(errs[:]...)
}

// call calls the store of a list. It turns a panic into an error.
func (e *Engine) call(ctx context.Context, w *workspace, list int) error {
	return guard(func() error {
		switch {
		case list == charging:
			return chargeFrom(ctx, e.store, w.charges)
		case list < refunds:
			return e.storeOf(list).Add(ctx, w.hits[list])
		}
		err := errors.ErrUnsupported
		if s, ok := e.storeOf(list).(SubtractStore); ok {
			err = s.Subtract(ctx, w.hits[list])
		}
		if errors.Is(err, errors.ErrUnsupported) {
			return fmt.Errorf("the counter store (%T) can't subtract hits: %w", e.storeOf(list), err)
		}
		return err
	})
}

// guard turns a panic of a call to a store into an error.
func guard(call func() error) (err error) {
	returned := false
	defer func() {
		if returned { // recover is not free
			return
		}
		if p := recover(); p != nil {
			err = fmt.Errorf("the counter store panicked: %v\n%s", p, debug.Stack())
		}
	}()
	err = call()
	returned = true
	return err
}

// readThenAdd does in two steps what a ConditionalStore does in one: hits that others count
// in between are not seen.
func (e *Engine) readThenAdd(ctx context.Context, w *workspace) error {
	w.holdBack()
	failed := e.add(ctx, w)
	if failed != nil && !e.mayGoOn(ctx, w, failed) {
		return failed
	}
	over := slices.ContainsFunc(w.checks, func(c check) bool { return c.live && !c.cached && !w.failed[c.store] && w.exceeds(&c) })
	w.restore(func(c *check) bool { return !over || c.refund || w.exceeds(c) })
	if failed == nil {
		return e.add(ctx, w)
	}
	// A policy may decide for the store that failed. The other lists must still count, or
	// their limits would have no effect.
	for i, bad := range w.failed {
		if w.len(i) > 0 && !bad {
			_ = w.note(i, e.call(ctx, w, i)) // the call has an error already
		}
	}
	return failed
}

// holdBack turns all hits into reads.
func (w *workspace) holdBack() {
	for s := range w.hits {
		for i := range w.hits[s] {
			w.hits[s][i].N = 0
		}
	}
	for i := range w.checks {
		c := &w.checks[i]
		for j := range c.charges() {
			c.chargeLimit(j).fill(&w.charges[c.hit+j], 0, w.now)
		}
	}
}

// restore sets the numbers of some hits that were only read.
func (w *workspace) restore(selected func(*check) bool) {
	for i := range w.checks {
		c := &w.checks[i]
		if !c.live || c.cached || w.failed[c.store] || !selected(c) {
			continue
		}
		if c.charge == nil {
			w.hits[c.store][c.hit].N = c.hits
		}
		for j := range c.charges() {
			c.chargeLimit(j).fill(&w.charges[c.hit+j], c.hits, w.now)
		}
	}
}

// exceeds reports whether hits that were only read would be over their limit.
func (w *workspace) exceeds(c *check) bool {
	switch {
	case c.refund:
		return false
	case c.charge != nil && c.charge.reserves:
		return int64(c.hits) > w.charges[c.hit].report().remaining
	case c.charge != nil:
		t := w.charges[c.hit]
		state := t.State
		c.charge.fill(&t, c.hits, w.now)
		t.Apply(&state)
		return !t.Allowed
	}
	h := &w.hits[c.store][c.hit]
	return h.Count > uint64(h.Limit) || c.hits > uint64(h.Limit)-h.Count
}

// mayGoOn reports whether a call may be decided although a store has failed.
func (e *Engine) mayGoOn(ctx context.Context, w *workspace, cause error) bool {
	return ctx.Err() == nil && KindOf(cause) != Invalid && e.policies(w)
}

// policies sets the policy of each descriptor whose store failed. It reports false if one
// of them fails the call.
func (e *Engine) policies(w *workspace) bool {
	for i := range w.checks {
		c := &w.checks[i]
		if !c.live || c.cached || !w.failed[c.store] {
			continue
		}
		c.failure = e.opts.OnStoreFailure
		if c.rule != nil && c.rule.limit.rule.OnStoreFailure != "" {
			c.failure = c.rule.limit.rule.OnStoreFailure
		}
		if c.failure == FailError || c.failure == FailLocal && e.opts.Fallback == nil {
			return false
		}
	}
	return true
}
