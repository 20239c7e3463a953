package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// rule returns a document with one rule, which begins at 3:3.
func rule(fields ...string) string {
	return yaml(append([]string{"domain: d", "descriptors:"}, "- "+strings.Join(fields, "\n  "))...)
}

// limit returns a document whose rule has a limit; the flow map begins at 4:15.
func limit(fields string) string {
	return rule("key: a", "rate_limit: {"+fields+"}")
}

// rejections returns a case for everything that the reference service rejects
// (REFERENCE.md, 7.2). The fault begins with the position and its words (want); hint is part
// of what follows.
func rejections() []struct{ name, text, want, hint string } {
	return []struct{ name, text, want, hint string }{
		{
			"syntax", "domain: d\ndescriptors:\n  - key: a: b\n",
			"3:1: error loading config file: yaml: mapping values are not allowed in this context", "",
		},
		{
			"broken list", "domain: d\ndescriptors:\n  - key: a\n   value: b\n",
			"3:1: error loading config file: yaml: did not find expected '-' indicator", "",
		},
		{
			"unclosed quote", "domain: d\nx: \"a\n",
			"2:1: error loading config file: yaml: found unexpected end of stream", "",
		},
		{
			"tab before a key", "domain: d\ndescriptors:\n  - key: a\n\tvalue: b\n",
			"3:1: error loading config file: yaml: found a tab character that violates indentation", "",
		},
		{
			"tab at the start", "\tdomain: d\n",
			" error loading config file: yaml: found character that cannot start any token", "",
		},
		{
			"not UTF-8", "domain: d\nx: ü\xff\n",
			" error loading config file: yaml: invalid leading UTF-8 octet", "",
		},
		{
			"broken UTF-8", "\ufeffdomain: ü\xc3(\n",
			" error loading config file: yaml: invalid trailing UTF-8 octet", "",
		},
		{
			"control character", "domain: d\r\nx: \x01\n",
			" error loading config file: yaml: control characters are not allowed", "",
		},
		{
			"unknown anchor", "domain: d\ndescriptors:\n  - key: *a\n",
			" error loading config file: yaml: unknown anchor 'a' referenced", "",
		},
		{
			"anchor in itself", "domain: d\ndescriptors: &a\n- key: a\n  descriptors: *a\n",
			"4:16: error loading config file: yaml: anchor 'a' value contains itself", "",
		},
		{
			"merge of a scalar", "domain: d\n<<: 1\n",
			"2:5: error loading config file: yaml: map merge requires map or sequence of maps as the value", "",
		},
		{
			"merge of a list with a scalar", "domain: d\n<<: [{}, 1]\n",
			"2:10: error loading config file: yaml: map merge requires map or sequence of maps as the value", "",
		},
		{
			"list as a key", "domain: d\n? [a]\n: b\n",
			"2:3: error loading config file: yaml: invalid map key", "can't be a key",
		},
		{
			"file that is a string", "mongo\n",
			"1:1: error loading config file: yaml: cannot unmarshal !!str `mongo`", "must be a map",
		},
		{
			"file that is a list", "- domain: d\n",
			"1:1: error loading config file: yaml: cannot unmarshal !!seq", "must be a map",
		},
		{
			"negative number", limit("unit: day, requests_per_unit: -5"),
			"4:46: error loading config file: yaml: cannot unmarshal !!int `-5` into uint32",
			"requests_per_unit must be a whole number",
		},
		{
			"large number", limit("unit: day, requests_per_unit: 4294967296"),
			"4:46: error loading config file: yaml: cannot unmarshal !!int `4294967296` into uint32",
			"requests_per_unit must be a whole number",
		},
		{
			"number in quotes", limit("unit: day, requests_per_unit: '5'"),
			"4:46: error loading config file: yaml: cannot unmarshal !!str `5` into uint32",
			"requests_per_unit must be a whole number",
		},
		{
			"string for a boolean", rule("key: a", "shadow_mode: maybe"),
			"4:16: error loading config file: yaml: cannot unmarshal !!str `maybe` into bool", "shadow_mode must be true or false",
		},
		{
			"descriptors that are a map", "domain: d\ndescriptors: {key: a}\n",
			"2:14: error loading config file: yaml: cannot unmarshal !!map", "descriptors must be a list",
		},
		{
			"key that is a list", rule("key: []"),
			"3:8: error loading config file: yaml: cannot unmarshal !!seq", "key must be a string",
		},
		{
			"limit that is a list", rule("key: a", "rate_limit: []"),
			"4:15: error loading config file: yaml: cannot unmarshal !!seq", "rate_limit must be a map",
		},
		{
			"replaces that is a string", limit("unlimited: true, replaces: a"),
			"4:43: error loading config file: yaml: cannot unmarshal !!str `a`", "replaces must be a list of maps",
		},
		{
			"invalid base64", "domain: !!binary x\n",
			"1:9: error loading config file: yaml: !!binary value contains invalid base64 data", "",
		},
		{
			"number as a key", "domain: d\n0.25: a\n",
			"2:1: config error, key is not of type string: 0.25", "",
		},
		{
			"null as a key", rule("key: a", "~: b"),
			"4:3: config error, key is not of type string: <nil>", "",
		},
		{
			"misspelled key", rule("key: a", "ratelimit: {unit: day, requests_per_unit: 1}"),
			"4:3: config error, unknown key 'ratelimit'", "did you mean 'rate_limit'",
		},
		{
			"misspelled domain", "domian: d\n",
			"1:1: config error, unknown key 'domian'", "did you mean 'domain'",
		},
		{
			"key of another spelling", limit("unit: day, requestsPerUnit: 1"),
			"4:27: config error, unknown key 'requestsPerUnit'", "did you mean 'requests_per_unit'",
		},
		{
			"unknown key", rule("key: a", "colour: blue"),
			"4:3: config error, unknown key 'colour'", "",
		},
		{
			"unknown key below a misplaced one", rule("key: a", "unit: {color: [{colour: blue}]}"),
			"4:10: config error, unknown key 'color'", "",
		},
		{
			"quoted merge key", rule("key: a", "'<<': {}"),
			"4:3: config error, unknown key '<<'", "",
		},
		{
			"list of strings", "domain: d\ndescriptors: [a]\n",
			"2:15: config error, yaml file contains list of type other than map: a", "",
		},
		{
			"list of lists", "domain: d\ndescriptors: [[a, 1, {}]]\n",
			"2:15: config error, yaml file contains list of type other than map: [...]", "",
		},
		{
			"list with a null", "domain: d\ndescriptors:\n-\n",
			"3:2: config error, yaml file contains list of type other than map: <nil>", "",
		},
		{
			"misplaced list", limit("unlimited: true, descriptors: [1.5]"),
			"4:47: config error, yaml file contains list of type other than map: 1.5", "",
		},
		{
			"fraction", limit("unit: day, requests_per_unit: 1.5"),
			"4:46: error checking config", "'1.5' is a floating-point number",
		},
		{
			"fraction for a string", rule("key: a", "value: 1.0"),
			"4:10: error checking config", "'1.0' is a floating-point number",
		},
		{
			"date as a number", limit("unit: day, requests_per_unit: 2026-01-02"),
			"4:46: error loading config file: yaml: cannot unmarshal !!timestamp `2026-01-02` into uint32", "requests_per_unit must be a whole number",
		},
		{
			"integer beyond 64 bits", rule("key: a", "value: 18446744073709551615"),
			"4:10: error checking config", "'18446744073709551615' is an integer beyond 64 bits",
		},
		{
			"fraction for a list", "domain: d\ndescriptors: 1.5\n",
			"2:14: error checking config", "'1.5' is a floating-point number",
		},
		{"empty file", "", "1:1: config file cannot have empty domain", ""},
		{"only comments", "# nothing\n\n", "1:1: config file cannot have empty domain", ""},
		{"only null", "~\n", "1:1: config file cannot have empty domain", ""},
		{"no domain", "descriptors: []\n", "1:1: config file cannot have empty domain", ""},
		{"empty domain", "descriptors: []\ndomain: ''\n", "2:9: config file cannot have empty domain", ""},
		{"no key", rule("value: b"), "3:3: descriptor has empty key", ""},
		{"empty key", rule("value: b", "key: ''"), "4:8: descriptor has empty key", ""},
		{
			"duplicate rule", yaml("domain: d", "descriptors:", "- key: a", "  descriptors: [{key: b, value: c}, {value: c, key: b}]"),
			"4:53: duplicate descriptor composite key 'd.a.b_c'", " (the other is at f.yaml:4:23)",
		},
		{"unit and unlimited", limit("unlimited: true, unit: day"), "4:39: should not specify rate limit unit when unlimited", ""},
		{
			"unknown unit", limit("unit: fortnight, requests_per_unit: 1"),
			"4:22: invalid rate limit unit 'fortnight'", "use second, minute, hour, day, week, month or year",
		},
		{
			"unit unknown", limit("unit: unknown, requests_per_unit: 1"),
			"4:22: invalid rate limit unit 'unknown'", "use second, minute, hour, day, week, month or year",
		},
		{
			"empty unit", limit("unit: '', requests_per_unit: 1"),
			"4:22: invalid rate limit unit ''", "use second, minute, hour, day, week, month or year",
		},
		{
			"no unit", limit("requests_per_unit: 1"),
			"4:3: invalid rate limit unit ''", "use second, minute, hour, day, week, month or year",
		},
		{
			"nothing in the limit", limit(""),
			"4:3: invalid rate limit unit ''", "use second, minute, hour, day, week, month or year",
		},
		{"unit with a typo", limit("unit: minuet, requests_per_unit: 1"), "4:22: invalid rate limit unit 'minuet'", ": did you mean 'minute'?"},
		{"empty replaces entry", limit("unlimited: true, replaces: [{name: ~}]"), "4:44: should not have an empty replaces entry", ""},
		{"replaces itself", limit("unlimited: true, name: n, replaces: [{name: n}]"), "4:53: replaces should not contain name of same descriptor", ": 'n'"},
		{
			"shared without a wildcard", rule("key: a", "share_threshold: true"),
			"4:20: share_threshold can only be used with wildcard values (containing '*'), but found key 'a'", "",
		},
		{
			"shared with a wildcard that is not last", rule("key: a", "value: x*y", "share_threshold: true"),
			"5:20: share_threshold can only be used with wildcard values (containing '*'), but found key 'a_x*y'", ": value 'x*y' must end in '*'",
		},
		{
			"key in metadata that is not a string", rule("key: a", "metadata: {b: {1: 2}}"),
			"4:18: error parsing metadata", ": key is not of type string: 1",
		},
		{
			"infinity in metadata", rule("key: a", "metadata: {b: -.inf}"),
			"4:17: error parsing metadata",
			"'-.inf' (!!float) is not a JSON value",
		},
		{
			"bytes in metadata", rule("key: a", "metadata: {b: !!binary /w==}"),
			"4:17: error parsing metadata",
			"'/w==' (!!binary) is not a JSON value",
		},
		{
			"metadata that is a list", rule("key: a", "metadata: []"),
			"4:13: error loading config file: yaml: cannot unmarshal !!seq", "metadata must be a map",
		},
		{
			"second document", "domain: d\n---\ndomain: e\n",
			"3:1: error loading config file: a file holds one document, and another one begins here", "a file of its own",
		},
	}
}

