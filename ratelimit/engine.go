package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure an Engine. The zero value, like nil, has the defaults of the
// reference service, without statistics and with counter keys of its own.
type Options struct {
	// Now is the clock. It decides which window a hit falls into. Default: that of a
	// ClockStore, or the system's, read once a second.
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
	// OverrideValues puts the values of descriptors with a limit of their own (Descriptor.Limit) into the names of
	// their statistics, as the reference service does. By default only their keys are there: values may be secrets,
	// such as API keys.
	OverrideValues bool

	// HashKeys has a Limiter name counters by the SHA-256 of its keys, for keys that are secrets: neither the store nor
	// TopKeys shows them then.
	HashKeys bool
	// CounterKeyPrefix begins the name of every counter.
	CounterKeyPrefix string
	// CounterKeyFormat is the rest of the name. Set KeyReference to share counters with the
	// reference service. Default, when empty: KeyUnambiguous.
	CounterKeyFormat KeyFormat
	// ExpiryJitter bounds the random time, in whole seconds, for which a counter outlives
	// its window. It is drawn for each hit. Default: none.
	ExpiryJitter time.Duration
	// Rand returns a random number from 0 to n-1, for jitter. Default: math/rand/v2.
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

	// Log receives warnings: one for each kind of name when names of requests are folded together, and at most
	// one a minute of requests that are not limited because the rules do not have their domain. Default: slog.Default().
	Log *slog.Logger
}

// maxJitter bounds Options.ExpiryJitter.
const maxJitter = time.Duration(MaxWindow) * time.Second

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

	fallbacks map[FailurePolicy]*Counter // empty without statistics

	clock   clock
	inUse   atomic.Pointer[inUse]
	useMu   sync.Mutex
	warned  atomic.Int64  // when warnUnknown logged last, in Unix seconds
	reserve atomic.Bool   // see KeepsReservations
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
// ErrNoRules. The error lists all options that are invalid. opts may be nil.
func New(store Store, opts *Options) (*Engine, error) {
	if err := opts.check(store); err != nil {
		return nil, err
	}
	return newEngine(store, opts), nil
}

// MustNew is New for options that are known to be valid: it panics where New returns an error.
func MustNew(store Store, opts *Options) *Engine {
	e, err := New(store, opts)
	if err != nil {
		panic(err)
	}
	return e
}

// check returns an error for options that are invalid, or that the store does not fit.
func (o *Options) check(store Store) error {
	var errs []error
	fault := func(invalid bool, format string, args ...any) {
		if invalid {
			errs = append(errs, fmt.Errorf("ratelimit: "+format, args...))
		}
	}
	fault(isNil(store), "no store: create one, with memstore.New or redisstore.New")
	if o == nil {
		return errors.Join(errs...)
	}
	fault(o.PerSecond != nil && isNil(o.PerSecond), "option PerSecond: a nil %T: leave it out, or create one", o.PerSecond)
	fault(o.Fallback != nil && isNil(o.Fallback), "option Fallback: a nil %T: leave it out, or create one", o.Fallback)
	fault(o.OnStoreFailure != "" && !o.OnStoreFailure.Valid(), "option OnStoreFailure '%.100s': must be %s", o.OnStoreFailure, failurePolicyNames)
	fault(o.OnStoreFailure == FailLocal && o.Fallback == nil, "option OnStoreFailure %s: needs a Fallback to count in", FailLocal)
	fault(!(o.NearLimitRatio >= 0 && o.NearLimitRatio <= 1), "option NearLimitRatio %v: must be from 0 to 1", o.NearLimitRatio)
	fault(o.MaxRequestStats < 0 && o.MaxRequestStats != NoRequestStats, "option MaxRequestStats %d: must be more than 0, or NoRequestStats", o.MaxRequestStats)
	fault(o.CounterKeyFormat != "" && o.CounterKeyFormat != KeyUnambiguous && o.CounterKeyFormat != KeyReference,
		"option CounterKeyFormat '%.100s': must be %s or %s", o.CounterKeyFormat, KeyUnambiguous, KeyReference)
	fault(o.ExpiryJitter < 0 || o.ExpiryJitter > maxJitter, "option ExpiryJitter %v: must be from 0 to %v", o.ExpiryJitter, maxJitter)
	return errors.Join(errs...)
}

