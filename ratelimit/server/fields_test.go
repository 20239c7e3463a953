package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/explain"
	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

// addedFields are fields that only this test has, kept in the metadata of the rule.
func addedFields() []ratelimit.Field {
	value := func(kind ratelimit.Kind, name string) ratelimit.FieldValue {
		return ratelimit.FieldValue{
			Kind: kind,
			Get:  func(r *ratelimit.Rule) any { return r.Metadata[name] },
			Set:  func(r *ratelimit.Rule, v any) error { r.Metadata = map[string]any{name: v}; return nil },
		}
	}
	return []ratelimit.Field{
		{
			Name: "owner_team", Number: 2001, Extension: true, Default: "nobody", Doc: "the team that answers", Section: "7.1",
			Value: value(ratelimit.KindText, "owner_team"),
		},
		{
			Name: "price_tag", InLimit: true, Number: 2002, Extension: true, Default: "1", Doc: "what a hit costs", Section: "7.1",
			Value: value(ratelimit.KindCount, "price_tag"),
		},
	}
}

// Every field that a rule can have is in files, resources of a discovery server, both forms of /rlconfig, explanations,
// the console and the reference; so are fields that are appended to the table.
func TestEveryFieldIsEverywhere(t *testing.T) {
	table := append(ratelimit.Fields(), addedFields()...)
	samples := samplesOf(table)
	var rules []map[string]any
	for _, s := range samples {
		rules = append(rules, s.Rule)
	}
	file, err := json.Marshal(map[string]any{"domain": "d", "descriptors": rules}) // JSON is YAML
	require.NoError(t, err)
	r := prepare(t, map[string]string{"d.yaml": string(file)}, nil)
	r.table = table
	r.start()
	c, err := config.Parse([]config.File{{Name: "d.yaml", Data: file}}, &config.Options{Fields: table})
	require.NoError(t, err)
	u, err := xds.Parse([]*anypb.Any{{TypeUrl: xds.TypeURL, Value: encodeDomain(t, samples)}}, &xds.Options{Fields: table})
	require.NoError(t, err)
	require.Equal(t, c.Domains, u.Domains, "a resource is read like a file")

	_, text := r.getAt(r.addr.Debug, "/rlconfig")
	_, page := r.getAt(r.addr.Debug, "/rlconfig?format=json")
	var shown struct{ Limits []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(page), &shown))
	reference, err := os.ReadFile("../REFERENCE.md")
	require.NoError(t, err)
	sizes := map[string]string{
		"unlimited": "unlimited<", "unit": "5 per hour", "requests_per_unit": "7 per minute", "limit_type": "5 at the same time", "unit_multiplier": "5 per 3 minutes",
	}
	for i, s := range samples {
		rule := &c.Domains[0].Rules[i]
		requireField(t, s, rule, text, shown.Limits)
		requireExplained(t, s, rule, c.Ruleset)
		if i < len(ratelimit.Fields()) {
			require.Contains(t, string(reference), s.Field.Name+"` |")
		}
		_, console := r.getAt(r.addr.Debug, "/console/?domain=d&q="+s.Field.Name)
		if want := sizes[s.Field.Name]; s.Field.Size {
			require.Contains(t, console, want, s.Field.Name)
		} else {
			require.Contains(t, console, s.Field.Doc, s.Field.Name)
		}
	}
	r.end()
}

func label(name string) string { return strings.ReplaceAll(name, "_", " ") }