func TestRejections(t *testing.T) {
	for _, c := range rejections() {
		t.Run(c.name, func(t *testing.T) {
			faults, _ := problems(c.text, nil)
			require.Len(t, faults, 1, faults)
			assert.Truef(t, strings.HasPrefix(faults[0], "f.yaml:"+c.want), "got %q, want %q first", faults[0], c.want)
			assert.Contains(t, faults[0], c.hint)
		})
	}
}

// TestWarnings covers likely mistakes that the reference service accepts.
func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"no warning", limit("unit: day, requests_per_unit: 0"), nil},
		{"no warning about unlimited", limit("unlimited: true"), nil},
		{"no limit", rule("key: a", "rate_limit: ~"), nil},
		{
			"no number", limit("unit: day"),
			[]string{"4:3: requests_per_unit"},
		},
		{
			"null for a number", limit("unit: day, requests_per_unit: ~"),
			[]string{"4:3: requests_per_unit"},
		},
		{
			"limit one level too high", rule("key: a", "unit: day", "requests_per_unit: 1"),
			[]string{
				"4:3: key 'unit' has no effect in a descriptor",
				"5:3: key 'requests_per_unit' has no effect in a descriptor",
			},
		},
		{
			"shadow mode one level too low", limit("unlimited: true, shadow_mode: true"),
			[]string{"4:33: key 'shadow_mode' has no effect in rate_limit"},
		},
		{
			"key at the top", "domain: d\nkey: n\n",
			[]string{"2:1: key 'key' has no effect at the top"},
		},
		{
			"a resource of a discovery server as a file",
			"name: n\n" + limit("requests_per_unit: 0, unit: UNKNOWN, unlimited: true, name: '', replaces: []"), nil,
		},
		{
			"an unlimited limit is named", limit("unlimited: true, name: n, replaces: []") + "- {key: b, rate_limit: {unit: day, requests_per_unit: 1, replaces: [{name: n}]}}\n",
			[]string{"5:69: replaces names an unlimited limit"},
		},
		{
			"metadata in the limit", limit("unlimited: true, metadata: {anything: [1.5]}"),
			[]string{"4:33: key 'metadata' has no effect in rate_limit"},
		},
		{
			"replaces with more than names", limit("unlimited: true, replaces: [{name: n, unit: 1}]"),
			[]string{
				"4:44: unknown limit name in replaces: 'n'",
				"4:54: key 'unit' has no effect in an entry",
			},
		},
		{
			"unknown unit with unlimited", limit("unlimited: true, unit: sometimes"),
			[]string{"4:39: unknown unit 'sometimes' is ignored"},
		},
		{
			"number with unlimited", limit("unlimited: true, requests_per_unit: 5"),
			[]string{"4:52: requests_per_unit has no effect"},
		},
		{
			"duplicate key", rule("key: a", "value: b", "key: c"),
			[]string{"5:3: mapping key \"key\" is already defined at line 3, column 3; the value here"},
		},
		{
			"two limits", rule("key: a", "rate_limit: {unit: day}", "rate_limit: {requests_per_unit: 1}"),
			[]string{"5:3: mapping key \"rate_limit\" is already defined at line 4, column 3; the fields here"},
		},
		{
			"merge key after a key", yaml("domain: d", "descriptors:", "- &a {key: a, value: b}", "- value: c", "  <<: *a", "  key: e"),
			[]string{"5:3: mapping key \"value\" is already defined at line 4, column 3; the merge key"},
		},
		{
			"unreachable rule", yaml("domain: d", "descriptors:", "- key: a", "- {key: a, value: '*'}"),
			[]string{"3:8: unreachable"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			faults, warnings := problems(c.text, nil)
			assert.Empty(t, faults)
			assert.Len(t, warnings, len(c.want))
			for i, w := range c.want {
				assert.Contains(t, warnings[i], "f.yaml:"+w)
			}
		})
	}
}