// isNil reports whether there is no store: nil, or a nil pointer.
func isNil(s Store) bool {
	v := reflect.ValueOf(s)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

func newEngine(store Store, opts *Options) *Engine {
	e := &Engine{store: store, opts: *cmp.Or(opts, &Options{})}
	e.charges, _ = store.(ChargeStore)
	o := &e.opts
	e.clock.now, e.clock.system = o.Now, time.Now
	if s, ok := store.(ClockStore); ok {
		e.clock.system = s.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Uint32N
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	o.MaxRequestStats = cmp.Or(o.MaxRequestStats, 10_000)
	e.ratio = cmp.Or(o.NearLimitRatio, 0.8)
	if o.CounterKeyFormat == KeyReference {
		e.keys = reference
	}
	e.jitter = uint32(o.ExpiryJitter / time.Second)
	o.OnStoreFailure = cmp.Or(o.OnStoreFailure, FailError)
	e.plain = e.jitter == 0 && o.PerSecond == nil && o.OverLimitCache == nil && !o.StopIncrementWhenOverLimit
	if o.Stats != nil {
		e.limits = newRequestStats(o.Stats, o)
		e.shadow = o.Stats.GlobalShadowMode()
	}
	if f, ok := o.Stats.(ExtendedStats); ok {
		e.fallbacks = make(map[FailurePolicy]*Counter)
		for _, p := range []FailurePolicy{FailAllow, FailDeny, FailLocal} {
			e.fallbacks[p] = f.Fallback(p)
		}
	}
	if o.TopKeys {
		e.top = &topKeys{seed: maphash.MakeSeed(), from: e.clock.read().now}
		e.top.gate.Store(gateOf(-1, 0))
	}
	return e
}

// warnUnknown logs that requests of a domain without rules are not limited, at most once a minute.
func (e *Engine) warnUnknown(domain string) {
	now := time.Now().Unix()
	if last := e.warned.Load(); now-last >= 60 && e.warned.CompareAndSwap(last, now) {
		e.opts.Log.Warn("ratelimit: requests are not limited: the rules given to Engine.Use do not have their domain", "domain", domain[:min(len(domain), maxStatsName)])
	}
}

// Use activates rules atomically; calls in progress finish with the old ones. Nil removes
// the rules. It returns an error, and the old rules stay, if the stores can't hold a limit of the rules, such as one with
// another Algorithm than FixedWindow if the store is no [ChargeStore], or if a rule's policy is FailLocal and
// there is no Fallback.
func (e *Engine) Use(rules *Ruleset) error {
	if err := e.check(rules); err != nil {
		return err
	}
	e.useMu.Lock()
	defer e.useMu.Unlock()
	var u *inUse
	if rules != nil {
		u = &inUse{rules: rules, stats: e.statsOf(rules, e.inUse.Load())}
		if slices.ContainsFunc(rules.limits, func(l *limit) bool { return l.charge != nil && l.charge.reserves }) {
			e.reserve.Store(true)
		}
		if e.top != nil {
			u.top = e.top.topOf(rules, e.inUse.Load())
		}
	}
	e.release(e.inUse.Swap(u), rules)
	if e.limits != nil {
		e.limits.keepDomains(rules)
	}
	return nil
}

// kept returns a domain as it is in rules, if those have the same one. The rules may be nil.
func (d *domain) kept(rules *Ruleset) *placed {
	if rules != nil {
		if p := rules.domains[d.name]; p != nil && p.domain == d {
			return p
		}
	}
	return nil
}

// statsOf returns the counters of all limits whose statistics key is fixed.
func (e *Engine) statsOf(rules *Ruleset, old *inUse) []*LimitStats {
	if e.opts.Stats == nil {
		return nil
	}
	var before *Ruleset
	if old != nil {
		before = old.rules
	}
	all := make([]*LimitStats, len(rules.limits))
	for _, p := range rules.domains {
		stats := all[p.first:]
		if q := p.kept(before); q != nil {
			copy(stats, old.stats[q.first:q.first+len(q.limits)])
			continue
		}
		for i, l := range p.limits {
			if metric := l.fixedMetric(e.opts.SanitizeMetricDots); metric != "" {
				stats[i] = e.opts.Stats.Limit(metric)
				stats[i].setLimit(l.rule.Limit.RequestsPerUnit)
				if l.rule.Limit.Candidate != nil {
					stats[i].openCandidate()
				}
			}
		}
	}
	return all
}

// release releases the counters of old rules that the new ones, which may be nil, do not have. It is called after statsOf
// has requested those of the new rules, so that counters that both use are in use all the time.
func (e *Engine) release(old *inUse, rules *Ruleset) {
	r, ok := e.opts.Stats.(ExtendedStats)
	if !ok || old == nil {
		return
	}
	for _, p := range old.rules.domains {
		if p.kept(rules) != nil {
			continue
		}
		for _, l := range p.limits {
			if metric := l.fixedMetric(e.opts.SanitizeMetricDots); metric != "" {
				r.Release(metric)
			}
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

// check returns an error for the first limit that can't be held.
func (e *Engine) check(rules *Ruleset) error {
	if rules == nil {
		return nil
	}
	checked := make(map[Algorithm]bool)
	for _, l := range rules.limits {
		var err error
		if l.rule.OnStoreFailure == FailLocal && e.opts.Fallback == nil {
			err = fmt.Errorf("on_store_failure: %s: needs a store in memory to count in: Options.Fallback", FailLocal)
		} else if l.charge != nil && l.charge.reserves {
			err = update(context.Background(), e.store, nil, nil)
			if local := cmp.Or(l.rule.OnStoreFailure, e.opts.OnStoreFailure) == FailLocal; err == nil && local {
				err = update(context.Background(), e.opts.Fallback, nil, nil)
			}
		} else if l.charge != nil && !checked[l.charge.algorithm] {
			checked[l.charge.algorithm] = true
			if err = l.charge.algorithm.SupportedBy(e.store); err != nil {
				err = fmt.Errorf("%s: %w", l.charge.algorithm, err)
			}
		}
		if err != nil {
			var path []string
			for _, r := range l.path {
				path = append(path, joinValue(r.key, r.value))
			}
			return fmt.Errorf("domain '%s', rule %s: %w", l.domain, strings.Join(path, "."), err)
		}
	}
	return nil
}
