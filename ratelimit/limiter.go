package ratelimit

import (
	"context"
	"sync"
)

// Limiter is the short form: one limit, and a counter for each key. It is an
// Engine with a single rule, so all of Options applies, and any number of
// goroutines may use it.
type Limiter struct {
	engine *Engine
	rules  *inUse
	rule   *node // the only one: there is nothing to match
	domain string
	calls  sync.Pool // of *call
}

// call is what one Take needs.
type call struct {
	request     Request
	descriptors [1]Descriptor
	entries     [1]Entry
	decision    Decision
}

const limiterKey = "key"

// NewLimiter returns a Limiter that holds every key to limit. Limiters that share
// a store are told apart by the limit's Name; two without one count together.
// It fails if the limit makes no sense. opts may be nil.
func NewLimiter(store Store, limit Limit, opts *Options) (*Limiter, error) {
	l := &Limiter{domain: limit.Name}
	if l.domain == "" {
		l.domain = "limiter"
	}
	rules, err := Compile([]Domain{{Name: l.domain, Rules: []Rule{{Key: limiterKey, Limit: &limit}}}}, nil)
	if err != nil {
		return nil, err
	}
	l.engine = New(store, opts)
	l.engine.Use(rules)
	l.rules = l.engine.inUse.Load()
	l.rule = rules.only.top.find(limiterKey).any
	l.calls.New = func() any { return l.newCall() }
	return l, nil
}

func (l *Limiter) newCall() *call {
	c := &call{}
	c.entries[0].Key = limiterKey
	c.descriptors[0].Entries = c.entries[:]
	c.request = Request{Domain: l.domain, Descriptors: c.descriptors[:]}
	return c
}

// Take counts one hit on key and says whether it was allowed: the status's Code is
// OK or OverLimit. The error is an *Error: of kind StoreFailure, and then whether to
// let the hit pass is the caller's choice, or of kind Invalid for a key that the store
// can't hold.
func (l *Limiter) Take(ctx context.Context, key string) (Status, error) {
	return l.TakeN(ctx, key, 1)
}

// TakeN counts n hits at once. They are allowed together or not at all, but
// counted in both cases. n = 0 asks without counting, and is allowed while the
// count is not over the limit.
func (l *Limiter) TakeN(ctx context.Context, key string, n uint64) (Status, error) {
	c := l.calls.Get().(*call)
	status, err := l.take(ctx, c, key, n)
	c.entries[0].Value = ""
	l.calls.Put(c)
	return status, err
}

func (l *Limiter) take(ctx context.Context, c *call, key string, n uint64) (Status, error) {
	d := &c.decision
	d.reset(l.engine, 1)
	c.entries[0].Value = key
	d.work.checks[0] = check{hits: n, rule: l.rule}
	if err := l.engine.settle(ctx, l.rules, &c.request, d); err != nil {
		return Status{}, err
	}
	s := d.Statuses[0]
	s.Code = d.Code
	return s, nil
}
