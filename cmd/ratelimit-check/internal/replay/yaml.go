package replay

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/internal/suggest"
	"github.com/ashlar-go/ashlar/internal/yamltree"
)

// ParseMapping reads a mapping file; the package comment describes it. The error has a line for each problem,
// "<name>:<line>:<column>: <reason>", in the order of the file.
func ParseMapping(name string, data []byte) (*Mapping, error) {
	root, err := yamltree.Parse(data)
	if wrong, ok := errors.AsType[*yamltree.Error](err); ok {
		return nil, fmt.Errorf("%s:%d:%d: %s", name, wrong.Line, wrong.Column, wrong.Reason)
	}
	p, m := &mappingParser{file: name}, &Mapping{}
	if p.value(root, "the mapping", m); len(p.faults) > 0 {
		return nil, errors.Join(p.faults...)
	}
	return m, nil
}

// mappingParser collects the faults of a file.
type mappingParser struct {
	file   string
	faults []error
}

const maxFaults = 100

func (p *mappingParser) fault(n *yamltree.Node, format string, args ...any) {
	if len(p.faults) < maxFaults {
		p.faults = append(p.faults, fmt.Errorf("%s:%d:%d: %s", p.file, n.Line, n.Column, fmt.Sprintf(format, args...)))
	}
}

// structure is a map of the file.
type structure interface {
	// members returns the keys that the map may have.
	members() []member
	// problem says what is missing or contradictory once they are set, "" for nothing.
	problem() string
}

// member is a key of a map with a pointer to the variable for its value.
type member struct {
	key string
	to  any
}

// mappingTime is the value of time: a field, or a map with its layout. hitCount is that of hits: a number, or a map
// like that of an entry.
type (
	mappingTime Mapping
	hitCount    Value
)

func (m *Mapping) members() []member {
	return []member{{"domain", &m.Domain}, {"time", (*mappingTime)(m)}, {"client", &m.Client}, {"descriptors", &m.Descriptors}}
}

func (m *Mapping) problem() string {
	switch n := len(m.Descriptors); {
	case n == 0:
		return "the mapping has no descriptors"
	case n > maxDescriptors:
		return fmt.Sprintf("the mapping has %d descriptors: use at most %d", n, maxDescriptors)
	}
	return ""
}

func (m *mappingTime) members() []member {
	return []member{{"field", &m.Time}, {"layout", &m.TimeLayout}}
}

func (m *mappingTime) problem() string { return "" }

func (d *Descriptor) members() []member {
	return []member{{"entries", &d.Entries}, {"when", &d.When}, {"hits", (*hitCount)(&d.Hits)}}
}

func (d *Descriptor) problem() string {
	if len(d.Entries) == 0 {
		return "the descriptor has no entries"
	}
	return ""
}

func (e *Entry) members() []member { return append([]member{{"key", &e.Key}}, e.Value.members()...) }

func (e *Entry) problem() string {
	if e.Key == "" {
		return "the entry has no key"
	}
	return e.Value.problem()
}

func (v *Value) members() []member {
	return []member{
		{"value", &v.Constant}, {"field", &v.Field}, {"regexp", &v.Regexp}, {"prefixes", &v.Prefixes}, {"segments", &v.Segments}, {"default", &v.Default},
	}
}

func (v *Value) problem() string {
	parts := 0
	for _, is := range []bool{v.Regexp != nil, v.Prefixes != nil, v.Segments != 0} {
		if is {
			parts++
		}
	}
	switch {
	case v.Constant == "" && v.Field == "":
		return "use value for a constant, or field for the field of the log"
	case v.Constant != "" && (v.Field != "" || parts > 0 || v.Default != ""):
		return "value is a constant: remove it, or everything else"
	case parts > 1:
		return "use one of regexp, prefixes and segments"
	}
	return ""
}

func (c *Condition) members() []member {
	return []member{{"field", &c.Field}, {"in", &c.In}, {"prefix", &c.Prefix}, {"regexp", &c.Regexp}, {"not", &c.Not}}
}

func (c *Condition) problem() string {
	switch {
	case c.Field == "":
		return "the condition has no field"
	case c.In == nil && c.Prefix == "" && c.Regexp == nil:
		return "the condition needs in, prefix or regexp"
	}
	return ""
}

// value stores a value in a variable. name is that of its key, or with its article that of a map.
func (p *mappingParser) value(n *yamltree.Node, name string, to any) {
	switch to := to.(type) {
	case *string:
		if *to = n.Text; n.Kind != yamltree.Text {
			p.fault(n, "the value must be text")
		}
	case *bool:
		if n.Decode(to) != nil {
			p.fault(n, "%s must be true or false", name)
		}
	case *int:
		var err error
		if *to, err = strconv.Atoi(n.Text); err != nil || *to < 1 {
			p.fault(n, "%s must be a number of at least 1", name)
		}
	case **regexp.Regexp:
		var err error
		if *to, err = regexp.Compile(n.Text); err != nil {
			p.fault(n, "invalid expression: %v", err)
		}
	case *[]string:
		if list(p, n, name, "", to); n.Kind == yamltree.List && len(*to) == 0 {
			p.fault(n, "%s must not be empty", name)
		}
	case *[]Entry:
		list(p, n, name, "an entry", to)
	case *[]Condition:
		list(p, n, name, "a condition", to)
	case *[]Descriptor:
		list(p, n, name, "a descriptor", to)
	case *mappingTime:
		if to.Time = n.Text; n.Kind != yamltree.Text {
			p.structure(n, name, to)
		}
	case *hitCount:
		if n.Kind == yamltree.Map {
			p.structure(n, name, (*Value)(to))
		} else if _, err := strconv.ParseUint(n.Text, 10, 32); err != nil {
			p.fault(n, "hits must be a number from 0 to 4294967295, or a map with a field")
		}
		to.Constant = cmp.Or(to.Constant, n.Text)
	case structure:
		p.structure(n, name, to)
	}
}

// list stores the elements of a list.
func list[T any](p *mappingParser, n *yamltree.Node, name, element string, to *[]T) {
	if n.Kind != yamltree.List {
		p.fault(n, "%s must be a list", name)
		return
	}
	*to = make([]T, len(n.Items))
	for i, item := range n.Items {
		p.value(item, element, &(*to)[i])
	}
}

// structure stores a map.
func (p *mappingParser) structure(n *yamltree.Node, name string, to structure) {
	if n.Kind != yamltree.Map {
		p.fault(n, "%s must be a map", name)
		return
	}
	before, members := len(p.faults), to.members()
	for _, f := range n.Fields {
		i := slices.IndexFunc(members, func(m member) bool { return m.key == f.Name })
		if i >= 0 {
			p.value(f.Value, f.Name, members[i].to)
			continue
		}
		names := printable.Join(members, ", ", func(m member) string { return m.key })
		hint := "use " + names
		if meant := suggest.Closest(f.Name, strings.Split(names, ", "), 2); meant != "" {
			hint = fmt.Sprintf("did you mean %q?", meant)
		}
		p.fault(f.Key, "unknown key %.100q of %s: %s", f.Name, name, hint)
	}
	if problem := to.problem(); problem != "" && len(p.faults) == before {
		p.fault(n, "%s", problem)
	}
}
