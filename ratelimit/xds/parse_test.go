package xds_test

import (
	"strings"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

// fromJSON packs resources that are given as JSON.
func fromJSON(t testing.TB, texts ...string) []*anypb.Any {
	t.Helper()
	out := make([]*anypb.Any, len(texts))
	for i, text := range texts {
		c := &ratelimitv3.RateLimitConfig{}
		require.NoError(t, protojson.Unmarshal([]byte(text), c))
		var err error
		out[i], err = anypb.New(c)
		require.NoError(t, err)
	}
	return out
}

// Every field of the resource type is converted.
func TestParseConvertsEveryField(t *testing.T) {
	t.Parallel()
	u, err := xds.Parse(fromJSON(t, `{"name": "r", "domain": "mongo", "descriptors": [
		{"key": "a", "value": "x*", "shadow_mode": true, "detailed_metric": true,
			"rate_limit": {"unit": "DAY", "requests_per_unit": 4294967295, "name": "n", "replaces": [{"name": "m"}, {"name": "l"}]},
			"descriptors": [{"key": "b", "rate_limit": {"unlimited": true, "name": "m"}}]},
		{"key": "c", "rate_limit": {"unit": "SECOND", "name": "l"}},
		{"key": "d", "rate_limit": {"unit": "MINUTE"}},
		{"key": "e", "rate_limit": {"unit": "HOUR"}},
		{"key": "white"}
	]}`), nil)
	require.NoError(t, err)
	require.Equal(t, []ratelimit.Domain{{Name: "mongo", Rules: []ratelimit.Rule{
		{
			Key: "a", Value: "x*", ShadowMode: true, DetailedMetric: true,
			Limit: &ratelimit.Limit{Unit: ratelimit.Day, RequestsPerUnit: 4294967295, Name: "n", Replaces: []string{"m", "l"}},
			Rules: []ratelimit.Rule{{Key: "b", Limit: &ratelimit.Limit{Unlimited: true, Name: "m"}}},
		},
		{Key: "c", Limit: &ratelimit.Limit{Unit: ratelimit.Second, Name: "l"}},
		{Key: "d", Limit: &ratelimit.Limit{Unit: ratelimit.Minute}},
		{Key: "e", Limit: &ratelimit.Limit{Unit: ratelimit.Hour}},
		{Key: "white"},
	}}}, u.Domains)
	require.Equal(t, []string{"r"}, u.Resources)
}

func TestParseFaults(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat(`{"key": "k", "descriptors": [`, 150) + strings.Repeat(`]}`, 150)
	nested = strings.Replace(nested, "[]", `[{"key": "k"}]`, 1)
	cases := []struct {
		name  string
		texts []string
		want  string
	}{
		{"no domain", []string{`{"name": "r"}`}, "r: domain: empty domain"},
		{"no name", []string{`{}`}, "resources[0]: domain: empty domain"},
		{"odd name", []string{`{"name": "a\nb"}`}, "a?b: domain: empty domain"},
		{
			"long name",
			[]string{`{"name": "` + strings.Repeat("n", 2000) + `"}`},
			strings.Repeat("n", 1000) + "...: domain: empty domain",
		},
		{
			"no key",
			[]string{`{"name": "r", "domain": "d", "descriptors": [{"key": "a", "descriptors": [{"key": "b"}, {}]}]}`},
			"r: descriptors[0].descriptors[1].key: empty key",
		},
		{
			"duplicate",
			[]string{`{"name": "r", "domain": "d", "descriptors": [{"key": "a", "value": "b"}, {"key": "a", "value": "b"}]}`},
			"r: descriptors[1].key: duplicate 'd.a_b' descriptors[0].key",
		},
		{
			"no unit",
			[]string{`{"name": "r", "domain": "d", "descriptors": [{"key": "a", "rate_limit": {}}]}`},
			"r: descriptors[0].rate_limit.unit: ''",
		},
		{
			"unknown unit",
			[]string{`{"name": "r", "domain": "d", "descriptors": [{"key": "a", "rate_limit": {"unit": 8}}]}`},
			"r: descriptors[0].rate_limit.unit: '8'",
		},
		{
			"negative unit",
			[]string{`{"name": "r", "domain": "d", "descriptors": [{"key": "a", "rate_limit": {"unit": -1}}]}`},
			"r: descriptors[0].rate_limit.unit: '-1'",
		},
		{
			"unit and unlimited",
			[]string{`{"name": "r", "domain": "d", "descriptors": [{"key": "a", "rate_limit": {"unit": "DAY", "unlimited": true}}]}`},
			"r: descriptors[0].rate_limit.unit: unlimited",
		},
		{
			"replaces",
			[]string{`{"name": "r", "domain": "d", "descriptors": [
				{"key": "a", "rate_limit": {"unit": "DAY", "name": "n", "replaces": [{"name": "n"}, {}]}}]}`},
			"r: descriptors[0].rate_limit.replaces[0]: 'n'\n" +
				"r: descriptors[0].rate_limit.replaces[1]: empty",
		},
		{
			"nesting",
			[]string{`{"name": "r", "domain": "d", "descriptors": [` + nested + `]}`},
			"r: " + strings.TrimSuffix(strings.Repeat("descriptors[0].", 100), ".") + ".descriptors: 100 levels",
		},
		{
			"several resources, in the order of their names",
			[]string{`{"name": "b", "domain": "d"}`, `{"name": "c"}`, `{"name": "a", "domain": "d"}`},
			"b: domain: duplicate 'd' a:\nc: domain: empty domain",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u, err := xds.Parse(fromJSON(t, c.texts...), nil)
			require.Nil(t, u)
			require.IsType(t, config.Faults{}, err)
			requireLines(t, c.want, err)
		})
	}
}

