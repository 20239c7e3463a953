package modeltest

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// stage is the store and the defects with which a script is played.
type stage struct {
	newStore func() ratelimit.Store
	// oneUnitPerKey skips the requests that count two units under one key.
	oneUnitPerKey bool
	// The functions change the input of the engine but not of the model, for tests of the
	// model itself.
	spoilRules   func([]ratelimit.Domain)
	spoilOptions func(*ratelimit.Options)
	spoilRequest func(*ratelimit.Request)
	// covered counts the kinds of outcomes, so that a test can check the coverage.
	covered map[string]int
}

// Scripts begin at a time in the year 2100.
const begin = 4_102_444_800 // 2100-01-01

// performance is an engine and its model.
type performance struct {
	stage        *stage
	now          int64
	main, second ratelimit.Store
	stats        *recordedStats
	engine       *ratelimit.Engine
	model        *model
	decision     ratelimit.Decision
}

// play returns the first difference between engine and model.
func play(s script, on *stage) error {
	p := newPerformance(s, on)
	p.only(&s)
	if err := p.load(s.Rules); err != nil {
		return err
	}
	for i := range s.Steps {
		if err := p.step(&s.Steps[i]); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return p.compareContents()
}

// only removes from a script what the store has no methods for.
func (p *performance) only(s *script) {
	charges, subtracts := false, false
	if store, ok := p.main.(ratelimit.ChargeStore); ok {
		charges = store.Charge(context.Background(), nil) == nil
	}
	if store, ok := p.main.(ratelimit.SubtractStore); ok {
		subtracts = store.Subtract(context.Background(), nil) == nil
	}
	if charges && subtracts {
		return
	}
	s.Rules, s.Steps = fixed(s.Rules), slices.Clone(s.Steps)
	for i := range s.Steps {
		step := &s.Steps[i]
		step.Reload = fixed(step.Reload)
		step.Request.Descriptors = slices.Clone(step.Request.Descriptors)
		for j := range step.Request.Descriptors {
			step.Request.Descriptors[j].Refund = false
		}
	}
}

// fixed returns the domains with fixed windows only.
func fixed(domains []ratelimit.Domain) []ratelimit.Domain {
	if domains == nil {
		return nil
	}
	domains = copyDomains(domains)
	for _, d := range domains {
		eachLimit(d.Rules, func(l *ratelimit.Limit) { l.Algorithm, l.Burst = ratelimit.FixedWindow, 0 })
	}
	return domains
}

// eachLimit calls f for the limits of all rules, nested ones included.
func eachLimit(rules []ratelimit.Rule, f func(l *ratelimit.Limit)) {
	for i := range rules {
		if rules[i].Limit != nil {
			f(rules[i].Limit)
		}
		eachLimit(rules[i].Rules, f)
	}
}

func newPerformance(s script, on *stage) *performance {
	p := &performance{stage: on, now: begin, main: on.newStore(), stats: newRecordedStats(), model: newModel(s.Choices)}
	now := func() time.Time { return time.Unix(p.now, 0) }
	c := s.Choices
	o := ratelimit.Options{
		Now:                        now,
		NearLimitRatio:             c.Ratio,
		OverrideValues:             true,
		Stats:                      p.stats,
		CounterKeyPrefix:           c.Prefix,
		ExpiryJitter:               time.Hour,
		Rand:                       func(n uint32) uint32 { return n - 1 },
		StopIncrementWhenOverLimit: c.Stop,
		ShadowMode:                 c.Shadow,
		QuotaMode:                  c.Quota,
		Metadata:                   c.Metadata,
		Log:                        slog.New(slog.DiscardHandler),
	}
	if c.Reference {
		o.CounterKeyFormat = ratelimit.KeyReference
	}
	if c.Cache {
		o.OverLimitCache = &forgetfulCache{now: now, until: make(map[string]time.Time)}
	}
	if c.PerSecond {
		p.second = on.newStore()
		o.PerSecond = p.second
	}
	if on.spoilOptions != nil {
		on.spoilOptions(&o)
	}
	p.engine = ratelimit.MustNew(p.main, &o)
	return p
}

func (p *performance) load(domains []ratelimit.Domain) error {
	p.model.domains = domains
	if p.stage.spoilRules != nil {
		domains = copyDomains(domains)
		p.stage.spoilRules(domains)
	}
	rules, err := ratelimit.Compile(domains, &ratelimit.CompileOptions{MergeDomains: true})
	if err != nil {
		return fmt.Errorf("the rules do not compile: %w", err)
	}
	p.engine.Use(rules)
	return nil
}

func (p *performance) step(s *step) error {
	p.now += s.Wait
	if s.Reload != nil {
		if err := p.load(s.Reload); err != nil {
			return err
		}
	}
	if p.stage.oneUnitPerKey && p.model.mixesLengths(&s.Request, p.now) || p.model.addsAndGivesBack(&s.Request, p.now) {
		return nil
	}
	r := s.Request
	if p.stage.spoilRequest != nil {
		p.stage.spoilRequest(&r)
	}
	if err := p.engine.DecideInto(context.Background(), &r, &p.decision); err != nil {
		return fmt.Errorf("the engine fails: %w", err)
	}
	want := p.model.decide(&s.Request, p.now)
	p.count(want)
	if err := p.compareDecision(want); err != nil {
		return err
	}
	if err := p.compareCounters(want); err != nil {
		return err
	}
	return p.compareStats()
}

func (p *performance) compareDecision(want *outcome) error {
	d := &p.decision
	tightest := -1
	for i := range d.Statuses {
		if d.Tightest() == &d.Statuses[i] {
			tightest = i
		}
	}
	return firstOf(
		differ("overall code", d.Code, want.code),
		differ("statuses", wire(d.Statuses), want.statuses),
		differ("tightest status", tightest, want.tightest),
		differ("metadata", d.Metadata, want.metadata),
	)
}

// compareCounters compares the counters of the request.
func (p *performance) compareCounters(want *outcome) error {
	for _, t := range want.targets {
		switch {
		case t == nil || !t.live:
			continue
		case t.charging():
			if err := p.compareState(t); err != nil {
				return err
			}
			continue
		}
		store := p.main
		if t.second {
			store = p.second
		}
		h := []ratelimit.Hit{{Key: []byte(t.key), Limit: t.requests, Unit: t.unit, Window: t.window, Jitter: 3600}}
		if err := store.Add(context.Background(), h); err != nil {
			return fmt.Errorf("reading counter %q: %w", t.key, err)
		}
		if err := differ("counter "+t.key, h[0].Count, p.model.counter(t)); err != nil {
			return err
		}
	}
	return nil
}

// compareState compares the state of a limit.
func (p *performance) compareState(t *target) error {
	charge := t.charge(0, p.now)
	got := []ratelimit.Charge{charge}
	if err := p.main.(ratelimit.ChargeStore).Charge(context.Background(), got); err != nil {
		return fmt.Errorf("reading state %q: %w", t.key, err)
	}
	state := p.model.states[t.key]
	charge.Apply(&state)
	return differ("state "+t.key, got[0].State, charge.State)
}

func (p *performance) compareStats() error {
	return firstOf(
		differ("statistics", p.stats.counts(), p.model.stats),
		differ("unknown domains", p.stats.notFound(), p.model.notFound),
		differ("requests in global shadow mode", p.stats.shadow.Load(), p.model.shadowed),
	)
}

// compareContents compares all counters of stores that can list them.
func (p *performance) compareContents() error {
	for i, store := range []ratelimit.Store{p.main, p.second} {
		lister, ok := store.(interface{ Counters() map[string]uint64 })
		if !ok {
			continue
		}
		got := make(map[string]uint64)
		for key, n := range lister.Counters() {
			if n != 0 { // a store may retain counters that were only read
				got[key] = n
			}
		}
		if err := differ([]string{"main store", "per-second store"}[i], got, p.model.counters[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *performance) count(o *outcome) {
	if p.stage.covered == nil {
		return
	}
	for kind, n := range o.kinds() {
		p.stage.covered[kind] += n
	}
}

func differ[T any](what string, engine, model T) error {
	if reflect.DeepEqual(engine, model) {
		return nil
	}
	return fmt.Errorf("%s: the engine has\n  %+v\nand the model\n  %+v", what, engine, model)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// copyDomains copies the trees except metadata.
func copyDomains(domains []ratelimit.Domain) []ratelimit.Domain {
	out := make([]ratelimit.Domain, len(domains))
	for i, d := range domains {
		out[i] = ratelimit.Domain{Name: d.Name, Rules: copyRules(d.Rules)}
	}
	return out
}

func copyRules(rules []ratelimit.Rule) []ratelimit.Rule {
	if rules == nil {
		return nil
	}
	out := make([]ratelimit.Rule, len(rules))
	for i, r := range rules {
		if r.Limit != nil {
			r.Limit = new(*r.Limit)
		}
		r.Rules = copyRules(r.Rules)
		out[i] = r
	}
	return out
}

// wire returns statuses as clients see them: in whole seconds.
func wire(statuses []ratelimit.Status) []ratelimit.Status {
	seen := make([]ratelimit.Status, len(statuses))
	for i := range statuses {
		from, to := reflect.ValueOf(&statuses[i]).Elem(), reflect.ValueOf(&seen[i]).Elem()
		for f := range from.NumField() {
			if to.Field(f).CanSet() {
				to.Field(f).Set(from.Field(f))
			}
		}
	}
	return seen
}
