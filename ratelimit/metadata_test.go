package ratelimit_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

type object = map[string]any

func withMetadata(r ratelimit.Rule, m object) ratelimit.Rule {
	r.Metadata = m
	return r
}

// TestMetadata checks that the metadata of rules that pass is merged in the request's
// order: the first value wins, maps merge (REFERENCE.md, 4.6).
func TestMetadata(t *testing.T) {
	rules := []ratelimit.Rule{
		withMetadata(rule("a", "", 9), object{"x": "a", "m": object{"p": 1, "deep": object{"a": true}}}),
		withMetadata(rule("b", "", 9), object{"x": "b", "y": "b", "m": object{"p": 2, "q": 2, "deep": object{"b": true}}}),
		withMetadata(rule("c", "", 9), object{"m": "no map", "list": []any{"c"}}),
		withMetadata(rule("over", "", 0), object{"over": true}),
		withMetadata(rule("plain", "", 9), nil),
		withMetadata(rule("empty", "", 9), object{}),
		withMetadata(ratelimit.Rule{Key: "free", Limit: &ratelimit.Limit{Unlimited: true}}, object{"free": true}),
		withMetadata(ratelimit.Rule{Key: "white"}, object{"white": true}),
		withMetadata(named("gone", "G"), object{"gone": true}),
		withMetadata(named("r", "R", "G"), object{"r": true}),
	}
	shadow := withMetadata(rule("shadow", "", 0), object{"shadow": true})
	shadow.ShadowMode = true
	detailed := withMetadata(rule("detailed", "", 9), object{"detailed": true})
	detailed.DetailedMetric = true
	rules = append(rules, shadow, detailed)
	tests := []struct {
		ask  []string
		want object
	}{
		{[]string{"a"}, object{"x": "a", "m": object{"p": 1, "deep": object{"a": true}}}},
		{[]string{"a", "b"}, object{"x": "a", "y": "b", "m": object{"p": 1, "q": 2, "deep": object{"a": true, "b": true}}}},
		{[]string{"b", "a"}, object{"x": "b", "y": "b", "m": object{"p": 2, "q": 2, "deep": object{"a": true, "b": true}}}},
		{[]string{"a", "c"}, object{"x": "a", "m": object{"p": 1, "deep": object{"a": true}}, "list": []any{"c"}}},
		{[]string{"c", "a"}, object{"x": "a", "m": "no map", "list": []any{"c"}}},
		{[]string{"a", "a", "a"}, object{"x": "a", "m": object{"p": 1, "deep": object{"a": true}}}},
		{[]string{"over"}, nil},
		{[]string{"over", "detailed"}, object{"detailed": true}},
		{[]string{"plain", "empty", "none"}, nil},
		{[]string{"free", "white"}, object{"free": true}},
		{[]string{"gone", "r"}, object{"r": true}},
		{[]string{"shadow"}, object{"shadow": true}},
	}
	b := newBench(t, &ratelimit.Options{Metadata: true}, rules...)
	var d ratelimit.Decision
	// Twice: a merge must not modify the metadata of the rules.
	for range 2 {
		for _, tt := range tests {
			b.clock.set(b.clock.unix + 60)
			r := ratelimit.Request{Domain: "domain"}
			for _, key := range tt.ask {
				r.Descriptors = append(r.Descriptors, desc(key, "v"))
			}
			if err := b.engine.DecideInto(t.Context(), &r, &d); err != nil {
				t.Fatal(err)
			}
			equal(t, "metadata", d.Metadata, tt.want)
		}
	}
}

// A rejected request has the metadata of the descriptors that passed.
func TestMetadataOverLimit(t *testing.T) {
	b := newBench(t, &ratelimit.Options{Metadata: true}, withMetadata(rule("a", "", 9), object{"a": 1}), withMetadata(rule("b", "", 0), object{"b": 1}))
	d := b.decide(desc("b", ""), desc("a", ""))
	equal(t, "code", d.Code, ratelimit.OverLimit)
	equal(t, "metadata", d.Metadata, object{"a": 1})
}

func TestMetadataOff(t *testing.T) {
	b := newBench(t, nil, withMetadata(rule("a", "", 9), object{"a": 1}))
	equal(t, "metadata", b.decide(desc("a", "")).Metadata, nil)
}
