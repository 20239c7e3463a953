package modeltest

import (
	"encoding/json"
	"slices"

	"pgregory.net/rapid"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// script is a sequence of requests and reloads, as plain data.
type script struct {
	Choices choices
	Rules   []ratelimit.Domain
	Steps   []step
}

// choices are the options of the engine that a script selects.
type choices struct {
	Ratio     float32
	Prefix    string
	Reference bool // the format of counter keys
	Cache     bool
	PerSecond bool
	Stop      bool
	Shadow    bool
	Quota     bool
	Metadata  bool
}

// step advances the clock, reloads the rules if Reload is set, and makes a request.
type step struct {
	Wait    int64
	Reload  []ratelimit.Domain `json:",omitempty"`
	Request ratelimit.Request
}

// String returns the script as JSON, which can be pasted into a test.
func (s script) String() string {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Small alphabets: keys that are equal once joined, values that several
// wildcards match.
var (
	ruleKeys   = []string{"a", "a", "a", "b", "b", "a_b", "a*", "*b"}
	ruleValues = []string{"", "", "x", "xy", "yx", "b_x", "1.2.3.4", "x*", "*y", "*", "**", "x*y", "*x*", "1.2.*", "*:*"}
	entryKeys  = []string{"a", "a", "a", "a", "b", "b", "a_b", "ab"}
	values     = []string{"", "x", "x", "xy", "yx", "xxy", "b_x", "x_y", "1.2.3.4", "x:y|z", "x*", "~*x*", "{x}~"}
	names      = []string{"", "", "n1", "n2", "n3"}
	units      = []ratelimit.Unit{
		ratelimit.Second, ratelimit.Second, ratelimit.Minute, ratelimit.Minute, ratelimit.Hour,
		ratelimit.Day, ratelimit.Week, ratelimit.Month, ratelimit.Year,
	}
	limits = []uint32{0, 1, 2, 3, 5, 8, 10, 1<<32 - 1}
	waits  = []int64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 7, 20, 60, 1800, 3600, 86400}
)

var scripts = rapid.Custom(drawScript)

func drawScript(t *rapid.T) script {
	s := script{Choices: drawChoices(t), Rules: drawDomains(t)}
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		s.Steps = append(s.Steps, drawStep(t))
	}
	return s
}

// seldom returns true once in n times.
func seldom(t *rapid.T, n int, what string) bool {
	return rapid.IntRange(0, n-1).Draw(t, what) == n-1
}

func drawChoices(t *rapid.T) choices {
	flag := func(what string) bool { return seldom(t, 3, what) }
	return choices{
		Ratio:     rapid.SampledFrom([]float32{0, 0.5, 0.3, 0.9, 1, 0.01}).Draw(t, "ratio"),
		Prefix:    rapid.SampledFrom([]string{"", "p:"}).Draw(t, "prefix"),
		Reference: rapid.Bool().Draw(t, "reference keys"),
		Cache:     rapid.Bool().Draw(t, "cache"),
		PerSecond: flag("per second"),
		Stop:      flag("stop"),
		Shadow:    flag("shadow"),
		Quota:     flag("quota"),
		Metadata:  flag("metadata"),
	}
}

func drawStep(t *rapid.T) step {
	s := step{Wait: rapid.SampledFrom(waits).Draw(t, "wait"), Request: drawRequest(t)}
	if seldom(t, 15, "reload") {
		s.Reload = drawDomains(t)
	}
	return s
}

func drawRequest(t *rapid.T) ratelimit.Request {
	r := ratelimit.Request{
		Domain:     rapid.SampledFrom([]string{"d", "d", "d", "d", "d", "e:|1.1.1.1", "nope"}).Draw(t, "domain"),
		HitsAddend: rapid.SampledFrom([]uint32{0, 0, 0, 1, 2, 5}).Draw(t, "hits"),
	}
	for range rapid.IntRange(1, 4).Draw(t, "descriptors") {
		r.Descriptors = append(r.Descriptors, drawDescriptor(t))
	}
	return r
}

func drawDescriptor(t *rapid.T) ratelimit.Descriptor {
	var d ratelimit.Descriptor
	for range rapid.SampledFrom([]int{1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 0}).Draw(t, "entries") {
		d.Entries = append(d.Entries, ratelimit.Entry{
			Key:   rapid.SampledFrom(entryKeys).Draw(t, "key"),
			Value: rapid.SampledFrom(values).Draw(t, "value"),
		})
	}
	if seldom(t, 6, "override") {
		d.Limit = &ratelimit.Override{
			RequestsPerUnit: rapid.SampledFrom(limits).Draw(t, "requests"),
			Unit:            rapid.SampledFrom(units).Draw(t, "unit"),
			UnitMultiplier:  drawMultiplier(t),
		}
	}
	d.Refund = seldom(t, 10, "back")
	if seldom(t, 4, "own hits") {
		d.HitsAddend = new(rapid.SampledFrom([]uint64{0, 0, 1, 2, 3, 7, 1 << 33}).Draw(t, "n"))
	}
	return d
}