// requireLines checks that each line of an error has the path, and in any order the words, of a line of want.
func requireLines(t *testing.T, want string, err error) {
	t.Helper()
	lines, wants := strings.Split(err.Error(), "\n"), strings.Split(want, "\n")
	require.Len(t, lines, len(wants), err)
	for i := range wants {
		at := strings.LastIndex(wants[i], ": ")
		require.True(t, strings.HasPrefix(lines[i], wants[i][:at]), "%s does not begin with %s", lines[i], wants[i][:at])
		for word := range strings.FieldsSeq(wants[i][at:]) {
			require.Contains(t, lines[i], word)
		}
	}
}

// The number of faults is bounded, whatever their origin.
func TestParseBoundsFaults(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]*ratelimitv3.RateLimitDescriptor{
		"units": bad("user"), "keys": {}, "duplicates": {Key: "user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := domain("mongo")
			for range 5000 {
				c.Descriptors = append(c.Descriptors, rule)
			}
			_, err := xds.Parse([]*anypb.Any{pack(t, c)}, nil)
			var faults config.Faults
			require.ErrorAs(t, err, &faults)
			require.Len(t, faults, 1001)
			require.ErrorContains(t, faults[1000], "more than 1000")
		})
	}
}

func TestParseWarnings(t *testing.T) {
	t.Parallel()
	resources := fromJSON(t, `{"name": "r", "domain": "d", "descriptors": [
		{"key": "a", "rate_limit": {"unit": "DAY", "replaces": [{"name": "gone"}]}},
		{"key": "b", "rate_limit": {"unit": 9, "unlimited": true}}
	]}`)
	u, err := xds.Parse(resources, nil)
	require.NoError(t, err)
	require.Equal(t, []string{
		"r: descriptors[0].rate_limit.replaces[0]: unknown limit name in replaces: 'gone'",
		"r: descriptors[1].rate_limit.unit: unknown unit '9' is ignored because the limit is unlimited: remove it",
	}, lines(u.Warnings))
}

// The fields that this module adds, as they are on the wire.
func TestParseWindows(t *testing.T) {
	t.Parallel()
	c := domain("d", perMinute("a", 1), perMinute("b", 1))
	added := protowire.AppendVarint(protowire.AppendTag(nil, xds.FieldNumber("unit_multiplier"), protowire.VarintType), 15)
	added = protowire.AppendString(protowire.AppendTag(added, xds.FieldNumber("align"), protowire.BytesType), "calendar")
	added = protowire.AppendString(protowire.AppendTag(added, xds.FieldNumber("time_zone"), protowire.BytesType), "Europe/Vienna")
	added = protowire.AppendVarint(protowire.AppendTag(added, xds.FieldNumber("lease"), protowire.VarintType), 1)
	limit := c.GetDescriptors()[0].GetRateLimit().ProtoReflect()
	limit.SetUnknown(added)
	u, err := xds.Parse([]*anypb.Any{pack(t, c)}, nil)
	require.NoError(t, err)
	require.Empty(t, u.Warnings)
	require.Equal(t, &ratelimit.Limit{
		RequestsPerUnit: 1, Unit: ratelimit.Minute, UnitMultiplier: 15, Align: ratelimit.AlignCalendar, TimeZone: "Europe/Vienna", Lease: true,
	}, u.Domains[0].Rules[0].Limit)
	require.Equal(t, &ratelimit.Limit{RequestsPerUnit: 1, Unit: ratelimit.Minute}, u.Domains[0].Rules[1].Limit)

	limit.SetUnknown(protowire.AppendString(protowire.AppendTag(added, xds.FieldNumber("align"), protowire.BytesType), "\xff"))
	_, err = xds.Parse([]*anypb.Any{pack(t, c)}, nil)
	require.ErrorContains(t, err, "d: descriptors[0].rate_limit.align: invalid align '?'")
	limit.SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, xds.FieldNumber("align"), protowire.VarintType), 1))
	_, err = xds.Parse([]*anypb.Any{pack(t, c)}, nil)
	require.ErrorContains(t, err, "d: descriptors[0].rate_limit.align: field 1002")
}

