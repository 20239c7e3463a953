package ratelimit

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/suggest"
)

// Kind is the kind of the values of a [Field]. In parentheses is the Go type of the values.
type Kind string

// The kinds. In a discovery resource, a KindUnit is the number of a [Unit], a KindCandidate a number, a
// KindMap a google.protobuf.Struct, and KindNames are messages with a name.
const (
	KindBool      Kind = "boolean"           // (bool)
	KindNumber    Kind = "number"            // from 0 to 4294967295 (uint32)
	KindCount     Kind = "number above 0"    // to 4294967295 (uint32)
	KindText      Kind = "text"              // (string)
	KindWord      Kind = "word"              // one of FieldValue.Words (string)
	KindUnit      Kind = "unit"              // one of UnitNames (string)
	KindNames     Kind = "list of {name: }"  // ([]string)
	KindCandidate Kind = "requests_per_unit" // in a map of its own (uint32)
	KindMap       Kind = "map"               // of JSON values (map[string]any)
)

// Field describes one field of a [Rule]. Configuration files, discovery resources, /rlconfig,
// explanations, pages and the reference are derived from a list of them: see [Fields].
type Field struct {
	// Name is that of the field in files and in all output.
	Name string
	// InLimit reports whether the field is one of rate_limit; the others are of the rule itself.
	InLimit bool
	// Number is that of the field in the message of a discovery resource: RateLimitPolicy if InLimit,
	// else RateLimitDescriptor. Numbers above 1000 are of this module.
	Number int32
	// Extension reports that the reference service does not have the field.
	Extension bool
	// Counts reports whether the field changes how hits are counted: it has no effect where none are.
	Counts bool
	// Size reports that a text such as "10 per minute" states the field, so that pages need not.
	Size bool
	// Default describes the rule without the field.
	Default string
	// Doc describes the effect of the field: a sentence without capital and full stop.
	Doc string
	// Section is the section of REFERENCE.md about the field.
	Section string
	Value   FieldValue
}

// FieldValue reads and writes the values of a field.
type FieldValue struct {
	Kind  Kind
	Words string // of a KindWord or KindUnit, as a list such as "a, b or c"
	// Get returns the value, nil if it is the default. The rule has a Limit if the field is InLimit.
	Get func(*Rule) any
	// Set sets the value, which is valid for its Kind, but any text for a KindWord. The rule is as for
	// Get, and the fields before this one in the list are set. The error is a fault, or an
	// IgnoredError.
	Set func(*Rule, any) error
}

// IgnoredError is the error of [FieldValue].Set for a value without effect: a warning.
type IgnoredError string

// Error returns the text.
func (e IgnoredError) Error() string { return string(e) }

// Of returns the value that the field has in a rule, nil for the default.
func (f *Field) Of(r *Rule) any {
	if f.InLimit && r.Limit == nil {
		return nil
	}
	return f.Value.Get(r)
}

// Text returns the value that the field has in a rule as text, "" for the default.
func (f *Field) Text(r *Rule) string {
	switch v := f.Of(r).(type) {
	case nil:
		return ""
	case []string:
		return strings.Join(v, ",")
	case map[string]any:
		text, _ := json.Marshal(v)
		return string(text)
	default:
		return fmt.Sprint(v)
	}
}

// Fields returns the fields of a [Rule], in the order in which they are set and shown. Not among
// them are those that make the tree of rules: key, value, rate_limit and descriptors.
//
// A program may append fields of its own, for [CompileOptions], the readers of configuration and
// the server. Their values can be kept in Rule.Metadata.
func Fields() []Field { return slices.Concat(ruleFields(), limitFields()) }

func ruleFields() []Field {
	return []Field{
		ruleFlag("shadow_mode", 5, "hits over the limit pass, and are counted as usual", "4.3", func(r *Rule) *bool { return &r.ShadowMode }),
		ruleFlag("quota_mode", 7, "a request is over its limit only if all of its descriptors in quota mode are", "4.4", func(r *Rule) *bool { return &r.QuotaMode }),
		ruleFlag("detailed_metric", 6, "the statistics key has the values of the request at every level", "5.2", func(r *Rule) *bool { return &r.DetailedMetric }),
		ruleFlag("value_to_metric", 1009, "the statistics key has the value of the request at this level", "5.2", func(r *Rule) *bool { return &r.ValueToMetric }),
		{
			Name: "share_threshold", Number: 1010, Default: "false", Counts: true,
			Doc: "all values that match the wildcard share one counter", Section: "3.4",
			Value: ruleValue(KindBool, func(r *Rule) *bool { return &r.ShareThreshold }),
		},
		{
			Name: "on_store_failure", Number: 1011, Extension: true, Default: "`ON_STORE_FAILURE`", Counts: true,
			Doc: "this decides if the counter store fails", Section: "6.3",
			Value: wordValue(failurePolicyNames, "", func(r *Rule) *FailurePolicy { return &r.OnStoreFailure }),
		},
		{
			Name: "metadata", Number: 8, Default: "none",
			Doc: "responses have these values when a descriptor passes the rule", Section: "4.6",
			Value: valueOf(KindMap, func(r *Rule) *map[string]any { return &r.Metadata },
				func(m map[string]any) bool { return len(m) == 0 }),
		},
	}
}

