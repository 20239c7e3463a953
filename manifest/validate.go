package manifest

import (
	"fmt"
	"slices"
	"strings"
)

// Validate reports everything that is wrong with a document: with its syntax, as
// [Parse] does, and by the rules of the profile. It reports each fault once, and
// nothing is reported that only follows from another fault.
func Validate(data []byte, opts *Options) *Report {
	return parse(data, opts).Validate(opts)
}

// Validate is the function [Validate] for a document that has been read. Problems
// of the syntax are part of the report. Only Profile, BundleLabels and MaxProblems
// of the options matter here.
func (d *Document) Validate(opts *Options) *Report {
	full := opts.defaults()
	found := d.found.withRoom(full.MaxProblems)
	if d.root != nil {
		v := validator{found: found, traits: full.Profile.traits(), opts: &full}
		v.server(d.root)
	}
	return found.report(d.text)
}

// withRoom returns a copy for max problems: one that more can be added to.
func (f *findings) withRoom(limit int) *findings {
	c := *f
	c.max = limit
	c.errors, c.warnings = slices.Clone(f.errors), slices.Clone(f.warnings)
	return &c
}

// validator walks a tree of values along the shapes.
type validator struct {
	traits
	opts  *Options
	trail trail
	found *findings
}

// check looks at one value and reports what is wrong with it.
type check func(v *validator, n *Node)

// field is a known key of an object.
type field struct {
	name     string
	required bool
	check    check
}

// shape is an object with known keys; all others are free.
type shape []field

func (s shape) find(key string) int {
	for i := range s {
		if s[i].name == key {
			return i
		}
	}
	return -1
}

// report adds a problem with a value, at the place of the trail. What the message
// shows of the value is bounded by the caller. It returns nil for a problem that
// will not be listed.
func (v *validator) report(s Severity, rule Rule, n *Node, format string, args ...any) *Problem {
	if !v.found.room(s) {
		return nil
	}
	return v.found.add(Problem{
		Rule: rule, Severity: s, Pointer: v.trail.pointer(), Offset: n.Start, End: n.End,
		Message: fmt.Sprintf(format, args...),
	})
}

func (v *validator) fault(rule Rule, n *Node, format string, args ...any) *Problem {
	return v.report(Error, rule, n, format, args...)
}

func (v *validator) warn(rule Rule, n *Node, format string, args ...any) *Problem {
	return v.report(Warning, rule, n, format, args...)
}

// suggest completes a problem. It is fine with a nil one.
func (p *Problem) suggest(format string, args ...any) *Problem {
	if p != nil {
		p.Suggestion = fmt.Sprintf(format, args...)
	}
	return p
}

func (p *Problem) fix(offset, end int, text string) {
	if p != nil {
		p.Fix = &Edit{Offset: offset, End: end, Text: text}
	}
}

// is reports a value of another kind.
func (v *validator) is(n *Node, kind Kind) bool {
	if n.Kind == kind {
		return true
	}
	p := v.fault(RuleType, n, "%s must be %s and is %s", v.trail.subject(), kind, n.Kind)
	switch {
	case n.Kind == KindNull:
		p.suggest("write %s, or leave the key out if it is not required", kind)
	case kind == KindString && (n.Kind == KindNumber || n.Kind == KindBoolean):
		p.suggest("write it in double quotes")
	case kind == KindBoolean && n.Kind == KindString:
		p.suggest("write true or false, without quotes")
	case kind == KindArray:
		p.suggest("put it into square brackets")
	}
	return false
}

// subject names the value at the end of the trail for the beginning of a sentence.
func (t trail) subject() string {
	if len(t) == 0 {
		return "a manifest"
	}
	return t.inWords()
}

// object checks the known keys of an object.
func (v *validator) object(n *Node, s shape) bool {
	if !v.is(n, KindObject) {
		return false
	}
	var seen uint32 // a bit per field; no shape has 32
	var slips []*Member
	for i := range n.Members {
		m := &n.Members[i]
		if m.Shadowed {
			continue
		}
		at := s.find(m.Key)
		if at < 0 {
			if s.like(m.Key) >= 0 {
				slips = append(slips, m)
			}
			continue
		}
		seen |= 1 << at
		v.member(m, s[at].check)
	}
	v.missing(n, s, seen, slips)
	return true
}

