package manifest

import (
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/manifest/internal/grammar"
)

// Validate reports all faults of a document: those of the syntax, as [Parse] does, and
// those against the rules of the profile. Each fault is reported once, without the faults
// that only follow from it.
func Validate(data []byte, opts *Options) *Report {
	return parse(data, opts).Validate(opts)
}

// Validate does what the function [Validate] does. It includes the problems that [Parse]
// returned and uses only Profile, BundleLabels and MaxProblems of the options.
func (d *Document) Validate(opts *Options) *Report {
	full := opts.withDefaults()
	found := d.found.withMax(full.MaxProblems)
	if root := d.json.Root; root != nil {
		v := validator{walker: walker{found: found}, traits: full.Profile.traits(), bundleLabels: full.BundleLabels}
		v.object(root, serverShape)
		if v.registry && root.Kind == KindObject && root.Get("$schema") == nil {
			v.fault(RuleSchemaRequired, root, `missing key "$schema"`).suggest(`add "$schema": %q`, CurrentSchema)
		}
	}
	return found.report(d.json.Text)
}

// validator walks a tree of values along the shapes.
type validator struct {
	walker
	traits
	bundleLabels []string
}

// check reports what is wrong with one value.
type check func(v *validator, n *Node)

// shape lists the known keys of an object. Other keys are allowed.
type shape []field

type field struct {
	name     string
	required bool
	check    check
}

func (s shape) find(key string) int {
	return slices.IndexFunc(s, func(f field) bool { return f.name == key })
}

// findMisspelled returns the field whose name differs from key in case, or in the
// underscores of the first schemas.
func (s shape) findMisspelled(key string) int {
	if len(key) > grammar.MaxKey {
		return -1
	}
	plain := strings.ReplaceAll(key, "_", "")
	return slices.IndexFunc(s, func(f field) bool { return strings.EqualFold(plain, f.name) || strings.EqualFold(key, f.name) })
}

func (v *validator) report(s Severity, rule Rule, n *Node, format string, args ...any) *Problem {
	return v.found.add(s, rule, v.path, n, format, args...)
}

func (v *validator) fault(rule Rule, n *Node, format string, args ...any) *Problem {
	return v.report(Error, rule, n, format, args...)
}

func (v *validator) warn(rule Rule, n *Node, format string, args ...any) *Problem {
	return v.report(Warning, rule, n, format, args...)
}

// at calls visit with the path to a member or below it.
func (v *validator) at(key string, visit func()) {
	v.path.Key(key)
	visit()
	v.path.Pop()
}

// object checks the known keys of an object. It returns false for other values.
func (v *validator) object(n *Node, s shape) bool {
	if !v.mustBe(n, KindObject) {
		return false
	}
	var seen uint32 // a bit for each field; no shape has 32
	var misspelled []*Member
	for i := range n.Members {
		m := &n.Members[i]
		if m.Shadowed {
			continue
		}
		if at := s.find(m.Key); at >= 0 {
			seen |= 1 << at
			v.member(m, s[at].check)
		} else if s.findMisspelled(m.Key) >= 0 {
			misspelled = append(misspelled, m)
		}
	}
	v.missing(n, s, seen, misspelled)
	return true
}

func (v *validator) member(m *Member, c check) {
	v.path.Key(m.Key)
	c(v, &m.Value)
	v.path.Pop()
}

