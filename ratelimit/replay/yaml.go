package replay

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/suggest"
	"github.com/ashlar-go/ashlar/internal/yamltree"
)

// Fault is one problem of a mapping file.
type Fault struct {
	File         string
	Line, Column int // from 1, columns in characters
	Reason       string
}

// Error returns "<file>:<line>:<column>: <reason>".
func (f *Fault) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Reason)
}

// Faults is the error of [ParseMapping]: all problems, in the order of the file. It is never empty.
type Faults []*Fault

// Error returns one line per fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// ParseMapping reads a mapping file; the package comment describes it. The name precedes the line
// in errors. The error is [Faults].
func ParseMapping(name string, data []byte) (*Mapping, error) {
	root, err := yamltree.Parse(data)
	if wrong, ok := errors.AsType[*yamltree.Error](err); ok {
		return nil, Faults{{name, wrong.Line, wrong.Column, wrong.Reason}}
	}
	p := &mappingParser{file: name}
	m := &Mapping{}
	if p.mapping(root, m); len(p.faults) > 0 {
		return nil, p.faults
	}
	return m, nil
}

// mappingParser collects the faults of a file.
type mappingParser struct {
	file   string
	faults Faults
}

const maxFaults = 100

func (p *mappingParser) fault(n *yamltree.Node, format string, args ...any) {
	if len(p.faults) < maxFaults {
		p.faults = append(p.faults, &Fault{p.file, n.Line, n.Column, fmt.Sprintf(format, args...)})
	}
}

// setter is a key that a map may have, with the function that reads its value.
type setter struct {
	key string
	set func(n *yamltree.Node)
}

type setters []setter

// fields reads a map.
func (p *mappingParser) fields(n *yamltree.Node, what string, known setters) {
	if n.Kind != yamltree.Map {
		p.fault(n, "%s must be a map", what)
		return
	}
	for _, f := range n.Fields {
		if i := slices.IndexFunc(known, func(k setter) bool { return k.key == f.Name }); i >= 0 {
			known[i].set(f.Value)
		} else {
			p.unknown(f.Key, what, known)
		}
	}
}

func (p *mappingParser) unknown(key *yamltree.Node, what string, known setters) {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = k.key
	}
	hint := "use " + strings.Join(names, ", ")
	if meant := suggest.Closest(key.Text, names, 2); meant != "" {
		hint = fmt.Sprintf("did you mean %q?", meant)
	}
	p.fault(key, "unknown key %.100q of %s: %s", key.Text, what, hint)
}

// list calls f with the elements of a list.
func (p *mappingParser) list(n *yamltree.Node, what string, f func(*yamltree.Node)) {
	if n.Kind != yamltree.List {
		p.fault(n, "%s must be a list", what)
		return
	}
	for _, e := range n.Items {
		f(e)
	}
}

func (p *mappingParser) text(n *yamltree.Node, to *string) {
	if n.Kind != yamltree.Text {
		p.fault(n, "the value must be text")
		return
	}
	*to = n.Text
}

func (p *mappingParser) texts(n *yamltree.Node, what string, to *[]string) {
	*to = []string{}
	p.list(n, what, func(n *yamltree.Node) {
		var s string
		p.text(n, &s)
		*to = append(*to, s)
	})
	if len(*to) == 0 {
		p.fault(n, "%s must not be empty", what)
	}
}

func (p *mappingParser) regexp(n *yamltree.Node, to **regexp.Regexp) {
	var s string
	p.text(n, &s)
	r, err := regexp.Compile(s)
	if err != nil {
		p.fault(n, "invalid expression: %v", err)
		return
	}
	*to = r
}

func (p *mappingParser) mapping(n *yamltree.Node, m *Mapping) {
	hasDescriptors := false
	p.fields(n, "the mapping", setters{
		{"domain", func(n *yamltree.Node) { p.text(n, &m.Domain) }},
		{"time", func(n *yamltree.Node) { p.time(n, m) }},
		{"client", func(n *yamltree.Node) { p.text(n, &m.Client) }},
		{"descriptors", func(n *yamltree.Node) {
			hasDescriptors = true
			p.list(n, "descriptors", func(n *yamltree.Node) { m.Descriptors = append(m.Descriptors, p.descriptor(n)) })
			if len(m.Descriptors) == 0 || len(m.Descriptors) > maxDescriptors {
				p.fault(n, "descriptors must have 1 to %d elements", maxDescriptors)
			}
		}},
	})
	if n.Kind == yamltree.Map && !hasDescriptors && len(p.faults) == 0 {
		p.fault(n, "the mapping has no descriptors")
	}
}