// requireField checks the rule as it was read and /rlconfig.
func requireField(t *testing.T, s sample, rule *ratelimit.Rule, text string, limits []map[string]any) {
	t.Helper()
	f := &s.Field
	require.EqualValues(t, s.Value, f.Of(rule), f.Name)
	key := "d." + rule.Key + "_" + rule.Value
	at := slices.IndexFunc(limits, func(m map[string]any) bool { return m["key"] == key })
	require.GreaterOrEqual(t, at, 0, key)
	want := plainJSON(t, s.Value)
	if f.Name == "unit" {
		want = "HOUR"
	}
	require.Equal(t, want, limits[at][f.Name], "%s in JSON", f.Name)
	_, line, _ := strings.Cut(text, key+": ")
	line, _, _ = strings.Cut(line, "\n")
	upstream := map[string]string{
		"unit": "unit=HOUR ", "requests_per_unit": "requests_per_unit=7,", "unlimited": "unit=UNKNOWN ", "shadow_mode": "shadow_mode: true", "quota_mode": "quota_mode: true",
	}
	if f.Extension {
		require.Contains(t, line, fmt.Sprintf(" %s=%v", f.Name, s.Value))
	} else { // the reference service prints some
		require.Contains(t, line, upstream[f.Name])
	}
}

func plainJSON(t *testing.T, v any) (out any) {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

// requireExplained checks both forms of an explanation.
func requireExplained(t *testing.T, s sample, rule *ratelimit.Rule, rules *ratelimit.Ruleset) {
	t.Helper()
	x, err := explain.Decision(rules, &ratelimit.Request{Domain: "d", Descriptors: []ratelimit.Descriptor{
		{Entries: []ratelimit.Entry{{Key: rule.Key, Value: "value"}}},
	}}, &explain.Options{Now: time.Unix(1e9, 0)})
	require.NoError(t, err)
	explained := plainJSON(t, x.Descriptors[0].Limit).(map[string]any)
	if s.Field.Value.Kind == ratelimit.KindNames {
		require.Contains(t, fmt.Sprint(explained[s.Field.Name]), s.Value.([]string)[0])
	} else {
		require.Equal(t, plainJSON(t, s.Value), explained[s.Field.Name], s.Field.Name)
	}
	if !s.Field.Size {
		require.Contains(t, x.String(), "    "+label(s.Field.Name)+" ", s.Field.Name)
	}
}

// encodeDomain encodes the samples as a resource.
func encodeDomain(t *testing.T, samples []sample) []byte {
	t.Helper()
	fields := map[string]ratelimit.Field{}
	for _, s := range samples {
		fields[s.Field.Name] = s.Field
	}
	encode := func(m map[string]any) (b []byte) {
		for name, v := range m {
			if f, ok := fields[name]; ok {
				b = appendField(t, b, f, v)
			}
		}
		return b
	}
	out := appendText(appendText(nil, 1, "d"), 2, "d")
	for _, s := range samples {
		rule := appendText(appendText(encode(s.Rule), 1, s.Rule["key"].(string)), 2, "v*")
		rule = appendText(rule, 3, string(encode(s.Rule["rate_limit"].(map[string]any))))
		out = appendText(out, 3, string(rule))
	}
	return out
}

func appendText(b []byte, number protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), text)
}

// appendField appends a field, whose value is as in a file.
func appendField(t *testing.T, b []byte, f ratelimit.Field, v any) []byte {
	t.Helper()
	number := protowire.Number(f.Number)
	varint := func(n uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), n)
	}
	switch f.Value.Kind {
	case ratelimit.KindBool:
		return varint(1)
	case ratelimit.KindText, ratelimit.KindWord:
		return appendText(b, number, v.(string))
	case ratelimit.KindUnit:
		unit, _ := ratelimit.ParseUnit(v.(string))
		return varint(uint64(unit))
	case ratelimit.KindNames:
		for _, entry := range v.([]any) {
			b = appendText(b, number, string(appendText(nil, 1, entry.(map[string]any)["name"].(string))))
		}
		return b
	case ratelimit.KindMap:
		s, err := structpb.NewStruct(v.(map[string]any))
		require.NoError(t, err)
		packed, err := proto.Marshal(s)
		require.NoError(t, err)
		return appendText(b, number, string(packed))
	case ratelimit.KindCandidate:
		v = v.(map[string]any)["requests_per_unit"]
	}
	var n uint64
	_, err := fmt.Sscan(fmt.Sprint(v), &n)
	require.NoError(t, err)
	return varint(n)
}
