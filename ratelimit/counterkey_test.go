package ratelimit_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Reference keys must be those of the reference service, bit for bit, so that both can count
// in one store. In unambiguous keys, no value can imitate another part (REFERENCE.md, 3.1).
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
		unambiguous  string
	}{
		{"the reference's first example", "", 1234, desc("key", "value"), "domain_key_value_1234", "domain|key|value|1234+1"},
		{"the reference's second example", "", 997200 + 3599, desc("key4", "value4"), "domain_key4_value4_997200", "domain|key4|value4|997200+3600"},
		{"an empty value leaves two underscores", "", 997200, desc("key4", ""), "domain_key4__997200", "domain|key4||997200+3600"},
		{"two entries", "", 997201, desc("key4", "value4", "subkey", "s"), "domain_key4_value4_subkey_s_997200", "domain|key4|value4|subkey|s|997200+3600"},
		{"prefix", "prefix:", 1234, desc("key", "value"), "prefix:domain_key_value_1234", "prefix:domain|key|value|1234+1"},
		{"a reference key escapes nothing", "", 0, desc("key4", "a_b.c:d|é\x00 *"), "domain_key4_a_b.c:d|é\x00 *_0", "domain|key4|a_b.c:d~1é\x00 *|0+3600"},
		{"escapes", "", 0, desc("key4", "~0|{a}", "subkey", "12345678~"), "domain_key4_~0|{a}_subkey_12345678~_0", "domain|key4|~00~1~2a}|subkey|12345678~0|0+3600"},
		{"an unshared wildcard counts each value", "", 1234, desc("wild", "www"), "domain_wild_www_0", "domain|wild|www|0+3600"},
		{"a shared wildcard counts its pattern", "", 1234, desc("path", "/api/users"), "domain_path_/api/*_0", "domain|path|~*/api/*|0+3600"},
		{"shared above, exact below", "", 1234, desc("path", "/api/u", "user", "u1"), "domain_path_/api/*_user_u1_0", "domain|path|~*/api/*|user|u1|0+3600"},
		{"shared at both", "", 1234, desc("path", "/api/u", "id", "i7"), "domain_path_/api/*_id_i*_0", "domain|path|~*/api/*|id|~*i*|0+3600"},
		{"shared below only", "", 1234, desc("plain", "pp", "x", "y"), "domain_plain_pp_x_*_0", "domain|plain|pp|x|~**|0+3600"},
		{"shared, and a star in the key", "p:", 1234, desc("quux", "vw"), "p:domain_quux_v*_0", "p:domain|quux|~*v*|0+3600"},
		{"an exact value below a star in the key", "", 1234, desc("q", "vw", "z", "1"), "domain_q_v*_z_1_1200", "domain|q|~*v*|z|1|1200+60"},
		{"an override never shares", "", 1234, override(1, ratelimit.Hour, desc("path", "/api/users")), "domain_path_/api/users_0", "domain|path|/api/users|0+3600"},
		{"an override without entries", "", 1234, override(1, ratelimit.Second, desc()), "domain_1234", "domain|1234+1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for format, want := range map[ratelimit.KeyFormat]string{ratelimit.KeyReference: tt.want, ratelimit.KeyUnambiguous: tt.unambiguous} {
				b := newBench(t, &ratelimit.Options{CounterKeyPrefix: tt.prefix, CounterKeyFormat: format}, rules...)
				b.clock.set(tt.now)
				b.decide(tt.descriptor)
				equal(t, "counters", b.store.contents(), map[string]uint64{want: 1})
			}
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

// With CalendarMonths the windows of months are those of the calendar in UTC, for rules and for limits of requests. A
// rule with an Align of its own keeps it, and other units are not affected.
func TestCalendarMonths(t *testing.T) {
	const november, december = 1698796800, 1701388800 // 2023, the first of the month
	months := func(n uint32, align ratelimit.Align) *ratelimit.Limit {
		return &ratelimit.Limit{RequestsPerUnit: 9, Unit: ratelimit.Month, UnitMultiplier: n, Align: align}
	}
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "domain", Rules: []ratelimit.Rule{
		{Key: "month", Limit: months(0, "")},
		{Key: "quarter", Limit: months(3, "")},
		{Key: "epoch", Limit: months(0, ratelimit.AlignEpoch)},
		{Key: "day", Limit: per(9, ratelimit.Day)},
	}}}, &ratelimit.CompileOptions{CalendarMonths: true})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, nil)
	b.engine.Use(rules)
	override := func(multiplier uint32) ratelimit.Descriptor {
		d := desc("any", "v")
		d.Limit = &ratelimit.Override{RequestsPerUnit: 9, Unit: ratelimit.Month, UnitMultiplier: multiplier}
		return d
	}
	for _, tt := range []struct {
		d          ratelimit.Descriptor
		now        int64
		start, end int64
	}{
		{desc("month", "v"), november, november, december},
		{desc("month", "v"), december - 1, november, december},
		{desc("month", "v"), december, december, december + 31*86400},
		{desc("month", "v"), 1709164800, 1706745600, 1709251200}, // 2024-02-29
		{desc("quarter", "v"), november, 1696118400, 1704067200},
		{desc("epoch", "v"), 1_700_000_123, 1697760000, 1697760000 + 2592000},
		{desc("day", "v"), 1_700_000_123, 1699920000, 1699920000 + 86400},
		{override(0), december - 1, november, december},
		{override(3), november, 1696118400, 1704067200},
	} {
		b.clock.set(tt.now)
		d := b.decide(tt.d)
		hit := b.store.lastCall()[0]
		key := tt.d.Entries[0].Key
		equal(t, "key", string(hit.Key), "domain_"+key+"_v_"+strconv.FormatInt(tt.start, 10))
		equal(t, key+" end", hit.End(), tt.end)
		equal(t, key+" reset", int64(d.Statuses[0].ResetSeconds), tt.end-tt.now)
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

// TestUserNameCannotUseUpAnotherLimit sends a user name that continues like the descriptor of
// another user: with reference keys both count on one counter.
func TestUserNameCannotUseUpAnotherLimit(t *testing.T) {
	rules := []ratelimit.Rule{{Key: "user", Limit: per(3, ratelimit.Hour), Rules: []ratelimit.Rule{rule("path", "", 3)}}}
	rules[0].Rules[0].Limit.Unit = ratelimit.Hour
	for format, want := range map[ratelimit.KeyFormat]ratelimit.Code{
		"": ratelimit.OK, ratelimit.KeyUnambiguous: ratelimit.OK, ratelimit.KeyReference: ratelimit.OverLimit,
	} {
		store := newMapStore()
		e := ratelimit.MustNew(store, &ratelimit.Options{CounterKeyFormat: format, Now: (&clock{unix: epoch}).Now})
		e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: rules}))
		decide := func(d ratelimit.Descriptor) ratelimit.Code {
			got, err := e.Decide(t.Context(), &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{d}})
			if err != nil {
				t.Fatal(err)
			}
			return got.Code
		}
		for range 4 {
			decide(desc("user", "alice_path_/login"))
		}
		equal(t, string(format)+": login of alice", decide(desc("user", "alice", "path", "/login")), want)
	}
}

