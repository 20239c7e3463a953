package ratelimit_test

import (
	"math"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

type counts = ratelimit.LimitCounts

// verdicts lists the examples of REFERENCE.md, 4.1: limit, count after the hits, hits,
// and the expected result with a near-limit ratio of 0.8.
var verdicts = []struct {
	name      string
	limit     uint32
	after     uint64
	hits      uint64
	code      ratelimit.Code
	remaining uint32
	want      counts // but for TotalHits
}{
	{"L15 A11 h1", 15, 11, 1, ratelimit.OK, 4, counts{WithinLimit: 1}},
	{"L15 A13 h1", 15, 13, 1, ratelimit.OK, 2, counts{WithinLimit: 1, NearLimit: 1}},
	{"L15 A16 h1", 15, 16, 1, ratelimit.OverLimit, 0, counts{OverLimit: 1}},
	{"L20 A5 h3", 20, 5, 3, ratelimit.OK, 15, counts{WithinLimit: 3}},
	{"L8 A7 h2", 8, 7, 2, ratelimit.OK, 1, counts{WithinLimit: 2, NearLimit: 1}},
	{"L20 A19 h3", 20, 19, 3, ratelimit.OK, 1, counts{WithinLimit: 3, NearLimit: 3}},
	{"L20 A22 h3", 20, 22, 3, ratelimit.OverLimit, 0, counts{OverLimit: 2, NearLimit: 1}},
	{"L20 A22 h7", 20, 22, 7, ratelimit.OverLimit, 0, counts{OverLimit: 2, NearLimit: 4}},
	{"L10 A30 h3", 10, 30, 3, ratelimit.OverLimit, 0, counts{OverLimit: 3}},

	{"at the limit exactly", 10, 10, 1, ratelimit.OK, 0, counts{WithinLimit: 1, NearLimit: 1}},
	{"at the near limit exactly", 10, 8, 1, ratelimit.OK, 2, counts{WithinLimit: 1}},
	{"one above the near limit", 10, 9, 1, ratelimit.OK, 1, counts{WithinLimit: 1, NearLimit: 1}},
	{"all at once", 10, 11, 11, ratelimit.OverLimit, 0, counts{OverLimit: 1, NearLimit: 2}},
	{"from the limit", 10, 12, 2, ratelimit.OverLimit, 0, counts{OverLimit: 2}},
	{"limit of zero", 0, 1, 1, ratelimit.OverLimit, 0, counts{OverLimit: 1}},
	{"limit of zero, many", 0, 9, 5, ratelimit.OverLimit, 0, counts{OverLimit: 5}},
	{"limit of one", 1, 1, 1, ratelimit.OK, 0, counts{WithinLimit: 1, NearLimit: 1}},
	{"the largest limit", math.MaxUint32, math.MaxUint32, 1, ratelimit.OK, 0, counts{WithinLimit: 1, NearLimit: 1}},
	{"above the largest limit", math.MaxUint32, math.MaxUint32 + 1, 1, ratelimit.OverLimit, 0, counts{OverLimit: 1}},
	{"a count that needs 64 bits", 10, math.MaxUint64, 1, ratelimit.OverLimit, 0, counts{OverLimit: 1}},
}

func TestVerdict(t *testing.T) {
	for _, tt := range verdicts {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, nil, rule("k", "", tt.limit))
			b.store.put("domain_k_v_1200", tt.after-tt.hits)
			d := b.decide(hits(tt.hits, desc("k", "v")))
			equal(t, "status", d.Statuses, []ratelimit.Status{{
				Code: tt.code, Limited: true, RequestsPerUnit: tt.limit, Unit: ratelimit.Minute,
				Remaining: tt.remaining, ResetSeconds: 26,
			}})
			equal(t, "overall", d.Code, tt.code)
			want := tt.want
			want.TotalHits = tt.hits
			equal(t, "statistics", b.stats.counts(), map[string]counts{"domain.k": want})
		})
	}
}

// A rule in shadow mode passes hits over the limit, with 0 remaining; the other
// statistics are the same.
func TestVerdictInShadow(t *testing.T) {
	for _, tt := range verdicts {
		t.Run(tt.name, func(t *testing.T) {
			r := rule("k", "", tt.limit)
			r.ShadowMode = true
			b := newBench(t, nil, r)
			b.store.put("domain_k_v_1200", tt.after-tt.hits)
			d := b.decide(hits(tt.hits, desc("k", "v")))
			equal(t, "code", d.Statuses[0].Code, ratelimit.OK)
			equal(t, "limited", d.Statuses[0].Limited, true)
			equal(t, "overall", d.Code, ratelimit.OK)
			equal(t, "remaining", d.Statuses[0].Remaining, tt.remaining)
			want := tt.want
			want.TotalHits, want.ShadowMode = tt.hits, want.OverLimit
			equal(t, "statistics", b.stats.counts(), map[string]counts{"domain.k": want})
		})
	}
}

// Hits on a cached counter: two hits, over 2, cache 2 (REFERENCE.md, 4.1).
func TestVerdictCached(t *testing.T) {
	for _, shadow := range []bool{false, true} {
		r := rule("k", "", 10)
		r.ShadowMode = shadow
		c := &clock{unix: epoch}
		cache := newMapCache(c.Now)
		cache.Add([]byte("domain_k_v_1200"), 1<<40)
		b := newBench(t, &ratelimit.Options{OverLimitCache: cache}, r)
		d := b.decide(hits(2, desc("k", "v")))
		want := counts{TotalHits: 2, OverLimit: 2, OverLimitWithLocalCache: 2}
		code := ratelimit.OverLimit
		if shadow {
			want.ShadowMode, code = 2, ratelimit.OK
		}
		equal(t, "status", d.Statuses, []ratelimit.Status{{
			Code: code, Limited: true, RequestsPerUnit: 10, Unit: ratelimit.Minute, ResetSeconds: 26,
		}})
		equal(t, "statistics", b.stats.counts(), map[string]counts{"domain.k": want})
		equal(t, "store calls", len(b.store.calls), 0)
	}
}