func (p *mappingParser) time(n *yamltree.Node, m *Mapping) {
	if n.Kind == yamltree.Text {
		p.text(n, &m.Time)
		return
	}
	p.fields(n, "time", setters{
		{"field", func(n *yamltree.Node) { p.text(n, &m.Time) }},
		{"layout", func(n *yamltree.Node) { p.text(n, &m.TimeLayout) }},
	})
}

func (p *mappingParser) descriptor(n *yamltree.Node) (d Descriptor) {
	before := len(p.faults)
	p.fields(n, "a descriptor", setters{
		{"entries", func(n *yamltree.Node) {
			p.list(n, "entries", func(n *yamltree.Node) { d.Entries = append(d.Entries, p.entry(n)) })
		}},
		{"when", func(n *yamltree.Node) {
			p.list(n, "when", func(n *yamltree.Node) { d.When = append(d.When, p.condition(n)) })
		}},
		{"hits", func(n *yamltree.Node) { p.hits(n, &d.Hits) }},
	})
	if len(p.faults) == before && len(d.Entries) == 0 {
		p.fault(n, "the descriptor has no entries")
	}
	return d
}

func (p *mappingParser) entry(n *yamltree.Node) (e Entry) {
	before := len(p.faults)
	p.fields(n, "an entry", append(setters{{"key", func(n *yamltree.Node) { p.text(n, &e.Key) }}}, p.valueSetters(&e.Value)...))
	if len(p.faults) == before && e.Key == "" {
		p.fault(n, "the entry has no key")
	}
	p.checkValue(n, before, &e.Value)
	return e
}

func (p *mappingParser) valueSetters(v *Value) setters {
	return setters{
		{"value", func(n *yamltree.Node) { p.text(n, &v.Constant) }},
		{"field", func(n *yamltree.Node) { p.text(n, &v.Field) }},
		{"regexp", func(n *yamltree.Node) { p.regexp(n, &v.Regexp) }},
		{"prefixes", func(n *yamltree.Node) { p.texts(n, "prefixes", &v.Prefixes) }},
		{"segments", func(n *yamltree.Node) {
			var s string
			p.text(n, &s)
			count, err := strconv.Atoi(s)
			if v.Segments = count; err != nil || count < 1 {
				p.fault(n, "segments must be a number of at least 1")
			}
		}},
		{"default", func(n *yamltree.Node) { p.text(n, &v.Default) }},
	}
}

// checkValue reports a value that is none, or several at a time.
func (p *mappingParser) checkValue(n *yamltree.Node, before int, v *Value) {
	parts := 0
	for _, is := range []bool{v.Regexp != nil, v.Prefixes != nil, v.Segments != 0} {
		if is {
			parts++
		}
	}
	switch {
	case len(p.faults) > before:
	case v.Constant == "" && v.Field == "":
		p.fault(n, "use value for a constant, or field for the field of the log")
	case v.Constant != "" && (v.Field != "" || parts > 0 || v.Default != ""):
		p.fault(n, "value is a constant: remove it, or everything else")
	case parts > 1:
		p.fault(n, "use one of regexp, prefixes and segments")
	}
}

func (p *mappingParser) condition(n *yamltree.Node) (c Condition) {
	before := len(p.faults)
	p.fields(n, "a condition", setters{
		{"field", func(n *yamltree.Node) { p.text(n, &c.Field) }},
		{"in", func(n *yamltree.Node) { p.texts(n, "in", &c.In) }},
		{"prefix", func(n *yamltree.Node) { p.text(n, &c.Prefix) }},
		{"regexp", func(n *yamltree.Node) { p.regexp(n, &c.Regexp) }},
		{"not", func(n *yamltree.Node) {
			if err := n.Decode(&c.Not); err != nil {
				p.fault(n, "not must be true or false")
			}
		}},
	})
	switch {
	case len(p.faults) > before:
	case c.Field == "":
		p.fault(n, "the condition has no field")
	case c.In == nil && c.Prefix == "" && c.Regexp == nil:
		p.fault(n, "the condition needs in, prefix or regexp")
	}
	return c
}

// hits reads a number, or a value of a field.
func (p *mappingParser) hits(n *yamltree.Node, v *Value) {
	if n.Kind == yamltree.Map {
		before := len(p.faults)
		p.fields(n, "hits", p.valueSetters(v))
		p.checkValue(n, before, v)
		return
	}
	p.text(n, &v.Constant)
	if _, err := strconv.ParseUint(n.Text, 10, 32); err != nil {
		p.fault(n, "hits must be a number from 0 to 4294967295, or a map with a field")
	}
}
