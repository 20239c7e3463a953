package stats_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/stats"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// engine returns an engine that counts in r and allows each client two hits a day.
func engine(t *testing.T, r *stats.Registry, opts ratelimit.Options) *ratelimit.Engine {
	t.Helper()
	opts.Stats = r
	opts.Now = func() time.Time { return time.Unix(1_700_000_000, 0) }
	e := ratelimit.MustNew(memstore.MustNew(nil), &opts)
	e.Use(rules(t, "client"))
	return e
}

func rules(t *testing.T, key string) *ratelimit.Ruleset {
	t.Helper()
	rs, err := ratelimit.Compile([]ratelimit.Domain{{Name: "api", Rules: []ratelimit.Rule{
		{Key: key, Limit: &ratelimit.Limit{RequestsPerUnit: 2, Unit: ratelimit.Day}},
	}}}, nil)
	require.NoError(t, err)
	return rs
}

func decide(t *testing.T, e *ratelimit.Engine, domain, value string) {
	t.Helper()
	var d ratelimit.Decision
	require.NoError(t, e.DecideInto(t.Context(), &ratelimit.Request{
		Domain: domain, Descriptors: []ratelimit.Descriptor{{Entries: []ratelimit.Entry{{Key: "client", Value: value}}}},
	}, &d))
}

func TestNamesOfAnEngine(t *testing.T) {
	r := stats.New(nil)
	e := engine(t, r, ratelimit.Options{ShadowMode: true})
	for range 4 {
		decide(t, e, "api", "a")
	}
	decide(t, e, "nowhere", "a")
	require.Equal(t, map[string]uint64{
		"ratelimit.service.rate_limit.api.client.total_hits":                  4,
		"ratelimit.service.rate_limit.api.client.over_limit":                  2,
		"ratelimit.service.rate_limit.api.client.near_limit":                  1,
		"ratelimit.service.rate_limit.api.client.within_limit":                2,
		"ratelimit.service.rate_limit.api.client.over_limit_with_local_cache": 0,
		"ratelimit.service.rate_limit.api.client.shadow_mode":                 0,
		"ratelimit.service.rate_limit.api.client.total_negative_hits":         0,
		"ratelimit.service.rate_limit.nowhere.domain_not_found":               1,
		"ratelimit.service.global_shadow_mode":                                2,
		"ratelimit.service.folded_names":                                      0,
		"ratelimit.service.store_failure.allow":                               0,
		"ratelimit.service.store_failure.deny":                                0,
		"ratelimit.service.store_failure.local":                               0,
	}, r.Snapshot().Counters)
}

// The candidate of a limit has three counters beside those of the limit, once there is one.
func TestNamesOfACandidate(t *testing.T) {
	r := stats.New(nil)
	e := engine(t, r, ratelimit.Options{})
	rs, err := ratelimit.Compile([]ratelimit.Domain{{Name: "api", Rules: []ratelimit.Rule{
		{Key: "client", Limit: &ratelimit.Limit{RequestsPerUnit: 2, Unit: ratelimit.Day, Candidate: &ratelimit.Candidate{RequestsPerUnit: 1}}},
	}}}, nil)
	require.NoError(t, err)
	require.NotContains(t, r.Snapshot().Counters, "ratelimit.service.rate_limit.api.client.candidate_over_limit")
	e.Use(rs)
	for range 3 {
		decide(t, e, "api", "x")
	}
	all := r.Snapshot().Counters
	for name, want := range map[string]uint64{
		"candidate_over_limit": 2, "candidate_near_limit": 1, "candidate_within_limit": 1, "over_limit": 1, "total_hits": 3,
	} {
		got, ok := all["ratelimit.service.rate_limit.api.client."+name]
		require.True(t, ok, name)
		require.Equal(t, want, got, name)
	}
}

func TestSameNameIsSameStatistic(t *testing.T) {
	r := stats.New(nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 100 {
				r.Counter(fmt.Sprint("c", i)).Add(1)
				r.Gauge(fmt.Sprint("g", i)).Add(1)
				r.Timer(fmt.Sprint("t", i)).Record(time.Millisecond)
			}
		})
	}
	wg.Wait()
	s := r.Snapshot()
	for i := range 100 {
		require.EqualValues(t, 8, s.Counters[fmt.Sprint("c", i)])
		require.EqualValues(t, 8, s.Gauges[fmt.Sprint("g", i)])
		require.EqualValues(t, 8, s.Timers[fmt.Sprint("t", i)].Count)
	}
	require.Same(t, r.Limit("k"), r.Limit("k"))
}