// ruleFlag returns a field of a rule that is false by default.
func ruleFlag(name string, number int32, doc, section string, at func(*Rule) *bool) Field {
	return Field{Name: name, Number: number, Default: "false", Doc: doc, Section: section, Value: ruleValue(KindBool, at)}
}

func limitFields() []Field {
	fields := []Field{
		{
			Name: "unlimited", Number: 3, Size: true, Default: "false",
			Doc: "hits pass without being counted", Section: "2.3",
			Value: ruleValue(KindBool, func(r *Rule) *bool { return &r.Limit.Unlimited }),
		},
		{
			Name: "unit", Number: 1, Counts: true, Size: true, Default: "required",
			Doc: "the length of a window", Section: "3.2",
			Value: unitValue(),
		},
		{
			Name: "requests_per_unit", Number: 2, Counts: true, Size: true, Default: "0",
			Doc: "the hits that pass in a window, or at the same time", Section: "3.7",
			Value: ruleValue(KindNumber, func(r *Rule) *uint32 { return &r.Limit.RequestsPerUnit }),
		},
		{
			Name: "limit_type", Number: 1006, Extension: true, Counts: true, Size: true, Default: "rate",
			Doc: "whether hits are limited in a time or in progress", Section: "3.7",
			Value: limitTypeValue(),
		},
		{
			Name: "algorithm", Number: 1004, Extension: true, Counts: true, Default: FixedWindow.String(),
			Doc: "how hits are counted", Section: "3.7",
			Value: algorithmValue(),
		},
		{
			Name: "burst", Number: 1005, Extension: true, Counts: true, Default: "requests_per_unit",
			Doc: "the hits of a token bucket that pass at once", Section: "3.7",
			Value: ruleValue(KindCount, func(r *Rule) *uint32 { return &r.Limit.Burst }),
		},
		{
			Name: "unit_multiplier", Number: 1001, Extension: true, Counts: true, Size: true, Default: "1",
			Doc: "the number of units in a window", Section: "3.2",
			Value: ruleValue(KindCount, func(r *Rule) *uint32 { return &r.Limit.UnitMultiplier }),
		},
		{
			Name: "align", Number: 1002, Extension: true, Counts: true, Default: string(AlignEpoch),
			Doc: "where windows begin", Section: "3.2",
			Value: wordValue(alignNames, AlignEpoch, func(r *Rule) *Align { return &r.Limit.Align }),
		},
		{
			Name: "time_zone", Number: 1003, Extension: true, Counts: true, Default: "UTC",
			Doc: "the time zone of the calendar", Section: "3.2",
			Value: ruleValue(KindText, func(r *Rule) *string { return &r.Limit.TimeZone }),
		},
		{
			Name: "lease", Number: 1007, Extension: true, Counts: true, Default: "false",
			Doc: "instances may claim hits ahead and decide in memory", Section: "3.8",
			Value: ruleValue(KindBool, func(r *Rule) *bool { return &r.Limit.Lease }),
		},
		{
			Name: "reservations", Number: 1009, Extension: true, Counts: true, Default: "false",
			Doc: "hits can be reserved by an estimate and settled later", Section: "3.9",
			Value: ruleValue(KindBool, func(r *Rule) *bool { return &r.Limit.Reservations }),
		},
		{
			Name: "max_debt", Number: 1010, Extension: true, Counts: true, Default: "requests_per_unit",
			Doc: "the hits above the limit that settlements may charge", Section: "3.9",
			Value: ruleValue(KindCount, func(r *Rule) *uint32 { return &r.Limit.MaxDebt }),
		},
		{
			Name: "candidate", Number: 1008, Extension: true, Counts: true, Default: "none",
			Doc: "another limit is counted beside this one, never enforced", Section: "4.7",
			Value: FieldValue{
				Kind: KindCandidate,
				Get: func(r *Rule) any {
					if r.Limit.Candidate == nil {
						return nil
					}
					return r.Limit.Candidate.RequestsPerUnit
				},
				Set: func(r *Rule, v any) error { r.Limit.Candidate = &Candidate{v.(uint32)}; return nil },
			},
		},
		{
			Name: "name", Number: 4, Default: "none",
			Doc: "other limits replace this one by its name", Section: "2.4",
			Value: ruleValue(KindText, func(r *Rule) *string { return &r.Limit.Name }),
		},
		{
			Name: "replaces", Number: 5, Default: "none",
			Doc: "these limits do not apply if this rule matches in the same request", Section: "2.4",
			Value: valueOf(KindNames, func(r *Rule) *[]string { return &r.Limit.Replaces },
				func(names []string) bool { return names == nil }),
		},
	}
	for i := range fields {
		fields[i].InLimit = true
	}
	return fields
}