// nearAt returns the number of hits that count as near the limit when a whole limit is used up
// in one call: the limit less the near-limit threshold.
func nearAt(t *testing.T, limit uint32, ratio float32) uint64 {
	t.Helper()
	b := newBench(t, &ratelimit.Options{NearLimitRatio: ratio}, rule("k", "", limit))
	b.decide(hits(uint64(limit), desc("k", "v")))
	return b.stats.Limit("domain.k").Load().NearLimit
}

// The threshold is the product of 32-bit floats, rounded down. For these limits
// the product of 64-bit floats differs.
func TestNearLimitIsAFloat32Product(t *testing.T) {
	tests := []struct {
		limit uint32
		ratio float32
		want  uint64 // threshold
		wide  uint64 // what 64-bit floats would give
	}{
		{15, 0.8, 12, 12},
		{10, 0.7, 7, 6},
		{90, 0.7, 63, 62},
		{110, 0.7, 77, 76},
		{110, 0.9, 99, 98},
		{160, 0.9, 144, 143},
		{3495258, 0.6, 2097155, 2097154},
		{3495263, 0.3, 1048579, 1048578},
		{5242881, 0.8, 4194305, 4194304},
		{5242926, 0.8, 4194341, 4194340},
		{16777219, 0.1, 1677722, 1677721},
		{100000001, 0.8, 80000000, 80000001},
		{4294967295, 0.8, 3435973888, 3435973887},
		{4000000001, 0.8, 3200000000, 3200000048},
	}
	for _, tt := range tests {
		if got := uint64(tt.limit) - nearAt(t, tt.limit, tt.ratio); got != tt.want {
			t.Errorf("threshold of %d at %v: got %d, want %d (64-bit floats: %d)", tt.limit, tt.ratio, got, tt.want, tt.wide)
		}
		equal(t, "64-bit product", uint64(float64(tt.limit)*float64(tt.ratio)), tt.wide)
	}
}

func TestNearLimitRatio(t *testing.T) {
	tests := []struct {
		name  string
		ratio float32
		limit uint32
		near  uint64 // of limit hits
	}{
		{"zero means the default", 0, 10, 2},
		{"NearLimitAlways", ratelimit.NearLimitAlways, 10, 10},
		{"NearLimitAlways of the largest limit", ratelimit.NearLimitAlways, math.MaxUint32, math.MaxUint32},
		{"half", 0.5, 10, 5},
		{"one", 1, 10, 0},
		{"one, where the float is larger than the limit", 1, math.MaxUint32, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { equal(t, "near", nearAt(t, tt.limit, tt.ratio), tt.near) })
	}
}

// The threshold may be above the limit: by rounding. Hits that pass the limit must not wrap the near-limit count around.
func TestNearLimitAboveLimit(t *testing.T) {
	tests := []struct {
		limit uint32
		ratio float32
	}{{math.MaxUint32, 1}, {16777219, 1}}
	for _, tt := range tests {
		b := newBench(t, &ratelimit.Options{NearLimitRatio: tt.ratio}, rule("k", "", tt.limit))
		n := uint64(tt.limit) + 1
		b.decide(hits(n, desc("k", "v")))
		equal(t, "statistics", b.stats.counts(), map[string]counts{"domain.k": {TotalHits: n, OverLimit: 1}})
	}
}

// The reset is 1 s to the length of the unit (REFERENCE.md, 3.2).
func TestReset(t *testing.T) {
	tests := []struct {
		unit ratelimit.Unit
		now  int64
		want uint32
	}{
		{ratelimit.Second, 1234, 1},
		{ratelimit.Minute, 1200, 60},
		{ratelimit.Minute, 1201, 59},
		{ratelimit.Minute, 1259, 1},
		{ratelimit.Hour, 3600, 3600},
		{ratelimit.Day, 86399, 1},
		{ratelimit.Week, 0, 604800},
		{ratelimit.Month, 1, 2591999},
		{ratelimit.Year, 31536000, 31536000},
	}
	for _, tt := range tests {
		b := newBench(t, nil, ratelimit.Rule{Key: "k", Limit: per(1, tt.unit)})
		b.clock.set(tt.now)
		s := b.decide(desc("k", "v")).Statuses[0]
		equal(t, tt.unit.String()+" seconds", s.ResetSeconds, tt.want)
		equal(t, tt.unit.String()+" duration", s.Reset().Seconds(), float64(tt.want))
	}
}

// A new window starts at 0.
func TestWindowTurns(t *testing.T) {
	b := newBench(t, nil, rule("k", "", 1))
	for _, step := range []struct {
		now  int64
		want ratelimit.Code
	}{{1200, ratelimit.OK}, {1259, ratelimit.OverLimit}, {1260, ratelimit.OK}, {1261, ratelimit.OverLimit}, {1320, ratelimit.OK}} {
		b.clock.set(step.now)
		equal(t, decimal(uint64(step.now)), b.decide(desc("k", "v")).Code, step.want)
	}
}
