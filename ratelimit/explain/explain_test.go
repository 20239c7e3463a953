package explain_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/explain"
)

func ExampleDecision() {
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "shop", Rules: []ratelimit.Rule{
		{Key: "client", Value: "b*", Rules: []ratelimit.Rule{
			{Key: "path", Value: "/login", Limit: &ratelimit.Limit{RequestsPerUnit: 5, Unit: ratelimit.Minute, Name: "login"}},
		}},
		{Key: "client", Limit: &ratelimit.Limit{RequestsPerUnit: 100, Unit: ratelimit.Hour}},
	}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	explanation, err := explain.Decision(rules, &ratelimit.Request{Domain: "shop", Descriptors: []ratelimit.Descriptor{
		{Entries: []ratelimit.Entry{{Key: "client", Value: "bob"}, {Key: "path", Value: "/login"}}},
		{Entries: []ratelimit.Entry{{Key: "client", Value: "bob"}}},
	}}, &explain.Options{Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(explanation)
	// Output:
	// domain shop
	//
	// descriptors[0]: client=bob,path=/login
	//   level 1: client=bob
	//     exact value  client=bob  no such rule
	//     wildcard     client=b*   matches
	//   level 2: path=/login
	//     exact value  path=/login  matches
	//   result: 5 requests per minute: the rule that matched at level 2 has a limit
	//     name        login
	//     counter     shop|client|bob|path|/login|1767323040+60
	//     window      2026-01-02T03:04:00Z to 2026-01-02T03:05:00Z
	//     statistics  shop.client_b*.path_/login
	//     bucket_id   client=bob,path=/login
	//
	// descriptors[1]: client=bob
	//   level 1: client=bob
	//     exact value  client=bob  no such rule
	//     wildcard     client=b*   matches
	//     near miss    client      would lead to a limit, but the rule that matched is tried first, and matching does not go back
	//   result: no limit: the request ends at level 1 but the rule that matched there has no limit of its own, only rules below
}

// epoch is the time of most explanations, in Unix seconds.
const epoch = 1234

func compile(t testing.TB, domains ...ratelimit.Domain) *ratelimit.Ruleset {
	t.Helper()
	rules, err := ratelimit.Compile(domains, nil)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// desc makes a descriptor of keys and values in turn.
func desc(pairs ...string) ratelimit.Descriptor {
	var d ratelimit.Descriptor
	for i := 0; i < len(pairs); i += 2 {
		d.Entries = append(d.Entries, ratelimit.Entry{Key: pairs[i], Value: pairs[i+1]})
	}
	return d
}

func override(n uint32, u ratelimit.Unit, d ratelimit.Descriptor) ratelimit.Descriptor {
	d.Limit = &ratelimit.Override{RequestsPerUnit: n, Unit: u}
	return d
}

// rule is a rule with a limit of n each minute.
func rule(key, value string, n uint32) ratelimit.Rule {
	return ratelimit.Rule{Key: key, Value: value, Limit: new(ratelimit.Per(n, ratelimit.Minute))}
}

func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// explanation explains a request to the domain "domain".
func explanation(t testing.TB, rules []ratelimit.Rule, descriptors ...ratelimit.Descriptor) *explain.Explanation {
	t.Helper()
	r := compile(t, ratelimit.Domain{Name: "domain", Rules: rules})
	x, err := explain.Decision(r, &ratelimit.Request{Domain: "domain", Descriptors: descriptors}, explainAt(epoch, ""))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func explainAt(unix int64, prefix string) *explain.Options {
	return &explain.Options{Now: time.Unix(unix, 0), CounterKeyPrefix: prefix, CounterKeyFormat: ratelimit.KeyReference}
}

func TestExplainOutcome(t *testing.T) {
	limited := rule("limited", "", 3)
	deep := ratelimit.Rule{Key: "deep", Rules: []ratelimit.Rule{rule("x", "", 2)}}
	rules := []ratelimit.Rule{
		limited, deep,
		{Key: "white"},
		{Key: "free", Limit: &ratelimit.Limit{Unlimited: true}},
	}
	for _, tt := range []struct {
		descriptor ratelimit.Descriptor
		outcome    explain.Outcome
		reason     string
	}{
		{desc("limited", "1"), explain.OutcomeLimit, "level 1"},
		{desc("deep", "1", "x", "2"), explain.OutcomeLimit, "level 2"},
		{desc("free", ""), explain.OutcomeUnlimited, "unlimited"},
		{desc("white", "1"), explain.OutcomeWhitelisted, "neither"},
		{desc("deep", "1"), explain.OutcomeNone, "only rules below"},
		{desc("limited", "1", "a", "b", "c", "d"), explain.OutcomeNone, "limit at level 1"},
		{desc("white", "1", "a", "b"), explain.OutcomeNone, "2 pairs"},
		{desc("nope", "1"), explain.OutcomeNone, "nope=1"},
		{desc("deep", "1", "y", "a b"), explain.OutcomeNone, `y="a b"`},
		{desc(), explain.OutcomeNone, "no pairs"},
		{override(9, ratelimit.Day, desc("nope", "1")), explain.OutcomeLimit, "own limit"},
	} {
		d := explanation(t, rules, tt.descriptor).Descriptors[0]
		if d.Outcome != tt.outcome || !strings.Contains(d.Reason, tt.reason) {
			t.Errorf("%v:\n got %s: %s\nwant %s: %s", tt.descriptor.Entries, d.Outcome, d.Reason, tt.outcome, tt.reason)
		}
	}
}

// attempts lists what was tried at a level, in short.
func attempts(l *explain.Level) []string {
	var texts []string
	for _, a := range l.Tried {
		texts = append(texts, fmt.Sprintf("%s %s=%s %v %v", a.Way, a.Key, a.Value, a.Configured, a.Matched))
	}
	return texts
}

func TestExplainTried(t *testing.T) {
	rules := []ratelimit.Rule{rule("k", "", 1), rule("k", "a*", 2), rule("*k", "b*", 3), rule("k", "b*", 4), rule("k", "exact", 5)}
	for _, tt := range []struct {
		value string
		want  []string
	}{
		{"exact", []string{"exact value k=exact true true"}},
		{"ab", []string{"exact value k=ab false false", "wildcard k=a* true true"}},
		{"bb", []string{"exact value k=bb false false", "wildcard k=a* true false", "wildcard *k=b* true true"}},
		{"c", []string{"exact value k=c false false", "wildcard k=a* true false", "wildcard *k=b* true false", "wildcard k=b* true false", "key alone k= true true"}},
	} {
		x := explanation(t, rules, desc("k", tt.value))
		equal(t, "tried for "+tt.value, attempts(&x.Descriptors[0].Levels[0]), tt.want)
	}
	x := explanation(t, rules, desc("other", "c", "d", "e"))
	equal(t, "tried for an unknown key", attempts(&x.Descriptors[0].Levels[0]),
		[]string{"exact value other=c false false", "wildcard *k=b* true false", "key alone other= false false"})
	if l := x.Descriptors[0].Levels[1]; l.Reached || l.Tried != nil || l.Match() != nil || l.Key != "d" {
		t.Errorf("an unreached level: %+v", l)
	}
}

func TestExplainManyWildcards(t *testing.T) {
	var rules []ratelimit.Rule
	for i := range 1000 {
		rules = append(rules, rule("k", fmt.Sprintf("w%03d*", i), uint32(i)))
	}
	l := &explanation(t, rules, desc("k", "w900")).Descriptors[0].Levels[0]
	if len(l.Tried) != 12 || l.TriedLeftOut != 890 || l.Match() == nil || l.Match().Value != "w900*" {
		t.Errorf("%d tried, %d left out, %+v", len(l.Tried), l.TriedLeftOut, l.Match())
	}
}

func TestExplainNearMisses(t *testing.T) {
	below := func(r ratelimit.Rule) ratelimit.Rule {
		r.Limit, r.Rules = nil, []ratelimit.Rule{rule("path", "/", 1)}
		return r
	}
	for _, tt := range []struct {
		why        string
		rules      []ratelimit.Rule
		descriptor ratelimit.Descriptor
		level      int
		want       []explain.NearMiss // with key words of Why
	}{
		{
			"the case of the value",
			[]ratelimit.Rule{rule("k", "", 1), rule("k", "Bob", 2)},
			desc("k", "bob"), 0,
			[]explain.NearMiss{{Key: "k", Value: "Bob", Why: "letter case of the value"}},
		},
		{
			"the case of the key",
			[]ratelimit.Rule{rule("Client", "", 1)},
			desc("client", "x"), 0,
			[]explain.NearMiss{{Key: "Client", Why: "letter case of the key"}},
		},
		{
			"white space",
			[]ratelimit.Rule{rule("k", "bob", 1)},
			desc("k", " bob"), 0,
			[]explain.NearMiss{{Key: "k", Value: "bob", Why: "white space of the value"}},
		},
		{
			"the spelling",
			[]ratelimit.Rule{rule("client", "", 1), rule("path", "/login", 1), rule("path", "/logout", 2)},
			desc("path", "/logni"), 0,
			[]explain.NearMiss{{Key: "path", Value: "/login", Why: "spelling of the value"}},
		},
		{
			"other values",
			[]ratelimit.Rule{rule("k", "a", 1), rule("k", "b", 2), rule("z", "c", 2)},
			desc("k", "x"), 0,
			[]explain.NearMiss{{Key: "k", Value: "a", Why: "value"}, {Key: "k", Value: "b", Why: "value"}},
		},
		{
			"other keys",
			[]ratelimit.Rule{rule("a", "", 1), rule("b", "", 2)},
			desc("k", "x"), 0,
			[]explain.NearMiss{{Key: "a", Why: "key"}, {Key: "b", Why: "key"}},
		},
		{
			"the order",
			[]ratelimit.Rule{rule("a", "", 1), rule("b", "", 2)},
			desc("k", "x", "b", "y"), 0,
			[]explain.NearMiss{{Key: "b", Why: "order"}},
		},
		{"nothing when the exact rule matched", []ratelimit.Rule{rule("k", "bob", 1), rule("k", "Bob", 2)}, desc("k", "bob"), 0, nil},
		{
			"a key alone that was passed over",
			[]ratelimit.Rule{rule("k", "x", 1), below(rule("k", "", 1))},
			desc("k", "x", "path", "/"), 0,
			[]explain.NearMiss{{Key: "k", Why: "would lead to a limit"}},
		},
		{
			"a wildcard that was passed over",
			[]ratelimit.Rule{rule("k", "x", 1), below(rule("k", "*y", 1)), below(rule("*", "x*", 1))},
			desc("k", "x", "path", "/"), 0,
			[]explain.NearMiss{{Key: "*", Value: "x*", Why: "would lead to a limit"}},
		},
	} {
		x := explanation(t, tt.rules, tt.descriptor)
		got := x.Descriptors[0].Levels[tt.level].NearMisses
		same := func(a, b explain.NearMiss) bool {
			return a.Key == b.Key && a.Value == b.Value && strings.Contains(a.Why, b.Why)
		}
		if !slices.EqualFunc(got, tt.want, same) {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.why, got, tt.want)
		}
	}
}

func TestExplainUnknownDomain(t *testing.T) {
	domains := []ratelimit.Domain{{Name: "Shop"}, {Name: "api"}}
	explain := func(name string) *explain.Explanation {
		x, err := explain.Decision(compile(t, domains...), &ratelimit.Request{Domain: name, Descriptors: []ratelimit.Descriptor{desc("a", "b")}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	x := explain("shop")
	equal(t, "domains", x.Domains, []string{"Shop", "api"})
	for _, want := range []string{"not configured", "Shop, api", "descriptors[0]: a=b\n", "result: no limit"} {
		if !strings.Contains(x.String(), want) {
			t.Errorf("no %q in\n%s", want, x)
		}
	}
	if x := explain("Shop"); !x.Configured || x.Domains != nil {
		t.Errorf("a known domain: %+v", x)
	}
	for i := range 20 {
		domains = append(domains, ratelimit.Domain{Name: fmt.Sprint("d", i)})
	}
	if x := explain("x"); len(x.Domains) != 10 || x.DomainsLeftOut != 12 || !strings.Contains(x.String(), "12 more") {
		t.Errorf("of many domains it lists %v and leaves out %d:\n%s", x.Domains, x.DomainsLeftOut, x)
	}
	domains = nil
	if x := explain("x"); !strings.Contains(x.String(), "no domain") {
		t.Errorf("without any domain: %s", x)
	}
}

func TestExplainReplaces(t *testing.T) {
	by := func(key, name string, replaces ...string) ratelimit.Rule {
		r := rule(key, "", 3)
		r.Limit.Name, r.Limit.Replaces = name, replaces
		return r
	}
	rules := []ratelimit.Rule{by("a", "a"), by("b", "b", "a", "c"), by("c", "c", "b")}
	x := explanation(t, rules, desc("a", "1"), desc("b", "1"), desc("a", "2"))
	equal(t, "who replaces", x.Descriptors[0].Limit.ReplacedBy, []int{1})
	equal(t, "what is replaced", x.Descriptors[1].Limit.Replaces,
		[]explain.Replacement{{Name: "a", Descriptors: []int{0, 2}}, {Name: "c"}})
	for i, want := range []explain.Outcome{explain.OutcomeReplaced, explain.OutcomeLimit, explain.OutcomeReplaced} {
		equal(t, "outcome", x.Descriptors[i].Outcome, want)
	}
	for _, want := range []string{"  replaced by  descriptors[1]\n", "  replaces     a: descriptors[0], descriptors[2]\n", "  replaces     c: nothing in this request\n"} {
		if !strings.Contains(spaces(x.String()), spaces(want)) {
			t.Errorf("%q is not in\n%s", want, x)
		}
	}
	x = explanation(t, rules, desc("b", "1"), desc("c", "1"))
	if x.Descriptors[0].Outcome != explain.OutcomeReplaced || x.Descriptors[1].Outcome != explain.OutcomeReplaced {
		t.Errorf("two that replace each other both go:\n%s", x)
	}
}

func spaces(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestExplainErrors(t *testing.T) {
	r := compile(t)
	for _, tt := range []struct {
		request ratelimit.Request
		want    error
	}{
		{ratelimit.Request{Descriptors: []ratelimit.Descriptor{desc("a", "b")}}, ratelimit.ErrEmptyDomain},
		{ratelimit.Request{Domain: "d"}, ratelimit.ErrNoDescriptors},
	} {
		if x, err := explain.Decision(r, &tt.request, nil); !errors.Is(err, tt.want) || x != nil {
			t.Errorf("%+v: %v, %v; want %v", tt.request, x, err, tt.want)
		}
	}
	_, err := explain.Decision(r, &ratelimit.Request{Domain: "d", Descriptors: []ratelimit.Descriptor{override(1, 99, desc("a", "b"))}}, nil)
	if ratelimit.KindOf(err) != ratelimit.Invalid {
		t.Errorf("an invalid override: %v", err)
	}
}

// Control characters of a request are not printed.
func TestExplainTextIsPlain(t *testing.T) {
	x := explanation(t, []ratelimit.Rule{rule("k", "", 1)}, desc("k", "a\n\x1b[31mresult:\tb\u202e"), desc("\xff", ""))
	for _, line := range strings.Split(x.String(), "\n") {
		if strings.ContainsAny(line, "\x1b\t\u202e") || !utf8.ValidString(line) || strings.HasPrefix(line, "result:") {
			t.Errorf("line %q", line)
		}
	}
}

func TestExplainShowsModesAndDefaults(t *testing.T) {
	r := rule("k", "", 1)
	r.ShadowMode, r.QuotaMode = true, true
	r.Limit.Candidate = &ratelimit.Candidate{RequestsPerUnit: 8}
	rules := compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{r}})
	before := time.Now().Unix()
	x, err := explain.Decision(rules, &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("k", "v")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := x.Descriptors[0].Limit
	if l.WindowEnd <= before || l.WindowStart > time.Now().Unix() {
		t.Errorf("by default it is the present that counts: window %d", l.WindowStart)
	}
	for _, want := range []string{"1 request per minute", "candidate 8", "shadow mode", "quota mode"} {
		if !strings.Contains(spaces(x.String()), want) {
			t.Errorf("%q is not in\n%s", want, x)
		}
	}
	text, err := json.Marshal(l)
	if want := `{"candidate":8,"quota_mode":true,"requests_per_unit":1,"shadow_mode":true,"unit":"minute","counter_key":"domain|k|v|`; err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("JSON %s, %v", text, err)
	}
	if text, err = json.Marshal(&explain.Limit{}); err != nil || string(text) != `{"requests_per_unit":0}` {
		t.Errorf("JSON of nothing: %s, %v", text, err)
	}
}

// tree draws rules from small alphabets: keys that are equal once joined, values
// that several wildcards match. Limits are 0, which refuses, or 50, which doesn't.
func tree(r *rand.Rand, depth int) []ratelimit.Rule {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	seldom := func() bool { return r.IntN(4) == 0 }
	seen := make(map[string]bool)
	var rules []ratelimit.Rule
	for range r.IntN(2 + 6*depth) {
		n := ratelimit.Rule{
			Key: pick("a", "a", "b", "a_b", "a*", "*b"), Value: pick("", "", "x", "xy", "b_x", "x*", "*y", "*", "x*y", "1.2.*"),
			ShadowMode: seldom(), QuotaMode: seldom(), DetailedMetric: seldom(), ValueToMetric: seldom(),
		}
		joined := strings.TrimSuffix(n.Key+"_"+n.Value, "_")
		if seen[joined] {
			continue
		}
		seen[joined] = true
		n.ShareThreshold = strings.HasSuffix(n.Value, "*") && seldom()
		if r.IntN(5) > 0 {
			n.Limit = drawLimit(r, pick)
		}
		if depth > 0 && r.IntN(2) == 0 {
			n.Rules = tree(r, depth-1)
		}
		rules = append(rules, n)
	}
	return rules
}

func drawRequest(r *rand.Rand, key, value string) *ratelimit.Request {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	request := &ratelimit.Request{Domain: pick("domain", "domain", "domain", "domain", "nope")}
	for range 1 + r.IntN(5) {
		var d ratelimit.Descriptor
		for range [...]int{0, 1, 1, 1, 1, 2, 2, 3}[r.IntN(8)] {
			d.Entries = append(d.Entries, ratelimit.Entry{
				Key: pick("a", "a", "b", "a_b", "ab", key), Value: pick("", "x", "xy", "xxy", "b_x", "1.2.3.4", "x:|", "x*", value),
			})
		}
		if r.IntN(8) == 0 {
			d.Limit = &ratelimit.Override{RequestsPerUnit: uint32(50 * r.IntN(2)), Unit: ratelimit.Unit(1 + r.IntN(7)), UnitMultiplier: uint32(r.IntN(4))}
		}
		request.Descriptors = append(request.Descriptors, d)
	}
	return request
}

// An explanation agrees with the engine: the same counters, limits, names and
// verdicts, and the rules that it names exist.
func TestExplainAgreesWithDecide(t *testing.T) {
	met := make(map[explain.Outcome]int)
	for seed := range uint64(1500) {
		compareWithDecide(t, seed, "b*", "y", met)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	for _, o := range []explain.Outcome{
		explain.OutcomeLimit, explain.OutcomeUnlimited, explain.OutcomeWhitelisted, explain.OutcomeReplaced, explain.OutcomeNone,
	} {
		if met[o] < 10 {
			t.Errorf("outcome %q was met only %d times", o, met[o])
		}
	}
}

func FuzzExplain(f *testing.F) {
	f.Add(uint64(1), "a", "x")
	f.Add(uint64(7), "a*", "1.2.3.4")
	f.Add(uint64(9), "", "\xff\n")
	f.Fuzz(func(t *testing.T, seed uint64, key, value string) {
		compareWithDecide(t, seed, key, value, make(map[explain.Outcome]int))
	})
}

func compareWithDecide(t *testing.T, seed uint64, key, value string, met map[explain.Outcome]int) {
	r := rand.New(rand.NewPCG(seed, 0))
	rules, request := tree(r, 2), drawRequest(r, key, value)
	format := []ratelimit.KeyFormat{ratelimit.KeyUnambiguous, ratelimit.KeyReference}[seed%2]
	now, recorded := time.Unix(1e9+int64(seed%1e6), 0), &recorder{statistics: map[string]*ratelimit.LimitStats{}}
	engine := ratelimit.MustNew(recorded, &ratelimit.Options{
		OverrideValues:   true,
		CounterKeyPrefix: "p:", CounterKeyFormat: format, MaxRequestStats: 1 << 20, Stats: recorded, Now: func() time.Time { return now },
		Log: slog.New(slog.DiscardHandler),
	})
	engine.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: rules}))
	d, err := engine.Decide(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	x, err := explain.Decision(engine.Rules(), request, &explain.Options{Now: now, CounterKeyPrefix: "p:", CounterKeyFormat: format})
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Descriptors) != len(d.Statuses) || x.Configured != (request.Domain == "domain") {
		t.Fatalf("%d descriptors, %d statuses; configured %v", len(x.Descriptors), len(d.Statuses), x.Configured)
	}
	var counters, statistics []string
	for i := range x.Descriptors {
		e, s := &x.Descriptors[i], &d.Statuses[i]
		met[e.Outcome]++
		if e.Outcome == explain.OutcomeLimit {
			counters, statistics = append(counters, e.Limit.CounterKey), append(statistics, e.Limit.StatisticsKey)
		}
		checkStatus(t, e, s, now)
		checkLevels(t, e, request.Descriptors[i].Entries, rules)
	}
	checkNames(t, recorded, counters, statistics)
	if x.String() == "" {
		t.Error("no text")
	}
}

func checkStatus(t *testing.T, e *explain.Descriptor, s *ratelimit.Status, now time.Time) {
	t.Helper()
	limited := e.Outcome == explain.OutcomeLimit
	if s.Limited != limited || (s.Remaining == ratelimit.UnlimitedRemaining) != (e.Outcome == explain.OutcomeUnlimited) {
		t.Errorf("outcome %s, status %+v", e.Outcome, s)
	}
	if !limited {
		return
	}
	l := e.Limit
	rule, algorithm := l.Rule.Limit, l.Rule.Limit.Algorithm
	over := rule.RequestsPerUnit == 0 && !l.ShadowMode
	if s.RequestsPerUnit != rule.RequestsPerUnit || s.Unit != rule.Unit || s.Name != rule.Name || s.Quota != l.QuotaMode || over != (s.Code == ratelimit.OverLimit) {
		t.Errorf("limit %+v, status %+v", rule, s)
	}
	if max(s.UnitMultiplier, 1) != max(rule.UnitMultiplier, 1) || s.Algorithm != algorithm {
		t.Errorf("limit %+v, status %+v", rule, s)
	}
	windows := algorithm == ratelimit.FixedWindow || algorithm == ratelimit.SlidingWindow
	if windows && (l.WindowStart > now.Unix() || l.WindowEnd <= now.Unix()) || !windows && l.WindowEnd != 0 {
		t.Errorf("limit %+v has no window at %d", l, now.Unix())
	}
	if algorithm == ratelimit.FixedWindow && int64(s.ResetSeconds) != l.WindowEnd-now.Unix() {
		t.Errorf("limit %+v, reset in %d s at %d", l, s.ResetSeconds, now.Unix())
	}
}

// checkNames compares with the names recorded by the store and the statistics.
func checkNames(t *testing.T, r *recorder, counters, statistics []string) {
	t.Helper()
	slices.Sort(counters) // several lists of hits are counted at the same time
	slices.Sort(r.counters)
	equal(t, "counters", counters, r.counters)
	counted := make(map[string]bool)
	for key, stats := range r.statistics {
		if stats.Load().TotalHits > 0 {
			counted[key] = true
		}
	}
	const maxStatsName = 1024
	for _, s := range statistics {
		if !counted[s] && len(s) <= maxStatsName {
			t.Errorf("statistics key %q has counted nothing; those that have: %v", s, counted)
		}
	}
	if distinct := len(slices.Compact(slices.Sorted(slices.Values(statistics)))); len(counted) > distinct {
		t.Errorf("%d statistics keys explained, %d counted: %v", distinct, len(counted), counted)
	}
}

// checkLevels follows the matched rules through the tree they were compiled from.
func checkLevels(t *testing.T, e *explain.Descriptor, entries []ratelimit.Entry, rules []ratelimit.Rule) {
	t.Helper()
	var last *ratelimit.Rule
	for i := range e.Levels {
		l := &e.Levels[i]
		if l.Key != entries[i].Key || l.Value != entries[i].Value {
			t.Errorf("level %d is of %q=%q, the entry %v", i, l.Key, l.Value, entries[i])
		}
		if m := l.Match(); m == nil {
			last, rules = nil, nil
		} else if last = ruleOf(rules, m.Key, m.Value); last == nil {
			t.Fatalf("there is no rule %q=%q at level %d", m.Key, m.Value, i)
		} else {
			rules = last.Rules
		}
	}
	ruled := e.Outcome != explain.OutcomeNone && (e.Limit == nil || !e.Limit.FromRequest)
	white := last != nil && last.Limit == nil && len(last.Rules) == 0
	if ruled && last == nil || white != (e.Outcome == explain.OutcomeWhitelisted) {
		t.Errorf("outcome %q, but the last entry matched %+v", e.Outcome, last)
	}
	if last == nil || last.Limit == nil {
		return
	}
	if e.Limit == nil || ruled && !reflect.DeepEqual(e.Limit.Rule.Limit, last.Limit) {
		t.Errorf("the rule has %+v, explained is %+v", last.Limit, e.Limit)
	}
}

func ruleOf(rules []ratelimit.Rule, key, value string) *ratelimit.Rule {
	for i := range rules {
		if rules[i].Key == key && rules[i].Value == value {
			return &rules[i]
		}
	}
	return nil
}

// The bucket of quotas that meets a rule is that of the descriptor, unless buckets can't be it.
func TestBucketID(t *testing.T) {
	busy := rule("busy", "", 1)
	busy.Limit.Algorithm = ratelimit.Concurrency
	below := rule("a", "", 1)
	below.Rules = []ratelimit.Rule{rule("a", "", 1), rule("b", "", 1)}
	other := rule("b", "", 1)
	other.Rules = []ratelimit.Rule{rule("a", "", 1)}
	for _, c := range []struct {
		descriptor ratelimit.Descriptor
		want       map[string]string
	}{
		{desc("a", "x", "b", "y"), map[string]string{"a": "x", "b": "y"}},
		{desc("b", "y", "a", "x"), nil}, // it would meet a, b
		{desc("a", "x", "a", "x"), nil},
		{desc("busy", "x"), nil},
		{desc("c", "x"), nil},
		{override(1, ratelimit.Hour, desc("a", "x")), nil},
	} {
		x := explanation(t, []ratelimit.Rule{below, other, busy}, c.descriptor)
		equal(t, fmt.Sprint(c.descriptor.Entries), x.Descriptors[0].BucketID, c.want)
	}
}

func TestArrange(t *testing.T) {
	wild := rule("client", "b*", 1)
	wild.Limit = nil
	wild.Rules = []ratelimit.Rule{rule("path", "/a", 1)}
	rules := compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{wild, rule("client", "", 1), rule("path", "", 1)}})
	for _, c := range []struct{ entries, order, path string }{
		{"client=ann", "[{client ann}]", "[{client }]"},
		{"path=/a client=bob", "[{client bob} {path /a}]", "[{client b*} {path /a}]"},
		{"path=/a", "[{path /a}]", "[{path }]"},
		{"client=bob", "[]", "[]"},
		{"client=bob path=/b", "[]", "[]"},
		{"client=ann path=/a", "[]", "[]"},
		{"", "[]", "[]"},
	} {
		var entries []ratelimit.Entry
		for _, pair := range strings.Fields(c.entries) {
			key, value, _ := strings.Cut(pair, "=")
			entries = append(entries, ratelimit.Entry{Key: key, Value: value})
		}
		order, path, rule := explain.Arrange(rules, "domain", entries)
		equal(t, c.entries, fmt.Sprint(order, path), c.order+" "+c.path)
		equal(t, c.entries, rule != nil, c.order != "[]")
		if order, _, _ = explain.Arrange(rules, "x", entries); order != nil {
			t.Errorf("%s in an unknown domain: %v", c.entries, order)
		}
	}
}
