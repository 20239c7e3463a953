package ratelimit_test

import (
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Counter keys must be those of the reference service, bit for bit, so that both
// can count in one store (REFERENCE.md, 3.1 to 3.3).
func TestCounterKey(t *testing.T) {
	shared := ratelimit.Rule{Key: "path", Value: "/api/*", ShareThreshold: true, Limit: per(5, ratelimit.Hour), Rules: []ratelimit.Rule{
		{Key: "user", Limit: per(5, ratelimit.Hour)},
		{Key: "id", Value: "i*", ShareThreshold: true, Limit: per(5, ratelimit.Hour)},
	}}
	rules := []ratelimit.Rule{
		{Key: "key", Value: "value", Limit: per(5, ratelimit.Second)},
		{Key: "key4", Limit: per(5, ratelimit.Hour), Rules: []ratelimit.Rule{
			{Key: "subkey", Limit: per(5, ratelimit.Hour)},
		}},
		{Key: "wild", Value: "w*", Limit: per(5, ratelimit.Hour)},
		{Key: "plain", Value: "p*", Rules: []ratelimit.Rule{{Key: "x", Value: "*", ShareThreshold: true, Limit: per(5, ratelimit.Hour)}}},
		shared,
		{Key: "q*", Value: "v*", ShareThreshold: true, Limit: per(5, ratelimit.Hour), Rules: []ratelimit.Rule{rule("z", "1", 5)}},
	}
	tests := []struct {
		name, prefix string
		now          int64
		descriptor   ratelimit.Descriptor
		want         string
	}{
		{"the reference's first example", "", 1234, desc("key", "value"), "domain_key_value_1234"},
		{"the reference's second example", "", 997200 + 3599, desc("key4", "value4"), "domain_key4_value4_997200"},
		{"an empty value leaves two underscores", "", 997200, desc("key4", ""), "domain_key4__997200"},
		{"two entries", "", 997201, desc("key4", "value4", "subkey", "s"), "domain_key4_value4_subkey_s_997200"},
		{"prefix", "prefix:", 1234, desc("key", "value"), "prefix:domain_key_value_1234"},
		{"nothing is escaped", "", 0, desc("key4", "a_b.c:d|é\x00 *"), "domain_key4_a_b.c:d|é\x00 *_0"},
		{"an unshared wildcard counts each value", "", 1234, desc("wild", "www"), "domain_wild_www_0"},
		{"a shared wildcard counts its pattern", "", 1234, desc("path", "/api/users"), "domain_path_/api/*_0"},
		{"shared above, exact below", "", 1234, desc("path", "/api/u", "user", "u1"), "domain_path_/api/*_user_u1_0"},
		{"shared at both", "", 1234, desc("path", "/api/u", "id", "i7"), "domain_path_/api/*_id_i*_0"},
		{"shared below only", "", 1234, desc("plain", "pp", "x", "y"), "domain_plain_pp_x_*_0"},
		{"shared, and a star in the key", "p:", 1234, desc("quux", "vw"), "p:domain_quux_v*_0"},
		{"an exact value below a star in the key", "", 1234, desc("q", "vw", "z", "1"), "domain_q_v*_z_1_1200"},
		{"an override never shares", "", 1234, override(1, ratelimit.Hour, desc("path", "/api/users")), "domain_path_/api/users_0"},
		{"an override without entries", "", 1234, override(1, ratelimit.Second, desc()), "domain_1234"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, &ratelimit.Options{CounterKeyPrefix: tt.prefix}, rules...)
			b.clock.set(tt.now)
			b.decide(tt.descriptor)
			equal(t, "counters", b.store.contents(), map[string]uint64{tt.want: 1})
		})
	}
}

// Windows begin at multiples of the unit, not at calendar boundaries.
func TestCounterKeyWindows(t *testing.T) {
	const now = 1_700_000_123 // 2023-11-14 22:15:23 UTC, a Tuesday
	tests := []struct {
		unit    ratelimit.Unit
		seconds int64
		window  string
	}{
		{ratelimit.Second, 1, "1700000123"},
		{ratelimit.Minute, 60, "1700000100"},
		{ratelimit.Hour, 3600, "1699999200"},
		{ratelimit.Day, 86400, "1699920000"},
		{ratelimit.Week, 604800, "1699488000"}, // a Thursday
		{ratelimit.Month, 2592000, "1697760000"},
		{ratelimit.Year, 31536000, "1671408000"},
	}
	for _, tt := range tests {
		t.Run(tt.unit.String(), func(t *testing.T) {
			b := newBench(t, nil, ratelimit.Rule{Key: "k", Limit: per(9, tt.unit)})
			b.clock.set(now)
			b.decide(desc("k", "v"))
			hit := b.store.lastCall()[0]
			equal(t, "key", string(hit.Key), "domain_k_v_"+tt.window)
			equal(t, "window", hit.Window, now/tt.seconds*tt.seconds)
			equal(t, "end", hit.End(), hit.Window+tt.seconds)
			equal(t, "unit", hit.Unit, tt.unit)
			equal(t, "limit", hit.Limit, 9)
		})
	}
}

