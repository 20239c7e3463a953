package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
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

// addUnlessOver leaves all counters as they are but those that would go over their
// limit, if there are any (matching rule 14; reference 1.9).
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

// note remembers whether a store failed.
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

// onlyStore is the store that has all the hits of the request, and which one it is; nil
// if both have some.
func (e *Engine) onlyStore(w *workspace) (int, Store) {
	switch {
	case len(w.hits[perSecond]) == 0:
		return mainStore, e.store
	case len(w.hits[mainStore]) == 0:
		return perSecond, e.opts.PerSecond
	}
	return 0, nil
}

// readThenAdd does what a ConditionalStore does, in two steps: what others count
// in between is not seen.
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
	// The call may go on without the store that failed. The other one must have counted
	// then, or it would hold nobody to a limit.
	for i, store := range [...]Store{mainStore: e.store, perSecond: e.opts.PerSecond} {
		if len(w.hits[i]) > 0 && !w.failed[i] {
			_ = w.note(i, guardedAdd(ctx, store, w.hits[i])) // the call has an error already
		}
	}
	return failed
}

// restore gives the hits that were read back their N and reports whether any would
// exceed its limit.
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

// wouldExceed reports whether N more than Count are over the limit.
func (h *Hit) wouldExceed() bool {
	return h.Count > uint64(h.Limit) || h.N > uint64(h.Limit)-h.Count
}

// holdBack turns the hits of which it is true into reads.
func (w *workspace) holdBack(back func(*Hit) bool) {
	for s := range w.hits {
		for i := range w.hits[s] {
			if h := &w.hits[s][i]; back(h) {
				h.N = 0
			}
		}
	}
}