// Algorithms come as in files, and faults too.
func TestParseAlgorithms(t *testing.T) {
	t.Parallel()
	number := func(b []byte, field protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
	}
	text := func(b []byte, field protowire.Number, v string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
	}
	for _, row := range []struct {
		added []byte
		want  ratelimit.Limit
		fault string
	}{
		{
			added: number(text(nil, xds.FieldNumber("algorithm"), "token_bucket"), xds.FieldNumber("burst"), 20),
			want:  ratelimit.Limit{Algorithm: ratelimit.TokenBucket, Burst: 20},
		},
		{added: text(nil, xds.FieldNumber("algorithm"), "sliding_window"), want: ratelimit.Limit{Algorithm: ratelimit.SlidingWindow}},
		{added: text(nil, xds.FieldNumber("limit_type"), "concurrency"), want: ratelimit.Limit{Algorithm: ratelimit.Concurrency}},
		{added: text(nil, xds.FieldNumber("limit_type"), "rate")},
		{
			added: text(nil, xds.FieldNumber("algorithm"), "token_bukcet"),
			fault: "d: descriptors[0].rate_limit.algorithm: 'token_bukcet' 'token_bucket'",
		},
		{
			added: number(text(nil, xds.FieldNumber("algorithm"), "leaky"), xds.FieldNumber("burst"), 20),
			fault: "d: descriptors[0].rate_limit.algorithm: 'leaky' sliding_window",
		},
		{
			added: text(nil, xds.FieldNumber("limit_type"), "\xff"),
			fault: "d: descriptors[0].rate_limit.limit_type: '?' concurrency",
		},
		{added: text(nil, xds.FieldNumber("burst"), "20"), fault: "d: descriptors[0].rate_limit.burst: 1005 type"},
	} {
		c := domain("d", perMinute("a", 1))
		c.GetDescriptors()[0].GetRateLimit().ProtoReflect().SetUnknown(row.added)
		u, err := xds.Parse([]*anypb.Any{pack(t, c)}, nil)
		if row.fault != "" {
			requireLines(t, row.fault, err)
			continue
		}
		require.NoError(t, err)
		require.Empty(t, u.Warnings)
		row.want.RequestsPerUnit, row.want.Unit = 1, ratelimit.Minute
		require.Equal(t, &row.want, u.Domains[0].Rules[0].Limit)
	}
}

func TestParseCandidate(t *testing.T) {
	t.Parallel()
	c := domain("d", perMinute("a", 1))
	limit := c.GetDescriptors()[0].GetRateLimit().ProtoReflect()
	limit.SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, xds.FieldNumber("candidate"), protowire.VarintType), 0))
	u, err := xds.Parse([]*anypb.Any{pack(t, c)}, nil)
	require.NoError(t, err)
	require.Empty(t, u.Warnings)
	require.Equal(t, &ratelimit.Candidate{}, u.Domains[0].Rules[0].Limit.Candidate)
	limit.SetUnknown(protowire.AppendString(protowire.AppendTag(nil, xds.FieldNumber("candidate"), protowire.BytesType), "80"))
	_, err = xds.Parse([]*anypb.Any{pack(t, c)}, nil)
	require.ErrorContains(t, err, "field 1008 has an unknown type")
}

