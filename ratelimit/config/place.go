package config

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// document is one decoded file.
type document struct {
	file             string
	faults, warnings []*Fault
	domain           ratelimit.Domain
	root             *place // of domain
	ok               bool   // domain is worth compiling
}

func (doc *document) fault(at mark, format string, args ...any) {
	doc.report(&doc.faults, at, fmt.Sprintf(format, args...))
}

func (doc *document) warn(at mark, format string, args ...any) {
	doc.report(&doc.warnings, at, fmt.Sprintf(format, args...))
}

func (doc *document) report(to *[]*Fault, at mark, reason string) {
	f := &Fault{File: doc.file, Line: at.line, Column: at.column, Reason: oneLine(reason)}
	if len(*to) == maxFaults {
		f = &Fault{File: doc.file, Reason: fmt.Sprintf("more than %d problems: the rest is omitted", maxFaults)}
	}
	if len(*to) <= maxFaults {
		*to = append(*to, f)
	}
}

// locate returns a fault with the place of a field. It returns nil if the field has a
// fault already, which what Compile reports would only repeat.
func (doc *document) locate(path []int, field string) *Fault {
	p := doc.root.find(path, field)
	if p.faulty {
		return nil
	}
	return &Fault{File: doc.file, Line: p.at.line, Column: p.at.column}
}

// place records where a rule or field stands in a file.
type place struct {
	name string // of the field; empty for an element of a list
	at   mark
	// from is the alias or merge key that the rule has this part through. Within the
	// rule, it is the place of everything in the part.
	from   *mark
	faulty bool     // a fault was reported for this field
	inner  []*place // fields of a map or elements of a list
}

// field adds the place of a field of a map.
func (p *place) field(f pair) *place {
	c := &place{name: f.name, from: cmp.Or(p.from, f.from)}
	switch {
	case c.from != nil:
		c.at = *c.from
	case target(f.value).Kind == yaml.ScalarNode:
		c.at, c.from = markOf(f.value), aliasMark(f.value)
	default:
		c.at, c.from = markOf(f.key), aliasMark(f.value)
	}
	p.inner = append(p.inner, c)
	return c
}

// element adds the place of an element of a list.
func (p *place) element(n *yaml.Node) *place {
	c := &place{at: markOf(n), from: aliasMark(n)}
	p.inner = append(p.inner, c)
	return c
}

// find returns the place of a field, or of the innermost existing part that it would
// belong to. Path and field are those of ratelimit.Fault.
func (p *place) find(path []int, field string) *place {
	for _, i := range path {
		p = p.get("descriptors").inner[i]
	}
	for part := range strings.SplitSeq(field, ".") {
		name, index, _ := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		next := p.get(name)
		if next == nil {
			break
		}
		p = next
		if i, err := strconv.Atoi(index); err == nil {
			p = p.inner[i]
		}
	}
	return p
}

func (p *place) get(name string) *place {
	for _, f := range p.inner {
		if f.name == name {
			return f
		}
	}
	return nil
}

// mark is a position in a file. The zero mark stands for the file as a whole.
type mark struct{ line, column int }

func markOf(n *yaml.Node) mark { return mark{max(n.Line, 1), max(n.Column, 1)} }

// aliasMark returns the position of an alias, nil for any other node.
func aliasMark(n *yaml.Node) *mark {
	if n.Kind != yaml.AliasNode {
		return nil
	}
	m := markOf(n)
	return &m
}
