package config

import (
	"cmp"
	"errors"
	"strings"

	"github.com/ashlar-go/ashlar/internal/yamltree"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// field is a key that a map may have, and the function that decodes its value, of the rule that has the map.
type field struct {
	name   string
	decode func(*ratelimit.Rule, *value)
}

// What some values must be, as faults name it.
const (
	wantText   = "a string"
	wantNumber = "a whole number from 0 to 4294967295"
)

// The kinds of maps, as faults name them.
const (
	inDocument  = "at the top of the file"
	inRule      = "in a descriptor"
	inLimit     = "in rate_limit"
	inReplaces  = "in an entry of replaces"
	inCandidate = "in candidate"
)

func (d *decoder) documentFields(domain *ratelimit.Domain) []field {
	return []field{
		{"domain", func(_ *ratelimit.Rule, v *value) { domain.Name = d.text(v) }},
		{"descriptors", func(_ *ratelimit.Rule, v *value) { domain.Rules = d.rules(v, len(domain.Name)) }},
	}
}

// ruleFields lists the fields of a descriptor. Nested descriptors come last, because they need the key and value.
func (d *decoder) ruleFields() []field {
	fields := append([]field{
		{"key", func(r *ratelimit.Rule, v *value) { r.Key = d.text(v) }},
		{"value", func(r *ratelimit.Rule, v *value) { r.Value = d.text(v) }},
		{"rate_limit", func(r *ratelimit.Rule, v *value) { d.limit(v, r) }},
	}, d.described(false)...)
	return append(fields, field{"descriptors", func(r *ratelimit.Rule, v *value) { r.Rules = d.rules(v, compositeLen(d.above, r)) }})
}

// text decodes a string.
func (d *decoder) text(v *value) string { return scalar[string](d, v, wantText) }

// described lists the fields of a rule, or of its limit, that the options describe.
func (d *decoder) described(inLimit bool) (out []field) {
	for i := range d.table {
		if f := &d.table[i]; f.InLimit == inLimit {
			out = append(out, field{f.Name, func(r *ratelimit.Rule, v *value) { d.set(r, f, v) }})
		}
	}
	return out
}

// set decodes and sets a field. Null leaves it unset.
func (d *decoder) set(r *ratelimit.Rule, f *ratelimit.Field, v *value) {
	var x any
	switch kind := f.Value.Kind; kind {
	case ratelimit.KindBool:
		x = scalar[bool](d, v, "true or false")
	case ratelimit.KindNumber:
		x = scalar[uint32](d, v, wantNumber)
	case ratelimit.KindCount:
		const want = "a whole number from 1 to 4294967295"
		if x = scalar[uint32](d, v, want); x == uint32(0) && v.value.Tag == "!!int" {
			d.faultIn(v, "%s must be %s", v.name, want)
		}
	case ratelimit.KindNames:
		x = d.names(v)
	case ratelimit.KindCandidate:
		x = d.candidate(v)
	case ratelimit.KindMap:
		if d.isMap(v, "a map") {
			x = d.json(v.value)
		}
	default:
		x = d.text(v)
	}
	if v.value.Kind == yamltree.Null || v.faulty {
		return
	}
	err := f.Value.Set(r, x)
	if _, ok := errors.AsType[ratelimit.IgnoredError](err); ok {
		d.warn(v.value.Pos, "%v", err)
	} else if err != nil {
		d.faultIn(v, "%v", err)
	}
}

// decodeFile decodes one file; the document has the faults.
func decodeFile(f File, opts *Options) *document {
	start := yamltree.Pos{Line: 1, Column: 1}
	doc := &document{file: cmp.Or(f.Path, f.Name), root: &value{at: start}}
	if len(f.Data) > MaxFileBytes {
		doc.fault(yamltree.Pos{}, "the file has more than %d bytes", MaxFileBytes)
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
	doc.root.value, doc.root.at = root, root.Pos
	if root.Kind != yamltree.Map {
		doc.fault(root.Pos, "error loading config file: yaml: cannot unmarshal %s: the file must be a map with domain and descriptors", tagged(root))
		return doc
	}
	d := &decoder{document: doc, table: opts.Fields, known: make(map[string][]string), inherited: make(map[*yamltree.Node]inherited)}
	d.ofRule, d.ofLimit = d.ruleFields(), d.described(true)
	d.fields(doc.root, nil, inDocument, d.documentFields(&doc.domain))
	doc.ok = d.keyBytes <= maxKeyBytes
	return doc
}

// rules decodes a list of descriptors; above is the length of the composite key of the
// descriptor that holds it.
func (d *decoder) rules(v *value, above int) (rules []ratelimit.Rule) {
	around := d.above
	defer func() { d.above = around }()
	d.above = above
	d.list(v, "a list of descriptors", func(v *value) {
		if d.keyBytes > maxKeyBytes {
			return
		}
		var r ratelimit.Rule
		d.fields(v, &r, inRule, d.ofRule)
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

// limit decodes rate_limit; null is none.
func (d *decoder) limit(v *value, r *ratelimit.Rule) {
	if !d.isMap(v, "a map with unit and requests_per_unit") {
		return
	}
	r.Limit = &ratelimit.Limit{}
	d.fields(v, r, inLimit, d.ofLimit)
	if r.Limit.Unit != 0 && !r.Limit.Unlimited && !v.has("requests_per_unit") {
		d.warn(v.key.Pos, "requests_per_unit is missing: it counts as 0, which puts every request over the limit")
	}
}

// candidate decodes the candidate of a limit.
func (d *decoder) candidate(v *value) (n uint32) {
	if !d.isMap(v, "a map with requests_per_unit") {
		return 0
	}
	d.fields(v, nil, inCandidate, []field{{"requests_per_unit", func(_ *ratelimit.Rule, v *value) { n = scalar[uint32](d, v, wantNumber) }}})
	if !v.has("requests_per_unit") {
		d.faultIn(v, "candidate needs requests_per_unit")
	}
	return n
}

// names decodes a list of maps with a name.
func (d *decoder) names(v *value) (names []string) {
	d.list(v, "a list of maps with a name", func(v *value) {
		name := ""
		d.fields(v, nil, inReplaces, []field{{"name", func(_ *ratelimit.Rule, v *value) { name = d.text(v) }}})
		names = append(names, name)
	})
	return names
}
