package ratelimit_test

import (
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

func cachedBench(t *testing.T, o ratelimit.Options, rules ...ratelimit.Rule) (*bench, *mapCache) {
	t.Helper()
	b := newBench(t, nil)
	cache := newMapCache(b.clock.Now)
	o.OverLimitCache, o.Now, o.Stats = cache, b.clock.Now, b.stats
	o.CounterKeyFormat = ratelimit.KeyReference
	b.engine = ratelimit.MustNew(b.store, &o)
	b.use(rules...)
	return b, cache
}

// The store is not called again for a counter that is over its limit.
func TestOverLimitCache(t *testing.T) {
	b, cache := cachedBench(t, ratelimit.Options{}, rule("k", "", 1))
	for i, want := range []struct {
		code  ratelimit.Code
		calls int
	}{{ratelimit.OK, 1}, {ratelimit.OverLimit, 2}, {ratelimit.OverLimit, 2}, {ratelimit.OverLimit, 2}} {
		equal(t, "code "+decimal(uint64(i)), b.decide(desc("k", "")).Code, want.code)
		equal(t, "store calls "+decimal(uint64(i)), len(b.store.calls), want.calls)
	}
	equal(t, "remembered", cache.ttl, map[string]time.Duration{"domain_k__1200": time.Minute})
	equal(t, "counter", b.store.contents()["domain_k__1200"], 2)
	equal(t, "statistics", b.stats.counts(), map[string]counts{
		"domain.k": {TotalHits: 4, WithinLimit: 1, NearLimit: 1, OverLimit: 3, OverLimitWithLocalCache: 2},
	})
	b.clock.set(1260)
	equal(t, "next window", b.decide(desc("k", "")).Code, ratelimit.OK)
}

// A counter exactly at its limit is not cached.
func TestOverLimitCacheNotAtLimit(t *testing.T) {
	b, cache := cachedBench(t, ratelimit.Options{}, rule("k", "", 1))
	b.decide(desc("k", ""))
	b.decide(hits(0, desc("k", "")))
	equal(t, "remembered", len(cache.ttl), 0)
}

// A cached counter skips the store for its own descriptor only.
func TestOverLimitCacheBesideOthers(t *testing.T) {
	b, _ := cachedBench(t, ratelimit.Options{}, rule("a", "", 0), rule("b", "", 5))
	b.decide(desc("a", ""))
	d := b.decide(desc("b", "1"), desc("a", ""), desc("b", "2"))
	equal(t, "codes", codes(d), "ok over ok")
	equal(t, "store calls", b.store.recorded(), [][]string{{"domain_a__1200+1"}, {"domain_b_1_1200+1", "domain_b_2_1200+1"}})
	equal(t, "remaining", d.Statuses[2].Remaining, 4)
}

// With StopIncrementWhenOverLimit one cached counter turns all others into reads.
func TestOverLimitCacheStopsIncrements(t *testing.T) {
	b, _ := cachedBench(t, ratelimit.Options{StopIncrementWhenOverLimit: true}, rule("a", "", 0), rule("b", "", 5))
	b.decide(desc("a", ""))
	d := b.decide(hits(2, desc("b", "")), desc("a", ""))
	equal(t, "codes", codes(d), "ok over")
	calls := b.store.recorded()
	equal(t, "store calls", calls[len(calls)-1], []string{"domain_b__1200+0"})
	equal(t, "remaining", d.Statuses[0].Remaining, 5)
	equal(t, "statistics", b.stats.counts()["domain.b"], counts{TotalHits: 2, WithinLimit: 2})
	b.decide(desc("b", ""))
	equal(t, "counted once it is alone", b.store.contents()["domain_b__1200"], 1)
}

// A counter of a rule in shadow mode is cached too, and still passes.
func TestOverLimitCacheShadow(t *testing.T) {
	r := rule("k", "", 0)
	r.ShadowMode = true
	b, cache := cachedBench(t, ratelimit.Options{}, r)
	b.decide(desc("k", ""))
	equal(t, "remembered", len(cache.ttl), 1)
	equal(t, "code", b.decide(desc("k", "")).Code, ratelimit.OK)
	equal(t, "store calls", len(b.store.calls), 1)
}

// One cache serves both stores.
func TestOverLimitCachePerSecond(t *testing.T) {
	second := newMapStore()
	b, cache := cachedBench(t, ratelimit.Options{PerSecond: second}, ratelimit.Rule{Key: "s", Limit: per(0, ratelimit.Second)}, rule("m", "", 0))
	for range 2 {
		b.decide(desc("s", ""), desc("m", ""))
	}
	equal(t, "remembered", cache.ttl, map[string]time.Duration{"domain_s__1234": time.Second, "domain_m__1200": time.Minute})
	equal(t, "store calls", len(b.store.calls)+len(second.calls), 2)
}