// ruleValue returns the values of a field whose default is the zero value.
func ruleValue[T comparable](kind Kind, at func(*Rule) *T) FieldValue {
	return valueOf(kind, at, func(v T) bool { return v == *new(T) })
}

// valueOf returns the values of a field that is stored as the rule has it.
func valueOf[T any](kind Kind, at func(*Rule) *T, isDefault func(T) bool) FieldValue {
	return FieldValue{
		Kind: kind,
		Get: func(r *Rule) any {
			if isDefault(*at(r)) {
				return nil
			}
			return *at(r)
		},
		Set: func(r *Rule, v any) error { *at(r) = v.(T); return nil },
	}
}

// wordValue returns the values of a field that [Compile] checks. The default is empty, or the usual word.
func wordValue[T ~string](words string, usual T, at func(*Rule) *T) FieldValue {
	return FieldValue{
		Kind: KindWord, Words: words,
		Get: func(r *Rule) any {
			if *at(r) == "" || *at(r) == usual {
				return nil
			}
			return string(*at(r))
		},
		Set: func(r *Rule, v any) error { *at(r) = T(v.(string)); return nil },
	}
}

// unitValue returns the values of the unit, which depends on unlimited.
func unitValue() FieldValue {
	return FieldValue{
		Kind: KindUnit, Words: UnitNames,
		Get: func(r *Rule) any {
			if r.Limit.Unit == 0 {
				return nil
			}
			return r.Limit.Unit.String()
		},
		Set: func(r *Rule, v any) error {
			name := v.(string)
			unit, ok := ParseUnit(name)
			r.Limit.Unit = unit
			switch {
			case ok || name == "" || r.Limit.Unlimited && strings.EqualFold(name, "unknown"): // the number 0 of the enumeration
				return nil
			case r.Limit.Unlimited:
				return IgnoredError(fmt.Sprintf("unknown unit '%.100s' is ignored because the limit is unlimited: remove it", name))
			}
			return unknownWord("rate limit unit", name, UnitNames)
		},
	}
}

// limitTypeValue returns the values of limit_type: concurrency is the Algorithm of that name.
func limitTypeValue() FieldValue {
	const types = "rate or concurrency"
	return FieldValue{
		Kind: KindWord, Words: types,
		Get: func(r *Rule) any {
			if !r.Limit.Algorithm.HasPermits() {
				return nil
			}
			return r.Limit.Algorithm.String()
		},
		Set: func(r *Rule, v any) error {
			name := v.(string)
			meant := closestWord(name, types)
			if a, ok := ParseAlgorithm(meant); ok {
				r.Limit.Algorithm = a
			}
			if name == "" || strings.EqualFold(name, meant) {
				return nil
			}
			return unknownWord("limit_type", name, types)
		},
	}
}

// algorithmValue returns the values of algorithm, which depends on limit_type. An unknown name makes the
// Algorithm invalid, so that [Compile] does not judge other fields by it, or the one that was probably
// meant.
func algorithmValue() FieldValue {
	return FieldValue{
		Kind: KindWord, Words: algorithmNames,
		Get: func(r *Rule) any {
			if r.Limit.Algorithm == 0 || r.Limit.Algorithm.HasPermits() {
				return nil
			}
			return r.Limit.Algorithm.String()
		},
		Set: func(r *Rule, v any) error {
			name := v.(string)
			if name == "" {
				return nil
			}
			if r.Limit.Algorithm.HasPermits() {
				return errors.New("algorithm can't be combined with limit_type: concurrency, which counts requests in progress: remove one of them")
			}
			a, ok := ParseAlgorithm(name)
			if ok {
				r.Limit.Algorithm = a
				if a.HasPermits() {
					return errors.New("invalid algorithm 'concurrency': write limit_type: concurrency instead")
				}
				return nil
			}
			if a, ok = ParseAlgorithm(closestWord(name, algorithmNames)); !ok {
				a = math.MaxUint8
			}
			r.Limit.Algorithm = a
			return unknownWord("algorithm", name, algorithmNames)
		},
	}
}

// unknownWord returns the fault of a field whose value is none of some words, which are listed as in
// "a, b or c".
func unknownWord(field, value, words string) error {
	hint := "use " + words
	if meant := closestWord(value, words); meant != "" {
		hint = "did you mean '" + meant + "'?"
	}
	return fmt.Errorf("invalid %s '%.100s': %s", field, value, hint)
}

// closestWord returns the word of a list that was probably meant, or "".
func closestWord(value, words string) string {
	return suggest.Among(value, strings.Split(strings.ReplaceAll(words, " or ", ", "), ", "))
}
