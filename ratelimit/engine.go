package ratelimit

import (
	"context"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure an Engine. The zero value, like nil, has the defaults of the
// reference service, without statistics and with counter keys of its own.
type Options struct {
	// Now is the clock. It decides which window a hit falls into. Default: the
	// system's, read once a second.
	Now func() time.Time

	// NearLimitRatio is the part of a limit above which hits count as near it: up to
	// 1. Default, when 0: 0.8. NearLimitAlways is a ratio of zero.
	NearLimitRatio float32
	// Stats receives the statistics; nil for none.
	Stats Stats
	// MaxRequestStats bounds the names that come with requests and have counters of
	// their own: those of each domain, and unknown domains. Further ones are counted as
	// "other". Those of a domain that were not used for 5 minutes make room. Default, when
	// 0: 10,000. NoRequestStats means none.
	MaxRequestStats int
	// SanitizeMetricDots replaces dots in the keys and values of statistics names with "_",
	// so that a name has one part for each entry.
	SanitizeMetricDots bool

	// CounterKeyPrefix begins the name of every counter.
	CounterKeyPrefix string
	// CounterKeyFormat is the rest of the name. Set KeyReference to share counters with the
	// reference service. Default, when empty: KeyUnambiguous.
	CounterKeyFormat KeyFormat
	// ExpiryJitter bounds the random time, in whole seconds, for which a counter outlives
	// its window. It is drawn for each hit. Default: none.
	ExpiryJitter time.Duration
	// Rand returns the jitter, a number from 0 to n-1. Default: math/rand/v2.
	Rand func(n uint32) uint32

	// PerSecond, if not nil, holds the counters of limits per second; the Store
	// given to New holds all others. Both are called at the same time.
	PerSecond Store
	// OnStoreFailure applies to descriptors whose store failed, unless their rule has a
	// policy of its own. Default, when empty: FailError.
	OnStoreFailure FailurePolicy
	// Fallback counts where the policy is FailLocal. Without it such a call fails.
	Fallback Store
	// OnFallback, if not nil, is called with the cause when a policy decided a call whose
	// store failed, to log or count it. It must not block.
	OnFallback func(ctx context.Context, cause error)
	// OverLimitCache, if not nil, is consulted before the store.
	OverLimitCache OverLimitCache
	// StopIncrementWhenOverLimit leaves the other counters of a request unchanged if one of
	// its descriptors is over its limit (REFERENCE.md, 3.6).
	StopIncrementWhenOverLimit bool

	// ShadowMode turns the Decision's OverLimit into OK. Statuses keep their codes, so
	// that callers see what would have happened.
	ShadowMode bool
	// QuotaMode treats every descriptor as one in quota mode, those that no rule matched
	// included, but not those of unlimited rules.
	QuotaMode bool
	// Metadata fills Decision.Metadata.
	Metadata bool

	// TopKeys estimates the busiest counters of each rule, for [Engine.TopKeys].
	TopKeys bool

	// Log receives one warning for each kind of name when names of requests are folded
	// together. Default: slog.Default().
	Log *slog.Logger
}

const (
	// NearLimitAlways is an Options.NearLimitRatio of zero: every hit within the limit
	// is near it.
	NearLimitAlways float32 = math.SmallestNonzeroFloat32
	// NoRequestStats is an Options.MaxRequestStats of none: all names that come with
	// requests are counted together.
	NoRequestStats = math.MinInt
)

// Engine decides requests by rules, counters and statistics. It is safe for concurrent
// use. Create it with New.
type Engine struct {
	store   Store
	charges ChargeStore // the store, if it is one
	opts    Options
	ratio   float32
	keys    keyFormat
	plain   bool   // whether no option adds to what a rule with nothing but a limit does
	jitter  uint32 // exclusive bound of the draw, in seconds; 0 for none
	limits  *requestStats
	shadow  *Counter
	top     *topKeys // nil without Options.TopKeys

	failure   failure
	fallbacks [len(failureNumbers)]*Counter // nil without statistics

	clock   clock
	inUse   atomic.Pointer[inUse]
	useMu   sync.Mutex
	stripes atomic.Uint32 // the last stripe number given to a workspace
}

// inUse is the active Ruleset with the engine's counters for it.
type inUse struct {
	rules *Ruleset
	stats []*LimitStats // by node.id; nil without statistics
	// top holds the sketches by node.id, and last that of limits from requests. They are created
	// at the first use and protected by topKeys.mu.
	top []*ruleTop
}

// New returns an Engine without rules: until Use is called, Decide returns
// ErrNoRules. opts may be nil.
func New(store Store, opts *Options) *Engine {
	e := &Engine{store: store}
	e.charges, _ = store.(ChargeStore)
	if opts != nil {
		e.opts = *opts
	}
	o := &e.opts
	e.clock.now = o.Now
	if o.Rand == nil {
		o.Rand = rand.Uint32N
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.MaxRequestStats == 0 {
		o.MaxRequestStats = 10_000
	}
	if e.ratio = max(o.NearLimitRatio, 0); o.NearLimitRatio == 0 {
		e.ratio = 0.8
	}
	e.keys = o.CounterKeyFormat.number()
	e.jitter = uint32(min(max(o.ExpiryJitter/time.Second, 0), 1<<31))
	if e.failure = o.OnStoreFailure.number(); e.failure == failUnset {
		e.failure = failError
	}
	e.plain = e.jitter == 0 && o.PerSecond == nil && o.OverLimitCache == nil && !o.StopIncrementWhenOverLimit
	e.openStats()
	if o.TopKeys {
		e.top = newTopKeys(e.clock.read().now)
	}
	return e
}

func (e *Engine) openStats() {
	stats := e.opts.Stats
	if stats == nil {
		return
	}
	e.limits = newRequestStats(stats, &e.opts)
	e.shadow = stats.GlobalShadowMode()
	if f, ok := stats.(ExtendedStats); ok {
		for n := failAllow; n <= failLocal; n++ {
			e.fallbacks[n] = f.Fallback(failureNumbers[n])
		}
	}
}

// Use activates rules atomically; calls in progress finish with the old ones. Nil removes
// the rules.
func (e *Engine) Use(rules *Ruleset) {
	e.useMu.Lock()
	defer e.useMu.Unlock()
	var u *inUse
	if rules != nil {
		u = &inUse{rules: rules, stats: e.statsOf(rules)}
		if e.top != nil {
			u.top = e.top.topOf(rules, e.inUse.Load())
		}
	}
	e.release(e.inUse.Swap(u))
}

// statsOf returns the counters of all limits whose statistics key is fixed.
func (e *Engine) statsOf(rules *Ruleset) []*LimitStats {
	if e.opts.Stats == nil {
		return nil
	}
	stats := make([]*LimitStats, len(rules.limits))
	for i, l := range rules.limits {
		if metric := l.fixedMetric(e.opts.SanitizeMetricDots); metric != "" {
			stats[i] = e.opts.Stats.Limit(metric)
			if l.candidate != nil {
				stats[i].openCandidate()
			}
		}
	}
	return stats
}

// release releases the counters of old rules. It is called after statsOf has requested
// those of the new rules, so that counters that both use are in use all the time.
func (e *Engine) release(old *inUse) {
	r, ok := e.opts.Stats.(ExtendedStats)
	if !ok || old == nil {
		return
	}
	for _, l := range old.rules.limits {
		if metric := l.fixedMetric(e.opts.SanitizeMetricDots); metric != "" {
			r.Release(metric)
		}
	}
}

// Rules returns the active rules, nil if there are none.
func (e *Engine) Rules() *Ruleset {
	if u := e.inUse.Load(); u != nil {
		return u.rules
	}
	return nil
}

// Decide counts the hits of r and returns the decision.
//
// The error, if any, is an *Error. An invalid request counts nothing. After a
// StoreFailure some counters may have been added to.
func (e *Engine) Decide(ctx context.Context, r *Request) (*Decision, error) {
	d := new(Decision)
	if err := e.DecideInto(ctx, r, d); err != nil {
		return nil, err
	}
	return d, nil
}

// DecideInto is Decide for callers who keep a Decision per goroutine: d is
// overwritten and its memory reused, so that a decision allocates nothing. After an
// error d holds no decision.
func (e *Engine) DecideInto(ctx context.Context, r *Request, d *Decision) error {
	d.reset(e, len(r.Descriptors))
	u := e.inUse.Load()
	if u != nil && len(r.Descriptors) == 1 && r.Descriptors[0].Limit == nil {
		if dom := u.rules.domain(r.Domain); dom != nil {
			desc := &r.Descriptors[0]
			return e.decideBy(ctx, u, r, d, dom.match(desc.Entries, &d.work.text), hitsOf(r, desc))
		}
	}
	return d.failed(e.decide(ctx, u, r, d))
}

// failed empties the decision if there is an error, which it returns.
func (d *Decision) failed(err error) error {
	if err != nil {
		clear(d.Statuses)
	}
	return err
}

func (e *Engine) decide(ctx context.Context, u *inUse, r *Request, d *Decision) error {
	if err := validate(r); err != nil {
		return err
	}
	if u == nil {
		return sentinelError(NotReady, ErrNoRules)
	}
	e.match(u, r, d)
	return e.countAndEvaluate(ctx, u, r, d)
}

// decideBy decides a request with one descriptor by its rule, which is nil if there is none.
func (e *Engine) decideBy(ctx context.Context, u *inUse, r *Request, d *Decision, n *node, hits uint64) error {
	if n != nil && n.plain && e.plain && !r.Descriptors[0].Refund {
		switch {
		case !n.charging:
			return e.decidePlain(ctx, u, r, d, n, hits)
		case e.charges != nil:
			return e.decidePlainCharge(ctx, u, r, d, n, hits)
		}
	}
	d.work.checks[0] = check{hits: hits, back: r.Descriptors[0].Refund, rule: n}
	return d.failed(e.countAndEvaluate(ctx, u, r, d))
}

// countAndEvaluate counts the hits of matched descriptors and decides.
func (e *Engine) countAndEvaluate(ctx context.Context, u *inUse, r *Request, d *Decision) error {
	t := e.clock.read()
	e.prepare(u, r, d, t)
	return e.finish(ctx, u, r, d, t, e.count(ctx, d))
}

// finish decides after hits were counted, or could not be.
func (e *Engine) finish(ctx context.Context, u *inUse, r *Request, d *Decision, t *tick, err error) error {
	if err != nil {
		if err = e.fallBack(ctx, d, err); err != nil {
			d.abandon(ctx)
			return storeError(err)
		}
	}
	e.evaluate(u, r, d, t)
	e.conclude(d)
	if d.Code == OverLimit && d.work.places {
		_ = d.Release(ctx) // a request that is refused holds no place
	}
	return nil
}

// validate rejects requests that are invalid whatever the rules, before anything is
// counted.
func validate(r *Request) error {
	if r.Domain == "" || len(r.Descriptors) == 0 {
		return emptyError(r)
	}
	for i := range r.Descriptors {
		if o := r.Descriptors[i].Limit; o != nil && !o.valid() {
			return overrideError(i, o)
		}
	}
	return nil
}