// FuzzCounterKey compares keys with their definition in both formats. A limit from a rule and
// one from the request must have the same key. An unambiguous key can be split again, so
// that no two counters have the same.
func FuzzCounterKey(f *testing.F) {
	f.Add("domain", "key", "value", "", "", uint8(1), int64(1234))
	f.Add("d_", "k_k", "", "x", "*", uint8(2), int64(59))
	f.Add("d", "s", "shared", "k", "\xff", uint8(7), int64(1_700_000_123))
	f.Add("d|k", "~", "~0|", "{", "~*x1234567|", uint8(3), int64(7200))
	f.Fuzz(func(t *testing.T, domain, k1, v1, k2, v2 string, number uint8, now int64) {
		unit := ratelimit.Unit(number)
		if domain == "" || !unit.Valid() || now < 0 || now > 1<<40 {
			return
		}
		window := decimal(uint64(now - now%unit.Seconds()))
		parts := []string{domain, k1, v1, k2, v2}
		check := func(what string, d ratelimit.Descriptor, rules ...ratelimit.Rule) {
			want := map[string]uint64{"p" + strings.Join(append(slices.Clone(parts), window), "_"): 1}
			equal(t, what, countersOf(t, ratelimit.KeyReference, domain, now, d, rules...), want)
			for key := range countersOf(t, ratelimit.KeyUnambiguous, domain, now, d, rules...) {
				got := splitKey(t, strings.TrimPrefix(key, "p"))
				equal(t, what+", parts of the key", got, append(slices.Clone(parts), window+"+"+decimal(uint64(unit.Seconds()))))
				if strings.Contains(key, "{") {
					t.Errorf("%s: key %q has a hash tag", what, key)
				}
			}
		}
		d := desc(k1, v1, k2, v2)
		check("by override", override(1, unit, d))
		if k1 == "" || k2 == "" || strings.Contains(k1+k2, "*") {
			return
		}
		leaf := ratelimit.Rule{Key: k2, Value: v2, Limit: per(1, unit)}
		check("by rule", d, ratelimit.Rule{Key: k1, Rules: []ratelimit.Rule{leaf}})
		leaf.Value = ""
		check("by exact rule", d, ratelimit.Rule{Key: k1, Value: v1, Rules: []ratelimit.Rule{leaf}})
		check("by a pattern", d, ratelimit.Rule{Key: k1 + "*", Rules: []ratelimit.Rule{leaf}})
		if v2 != "" && !strings.Contains(v2, "*") {
			leaf.Value, leaf.ShareThreshold = v2+"*", true
			parts[4] = "~*" + v2 + "*" // what splitKey shows for a shared wildcard
			for key := range countersOf(t, ratelimit.KeyUnambiguous, domain, now, d, ratelimit.Rule{Key: k1, Rules: []ratelimit.Rule{leaf}}) {
				equal(t, "shared", splitKey(t, strings.TrimPrefix(key, "p"))[4], parts[4])
			}
		}
	})
}

