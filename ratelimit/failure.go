package ratelimit

import (
	"context"
	"slices"
)

// FailurePolicy says what becomes of a descriptor when its counter can't be reached.
// The empty one stands for that of Options.OnStoreFailure.
type FailurePolicy string

// The policies.
const (
	// FailError fails the whole call with a StoreFailure (specification, matching rule
	// 12). One descriptor with this policy is enough.
	FailError FailurePolicy = "error"
	// FailAllow lets the descriptor pass uncounted.
	FailAllow FailurePolicy = "allow"
	// FailDeny is an answer over the limit; shadow mode applies.
	FailDeny FailurePolicy = "deny"
	// FailLocal counts the descriptor in Options.Fallback, at its full limit. Each
	// instance does so by itself, so all of them together may let more pass.
	FailLocal FailurePolicy = "local"
)

// FailurePolicyNames is what a policy may be called, for error messages.
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

// number is failUnset for the empty policy and for those that there are not.
func (p FailurePolicy) number() failure {
	if p == "" {
		return failUnset
	}
	return failure(max(slices.Index(failureNumbers[:], p), 0))
}

// fallBack decides by policy what a store that failed has left undecided. It returns
// the store's error if that is the policy, if the caller does not wait any more, and
// if the request is at fault.
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

// policies gives each descriptor whose store has failed its policy. It reports false
// if one of them is to fail the call.
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

// countLocally has the fallback store count what is to be counted there.
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