// TestReplacedValues checks documents that define a key several times, directly or by merge
// keys, as the YAML library of the reference service decodes them: the last value counts, be it
// that of a merge key, and the fields of two limits are joined. Dates are strings.
func TestReplacedValues(t *testing.T) {
	full := ratelimit.Limit{Unit: ratelimit.Hour, RequestsPerUnit: 7}
	for _, c := range []struct {
		name, text string
		want       []ratelimit.Rule
	}{
		{"dates", rule("key: 2026-01-02", "value: 2001-12-14t21:59:43.10-05:00"), []ratelimit.Rule{{Key: "2026-01-02", Value: "2001-12-14t21:59:43.10-05:00"}}},
		{
			"dates in metadata", rule("key: a", "metadata: {2026-01-02: [2026-01-02]}"),
			[]ratelimit.Rule{{Key: "a", Metadata: map[string]any{"2026-01-02": []any{"2026-01-02"}}}},
		},
		{"domain", "domain: e\ndomain: d\ndescriptors: [{key: a}]\n", []ratelimit.Rule{{Key: "a"}}},
		{"string", rule("key: a", "key: b", "value: v"), []ratelimit.Rule{{Key: "b", Value: "v"}}},
		{"null", rule("key: a", "value: v", "value: ~"), []ratelimit.Rule{{Key: "a"}}},
		{"lists are replaced", rule("key: a", "descriptors: [{key: b, value: c}]", "descriptors: [{key: d}]"), []ratelimit.Rule{{Key: "a", Rules: []ratelimit.Rule{{Key: "d"}}}}},
		{
			"limits are joined", rule("key: a", "rate_limit: {unit: hour, requests_per_unit: 5}", "rate_limit: {requests_per_unit: 7}"),
			[]ratelimit.Rule{{Key: "a", Limit: &full}},
		},
		{
			"but not across a null", rule("key: a", "rate_limit: {unlimited: true}", "rate_limit: ~", "rate_limit: {unit: hour}", "rate_limit: {requests_per_unit: 7}"),
			[]ratelimit.Rule{{Key: "a", Limit: &full}},
		},
		{
			"explicit after merge", yaml("domain: d", "descriptors:", "- &x {key: a, value: v, rate_limit: {unit: hour, requests_per_unit: 5}}", "- <<: *x", "  value: w", "  rate_limit: {requests_per_unit: 7}", "- {<<: *x, value: z, rate_limit: ~}"),
			[]ratelimit.Rule{{Key: "a", Value: "v", Limit: &ratelimit.Limit{Unit: ratelimit.Hour, RequestsPerUnit: 5}}, {Key: "a", Value: "w", Limit: &full}, {Key: "a", Value: "z"}},
		},
		{
			"merge after explicit", yaml("domain: d", "descriptors:", "- &x {key: a, rate_limit: {unit: hour, requests_per_unit: 7}}", "- value: w", "  key: b", "  rate_limit: {requests_per_unit: 5, name: n}", "  <<: *x"),
			[]ratelimit.Rule{{Key: "a", Limit: &full}, {Key: "a", Value: "w", Limit: &ratelimit.Limit{Unit: ratelimit.Hour, RequestsPerUnit: 7, Name: "n"}}},
		},
		{
			"list of merges", yaml("domain: d", "descriptors:", "- &x {key: a, rate_limit: {unit: hour, requests_per_unit: 7}}", "- &y {key: b, shadow_mode: true, rate_limit: {unit: day, name: n}}", "- {<<: [*x, *y], value: w}", "- {<<: *x, <<: *y, value: w}"),
			[]ratelimit.Rule{
				{Key: "a", Limit: &full},
				{Key: "b", ShadowMode: true, Limit: &ratelimit.Limit{Unit: ratelimit.Day, Name: "n"}},
				{Key: "a", Value: "w", ShadowMode: true, Limit: &ratelimit.Limit{Unit: ratelimit.Hour, RequestsPerUnit: 7, Name: "n"}},
				{Key: "b", Value: "w", ShadowMode: true, Limit: &ratelimit.Limit{Unit: ratelimit.Day, RequestsPerUnit: 7, Name: "n"}},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := config.Parse([]config.File{{Name: "f.yaml", Data: []byte(c.text)}}, nil)
			require.NoError(t, err)
			require.Equal(t, []ratelimit.Domain{{Name: "d", Rules: c.want}}, got.Domains)
		})
	}
}