// The same descriptor twice is counted twice, in order (REFERENCE.md, 3.1 to 3.3).
func TestCounterKeyTwice(t *testing.T) {
	b := newBench(t, nil, rule("k", "", 2))
	d := b.decide(desc("k", "v"), hits(2, desc("k", "v")), desc("k", "v"))
	equal(t, "store calls", b.store.recorded(), [][]string{{"domain_k_v_1200+1", "domain_k_v_1200+2", "domain_k_v_1200+1"}})
	equal(t, "codes", codes(d), "ok over over")
	equal(t, "remaining", d.Statuses[0].Remaining, 1)
}

// The keys of one request share a buffer: growing it must not change earlier keys.
func TestCounterKeysOfOneRequestAreApart(t *testing.T) {
	b := newBench(t, nil, rule("k", "", 2))
	var d ratelimit.Decision
	for _, n := range []int{1, 40, 3, 2000, 2} {
		r := ratelimit.Request{Domain: "domain"}
		var want []string
		for i := range n {
			value := strings.Repeat(decimal(uint64(i)), 1+i%7)
			r.Descriptors = append(r.Descriptors, desc("k", value))
			want = append(want, "domain_k_"+value+"_1200+1")
		}
		if err := b.engine.DecideInto(t.Context(), &r, &d); err != nil {
			t.Fatal(err)
		}
		calls := b.store.recorded()
		equal(t, "store calls", calls[len(calls)-1], want)
	}
}

// FuzzCounterKey compares the key with its definition. A limit from a rule and one from
// the request must have the same key.
func FuzzCounterKey(f *testing.F) {
	f.Add("domain", "key", "value", "", "", uint8(1), int64(1234))
	f.Add("d_", "k_k", "", "x", "*", uint8(2), int64(59))
	f.Add("d", "s", "shared", "k", "\xff", uint8(7), int64(1_700_000_123))
	f.Fuzz(func(t *testing.T, domain, k1, v1, k2, v2 string, number uint8, now int64) {
		unit := ratelimit.Unit(number)
		if domain == "" || !unit.Valid() || now < 0 || now > 1<<40 {
			return
		}
		window := uint64(now - now%unit.Seconds())
		want := map[string]uint64{strings.Join([]string{"p" + domain, k1, v1, k2, v2, decimal(window)}, "_"): 1}
		d := desc(k1, v1, k2, v2)
		equal(t, "by override", countersOf(t, domain, now, override(1, unit, d)), want)
		if k1 == "" || k2 == "" || strings.Contains(k1+k2, "*") {
			return
		}
		leaf := ratelimit.Rule{Key: k2, Value: v2, Limit: per(1, unit)}
		equal(t, "by rule", countersOf(t, domain, now, d, ratelimit.Rule{Key: k1, Rules: []ratelimit.Rule{leaf}}), want)
		leaf.Value = ""
		equal(t, "by exact rule", countersOf(t, domain, now, d, ratelimit.Rule{Key: k1, Value: v1, Rules: []ratelimit.Rule{leaf}}), want)
	})
}

func countersOf(t *testing.T, domain string, now int64, d ratelimit.Descriptor, rules ...ratelimit.Rule) map[string]uint64 {
	t.Helper()
	store, c := newMapStore(), &clock{unix: now}
	e := ratelimit.New(store, &ratelimit.Options{Now: c.Now, CounterKeyPrefix: "p"})
	e.Use(compile(t, ratelimit.Domain{Name: domain, Rules: rules}))
	if _, err := e.Decide(t.Context(), &ratelimit.Request{Domain: domain, Descriptors: []ratelimit.Descriptor{d}}); err != nil {
		t.Fatal(err)
	}
	return store.contents()
}
