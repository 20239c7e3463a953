package ratelimit_test

import (
	"bytes"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// clock is a clock that changes only when it is set.
type clock struct {
	mu   sync.Mutex
	unix int64
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Unix(c.unix, 0)
}

func (c *clock) set(unix int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unix = unix
}

// mapStore is a minimal Store that records its calls.
type mapStore struct {
	mu     sync.Mutex
	counts map[string]uint64
	calls  [][]ratelimit.Hit
	err    error // what Add returns, instead of counting
}

func newMapStore() *mapStore { return &mapStore{counts: make(map[string]uint64)} }

func (s *mapStore) Add(_ context.Context, hits []ratelimit.Hit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(hits)
	if s.err != nil {
		return s.err
	}
	for i := range hits {
		s.add(&hits[i])
	}
	return nil
}

func (s *mapStore) record(hits []ratelimit.Hit) {
	call := slices.Clone(hits)
	for i := range call {
		call[i].Key = bytes.Clone(call[i].Key)
	}
	s.calls = append(s.calls, call)
}

func (s *mapStore) add(h *ratelimit.Hit) {
	n := s.counts[string(h.Key)] + h.N
	if n < h.N { // passed the largest uint64: stay there
		n = ^uint64(0)
	}
	if h.N != 0 {
		s.counts[string(h.Key)] = n
	}
	h.Count = n
}

func (s *mapStore) put(key string, n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[key] = n
}

func (s *mapStore) contents() map[string]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}

// recorded returns the calls so far as "key+N" strings, one list per call.
func (s *mapStore) recorded() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all [][]string
	for _, call := range s.calls {
		var hits []string
		for i := range call {
			hits = append(hits, string(call[i].Key)+"+"+decimal(call[i].N))
		}
		all = append(all, hits)
	}
	return all
}

func (s *mapStore) lastCall() []ratelimit.Hit {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) == 0 {
		return nil
	}
	return s.calls[len(s.calls)-1]
}

// mapStats is a Stats whose counters can be read.
type mapStats struct {
	mu      sync.Mutex
	limits  map[string]*ratelimit.LimitStats
	domains map[string]*ratelimit.Counter
	shadow  ratelimit.Counter
}

func newMapStats() *mapStats {
	return &mapStats{limits: make(map[string]*ratelimit.LimitStats), domains: make(map[string]*ratelimit.Counter)}
}

func (s *mapStats) Limit(key string) *ratelimit.LimitStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limits[key] == nil {
		s.limits[strings.Clone(key)] = ratelimit.NewLimitStats()
	}
	return s.limits[key]
}

func (s *mapStats) DomainNotFound(domain string) *ratelimit.Counter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.domains[domain] == nil {
		s.domains[strings.Clone(domain)] = new(ratelimit.Counter)
	}
	return s.domains[domain]
}

func (s *mapStats) GlobalShadowMode() *ratelimit.Counter { return &s.shadow }

// counts returns the counts that are not zero, by name.
func (s *mapStats) counts() map[string]ratelimit.LimitCounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]ratelimit.LimitCounts)
	for key, l := range s.limits {
		if c := l.Load(); c != (ratelimit.LimitCounts{}) {
			all[key] = c
		}
	}
	return all
}

func (s *mapStats) notFound() map[string]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]uint64)
	for key, c := range s.domains {
		all[key] = c.Load()
	}
	return all
}

// mapCache is an OverLimitCache that expires by the test's clock.
type mapCache struct {
	now   func() time.Time
	mu    sync.Mutex
	until map[string]time.Time
	ttl   map[string]time.Duration
}

func newMapCache(now func() time.Time) *mapCache {
	return &mapCache{now: now, until: make(map[string]time.Time), ttl: make(map[string]time.Duration)}
}

func (c *mapCache) Contains(key []byte) (over, read bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now().Before(c.until[string(key)]), false
}

