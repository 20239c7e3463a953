package ratelimit

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Limiter holds every key to one limit, with a counter for each key. It is an
// Engine with a single rule, so all of Options applies. It is safe for concurrent
// use. Create it with NewLimiter.
type Limiter struct {
	name   string
	engine *Engine
	active atomic.Pointer[limiterRule]
	mu     sync.Mutex // serializes SetLimit
	calls  sync.Pool  // of *limiterCall
	line   line       // of those that Wait
}

// limiterRule is the compiled limit. There is only one rule, so nothing is matched.
type limiterRule struct {
	inUse *inUse
	rule  *node
}

// limiterCall is the memory that one call needs.
type limiterCall struct {
	request     Request
	descriptors [1]Descriptor
	entries     [1]Entry
	decision    Decision
}

// limiterKey separates the name of a Limiter from its keys in names of counters.
const limiterKey = "key"

// NewLimiter returns a Limiter that counts in store. The name is required: it keeps
// the counters and statistics of Limiters in one store apart. Limiters with the same
// name and store, such as those of several instances of a program, count together.
// NewLimiter fails if the name, the limit or an option is invalid, or the store can't hold the limit. With KeyReference a name must not
// contain "_key_" or end in "_key". opts may be nil.
func NewLimiter(name string, store Store, limit Limit, opts *Options) (*Limiter, error) {
	switch {
	case name == "":
		return nil, errors.New("ratelimit: a Limiter needs a name, which keeps its counters apart from others in the store")
	case opts != nil && opts.CounterKeyFormat == KeyReference && strings.Contains(name+"_", "_"+limiterKey+"_"):
		// Limiter "a_key" with key "b" would count where Limiter "a" with key "key_b" does.
		return nil, fmt.Errorf(`ratelimit: invalid Limiter name %q: "_%s" separates names from keys: use %q`,
			name, limiterKey, strings.ReplaceAll(name, "_"+limiterKey, "-"+limiterKey))
	}
	engine, err := New(store, opts)
	if err != nil {
		return nil, err
	}
	l := &Limiter{name: name, engine: engine}
	if err := l.SetLimit(limit); err != nil {
		return nil, err
	}
	l.calls.New = func() any {
		c := &limiterCall{}
		c.entries[0].Key = limiterKey
		c.descriptors[0].Entries = c.entries[:]
		c.request = Request{Domain: name, Descriptors: c.descriptors[:]}
		return c
	}
	return l, nil
}

// SetLimit replaces the limit. Calls in progress finish with the old one. Counts of
// the current window stay, unless the new limit's windows differ. An invalid limit is
// rejected and the old one stays active.
func (l *Limiter) SetLimit(limit Limit) error {
	rules, err := Compile([]Domain{{Name: l.name, Rules: []Rule{{Key: limiterKey, Limit: &limit}}}}, nil)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.engine.Use(rules); err != nil {
		return err
	}
	l.active.Store(&limiterRule{l.engine.inUse.Load(), rules.only.top.find(limiterKey).any})
	return nil
}

// Allow counts one hit on key. The status's Code is OK or OverLimit. The error is an
// *Error of kind StoreFailure, and then whether to let the hit pass is the caller's
// choice, or of kind Invalid for a key that the store can't hold.
func (l *Limiter) Allow(ctx context.Context, key string) (Status, error) {
	return l.AllowN(ctx, key, 1)
}

// AllowN counts n hits at once. They are allowed together or not at all, but counted
// in both cases. n = 0 reads without counting, and is allowed while the count is not
// over the limit.
func (l *Limiter) AllowN(ctx context.Context, key string, n uint64) (s Status, err error) {
	return l.allow(ctx, key, n, 0)
}

// allow is AllowN at a time that is ahead: see maxAhead.
func (l *Limiter) allow(ctx context.Context, key string, n uint64, ahead time.Duration) (s Status, err error) {
	active, c, d := l.acquire(key)
	d.work.ahead = int64(ahead / time.Microsecond)
	if err = l.engine.decideBy(ctx, active.inUse, &c.request, d, active.rule, n); err == nil {
		if s = d.Statuses[0]; s.Code != d.Code { // a store would delay the caller's copy of all
			s.Code = d.Code
		}
	}
	d.work.ahead = 0
	l.release(c)
	return s, err
}

// Peek returns the status of key and counts nothing: Remaining is how many hits would pass now.
func (l *Limiter) Peek(ctx context.Context, key string) (Status, error) { return l.AllowN(ctx, key, 0) }

// AllowInto is AllowN with a Decision of the caller, which is overwritten: for a limit of
// Concurrency, whose permit [Decision.Release] releases.
func (l *Limiter) AllowInto(ctx context.Context, key string, n uint64, d *Decision) error {
	active, c, _ := l.acquire(key)
	defer l.release(c)
	d.reset(l.engine, 1)
	return l.engine.decideBy(ctx, active.inUse, &c.request, d, active.rule, n)
}

// Algorithm returns how the limit counts.
func (l *Limiter) Algorithm() Algorithm {
	if charge := l.active.Load().rule.limit.charge; charge != nil {
		return charge.algorithm
	}
	return FixedWindow
}

// Refund subtracts n hits on key, in the current window and never below zero: for
// hits that were counted and then not used. Statistics count them as negative hits. The error
// wraps errors.ErrUnsupported if the store is not a SubtractStore, or not a ChargeStore where the
// limit has another Algorithm than FixedWindow, and is an *Error otherwise. FailurePolicies
// don't apply.
func (l *Limiter) Refund(ctx context.Context, key string, n uint64) error {
	active, c, d := l.acquire(key)
	defer l.release(c)
	if active.rule.unlimited || n == 0 {
		return nil
	}
	e, w := l.engine, &d.work
	w.checks[0] = check{hits: n, refund: true, rule: active.rule}
	e.prepare(active.inUse, &c.request, d, e.clock.read())
	return counterError(e.add(ctx, w))
}

// Reset subtracts all hits on key, in the current window and, with a SlidingWindow, in the one
// before. Errors are those of Refund.
func (l *Limiter) Reset(ctx context.Context, key string) error {
	return l.Refund(ctx, key, math.MaxUint64)
}

// acquire returns the active limit and memory for a call on key.
func (l *Limiter) acquire(key string) (*limiterRule, *limiterCall, *Decision) {
	c := l.calls.Get().(*limiterCall)
	if l.engine.opts.HashKeys {
		sum := sha256.Sum256([]byte(key))
		key = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	c.entries[0].Value = key
	c.decision.reset(l.engine, 1)
	return l.active.Load(), c, &c.decision
}

func (l *Limiter) release(c *limiterCall) {
	c.entries[0].Value = ""
	l.calls.Put(c)
}

// TopKeys returns the busiest keys, nil without Options.TopKeys: see [Engine.TopKeys]. The value
// of the only entry of a key is the key, or its hash with Options.HashKeys.
func (l *Limiter) TopKeys() *TopKeys { return l.engine.TopKeys() }
