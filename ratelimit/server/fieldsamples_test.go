package server_test

import (
	"maps"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// sample is a rule in which a field has another value than the default.
type sample struct {
	Field ratelimit.Field
	Value any
	// Rule has the key of the field's name, the value "v*", and fields without which this one has no effect.
	Rule map[string]any // as in a file
}

// samplesOf returns a sample of each field.
func samplesOf(fields []ratelimit.Field) []sample {
	needs := map[string]map[string]any{
		"burst": {"algorithm": "token_bucket"}, "time_zone": {"align": "calendar"}, "max_debt": {"reservations": true},
	}
	values := map[ratelimit.Kind]any{
		ratelimit.KindBool: true, ratelimit.KindNumber: uint32(7), ratelimit.KindCount: uint32(3), ratelimit.KindText: "Europe/Vienna",
		ratelimit.KindUnit: "hour", ratelimit.KindNames: []string{"Europe/Vienna"}, ratelimit.KindCandidate: uint32(9),
		ratelimit.KindMap: map[string]any{"team": "a"},
	}
	var out []sample
	for _, f := range fields {
		value := values[f.Value.Kind]
		if f.Value.Kind == ratelimit.KindWord {
			value = f.Value.Words[strings.LastIndex(f.Value.Words, " ")+1:]
		}
		rule := map[string]any{"key": f.Name, "value": "v*"}
		limit := map[string]any{"unit": "minute", "requests_per_unit": 5}
		if f.Name == "unlimited" {
			limit = map[string]any{}
		}
		maps.Copy(limit, needs[f.Name])
		if f.InLimit {
			limit[f.Name] = inFile(value, f.Value.Kind)
		} else {
			rule[f.Name] = inFile(value, f.Value.Kind)
		}
		rule["rate_limit"] = limit
		out = append(out, sample{f, value, rule})
	}
	return out
}

// inFile returns a value as files have it.
func inFile(value any, kind ratelimit.Kind) any {
	switch kind {
	case ratelimit.KindNames:
		var list []any
		for _, name := range value.([]string) {
			list = append(list, map[string]any{"name": name})
		}
		return list
	case ratelimit.KindCandidate:
		return map[string]any{"requests_per_unit": value}
	}
	return value
}
