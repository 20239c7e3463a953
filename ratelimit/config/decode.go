package config

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// decodeFile reads one file. It never fails: what is wrong is in the report.
func decodeFile(f File, opts Options) *document {
	doc := &document{report: report{file: f.Name}, root: &entry{at: startOfFile}}
	if int64(len(f.Data)) > opts.MaxFileBytes {
		doc.fault(mark{}, "the file has more than %d bytes", opts.MaxFileBytes)
		return doc
	}
	root, ok := readDocument(&doc.report, f.Data)
	if !ok {
		return doc
	}
	d := &decoder{report: &doc.report, open: make(map[*yaml.Node]bool)}
	doc.ok = d.document(doc, root) && !d.stopped
	return doc
}

// document reads the top of the file; root is nil if the file holds nothing.
func (d *decoder) document(doc *document, root *yaml.Node) bool {
	if root == nil || isNull(root) {
		return true // for Compile to miss the domain
	}
	doc.root.at = markOf(root)
	if root.Kind != yaml.MappingNode {
		d.fault(doc.root.at, "error loading config file: yaml: cannot unmarshal %s: the file must be a map with domain and descriptors", tagged(root))
		return false
	}
	s := scope{entry: doc.root}
	d.fields(root, inDocument, func(p pair) {
		switch p.name {
		case "domain":
			doc.domain.Name = decode[string](d, s, p, wantText)
		case "descriptors":
			doc.domain.Rules = d.rules(s, p, len(doc.domain.Name))
		}
	})
	return true
}

// fields calls set with each field of a map that means something there. Nested
// rules come last: by then what they are nested in is known.
func (d *decoder) fields(at *yaml.Node, l level, set func(p pair)) {
	d.within(at, func(n *yaml.Node) {
		ps := d.pairs(n, badKey)
		var nested []pair
		for _, p := range ps {
			switch {
			case !d.settle(&p, ps, l):
			case p.name == "descriptors":
				nested = append(nested, p)
			default:
				set(p)
			}
		}
		for _, p := range nested {
			set(p)
		}
	})
}

// settle finds out whether p is a field of level l. A misspelled one, once
// reported, becomes what it was meant to be.
func (d *decoder) settle(p *pair, all []pair, l level) bool {
	if l.knows(p.name) {
		return true
	}
	if known(p.name) {
		d.warn(markOf(p.key), "key '%s' has no effect %s: it belongs %s", p.name, l, belongs(p.name))
		if p.name != "metadata" {
			d.check(p.value)
		}
		return false
	}
	p.name = d.unknown(*p, l)
	return l.knows(p.name) && !hasName(all, p.name)
}

// unknown reports an unknown key and returns what was probably meant.
func (d *decoder) unknown(p pair, l level) string {
	if len(d.faults) > maxFaults {
		return "" // it takes long to suggest something, and no one would see it
	}
	meant := suggestKey(p.name, l)
	hint := ""
	if meant != "" {
		hint = fmt.Sprintf(": did you mean '%s'?", meant)
	}
	d.fault(markOf(p.key), "config error, unknown key '%s'%s", show(p.name), hint)
	return meant
}

func hasName(ps []pair, name string) bool {
	for _, p := range ps {
		if p.name == name {
			return true
		}
	}
	return false
}

// rules reads a list of descriptors; above is the length of the composite key
// they are under.
func (d *decoder) rules(s scope, p pair, above int) []ratelimit.Rule {
	var rules []ratelimit.Rule
	d.list(s, p, "a list of descriptors", func(at *yaml.Node) {
		r, e := d.rule(at, above)
		rules = append(rules, r)
		s.entry.rules = append(s.entry.rules, e)
	})
	return rules
}

// list calls f with each map of a field that is a list of maps, or null.
func (d *decoder) list(s scope, p pair, want string, f func(at *yaml.Node)) {
	s.note(p, markOf(p.key))
	switch n := target(p.value); {
	case isNull(n):
	case n.Kind == yaml.SequenceNode:
		d.within(p.value, func(n *yaml.Node) { d.elements(n, f) })
	default:
		d.mismatch(s, p, want)
	}
}

func (d *decoder) rule(at *yaml.Node, above int) (r ratelimit.Rule, e *entry) {
	e = &entry{at: markOf(at)}
	s := scope{entry: e, from: aliasMark(at)}
	composite := func() int { return above + len("._") + len(r.Key) + len(r.Value) }
	d.fields(at, inRule, func(p pair) {
		if p.name == "descriptors" {
			r.Rules = d.rules(s, p, composite())
			return
		}
		d.ruleField(&r, s, p)
	})
	d.keyBytes += composite()
	if d.keyBytes > maxKeyBytes && !d.stopped {
		d.stop(at, "the keys and values of nested descriptors come to more than %d bytes", maxKeyBytes)
	}
	return r, e
}

func (d *decoder) ruleField(r *ratelimit.Rule, s scope, p pair) {
	switch p.name {
	case "key":
		r.Key = decode[string](d, s, p, wantText)
	case "value":
		r.Value = decode[string](d, s, p, wantText)
	case "rate_limit":
		r.Limit = d.limit(s, p)
	case "on_store_failure":
		r.OnStoreFailure = ratelimit.FailurePolicy(decode[string](d, s, p, wantText))
	case "metadata":
		r.Metadata = d.metadata(s, p)
	default:
		*flag(r, p.name) = decode[bool](d, s, p, wantFlag)
	}
}

// flag is where the boolean of that name goes.
func flag(r *ratelimit.Rule, name string) *bool {
	switch name {
	case "shadow_mode":
		return &r.ShadowMode
	case "quota_mode":
		return &r.QuotaMode
	case "detailed_metric":
		return &r.DetailedMetric
	case "value_to_metric":
		return &r.ValueToMetric
	default:
		return &r.ShareThreshold
	}
}