// member checks the value of a key.
func (v *validator) member(m *Member, c check) {
	v.trail.key(m.Key)
	c(v, &m.Value)
	v.trail.pop()
}

// like finds the field that a key was meant to be: one that differs in case, or
// is written with underscores as in the first schemas.
func (s shape) like(key string) int {
	if len(key) > maxKey {
		return -1
	}
	plain := strings.ReplaceAll(key, "_", "")
	for i := range s {
		if strings.EqualFold(plain, s[i].name) || strings.EqualFold(key, s[i].name) {
			return i
		}
	}
	return -1
}

// maxKey is far longer than any known key.
const maxKey = 64

// missing reports the required keys that an object has not, and the keys that are
// nearly known ones. Both at once is one fault.
func (v *validator) missing(n *Node, s shape, seen uint32, slips []*Member) {
	if len(v.trail) == 0 && n.Get("server") != nil && n.Get("name") == nil {
		v.fault(RuleRequired, n, "this is no manifest: it lacks the required key %q", "name").
			suggest(`it looks like a registry's answer: the manifest is what it holds under "server"`)
		return
	}
	for i := range s {
		if !s[i].required || seen&(1<<i) != 0 {
			continue
		}
		p := v.fault(RuleRequired, n, "%s lacks the required key %q", v.trail.subject(), s[i].name)
		at := slices.IndexFunc(slips, func(m *Member) bool { return s.like(m.Key) == i })
		if at < 0 {
			p.hintMissing(s[i].name)
			continue
		}
		m := slips[at]
		p.suggest("rename the key %s to %q", show(m.Key), s[i].name).fix(m.KeyStart, m.KeyEnd, `"`+s[i].name+`"`)
		slips = slices.Delete(slips, at, at+1)
	}
	for _, m := range slips {
		v.slip(m, s[s.like(m.Key)].name, s, seen)
	}
}

// slip warns of a key that has no effect because of its spelling.
func (v *validator) slip(m *Member, known string, s shape, seen uint32) {
	v.trail.key(m.Key)
	defer v.trail.pop()
	key := Node{Start: m.KeyStart, End: m.KeyEnd}
	p := v.warn(RuleKeyCase, &key, "the key %s is not the known key %q and has no effect", show(m.Key), known)
	if seen&(1<<s.find(known)) != 0 {
		p.suggest("%q is there as well: remove this one", known)
		return
	}
	p.suggest("did you mean %q?", known).fix(m.KeyStart, m.KeyEnd, `"`+known+`"`)
}

// hintMissing says what a missing key would be.
func (p *Problem) hintMissing(name string) {
	switch name {
	case "transport":
		p.suggest(`for a program that is talked to over its standard streams, add "transport": {"type": "stdio"}`)
	case "registryType":
		p.suggest("such as npm, pypi, oci, nuget, cargo or mcpb")
	default:
		p.suggest("add it")
	}
}

// listOf is a check of an array and its elements.
func listOf(c check) check {
	return func(v *validator, n *Node) {
		if !v.is(n, KindArray) {
			return
		}
		for i := range n.Elements {
			v.trail.index(i)
			c(v, &n.Elements[i])
			v.trail.pop()
		}
	}
}

// mapOf is a check of an object whose keys are free and whose values are alike.
func mapOf(c check) check {
	return func(v *validator, n *Node) {
		if !v.is(n, KindObject) {
			return
		}
		for i := range n.Members {
			if m := &n.Members[i]; !m.Shadowed {
				v.member(m, c)
			}
		}
	}
}

func anyString(v *validator, n *Node) { v.is(n, KindString) }

func anyBoolean(v *validator, n *Node) { v.is(n, KindBoolean) }

func anyObject(v *validator, n *Node) { v.is(n, KindObject) }
