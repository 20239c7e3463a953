package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
)

// count has the stores add the hits.
func (e *Engine) count(ctx context.Context, d *Decision) error {
	w := &d.work
	switch {
	case len(w.hits[mainStore])+len(w.hits[perSecond]) == 0:
		return nil
	case e.opts.StopIncrementWhenOverLimit:
		return e.addUnlessOver(ctx, w)
	}
	return e.add(ctx, w)
}

// addUnlessOver increments only the counters that exceed their limit, if there are any (REFERENCE.md, 3.6).
func (e *Engine) addUnlessOver(ctx context.Context, w *workspace) error {
	if w.anyCached {
		w.holdBack(func(*Hit) bool { return true })
		return e.add(ctx, w)
	}
	if i, store := e.onlyStore(w); store != nil {
		if cs, ok := store.(ConditionalStore); ok {
			return w.note(i, guard(func() error { return cs.AddUnlessOver(ctx, w.hits[i]) }))
		}
	}
	return e.readThenAdd(ctx, w)
}

// note records whether a store failed.
func (w *workspace) note(store int, err error) error {
	w.failed[store] = err != nil
	return err
}

// add has both stores add their hits, at the same time if both have some. It returns
// only when neither writes to the hits any more.
func (e *Engine) add(ctx context.Context, w *workspace) error {
	here, there := w.hits[mainStore], w.hits[perSecond]
	switch {
	case len(there) == 0:
		return w.note(mainStore, guardedAdd(ctx, e.store, here))
	case len(here) == 0:
		return w.note(perSecond, guardedAdd(ctx, e.opts.PerSecond, there))
	}
	other := make(chan error, 1)
	go func() {
		err := errors.New("the counter store ended its goroutine")
		defer func() { other <- err }() // runtime.Goexit included
		err = guardedAdd(ctx, e.opts.PerSecond, there)
	}()
	err := w.note(mainStore, guardedAdd(ctx, e.store, here))
	// The hits belong to the caller's Decision: wait even if the first store failed.
	if err2 := w.note(perSecond, <-other); err == nil {
		err = err2
	}
	return err
}

// guardedAdd calls the store's Add and turns a panic into an error.
func guardedAdd(ctx context.Context, store Store, hits []Hit) (err error) {
	defer recoverStore(&err)
	return store.Add(ctx, hits)
}

// guard turns a panic of a call to a store into an error.
func guard(call func() error) (err error) {
	defer recoverStore(&err)
	return call()
}

func recoverStore(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the counter store panicked: %v\n%s", p, debug.Stack())
	}
}

// onlyStore returns the store that has all hits of the request and its index, nil if both
// have some.
func (e *Engine) onlyStore(w *workspace) (int, Store) {
	switch {
	case len(w.hits[perSecond]) == 0:
		return mainStore, e.store
	case len(w.hits[mainStore]) == 0:
		return perSecond, e.opts.PerSecond
	}
	return 0, nil
}

// readThenAdd does in two steps what a ConditionalStore does in one: hits that others count
// in between are not seen.
func (e *Engine) readThenAdd(ctx context.Context, w *workspace) error {
	w.holdBack(func(*Hit) bool { return true })
	failed := e.add(ctx, w)
	if failed != nil && !e.mayGoOn(ctx, w, failed) {
		return failed
	}
	anyOver := w.restore()
	if anyOver {
		w.holdBack(func(h *Hit) bool { return !h.wouldExceed() })
	}
	if failed == nil {
		return e.add(ctx, w)
	}
	// A policy may decide for the store that failed. The other store must still count, or
	// its limits would have no effect.
	for i, store := range [...]Store{mainStore: e.store, perSecond: e.opts.PerSecond} {
		if len(w.hits[i]) > 0 && !w.failed[i] {
			_ = w.note(i, guardedAdd(ctx, store, w.hits[i])) // the call has an error already
		}
	}
	return failed
}