func TestGauge(t *testing.T) {
	g := stats.New(nil).Gauge("g")
	g.Set(5)
	g.Add(-2)
	require.EqualValues(t, 3, g.Load())
}

// Counters of rules that are no longer in use are retained until the sinks have read
// the last counts, and are then forgotten.
func TestReleasedLimitsAreForgotten(t *testing.T) {
	now := time.Unix(0, 0)
	r := stats.New(&stats.Options{Keep: time.Minute, Now: func() time.Time { return now }})
	e := engine(t, r, ratelimit.Options{})
	decide(t, e, "api", "a")
	const name = "ratelimit.service.rate_limit.api.client.total_hits"

	e.Use(rules(t, "client"))
	now = now.Add(time.Hour)
	require.EqualValues(t, 1, r.Snapshot().Counters[name], "the new rules use it too")

	e.Use(rules(t, "other"))
	now = now.Add(59 * time.Second)
	require.EqualValues(t, 1, r.Snapshot().Counters[name], "retained for a while")
	e.Use(rules(t, "client"))
	now = now.Add(time.Hour)
	require.EqualValues(t, 1, r.Snapshot().Counters[name], "used again before it was forgotten")

	e.Use(nil)
	now = now.Add(time.Minute)
	require.NotContains(t, r.Snapshot().Counters, name)
	e.Use(rules(t, "client"))
	require.Contains(t, r.Snapshot().Counters, name, "a forgotten name starts at 0")
	require.Zero(t, r.Snapshot().Counters[name])
}

// A name is in use until each of its users has released it.
func TestReleaseCountsUsers(t *testing.T) {
	now := time.Unix(0, 0)
	r := stats.New(&stats.Options{Keep: time.Minute, Now: func() time.Time { return now }})
	first := r.Limit("k")
	r.Limit("k")
	r.Release("k")
	now = now.Add(time.Hour)
	r.Release("unknown")
	require.Same(t, first, r.Limit("k"))
	for range 5 { // more often than Limit was called
		r.Release("k")
	}
	now = now.Add(time.Hour)
	r.Snapshot()
	require.NotSame(t, first, r.Limit("k"))
}

// A configuration whose names differ at each change does not accumulate memory.
func TestChangingRulesDoNotLeak(t *testing.T) {
	now := time.Unix(0, 0)
	r := stats.New(&stats.Options{Keep: time.Minute, Now: func() time.Time { return now }})
	e := engine(t, r, ratelimit.Options{})
	for i := range 1000 {
		e.Use(rules(t, fmt.Sprint("key", i)))
		now = now.Add(time.Second)
	}
	require.Less(t, len(r.Snapshot().Counters), 7*70, "the names of one minute")
}

// However fast the configuration changes, the counters of at most as many limits as are in use, or 1,000, are retained;
// the oldest are forgotten first. Names that come back begin at zero.
func TestRetiredLimitsAreBounded(t *testing.T) {
	now := time.Unix(0, 0)
	r := stats.New(&stats.Options{Now: func() time.Time { return now }})
	e := engine(t, r, ratelimit.Options{})
	for i := range 50 {
		e.Use(manyRules(t, 1500, i))
		now = now.Add(time.Millisecond)
	}
	counters := r.Snapshot().Counters
	require.Less(t, len(counters), 7*2*1500+100)
	require.Contains(t, counters, "ratelimit.service.rate_limit.api.key48_7.total_hits")
	require.NotContains(t, counters, "ratelimit.service.rate_limit.api.key47_7.total_hits")
	require.Len(t, r.Snapshot().Gauges, 1500, "gauges of limits end with the rules")
	e.Use(rules(t, "client"))
	require.Less(t, len(r.Snapshot().Counters), 7*1100)
}

// Names that came with requests are released with their domain.
func TestNamesOfRequestsEndWithTheirDomain(t *testing.T) {
	r := stats.New(nil)
	e := engine(t, r, ratelimit.Options{MaxRequestStats: 1000})
	for i := range 20 {
		domain := fmt.Sprint("domain", i)
		rs, err := ratelimit.Compile([]ratelimit.Domain{{Name: domain, Rules: []ratelimit.Rule{
			{Key: "client", DetailedMetric: true, Limit: &ratelimit.Limit{RequestsPerUnit: 7, Unit: ratelimit.Day}},
		}}}, nil)
		require.NoError(t, err)
		e.Use(rs)
		for v := range 1010 {
			decide(t, e, domain, fmt.Sprint(v))
		}
		require.EqualValues(t, 7, r.Snapshot().Gauges["ratelimit.service.rate_limit."+domain+".client_5.limit"])
		require.NotContains(t, r.Snapshot().Gauges, "ratelimit.service.rate_limit."+domain+".other.limit", "of several limits")
	}
	all := r.Snapshot()
	require.Less(t, len(all.Counters), 7*2*1001+100)
	require.Len(t, all.Gauges, 1000)
	require.EqualValues(t, 1, all.Counters["ratelimit.service.rate_limit.domain19.client_5.total_hits"])
	require.EqualValues(t, 1, all.Counters["ratelimit.service.rate_limit.domain18.client_5.total_hits"], "retained for a while")
}

