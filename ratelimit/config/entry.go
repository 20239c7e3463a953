package config

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// document is what became of one file.
type document struct {
	report
	domain ratelimit.Domain
	root   *entry // where the parts of domain stand
	ok     bool   // there is a domain for Compile to judge
}

// entry is where one rule, or the document itself, stands in a file.
type entry struct {
	at     mark
	fields []field
	rules  []*entry // as in Rule.Rules
}

// field is where one field of an entry stands.
type field struct {
	name string // as in ratelimit.Fault.Field
	at   mark
	bad  bool // it has a fault already, so what Compile says of it is an echo
}

// find returns the place of a field, or if it is missing that of what it would
// be in: "rate_limit.unit" leads to "rate_limit" and then to the entry.
func (e *entry) find(name string) (at mark, bad bool) {
	for name != "" {
		for _, f := range e.fields {
			if f.name == name {
				return f.at, f.bad
			}
		}
		name = name[:max(strings.LastIndexAny(name, ".["), 0)]
	}
	return e.at, false
}

// down follows a path of rules.
func (e *entry) down(path []int) *entry {
	for _, i := range path {
		e = e.rules[i]
	}
	return e
}

// scope is the map whose fields are being read.
type scope struct {
	entry  *entry
	prefix string // of the names of its fields
	// from is the alias that led here, the place for whatever is in this map as far
	// as the entry is concerned; nil if it was written out.
	from *mark
}

// note records the place of the field of p: that of the key or of the value.
func (s scope) note(p pair, at mark) {
	switch {
	case s.from != nil:
		at = *s.from
	case p.from != nil:
		at = *p.from
	}
	s.entry.fields = append(s.entry.fields, field{name: s.prefix + p.name, at: at})
}

// spoil marks a noted field as having a fault.
func (s scope) spoil(name string) {
	for i := range s.entry.fields {
		if s.entry.fields[i].name == s.prefix+name {
			s.entry.fields[i].bad = true
		}
	}
}

// aliasMark is the place of an alias, nil for any other node.
func aliasMark(at *yaml.Node) *mark {
	if at.Kind != yaml.AliasNode {
		return nil
	}
	m := markOf(at)
	return &m
}

// within is what from is for a map that is the value of p.
func (s scope) within(p pair) *mark {
	switch {
	case s.from != nil:
		return s.from
	case p.from != nil:
		return p.from
	case p.value != nil:
		return aliasMark(p.value)
	}
	return nil
}
