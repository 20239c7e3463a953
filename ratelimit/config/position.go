package config

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/yamltree"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// document is one decoded file.
type document struct {
	file             string
	faults, warnings []*Fault
	domain           ratelimit.Domain
	root             *value // that domain was decoded from; nil until a warning or a fault needs the position of a field
	ok               bool   // domain is worth compiling
	sum              [sha256.Size]byte
}

func (doc *document) fault(at yamltree.Pos, format string, args ...any) {
	doc.report(&doc.faults, at, fmt.Sprintf(format, args...))
}

func (doc *document) warn(at yamltree.Pos, format string, args ...any) {
	doc.report(&doc.warnings, at, fmt.Sprintf(format, args...))
}

func (doc *document) report(to *[]*Fault, at yamltree.Pos, reason string) {
	f := &Fault{File: doc.file, Line: at.Line, Column: at.Column, Reason: oneLine(reason)}
	if len(*to) == maxFaults {
		f = &Fault{File: doc.file, Reason: fmt.Sprintf("more than %d problems: the rest is omitted", maxFaults)}
	}
	if len(*to) <= maxFaults {
		*to = append(*to, f)
	}
}

// value is a value of the file: a field of a map or an element of a list.
type value struct {
	pair              // without name and key in a list
	at   yamltree.Pos // of what is written for it
	// from is the alias or merge key that the rule has this part through. Within the
	// rule, it is the position of everything in the part.
	from   *yamltree.Pos
	faulty bool     // a fault was reported for this field
	inner  []*value // the fields and elements that were decoded
}

// field adds a field of a map.
func (p *value) field(f pair) *value {
	c := &value{pair: f, from: cmp.Or(p.from, f.from)}
	switch {
	case c.from != nil:
		c.at = *c.from
	case f.value.Kind < yamltree.List:
		c.at, c.from = f.value.Pos, aliasPos(f.value)
	default:
		c.at, c.from = f.key.Pos, aliasPos(f.value)
	}
	p.inner = append(p.inner, c)
	return c
}

// element adds an element of a list.
func (p *value) element(n *yamltree.Node) *value {
	c := &value{pair: pair{value: n}, at: n.Pos, from: aliasPos(n)}
	p.inner = append(p.inner, c)
	return c
}

// find returns a field, or of the innermost existing part that it would
// belong to. Path and field are those of ratelimit.Fault.
func (p *value) find(path []int, field string) *value {
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
		if i, err := strconv.Atoi(index); err == nil && i < len(p.inner) {
			p = p.inner[i]
		}
	}
	return p
}

func (p *value) get(name string) *value {
	for _, f := range p.inner {
		if f.name == name {
			return f
		}
	}
	return nil
}

// has reports whether a field has a value, valid or not.
func (p *value) has(name string) bool {
	f := p.get(name)
	return f != nil && f.value.Kind != yamltree.Null
}

// aliasPos returns the position of an alias, nil for any other value.
func aliasPos(n *yamltree.Node) *yamltree.Pos {
	if !n.Alias {
		return nil
	}
	return &n.Pos
}
