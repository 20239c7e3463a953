package config_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// yaml joins lines; the first is line 1.
func yaml(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Parse([]config.File{{Name: "f.yaml", Data: []byte(text)}}, nil)
	require.NoError(t, err)
	return c
}

// problems returns the faults of a file or, if it is valid, its warnings.
func problems(text string, opts *config.Options) (faults, warnings []string) {
	c, err := config.Parse([]config.File{{Name: "f.yaml", Data: []byte(text)}}, opts)
	if err != nil {
		return strings.Split(err.Error(), "\n"), nil
	}
	for _, w := range c.Warnings {
		warnings = append(warnings, w.Error())
	}
	return nil, warnings
}

func TestParseEverything(t *testing.T) {
	c := parse(t, yaml(
		"domain: d",
		"descriptors:",
		"  - key: a",
		"    value: b*",
		"    shadow_mode: yes",
		"    quota_mode: on",
		"    detailed_metric: true",
		"    value_to_metric: y",
		"    share_threshold: True",
		"    rate_limit:",
		"      unit: WEEK",
		"      requests_per_unit: 1_000",
		"      name: n",
		"      replaces: [{name: m}]",
		"    metadata:",
		"      text: 2",
		"      list: [null, 1.5, off, {k: v}]",
		"    descriptors:",
		"      - key: 1",
		"        value: 0x10",
		"        shadow_mode: off",
		"  - key: m",
		"    rate_limit: {unlimited: true, name: m2}",
		"  - key: n",
		"    rate_limit: {unit: day, requests_per_unit: 4294967295, name: m}",
		"  - {key: w, value: ~, rate_limit: , descriptors: }",
	))
	want := []ratelimit.Domain{{Name: "d", Rules: []ratelimit.Rule{
		{
			Key: "a", Value: "b*",
			ShadowMode: true, QuotaMode: true, DetailedMetric: true, ValueToMetric: true, ShareThreshold: true,
			Limit:    &ratelimit.Limit{RequestsPerUnit: 1000, Unit: ratelimit.Week, Name: "n", Replaces: []string{"m"}},
			Metadata: map[string]any{"text": 2, "list": []any{nil, 1.5, "off", map[string]any{"k": "v"}}},
			Rules:    []ratelimit.Rule{{Key: "1", Value: "0x10"}},
		},
		{Key: "m", Limit: &ratelimit.Limit{Unlimited: true, Name: "m2"}},
		{Key: "n", Limit: &ratelimit.Limit{RequestsPerUnit: 1<<32 - 1, Unit: ratelimit.Day, Name: "m"}},
		{Key: "w"},
	}}}
	assert.Equal(t, want, c.Domains)
	assert.Equal(t, []string{"f.yaml"}, c.Files)
	assert.Empty(t, c.Warnings)
	assert.True(t, c.Ruleset.Has("d"))
}

// A field that is added to Rule or Limit needs a key: add it to the tables in decode.go
// and to this document.
func TestEveryFieldHasAKey(t *testing.T) {
	c := parse(t, yaml(
		"domain: d",
		"descriptors:",
		"- key: a",
		"  value: b*",
		"  shadow_mode: true",
		"  quota_mode: true",
		"  detailed_metric: true",
		"  value_to_metric: true",
		"  share_threshold: true",
		"  on_store_failure: allow",
		"  metadata: {k: v}",
		"  descriptors: [{key: c, rate_limit: {unlimited: true}}, {key: d, rate_limit: {unit: day, algorithm: token_bucket, burst: 2}}, {key: e, rate_limit: {unit: day, reservations: true, max_debt: 3}}]",
		"  rate_limit: {unit: day, unit_multiplier: 2, align: calendar, time_zone: Europe/Vienna, lease: true, requests_per_unit: 1, name: n, replaces: [{name: m}], candidate: {requests_per_unit: 2}}",
	))
	rule := c.Domains[0].Rules[0]
	rule.Limit.Unlimited = rule.Rules[0].Limit.Unlimited // excludes the unit
	bucket := rule.Rules[1].Limit                        // excludes a calendar
	rule.Limit.Algorithm, rule.Limit.Burst = bucket.Algorithm, bucket.Burst
	reserved := rule.Rules[2].Limit // excludes a candidate
	rule.Limit.Reservations, rule.Limit.MaxDebt = reserved.Reservations, reserved.MaxDebt
	for _, v := range []reflect.Value{reflect.ValueOf(rule), reflect.ValueOf(*rule.Limit)} {
		for i := range v.NumField() {
			assert.False(t, v.Field(i).IsZero(), "%s.%s has no key in configuration files", v.Type(), v.Type().Field(i).Name)
		}
	}
}