// drawDomains returns two domains. The first comes in two parts, to be merged.
func drawDomains(t *rapid.T) []ratelimit.Domain {
	rules := drawRules(t, 3)
	cut := rapid.IntRange(0, len(rules)).Draw(t, "cut")
	return []ratelimit.Domain{
		{Name: "d", Rules: rules[:cut]},
		{Name: "e:|1.1.1.1", Rules: drawRules(t, 1)},
		{Name: "d", Rules: rules[cut:]},
	}
}

func drawRules(t *rapid.T, depth int) []ratelimit.Rule {
	if depth == 0 {
		return nil
	}
	var rules []ratelimit.Rule
	used := make(map[string]bool)
	for range rapid.IntRange(0, 2+4*depth).Draw(t, "rules") {
		r := drawRule(t, depth)
		joined := r.Key
		if r.Value != "" {
			joined += "_" + r.Value
		}
		if !used[joined] {
			used[joined] = true
			rules = append(rules, r)
		}
	}
	return rules
}

func drawRule(t *rapid.T, depth int) ratelimit.Rule {
	r := ratelimit.Rule{
		Key:            rapid.SampledFrom(ruleKeys).Draw(t, "key"),
		Value:          rapid.SampledFrom(ruleValues).Draw(t, "value"),
		ShadowMode:     seldom(t, 6, "shadow"),
		QuotaMode:      seldom(t, 4, "quota"),
		DetailedMetric: seldom(t, 5, "detailed"),
		ValueToMetric:  seldom(t, 4, "value to metric"),
	}
	if n := len(r.Value); n > 0 && r.Value[n-1] == '*' {
		r.ShareThreshold = seldom(t, 2, "share")
	}
	if !seldom(t, 5, "no limit") {
		r.Limit = drawLimit(t)
	}
	if seldom(t, 3, "metadata") {
		r.Metadata = drawMetadata(t, 2)
	}
	if seldom(t, 2, "nested") {
		r.Rules = drawRules(t, depth-1)
	}
	return r
}

func drawLimit(t *rapid.T) *ratelimit.Limit {
	l := &ratelimit.Limit{Name: rapid.SampledFrom(names).Draw(t, "name")}
	for _, name := range names[2:] {
		if name != l.Name && seldom(t, 8, "replaces") {
			l.Replaces = append(l.Replaces, name)
		}
	}
	slices.Reverse(l.Replaces)
	if l.Unlimited = seldom(t, 8, "unlimited"); !l.Unlimited {
		l.RequestsPerUnit = rapid.SampledFrom(limits).Draw(t, "requests")
		l.Unit = rapid.SampledFrom(units).Draw(t, "unit")
		l.UnitMultiplier = drawMultiplier(t)
		if seldom(t, 3, "charges") {
			l.Algorithm = rapid.SampledFrom([]ratelimit.Algorithm{ratelimit.SlidingWindow, ratelimit.TokenBucket, ratelimit.Concurrency}).Draw(t, "algorithm")
		}
		if l.Algorithm == ratelimit.TokenBucket && l.RequestsPerUnit > 0 {
			l.Burst = rapid.SampledFrom([]uint32{0, 1, l.RequestsPerUnit, l.RequestsPerUnit + l.RequestsPerUnit/2}).Draw(t, "burst")
		}
		if l.Algorithm <= ratelimit.SlidingWindow && seldom(t, 5, "calendar") {
			l.Align, l.TimeZone = ratelimit.AlignCalendar, rapid.SampledFrom([]string{"", "Europe/Vienna", "America/New_York"}).Draw(t, "zone")
		}
	}
	return l
}

// drawMultiplier returns none in most cases.
func drawMultiplier(t *rapid.T) uint32 {
	if !seldom(t, 4, "multiplied") {
		return 0
	}
	return rapid.Uint32Range(1, 5).Draw(t, "multiplier")
}

func drawMetadata(t *rapid.T, depth int) map[string]any {
	m := make(map[string]any)
	for _, key := range []string{"p", "q"} {
		switch rapid.IntRange(0, 2).Draw(t, key) {
		case 1:
			m[key] = rapid.IntRange(0, 9).Draw(t, "scalar")
		case 2:
			if depth > 0 {
				m[key] = drawMetadata(t, depth-1)
			}
		}
	}
	return m
}