// Fields of a newer type are reported.
func TestParseWarnsAboutUnknownFields(t *testing.T) {
	t.Parallel()
	c := domain("d", perMinute("a", 1))
	limit := c.GetDescriptors()[0].GetRateLimit()
	limit.Replaces = []*ratelimitv3.RateLimitReplace{{Name: "a"}}
	c.ProtoReflect().SetUnknown([]byte{9 << 3, 1})
	c.GetDescriptors()[0].ProtoReflect().SetUnknown([]byte{9 << 3, 1, 10<<3 | 2, 1, 'x', 9 << 3, 0})
	limit.ProtoReflect().SetUnknown([]byte{6 << 3, 1})
	limit.GetReplaces()[0].ProtoReflect().SetUnknown([]byte{5 << 3, 1})
	u, err := xds.Parse([]*anypb.Any{pack(t, c)}, nil)
	require.NoError(t, err)
	require.Contains(t, u.Warnings[0].Error(), "d: unknown fields with the numbers [9]")
	require.Contains(t, u.Warnings[1].Error(), "d: descriptors[0]: unknown fields")
	require.Contains(t, u.Warnings[3].Error(), "d: descriptors[0].rate_limit: unknown fields")
	require.Contains(t, u.Warnings[2].Error(), "d: descriptors[0].rate_limit.replaces[0]: unknown fields")
}

// The fields and units of the current type that the released Go package lacks, as they are on
// the wire.
func TestParseNewerFields(t *testing.T) {
	t.Parallel()
	c := domain("d", perMinute("week", 1), perMinute("month", 1), perMinute("year", 1))
	for i, unit := range []int32{7, 5, 6} {
		c.GetDescriptors()[i].RateLimit.Unit = ratelimitv3.RateLimitUnit(unit)
	}
	metadata, err := structpb.NewStruct(map[string]any{"team": "a", "deep": map[string]any{"n": 1, "list": []any{true, nil}}})
	require.NoError(t, err)
	packed, err := proto.Marshal(metadata)
	require.NoError(t, err)
	newer := protowire.AppendVarint(protowire.AppendTag(nil, 7, protowire.VarintType), 1)
	newer = protowire.AppendBytes(protowire.AppendTag(newer, 8, protowire.BytesType), packed)
	c.GetDescriptors()[0].ProtoReflect().SetUnknown(newer)
	u, err := xds.Parse([]*anypb.Any{pack(t, c)}, nil)
	require.NoError(t, err)
	require.Empty(t, u.Warnings)
	rules := u.Domains[0].Rules
	require.Equal(t, []ratelimit.Unit{ratelimit.Week, ratelimit.Month, ratelimit.Year}, []ratelimit.Unit{rules[0].Limit.Unit, rules[1].Limit.Unit, rules[2].Limit.Unit})
	require.True(t, rules[0].QuotaMode)
	require.False(t, rules[1].QuotaMode)
	require.Equal(t, map[string]any{"team": "a", "deep": map[string]any{"n": 1.0, "list": []any{true, nil}}}, rules[0].Metadata)
	require.Nil(t, rules[1].Metadata)

	c.GetDescriptors()[1].ProtoReflect().SetUnknown([]byte{8<<3 | 2, 1, 'x'})
	c.GetDescriptors()[2].ProtoReflect().SetUnknown([]byte{8 << 3, 1})
	_, err = xds.Parse([]*anypb.Any{pack(t, c)}, nil)
	require.ErrorContains(t, err, "d: descriptors[1].metadata: ")
	require.ErrorContains(t, err, "d: descriptors[2].metadata: field 8")
}

func TestParseNothing(t *testing.T) {
	t.Parallel()
	u, err := xds.Parse(nil, nil)
	require.NoError(t, err)
	require.Equal(t, 0, u.Ruleset.Len())
	_, err = xds.Parse([]*anypb.Any{nil}, nil)
	require.ErrorContains(t, err, "resources[0]: resource has type ''")
}

// The order of the resources in a response does not matter.
func TestParseOrdersMergedDomains(t *testing.T) {
	t.Parallel()
	a := `{"name": "a", "domain": "d", "descriptors": [{"key": "k", "value": "x*"}]}`
	b := `{"name": "b", "domain": "d", "descriptors": [{"key": "k", "value": "*y"}]}`
	opts := &xds.Options{MergeDomains: true}
	one, err := xds.Parse(fromJSON(t, a, b), opts)
	require.NoError(t, err)
	two, err := xds.Parse(fromJSON(t, b, a), opts)
	require.NoError(t, err)
	require.Equal(t, one.Domains, two.Domains)
	require.Len(t, one.Warnings, 1)
	require.Regexp(t, `^b: descriptors\[0\]\.value: wildcard .* a: descriptors\[0\]\.value`, one.Warnings[0].Error())
	require.Equal(t, lines(one.Warnings), lines(two.Warnings))
}

func lines(faults []*config.Fault) []string {
	out := make([]string, len(faults))
	for i, f := range faults {
		out[i] = f.Error()
	}
	return out
}