func TestCandidate(t *testing.T) {
	limit := func(candidate string) string {
		return "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 1, candidate: " + candidate + "}}]"
	}
	for text, want := range map[string]*ratelimit.Candidate{
		"{requests_per_unit: 0}": {},
		"{requests_per_unit: 7}": {RequestsPerUnit: 7},
		"~":                      nil,
	} {
		c := parse(t, limit(text))
		assert.Equal(t, want, c.Domains[0].Rules[0].Limit.Candidate, text)
		assert.Empty(t, c.Warnings)
	}
	for text, want := range map[string]string{
		"{}":                       "candidate needs requests_per_unit",
		"{requests_per_unit: ~}":   "candidate needs requests_per_unit",
		"7":                        "candidate must be a map with requests_per_unit",
		"{requests_per_unit: x}":   "requests_per_unit must be a whole number",
		"{request_per_unit: 7}":    "did you mean 'requests_per_unit'?",
		"{requests_per_unit: -1}":  "requests_per_unit must be a whole number",
		"[{requests_per_unit: 1}]": "candidate must be a map with requests_per_unit",
	} {
		faults, _ := problems(limit(text), nil)
		require.NotEmpty(t, faults, text)
		assert.Contains(t, strings.Join(faults, "\n"), want, text)
		assert.Contains(t, faults[0], "f.yaml:2:", text)
	}
	_, warnings := problems(limit("{requests_per_unit: 7, unit: day}"), nil)
	require.Len(t, warnings, 1)
	requireWords(t, errors.New(warnings[0]), "f.yaml:2:104: ", "'unit'", "belongs in rate_limit")
}

// All spellings of booleans in YAML 1.1.
func TestBooleans(t *testing.T) {
	for want, words := range map[bool]string{
		true:  "true True TRUE yes Yes YES y Y on On ON",
		false: "false False FALSE no No NO n N off Off OFF ~",
	} {
		for word := range strings.FieldsSeq(words) {
			c := parse(t, "domain: d\ndescriptors: [{key: a, shadow_mode: "+word+"}]")
			assert.Equal(t, want, c.Domains[0].Rules[0].ShadowMode, word)
		}
	}
}

func TestLineBreaksAndDocumentMarkers(t *testing.T) {
	const text = "domain: d\ndescriptors:\n- key: ü\n  rate_limit: {unit: x}\n"
	for name, form := range map[string]string{
		"plain":       text,
		"mark":        "\ufeff" + text,
		"CRLF":        strings.ReplaceAll(text, "\n", "\r\n"),
		"CR":          strings.ReplaceAll(text, "\n", "\r"),
		"end":         text + "...\n",
		"empty after": text + "---\n",
		"null after":  text + "--- ~\n--- # nothing\n",
	} {
		faults, _ := problems(form, nil)
		assert.Len(t, faults, 1, name)
		assert.Contains(t, faults[0], "f.yaml:4:22: invalid rate limit unit 'x'", name)
	}
}

func TestNoFiles(t *testing.T) {
	c, err := config.Parse(nil, nil)
	require.NoError(t, err)
	assert.Zero(t, c.Ruleset.Len())
	assert.Empty(t, c.Domains)
}

func TestAliasesAndMergeKeys(t *testing.T) {
	c := parse(t, yaml(
		"domain: &name d",
		"descriptors:",
		"- &first",
		"  key: a",
		"  value: *name",
		"  rate_limit: &limit {unit: minute, requests_per_unit: 7}",
		"- <<: *first",
		"  value: own",
		"- <<: [{key: c}, *first]",
		"- key: d",
		"  rate_limit: {<<: *limit, requests_per_unit: 8}",
		"- key: e",
		"  rate_limit: *limit",
	))
	per := func(n uint32) *ratelimit.Limit { l := ratelimit.Per(n, ratelimit.Minute); return &l }
	assert.Equal(t, []ratelimit.Rule{
		{Key: "a", Value: "d", Limit: per(7)},
		{Key: "a", Value: "own", Limit: per(7)},
		{Key: "c", Value: "d", Limit: per(7)},
		{Key: "d", Limit: per(8)},
		{Key: "e", Limit: per(7)},
	}, c.Domains[0].Rules)
}

// Faults of Compile have the position of the alias or merge key.
func TestPositionsOfAliases(t *testing.T) {
	faults, _ := problems(yaml(
		"domain: d",
		"descriptors:",
		"- &rule",
		"  key: a",
		"- *rule",
		"- <<: *rule",
		"- key: b",
		"  rate_limit: &limit {unit: day, unlimited: true}",
		"- key: c",
		"  rate_limit: *limit",
	), nil)
	assert.Equal(t, []string{
		"f.yaml:5:3: duplicate descriptor composite key 'd.a' (the other is at f.yaml:4:8)",
		"f.yaml:6:3: duplicate descriptor composite key 'd.a' (the other is at f.yaml:4:8)",
		"f.yaml:8:29: should not specify rate limit unit when unlimited",
		"f.yaml:10:15: should not specify rate limit unit when unlimited",
	}, faults)
}

