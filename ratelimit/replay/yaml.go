package replay

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/internal/suggest"
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

// maxMapping bounds a mapping file, in bytes.
const maxMapping = 1 << 20

// ParseMapping reads a mapping file; the package comment describes it. The name precedes the line
// in errors. The error is [Faults].
func ParseMapping(name string, data []byte) (*Mapping, error) {
	p := &mappingParser{file: name}
	if len(data) > maxMapping {
		return nil, Faults{{name, 1, 1, fmt.Sprintf("the file has more than %d bytes", maxMapping)}}
	}
	var doc yaml.Node
	if err := decodeYAML(data, &doc); err != nil {
		line, reason := libraryError(err)
		return nil, Faults{{name, min(line, bytes.Count(data, []byte("\n"))+1), 1, reason}}
	}
	m := &Mapping{}
	if len(doc.Content) == 0 {
		p.fault(&doc, "the mapping has no descriptors")
	} else {
		p.mapping(doc.Content[0], m)
	}
	if len(p.faults) > 0 {
		return nil, p.faults
	}
	return m, nil
}

// decodeYAML turns panics of the library into errors.
func decodeYAML(data []byte, doc *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	return yaml.Unmarshal(data, doc)
}

// libraryError separates the line from an error of the YAML library.
func libraryError(err error) (line int, reason string) {
	found := regexp.MustCompile(`^yaml: line (\d+): (.*)`).FindStringSubmatch(err.Error())
	if found == nil {
		return 1, err.Error()
	}
	line, _ = strconv.Atoi(found[1])
	if strings.HasPrefix(found[2], "did not find expected") {
		line++ // the library counts these from 0
	}
	return max(line, 1), found[2]
}

// mappingParser collects the faults of a file. Aliases and merge keys are not accepted, so that
// a small file stays small.
type mappingParser struct {
	file   string
	faults Faults
}

const maxFaults = 100

func (p *mappingParser) fault(n *yaml.Node, format string, args ...any) {
	if len(p.faults) < maxFaults {
		p.faults = append(p.faults, &Fault{p.file, max(n.Line, 1), max(n.Column, 1), fmt.Sprintf(format, args...)})
	}
}

// setters are the keys that a map may have, with the functions that read their values.
type setters []struct {
	key string
	set func(n *yaml.Node)
}

// fields reads a map.
func (p *mappingParser) fields(n *yaml.Node, what string, known setters) {
	if n.Kind != yaml.MappingNode {
		p.fault(n, "%s must be a map", what)
		return
	}
	seen := make(map[string]bool)
	for i := 0; i < len(n.Content); i += 2 {
		key, found := n.Content[i], false
		if seen[key.Value] {
			p.fault(key, "duplicate key %q", key.Value)
			continue
		}
		seen[key.Value] = true
		for _, k := range known {
			if k.key == key.Value {
				k.set(n.Content[i+1])
				found = true
			}
		}
		if !found {
			p.unknown(key, what, known)
		}
	}
}

func (p *mappingParser) unknown(key *yaml.Node, what string, known setters) {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = k.key
	}
	hint := "use " + strings.Join(names, ", ")
	if meant := suggest.Closest(key.Value, names, 2); meant != "" {
		hint = fmt.Sprintf("did you mean %q?", meant)
	}
	p.fault(key, "unknown key %.100q of %s: %s", key.Value, what, hint)
}

// list calls f with the elements of a list.
func (p *mappingParser) list(n *yaml.Node, what string, f func(*yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		p.fault(n, "%s must be a list", what)
		return
	}
	for _, e := range n.Content {
		f(e)
	}
}

func (p *mappingParser) text(n *yaml.Node, to *string) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		p.fault(n, "the value must be text")
		return
	}
	*to = n.Value
}

func (p *mappingParser) texts(n *yaml.Node, what string, to *[]string) {
	*to = []string{}
	p.list(n, what, func(n *yaml.Node) {
		var s string
		p.text(n, &s)
		*to = append(*to, s)
	})
	if len(*to) == 0 {
		p.fault(n, "%s must not be empty", what)
	}
}

func (p *mappingParser) regexp(n *yaml.Node, to **regexp.Regexp) {
	var s string
	p.text(n, &s)
	r, err := regexp.Compile(s)
	if err != nil {
		p.fault(n, "invalid expression: %v", err)
		return
	}
	*to = r
}

