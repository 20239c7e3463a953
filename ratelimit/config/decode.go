package config

import (
	"errors"
	"strings"

	"github.com/ashlar-go/ashlar/internal/yamltree"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// field is a key that a map may have, and the function that decodes its value.
type field struct {
	name   string
	decode func(value)
}

// value is the value of a key, or an element of a list, and its position.
type value struct {
	pair
	position *position
}

// The kinds of maps, as faults name them.
const (
	inDocument = "at the top of the file"
	inRule     = "in a descriptor"
	inLimit    = "in rate_limit"
	inReplaces = "in an entry of replaces"
	inTrial    = "in candidate"
)

// What the value of a field must be, as faults name it.
const (
	wantString = "a string"
	wantBool   = "true or false"
	wantNumber = "a whole number from 0 to 4294967295"
	wantCount  = "a whole number from 1 to 4294967295"
)

func (d *decoder) documentFields(domain *ratelimit.Domain) []field {
	return []field{
		{"domain", scalarInto(d, &domain.Name, wantString)},
		{"descriptors", func(v value) { domain.Rules = d.rules(v, len(domain.Name)) }},
	}
}

// ruleFields lists the fields of a descriptor; above is the length of the composite
// key of the descriptor around it. Nested descriptors come last, because they need the
// key and value.
func (d *decoder) ruleFields(r *ratelimit.Rule, above int) []field {
	return []field{
		{"key", scalarInto(d, &r.Key, wantString)},
		{"value", scalarInto(d, &r.Value, wantString)},
		{"rate_limit", func(v value) { r.Limit = d.limit(v) }},
		{"shadow_mode", scalarInto(d, &r.ShadowMode, wantBool)},
		{"quota_mode", scalarInto(d, &r.QuotaMode, wantBool)},
		{"detailed_metric", scalarInto(d, &r.DetailedMetric, wantBool)},
		{"value_to_metric", scalarInto(d, &r.ValueToMetric, wantBool)},
		{"share_threshold", scalarInto(d, &r.ShareThreshold, wantBool)},
		{"on_store_failure", wordInto(d, &r.OnStoreFailure, ratelimit.FailurePolicyNames)},
		{"metadata", func(v value) { r.Metadata = d.metadata(v) }},
		{"descriptors", func(v value) { r.Rules = d.rules(v, compositeLen(above, r)) }},
	}
}

// limit is a rate_limit while it is decoded.
type limit struct {
	ratelimit.Limit
	hasRequests          bool // requests_per_unit is set
	algorithm, limitType string
}

// limitFields lists the fields of rate_limit. The unit depends on unlimited.
func (d *decoder) limitFields(l *limit) []field {
	return []field{
		{"unlimited", scalarInto(d, &l.Unlimited, wantBool)},
		{"unit", func(v value) { l.Unit = d.unit(v, l.Unlimited) }},
		{"requests_per_unit", func(v value) {
			l.hasRequests = v.value.Kind != yamltree.Null
			scalarInto(d, &l.RequestsPerUnit, wantNumber)(v)
		}},
		{"algorithm", scalarInto(d, &l.algorithm, wantString)},
		{"burst", countInto(d, &l.Burst)},
		{"limit_type", scalarInto(d, &l.limitType, wantString)},
		{"unit_multiplier", countInto(d, &l.UnitMultiplier)},
		{"align", wordInto(d, &l.Align, ratelimit.AlignNames)},
		{"time_zone", scalarInto(d, &l.TimeZone, wantString)},
		{"lease", scalarInto(d, &l.Lease, wantBool)},
		{"name", scalarInto(d, &l.Name, wantString)},
		{"replaces", func(v value) { l.Replaces = d.replaces(v) }},
		{"candidate", func(v value) { l.Candidate = d.candidate(v) }},
	}
}

// candidateFields lists the fields of candidate.
func (d *decoder) candidateFields(c *ratelimit.Candidate, hasRequests *bool) []field {
	return []field{{"requests_per_unit", func(v value) {
		*hasRequests = v.value.Kind != yamltree.Null
		scalarInto(d, &c.RequestsPerUnit, wantNumber)(v)
	}}}
}

func (d *decoder) replacesFields(name *string) []field {
	return []field{{"name", scalarInto(d, name, wantString)}}
}

// decodeFile decodes one file; the document has the faults.
func decodeFile(f File, maxBytes int64) *document {
	start := yamltree.Pos{Line: 1, Column: 1}
	doc := &document{file: f.Name, root: &position{at: start}}
	if int64(len(f.Data)) > maxBytes {
		doc.fault(yamltree.Pos{}, "the file has more than %d bytes", maxBytes)
		return doc
	}
	roots, err := yamltree.Read(f.Data, maxNesting)
	if wrong, ok := errors.AsType[*yamltree.Error](err); ok {
		hint := ""
		if strings.HasSuffix(wrong.Reason, "found character that cannot start any token") {
			hint = ": indent with spaces, not with tabs, and quote text that begins with @ or %"
		}
		doc.fault(wrong.Pos, "error loading config file: yaml: %s%s", wrong.Reason, hint)
		return doc
	}
	switch {
	case len(roots) > 1:
		doc.fault(roots[1].Pos, "error loading config file: a file holds one document, and another one begins here: move it to a file of its own")
	case len(roots) == 0 || roots[0].Kind == yamltree.Null:
		doc.ok = true // Compile reports the missing domain
		return doc
	}
	root := roots[0]
	doc.root.at = root.Pos
	if root.Kind != yamltree.Map {
		doc.fault(root.Pos, "error loading config file: yaml: cannot unmarshal %s: the file must be a map with domain and descriptors", tagged(root))
		return doc
	}
	d := &decoder{document: doc, inherited: make(map[*yamltree.Node]inherited)}
	d.fields(value{pair{value: root}, doc.root}, inDocument, d.documentFields(&doc.domain))
	doc.ok = d.keyBytes <= maxKeyBytes
	return doc
}

// rules decodes a list of descriptors; above is the length of the composite key of the
// descriptor that holds it.
func (d *decoder) rules(v value, above int) (rules []ratelimit.Rule) {
	d.list(v, "a list of descriptors", func(v value) {
		if d.keyBytes > maxKeyBytes {
			return
		}
		var r ratelimit.Rule
		d.fields(v, inRule, d.ruleFields(&r, above))
		rules = append(rules, r)
		before := d.keyBytes
		if d.keyBytes += compositeLen(above, &r); d.keyBytes > maxKeyBytes && before <= maxKeyBytes {
			d.fault(v.value.Pos, "error loading config file: yaml: the keys and values of nested descriptors come to more than %d bytes", maxKeyBytes)
		}
	})
	return rules
}

func compositeLen(above int, r *ratelimit.Rule) int {
	return above + len("._") + len(r.Key) + len(r.Value)
}

// limit decodes rate_limit, nil for null.
func (d *decoder) limit(v value) *ratelimit.Limit {
	if !d.isMap(v, "a map with unit and requests_per_unit") {
		return nil
	}
	var l limit
	d.fields(v, inLimit, d.limitFields(&l))
	d.algorithm(v, &l)
	if l.Unit != 0 && !l.Unlimited && !l.hasRequests {
		d.warn(v.key.Pos, "requests_per_unit is missing: it counts as 0, which puts every request over the limit")
	}
	return &l.Limit
}

// candidate decodes the candidate of a limit, nil for null.
func (d *decoder) candidate(v value) *ratelimit.Candidate {
	if !d.isMap(v, "a map with requests_per_unit") {
		return nil
	}
	var c ratelimit.Candidate
	hasRequests := false
	d.fields(v, inTrial, d.candidateFields(&c, &hasRequests))
	if !hasRequests {
		d.faultIn(v, "candidate needs requests_per_unit")
	}
	return &c
}

// unit decodes a unit, 0 for an unknown one: only here its name is known.
func (d *decoder) unit(v value, unlimited bool) ratelimit.Unit {
	var name string
	scalarInto(d, &name, wantString)(v)
	unit, ok := ratelimit.ParseUnit(name)
	switch {
	case name == "" || ok:
	case unlimited:
		d.warn(v.value.Pos, "unknown unit '%.100s' is ignored because the limit is unlimited: remove it", name)
	default:
		d.faultIn(v, "%s", invalid("rate limit unit", name, ratelimit.UnitNames))
	}
	return unit
}

// algorithm sets the algorithm of a limit from its fields.
func (d *decoder) algorithm(v value, l *limit) {
	var field, reason string
	l.Algorithm, field, reason = ParseAlgorithm(l.algorithm, l.limitType)
	if reason == "" {
		return
	}
	p := v.position.get(field)
	p.faulty = true
	d.fault(p.at, "%s", reason)
	if l.Algorithm == ratelimit.FixedWindow {
		l.Burst = 0 // nobody knows whether it belongs to the algorithm that was meant
	}
}

func (d *decoder) replaces(v value) (names []string) {
	d.list(v, "a list of maps with a name", func(v value) {
		var name string
		d.fields(v, inReplaces, d.replacesFields(&name))
		names = append(names, name)
	})
	return names
}