func severalFiles() []config.File {
	return []config.File{
		{Name: "a.yaml", Data: []byte(yaml("domain: one", "descriptors:", "- key: k", "- value: v", "- kee: k2", "  rate_limit: {unit: x}"))},
		{Name: "b.yaml", Data: []byte(yaml("domain: one", "descriptors:", "- key: k", "  rate_limit: {requests_per_unit: -1, unit: day}"))},
		{Name: "c.yaml", Data: []byte("domain: [\n")},
		{Name: "d.yaml", Data: nil},
		{Name: "e.yaml", Data: []byte(yaml("domain: two", "descriptors:", "- key: ok"))},
	}
}

func TestEveryProblemOfEveryFile(t *testing.T) {
	_, err := config.Parse(severalFiles(), nil)
	want := []string{
		"a.yaml:4:3: descriptor has empty key",
		"a.yaml:5:3: config error, unknown key 'kee': did you mean 'key'?",
		"a.yaml:6:22: invalid rate limit unit 'x': use " + ratelimit.UnitNames,
		"b.yaml:1:9: duplicate domain 'one' in config file (the other is at a.yaml:1:9)",
		"b.yaml:4:35: error loading config file: yaml: cannot unmarshal !!int `-1` into uint32: requests_per_unit must be a whole number from 0 to 4294967295",
		"c.yaml:2:1: error loading config file: yaml: did not find expected node content",
		"d.yaml:1:1: config file cannot have empty domain",
	}
	require.Error(t, err)
	assert.Equal(t, want, strings.Split(err.Error(), "\n"))

	var faults config.Faults
	require.ErrorAs(t, err, &faults)
	assert.Equal(t, config.Fault{File: "a.yaml", Line: 4, Column: 3, Reason: "descriptor has empty key"}, *faults[0])
	var one *config.Fault
	require.ErrorAs(t, err, &one)
	assert.Equal(t, faults[0], one)
}

func TestOrderOfFilesDoesNotMatter(t *testing.T) {
	_, want := config.Parse(severalFiles(), nil)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		files := severalFiles()
		rng.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		given := slices.Clone(files)
		_, got := config.Parse(files, nil)
		require.Equal(t, want.Error(), got.Error())
		require.Equal(t, given, files, "the caller's slice was reordered")
	}
}

func mergeFiles() []config.File {
	return []config.File{
		{Name: "2.yaml", Data: []byte("domain: d\ndescriptors:\n- key: a\n  value: x*\n- key: b\n")},
		{Name: "1.yaml", Data: []byte("domain: d\ndescriptors:\n- key: a\n  value: xy*\n- key: c\n")},
	}
}

// requireWords requires that an error begins with a position and contains key words.
func requireWords(t *testing.T, err error, at string, words ...string) {
	t.Helper()
	require.Error(t, err)
	require.True(t, strings.HasPrefix(err.Error(), at), "%v: want the position %s", err, at)
	for _, w := range words {
		require.ErrorContains(t, err, w)
	}
}

func TestMergeDomains(t *testing.T) {
	_, err := config.Parse(mergeFiles(), nil)
	requireWords(t, err, "2.yaml:1:9: ", "duplicate domain 'd'", "1.yaml:1:9")

	c, err := config.Parse(mergeFiles(), &config.Options{MergeDomains: true})
	require.NoError(t, err)
	assert.Equal(t, []string{"1.yaml", "2.yaml"}, c.Files)
	assert.Equal(t, "xy*", c.Domains[0].Rules[0].Value, "rules come in the order of the file names")
	require.Len(t, c.Warnings, 1)
	requireWords(t, c.Warnings[0], "2.yaml:4:10: ", "'x*' overlaps", "'xy*'", "1.yaml:4:10")

	files := append(mergeFiles(), config.File{Name: "3.yaml", Data: []byte("domain: d\ndescriptors:\n- key: c\n")})
	_, err = config.Parse(files, &config.Options{MergeDomains: true})
	requireWords(t, err, "3.yaml:3:8: ", "duplicate", "'d.c'", "1.yaml:5:8")
}

func TestTooManyProblems(t *testing.T) {
	_, err := config.Parse([]config.File{{Name: "f", Data: []byte("domain: d\n" + strings.Repeat("? []\n", 5000))}}, nil)
	var faults config.Faults
	require.True(t, errors.As(err, &faults))
	assert.Len(t, faults, 1001)
	requireWords(t, faults[0], "f: ", "more than 1000")
}