func (c *mapCache) Add(key []byte, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until[string(key)] = c.now().Add(ttl)
	c.ttl[string(key)] = ttl
}

func (c *mapCache) Remove(key []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.until, string(key))
}

// bench is an engine with its clock, statistics, log and store.
type bench struct {
	t      testing.TB
	clock  *clock
	store  *mapStore
	stats  *mapStats
	log    *logtest.Log
	engine *ratelimit.Engine
}

// epoch is the time of the examples in REFERENCE.md.
const epoch = 1234

// newBench returns an engine with the rules in the domain "domain". The clock, the
// statistics, the log and the store are filled in.
func newBench(t testing.TB, opts *ratelimit.Options, rules ...ratelimit.Rule) *bench {
	t.Helper()
	b := &bench{t: t, clock: &clock{unix: epoch}, store: newMapStore(), stats: newMapStats(), log: new(logtest.Log)}
	var o ratelimit.Options
	if opts != nil {
		o = *opts
	}
	if o.CounterKeyFormat == "" {
		o.CounterKeyFormat = ratelimit.KeyReference // the shorter one to read
	}
	o.Now, o.Stats, o.OverrideValues = b.clock.Now, b.stats, true
	o.Log = b.log.Logger()
	b.engine = ratelimit.MustNew(b.store, &o)
	b.use(rules...)
	return b
}

func (b *bench) use(rules ...ratelimit.Rule) {
	b.t.Helper()
	b.engine.Use(compile(b.t, ratelimit.Domain{Name: "domain", Rules: rules}))
}

func compile(t testing.TB, domains ...ratelimit.Domain) *ratelimit.Ruleset {
	t.Helper()
	rules, err := ratelimit.Compile(domains, nil)
	if err != nil {
		t.Fatalf("Compile: %v", err)
	}
	return rules
}

// decide returns the decision on descriptors in the domain "domain".
func (b *bench) decide(descriptors ...ratelimit.Descriptor) *ratelimit.Decision {
	b.t.Helper()
	return b.decideRequest(&ratelimit.Request{Domain: "domain", Descriptors: descriptors})
}

func (b *bench) decideRequest(r *ratelimit.Request) *ratelimit.Decision {
	b.t.Helper()
	d := new(ratelimit.Decision)
	if err := b.engine.DecideInto(b.t.Context(), r, d); err != nil {
		b.t.Fatalf("Decide: %v", err)
	}
	return d
}

// desc returns a descriptor of alternating keys and values.
func desc(pairs ...string) ratelimit.Descriptor {
	var d ratelimit.Descriptor
	for i := 0; i < len(pairs); i += 2 {
		d.Entries = append(d.Entries, ratelimit.Entry{Key: pairs[i], Value: pairs[i+1]})
	}
	return d
}

// hits sets the hits addend of a descriptor.
func hits(n uint64, d ratelimit.Descriptor) ratelimit.Descriptor {
	d.HitsAddend = &n
	return d
}

func override(n uint32, u ratelimit.Unit, d ratelimit.Descriptor) ratelimit.Descriptor {
	d.Limit = &ratelimit.Override{RequestsPerUnit: n, Unit: u}
	return d
}

func per(n uint32, u ratelimit.Unit) *ratelimit.Limit { return new(ratelimit.Per(n, u)) }

// rule returns a rule with a limit of n per minute.
func rule(key, value string, n uint32) ratelimit.Rule {
	return ratelimit.Rule{Key: key, Value: value, Limit: per(n, ratelimit.Minute)}
}

// equal compares values deeply.
func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// codes returns the codes of the statuses in short: "ok", "over", joined with spaces.
func codes(d *ratelimit.Decision) string {
	var words []string
	for i := range d.Statuses {
		words = append(words, map[ratelimit.Code]string{ratelimit.OK: "ok", ratelimit.OverLimit: "over"}[d.Statuses[i].Code])
	}
	return strings.Join(words, " ")
}

func decimal(n uint64) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return decimal(n/10) + decimal(n%10)
}