// restore sets N of the hits that were only read, and reports whether any would exceed its
// limit.
func (w *workspace) restore() bool {
	anyOver := false
	for i := range w.checks {
		c := &w.checks[i]
		if !c.live || c.cached || w.failed[c.store] {
			continue
		}
		h := &w.hits[c.store][c.hit]
		h.N = c.hits
		anyOver = anyOver || h.wouldExceed()
	}
	return anyOver
}

// wouldExceed reports whether Count + N is over the limit.
func (h *Hit) wouldExceed() bool {
	return h.Count > uint64(h.Limit) || h.N > uint64(h.Limit)-h.Count
}

// holdBack turns the hits that satisfy a condition into reads.
func (w *workspace) holdBack(back func(*Hit) bool) {
	for s := range w.hits {
		for i := range w.hits[s] {
			if h := &w.hits[s][i]; back(h) {
				h.N = 0
			}
		}
	}
}

// FailurePolicy decides a descriptor whose store failed. The empty policy stands for
// Options.OnStoreFailure.
type FailurePolicy string

// The policies.
const (
	// FailError fails the whole call with a StoreFailure (REFERENCE.md, 6.3). One descriptor with this policy is enough.
	FailError FailurePolicy = "error"
	// FailAllow lets the descriptor pass uncounted.
	FailAllow FailurePolicy = "allow"
	// FailDeny treats the descriptor as over its limit; shadow mode applies.
	FailDeny FailurePolicy = "deny"
	// FailLocal counts the descriptor in Options.Fallback, at its full limit. Each instance
	// counts by itself, so all of them together may let more pass.
	FailLocal FailurePolicy = "local"
)

// FailurePolicyNames lists the policies, for error messages.
const FailurePolicyNames = "error, allow, deny or local"

// Valid reports whether p is one of the constants.
func (p FailurePolicy) Valid() bool { return p.number() != failUnset }

// failure is a FailurePolicy as a rule holds it.
type failure uint8

const (
	failUnset failure = iota
	failError
	failAllow
	failDeny
	failLocal
)

var failureNumbers = [...]FailurePolicy{failError: FailError, failAllow: FailAllow, failDeny: FailDeny, failLocal: FailLocal}

// number returns failUnset for the empty and for unknown policies.
func (p FailurePolicy) number() failure {
	if p == "" {
		return failUnset
	}
	return failure(max(slices.Index(failureNumbers[:], p), 0))
}

// fallBack applies the policies of descriptors whose store failed. It returns the store's
// error if a policy is FailError, if the context is done, and if the request is invalid.
func (e *Engine) fallBack(ctx context.Context, d *Decision, cause error) error {
	w := &d.work
	if !e.mayGoOn(ctx, w, cause) {
		return cause
	}
	if err := e.countLocally(ctx, w); err != nil {
		return cause
	}
	for i := range w.checks {
		if f := w.checks[i].failure; f != failUnset && e.fallbacks[f] != nil {
			e.fallbacks[f].Add(1)
		}
	}
	if e.opts.OnFallback != nil {
		e.opts.OnFallback(ctx, cause)
	}
	return nil
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
		c.failure = e.failure
		if c.rule != nil && c.rule.failure != failUnset {
			c.failure = c.rule.failure
		}
		if c.failure == failError || c.failure == failLocal && e.opts.Fallback == nil {
			return false
		}
	}
	return true
}

// countLocally counts the descriptors with FailLocal in the fallback store.
func (e *Engine) countLocally(ctx context.Context, w *workspace) error {
	w.local = w.local[:0]
	for i := range w.checks {
		if c := &w.checks[i]; c.failure == failLocal {
			h := w.hits[c.store][c.hit]
			h.N, h.Count = c.hits, 0 // N may have been held back
			w.local = append(w.local, h)
		}
	}
	if len(w.local) == 0 {
		return nil
	}
	if err := guardedAdd(ctx, e.opts.Fallback, w.local); err != nil {
		return err
	}
	next := 0
	for i := range w.checks {
		if c := &w.checks[i]; c.failure == failLocal {
			w.hits[c.store][c.hit].Count = w.local[next].Count
			next++
		}
	}
	return nil
}