// The gauge of a limit has its present value.
func TestGaugeOfALimit(t *testing.T) {
	r := stats.New(nil)
	e := engine(t, r, ratelimit.Options{})
	for _, n := range []uint32{5, 0, 4294967295} {
		rs, err := ratelimit.Compile([]ratelimit.Domain{{Name: "api", Rules: []ratelimit.Rule{
			{Key: "client", Limit: &ratelimit.Limit{RequestsPerUnit: n, Unit: ratelimit.Day}}, {Key: "free", Limit: &ratelimit.Limit{Unlimited: true}},
		}}}, nil)
		require.NoError(t, err)
		e.Use(rs)
		require.Equal(t, map[string]uint64{"ratelimit.service.rate_limit.api.client.limit": uint64(n)}, r.Snapshot().Gauges)
	}
	e.Use(nil)
	require.Empty(t, r.Snapshot().Gauges)
}

func manyRules(t testing.TB, n, version int) *ratelimit.Ruleset {
	t.Helper()
	domain := ratelimit.Domain{Name: "api"}
	for i := range n {
		domain.Rules = append(domain.Rules, ratelimit.Rule{
			Key: fmt.Sprintf("key%d", version), Value: fmt.Sprint(i), Limit: &ratelimit.Limit{RequestsPerUnit: 1, Unit: ratelimit.Day},
		})
	}
	rs, err := ratelimit.Compile([]ratelimit.Domain{domain}, nil)
	require.NoError(t, err)
	return rs
}

// BenchmarkReloads loads configurations of 1,000 limits whose names all differ. The series and the live heap at the end
// do not depend on the number of loads.
func BenchmarkReloads(b *testing.B) {
	r := stats.New(nil)
	e := ratelimit.MustNew(nil, &ratelimit.Options{Stats: r})
	version := 0
	for b.Loop() {
		version++
		e.Use(manyRules(b, 1000, version))
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB-live")
	b.ReportMetric(float64(len(r.Snapshot().Counters)), "series")
}

// The number of names that requests bring is bounded; hits of other names are counted.
func TestFoldedNames(t *testing.T) {
	r := stats.New(nil)
	e := engine(t, r, ratelimit.Options{MaxRequestStats: 10})
	for i := range 25 {
		decide(t, e, fmt.Sprint("domain", i), "a")
	}
	s := r.Snapshot()
	require.EqualValues(t, 15, s.Counters["ratelimit.service.folded_names"])
	require.EqualValues(t, 15, s.Counters["ratelimit.service.rate_limit.other.domain_not_found"])
}

func TestSource(t *testing.T) {
	r := stats.New(nil)
	r.Source(func(to stats.Reader) {
		to.Counter("cache.hits", 3)
		to.Gauge("cache.entries", 7)
	})
	r.Source(stats.GoRuntime)
	runtime.GC()
	s := r.Snapshot()
	require.EqualValues(t, 3, s.Counters["cache.hits"])
	require.EqualValues(t, 7, s.Gauges["cache.entries"])
	for _, gauge := range []string{"alloc", "sys", "heapAlloc", "heapSys", "heapIdle", "heapInuse", "heapObjects", "nextGC", "lastGC", "numGoroutine"} {
		require.NotZero(t, s.Gauges["ratelimit.go."+gauge], gauge)
	}
	for _, counter := range []string{"totalAlloc", "mallocs", "frees", "numGC", "pauseTotalNs"} {
		require.NotZero(t, s.Counters["ratelimit.go."+counter], counter)
	}
	require.GreaterOrEqual(t, s.Gauges["ratelimit.go.heapSys"], s.Gauges["ratelimit.go.heapInuse"])
}

// The registry is not locked while it is read.
func TestReaderMayUseTheRegistry(t *testing.T) {
	r := stats.New(nil)
	r.Counter("a").Add(1)
	r.Read(nested{r})
	require.Contains(t, r.Snapshot().Counters, "created while reading a")
}

type nested struct{ r *stats.Registry }

func (n nested) Counter(name string, _ uint64) { n.r.Counter("created while reading " + name) }
func (n nested) Gauge(string, uint64)          {}