func (p *mappingParser) mapping(n *yaml.Node, m *Mapping) {
	hasDescriptors := false
	p.fields(n, "the mapping", setters{
		{"domain", func(n *yaml.Node) { p.text(n, &m.Domain) }},
		{"time", func(n *yaml.Node) { p.time(n, m) }},
		{"client", func(n *yaml.Node) { p.text(n, &m.Client) }},
		{"descriptors", func(n *yaml.Node) {
			hasDescriptors = true
			p.list(n, "descriptors", func(n *yaml.Node) { m.Descriptors = append(m.Descriptors, p.descriptor(n)) })
			if len(m.Descriptors) == 0 || len(m.Descriptors) > maxDescriptors {
				p.fault(n, "descriptors must have 1 to %d elements", maxDescriptors)
			}
		}},
	})
	if n.Kind == yaml.MappingNode && !hasDescriptors && len(p.faults) == 0 {
		p.fault(n, "the mapping has no descriptors")
	}
}

func (p *mappingParser) time(n *yaml.Node, m *Mapping) {
	if n.Kind == yaml.ScalarNode {
		p.text(n, &m.Time)
		return
	}
	p.fields(n, "time", setters{
		{"field", func(n *yaml.Node) { p.text(n, &m.Time) }},
		{"layout", func(n *yaml.Node) { p.text(n, &m.TimeLayout) }},
	})
}

func (p *mappingParser) descriptor(n *yaml.Node) (d Descriptor) {
	before := len(p.faults)
	p.fields(n, "a descriptor", setters{
		{"entries", func(n *yaml.Node) {
			p.list(n, "entries", func(n *yaml.Node) { d.Entries = append(d.Entries, p.entry(n)) })
		}},
		{"when", func(n *yaml.Node) {
			p.list(n, "when", func(n *yaml.Node) { d.When = append(d.When, p.condition(n)) })
		}},
		{"hits", func(n *yaml.Node) { p.hits(n, &d.Hits) }},
	})
	if len(p.faults) == before && len(d.Entries) == 0 {
		p.fault(n, "the descriptor has no entries")
	}
	return d
}

func (p *mappingParser) entry(n *yaml.Node) (e Entry) {
	before := len(p.faults)
	p.fields(n, "an entry", append(setters{{"key", func(n *yaml.Node) { p.text(n, &e.Key) }}}, p.valueSetters(&e.Value)...))
	if len(p.faults) == before && e.Key == "" {
		p.fault(n, "the entry has no key")
	}
	p.checkValue(n, before, &e.Value)
	return e
}

func (p *mappingParser) valueSetters(v *Value) setters {
	return setters{
		{"value", func(n *yaml.Node) { p.text(n, &v.Constant) }},
		{"field", func(n *yaml.Node) { p.text(n, &v.Field) }},
		{"regexp", func(n *yaml.Node) { p.regexp(n, &v.Regexp) }},
		{"prefixes", func(n *yaml.Node) { p.texts(n, "prefixes", &v.Prefixes) }},
		{"segments", func(n *yaml.Node) {
			var s string
			p.text(n, &s)
			count, err := strconv.Atoi(s)
			if v.Segments = count; err != nil || count < 1 {
				p.fault(n, "segments must be a number of at least 1")
			}
		}},
		{"default", func(n *yaml.Node) { p.text(n, &v.Default) }},
	}
}

// checkValue reports a value that is none, or several at a time.
func (p *mappingParser) checkValue(n *yaml.Node, before int, v *Value) {
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

func (p *mappingParser) condition(n *yaml.Node) (c Condition) {
	before := len(p.faults)
	p.fields(n, "a condition", setters{
		{"field", func(n *yaml.Node) { p.text(n, &c.Field) }},
		{"in", func(n *yaml.Node) { p.texts(n, "in", &c.In) }},
		{"prefix", func(n *yaml.Node) { p.text(n, &c.Prefix) }},
		{"regexp", func(n *yaml.Node) { p.regexp(n, &c.Regexp) }},
		{"not", func(n *yaml.Node) {
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
func (p *mappingParser) hits(n *yaml.Node, v *Value) {
	if n.Kind == yaml.MappingNode {
		before := len(p.faults)
		p.fields(n, "hits", p.valueSetters(v))
		p.checkValue(n, before, v)
		return
	}
	p.text(n, &v.Constant)
	if _, err := strconv.ParseUint(n.Value, 10, 32); err != nil {
		p.fault(n, "hits must be a number from 0 to 4294967295, or a map with a field")
	}
}