// splitKey decodes an unambiguous key without a prefix. A shared wildcard keeps its prefix,
// which a literal value can't have in the key.
func splitKey(t *testing.T, key string) []string {
	t.Helper()
	parts := strings.Split(key, "|")
	for i, p := range parts {
		p, shared := strings.CutPrefix(p, "~*")
		var b strings.Builder
		for rest := p; rest != ""; {
			c := rest[:1]
			if c == "~" {
				if len(rest) < 2 || !strings.Contains("012", rest[1:2]) {
					t.Fatalf("key %q: invalid escape in %q", key, p)
				}
				c = map[byte]string{'0': "~", '1': "|", '2': "{"}[rest[1]]
				rest = rest[1:]
			}
			b.WriteString(c)
			rest = rest[1:]
		}
		if parts[i] = b.String(); shared {
			parts[i] = "~*" + parts[i]
		}
	}
	return parts
}

func countersOf(t *testing.T, format ratelimit.KeyFormat, domain string, now int64, d ratelimit.Descriptor, rules ...ratelimit.Rule) map[string]uint64 {
	t.Helper()
	store, c := newMapStore(), &clock{unix: now}
	e := ratelimit.MustNew(store, &ratelimit.Options{Now: c.Now, CounterKeyPrefix: "p", CounterKeyFormat: format})
	e.Use(compile(t, ratelimit.Domain{Name: domain, Rules: rules}))
	if _, err := e.Decide(t.Context(), &ratelimit.Request{Domain: domain, Descriptors: []ratelimit.Descriptor{d}}); err != nil {
		t.Fatal(err)
	}
	return store.contents()
}

// A separator is escaped wherever it is in a value.
func TestCounterKeyEscapesAnywhere(t *testing.T) {
	b := newBench(t, &ratelimit.Options{CounterKeyFormat: ratelimit.KeyUnambiguous}, rule("k", "", 5))
	for length := 1; length <= 34; length++ {
		for at := range length {
			value := []byte(strings.Repeat("z", length))
			value[at] = '|'
			b.decide(desc("k", string(value)))
			want := "domain|k|" + strings.Replace(string(value), "|", "~1", 1) + "|1200+60"
			equal(t, string(value), string(b.store.lastCall()[0].Key), want)
		}
	}
}