// missing reports the required keys that an object lacks and the misspelled keys. A
// required key that is misspelled is one fault.
func (v *validator) missing(n *Node, s shape, seen uint32, misspelled []*Member) {
	if len(v.path) == 0 && n.Get("server") != nil && n.Get("name") == nil {
		v.fault(RuleRequired, n, "not a manifest: missing required key %q", "name").
			suggest(`this looks like a response of a registry: the manifest is the value of "server"`)
		return
	}
	for i := range s {
		if !s[i].required || seen&(1<<i) != 0 {
			continue
		}
		p := v.fault(RuleRequired, n, "missing required key %q in %s", s[i].name, v.subject())
		at := slices.IndexFunc(misspelled, func(m *Member) bool { return s.findMisspelled(m.Key) == i })
		if at >= 0 {
			m := misspelled[at]
			p.suggest("rename the key %s to %q", jsonpos.Quote(m.Key), s[i].name).fix(m.KeyStart, m.KeyEnd, `"`+s[i].name+`"`)
			misspelled = slices.Delete(misspelled, at, at+1)
			continue
		}
		switch s[i].name {
		case "transport":
			p.suggest(`for a server on standard input and output, add "transport": {"type": "stdio"}`)
		case "registryType":
			p.suggest("add it, such as npm, pypi, oci, nuget, cargo or mcpb")
		default:
			p.suggest("add it")
		}
	}
	for _, m := range misspelled {
		known := s[s.findMisspelled(m.Key)].name
		v.at(m.Key, func() {
			p := v.warn(RuleKeyCase, keyNode(m), "unknown key %s has no effect", jsonpos.Quote(m.Key))
			if seen&(1<<s.find(known)) != 0 {
				p.suggest("remove it: %q is present too", known)
			} else {
				p.suggest("did you mean %q?", known).fix(m.KeyStart, m.KeyEnd, `"`+known+`"`)
			}
		})
	}
}

// keyNode returns the position of a member's key.
func keyNode(m *Member) *Node { return &Node{Start: m.KeyStart, End: m.KeyEnd} }

// unionType returns the type that distinguishes the members of a union, or "" after
// reporting that it is missing or not allowed.
func (v *validator) unionType(n *Node, allowed ...string) string {
	t := n.Get("type")
	if t == nil {
		s := shape{{"type", true, nil}}
		var misspelled []*Member
		for i := range n.Members {
			if m := &n.Members[i]; !m.Shadowed && s.findMisspelled(m.Key) >= 0 {
				misspelled = append(misspelled, m)
			}
		}
		v.missing(n, s, 0, misspelled)
		return ""
	}
	text := ""
	v.at("type", func() {
		if v.mustBe(t, KindString) && v.mustBeOneOf(t, allowed) {
			text = t.Text
		}
	})
	return text
}

// listOf checks an array and its elements.
func listOf(c check) check {
	return func(v *validator, n *Node) {
		if !v.mustBe(n, KindArray) {
			return
		}
		for i := range n.Elements {
			v.path.Index(i)
			c(v, &n.Elements[i])
			v.path.Pop()
		}
	}
}

// mapOf checks an object with free keys and values of one shape.
func mapOf(c check) check {
	return func(v *validator, n *Node) {
		if !v.mustBe(n, KindObject) {
			return
		}
		for i := range n.Members {
			if m := &n.Members[i]; !m.Shadowed {
				v.member(m, c)
			}
		}
	}
}

func anyString(v *validator, n *Node) { v.mustBe(n, KindString) }

func anyBoolean(v *validator, n *Node) { v.mustBe(n, KindBoolean) }

func anyObject(v *validator, n *Node) { v.mustBe(n, KindObject) }

// oneOf checks a string with a few allowed values.
func oneOf(allowed ...string) check {
	return func(v *validator, n *Node) {
		if v.mustBe(n, KindString) {
			v.mustBeOneOf(n, allowed)
		}
	}
}

func (v *validator) mustBeOneOf(n *Node, allowed []string) bool {
	if slices.Contains(allowed, n.Text) {
		return true
	}
	p := v.fault(RuleChoice, n, "%s is %s, which is not allowed", v.subject(), jsonpos.Quote(n.Text))
	if meant := grammar.Closest(n.Text, allowed); meant != "" {
		p.suggest("did you mean %q?", meant).fix(n.Start, n.End, `"`+meant+`"`)
	} else {
		p.suggest("use %s", grammar.Alternatives(allowed))
	}
	return false
}
