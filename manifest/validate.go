package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
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
	found := &findings{
		max: full.MaxProblems, errors: slices.Clone(d.found.errors), warnings: slices.Clone(d.found.warnings),
		nErrors: d.found.nErrors, nWarnings: d.found.nWarnings,
	}
	if root := d.json.Root; root != nil {
		v := d.validator(found, &full)
		if v.object(root, serverShape) && v.unknownKeys {
			v.rootKeys(root)
		}
		if v.registry && root.Kind == KindObject && root.Get("$schema") == nil {
			v.fault(ruleSchemaRequired, root, `missing key "$schema"`).suggest(`add "$schema": %q`, CurrentSchema).
				apply(v.written().prepend(root, "$schema", strconv.Quote(CurrentSchema)))
		}
	}
	return found.report(d.json.Text, &origin{opts: full, checked: true})
}

func (d *Document) validator(found *findings, opts *Options) *validator {
	return &validator{
		walker: walker{found: found, path: make(jsonpos.Path, 0, usualSteps)}, traits: opts.Profile.traits(stringOf(d.json.Root.Get("$schema"))),
		bundleLabels: opts.BundleLabels, json: d.json,
	}
}

// usualSteps is the depth of most values.
const usualSteps = 6

// validator walks a tree of values along the shapes.
type validator struct {
	walker
	traits
	bundleLabels []string
	json         *jsonpos.Document
	style        *style // nil until an edit needs it
	unknownKeys  bool   // some object has a key that its shape has not
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

// minTypo is the length of the shortest name of a key that a typing error is looked for in.
const minTypo = 3

// findMisspelled returns the field that an unknown key probably means: its name differs in
// case, in the underscores of the first schemas, or by one typing error.
func (s shape) findMisspelled(key string) int {
	if len(key) > grammar.MaxKey {
		return -1
	}
	plain := strings.ReplaceAll(key, "_", "")
	at := slices.IndexFunc(s, func(f field) bool { return strings.EqualFold(plain, f.name) || strings.EqualFold(key, f.name) })
	if at < 0 {
		at = slices.IndexFunc(s, func(f field) bool { return len(f.name) >= minTypo && grammar.IsTypo(key, f.name) })
	}
	return at
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
		if at := s.find(v.known(m.Key)); at >= 0 {
			seen |= 1 << at
			before := v.found.nErrors
			v.member(m, s[at].check)
			if !s[at].required && v.found.nErrors == before+1 && isBlank(&m.Value) {
				v.found.fixLast("leave the key out", v.removal(n, i))
			}
		} else if v.unknownKeys = true; s.findMisspelled(m.Key) >= 0 {
			misspelled = append(misspelled, m)
		}
	}
	v.missing(n, s, seen, misspelled)
	return true
}

// isBlank reports whether a value says nothing: null, "", or an object of such values.
func isBlank(n *Node) bool {
	switch n.Kind {
	case KindNull:
		return true
	case KindString:
		return strings.TrimSpace(n.Text) == ""
	case KindObject:
		return !slices.ContainsFunc(n.Members, func(m Member) bool { return m.Value.Kind == KindObject || !isBlank(&m.Value) })
	}
	return false
}

// removal returns the edit that removes a member with its comma. If others follow, the
// white space after the member goes too, else that before it. The edit of an only member
// covers the object, so that no other edit in it is applied with it.
func (v *validator) removal(n *Node, i int) *Edit {
	switch last := len(n.Members) - 1; {
	case i < last:
		return &Edit{Offset: n.Members[i].KeyStart, End: n.Members[i+1].KeyStart}
	case i > 0:
		return &Edit{Offset: n.Members[i-1].Value.End, End: n.Members[i].Value.End}
	}
	return &Edit{Offset: n.Start, End: n.End, Text: "{}"}
}

// written returns how the document is written.
func (v *validator) written() *style {
	if v.style == nil {
		v.style = newStyle(v.json)
	}
	return v.style
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
		v.fault(ruleRequired, n, "not a manifest: missing required key %q", "name").
			suggest(`this looks like a response of a registry: the manifest is the value of "server"`)
		return
	}
	for i := range s {
		if !s[i].required || seen&(1<<i) != 0 {
			continue
		}
		name := v.present(s[i].name)
		p := v.fault(ruleRequired, n, "missing required key %q in %s", name, v.subject())
		at := slices.IndexFunc(misspelled, func(m *Member) bool { return s.findMisspelled(m.Key) == i })
		if at >= 0 {
			m := misspelled[at]
			p.suggest("rename the key %s to %q", jsonpos.Quote(m.Key), name).fix(m.KeyStart, m.KeyEnd, `"`+name+`"`)
			misspelled = slices.Delete(misspelled, at, at+1)
			continue
		}
		switch s[i].name {
		case "transport":
			p.suggest(`for a server on standard input and output, add "transport": {"type": "stdio"}`).
				apply(v.written().addMember(n, "transport", `{"type":"stdio"}`))
		case "registryType":
			p.suggest("add it, such as npm, pypi, oci, nuget, cargo or mcpb")
		default:
			p.suggest("add it")
		}
	}
	for _, m := range misspelled {
		known := s[s.findMisspelled(m.Key)].name
		if len(known) <= minTypo+1 && !strings.EqualFold(known, strings.ReplaceAll(m.Key, "_", "")) {
			continue // short words are alike by chance
		}
		v.at(m.Key, func() {
			p := v.warn(ruleKeyCase, keyNode(m), "unknown key %s has no effect", jsonpos.Quote(m.Key))
			if seen&(1<<s.find(known)) != 0 {
				p.suggest("remove it: %q is present too", known)
			} else if p.suggest("did you mean %q?", known); v.accepts(&s[s.findMisspelled(m.Key)], m) {
				p.fix(m.KeyStart, m.KeyEnd, `"`+known+`"`)
			}
		})
	}
}

// accepts reports whether a member can have the key of a field. One with a typing error can
// only if its value is valid there, because it may be a key of its own.
func (v *validator) accepts(f *field, m *Member) bool {
	if !grammar.IsTypo(m.Key, f.name) || strings.EqualFold(m.Key, f.name) {
		return true
	}
	trial := *v
	trial.found = &findings{}
	f.check(&trial, &m.Value)
	return trial.found.nErrors == 0
}

// keyNode returns the position of a member's key.
func keyNode(m *Member) *Node { return &Node{Start: m.KeyStart, End: m.KeyEnd} }

// unionType returns the type that distinguishes the members of a union, or "" after
// reporting that it is missing or not allowed. The fix writes the type that the other keys
// tell, if guess is not "".
func (v *validator) unionType(n *Node, guess string, allowed ...string) string {
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
		if guess != "" {
			v.found.fixLast(fmt.Sprintf("add \"type\": %q", guess), v.written().prepend(n, "type", strconv.Quote(guess)))
		}
		return ""
	}
	text := ""
	v.at("type", func() {
		if v.mustBe(t, KindString) && v.mustBeOneOf(t, allowed) {
			text = t.Text
		} else if guess != "" && isBlank(t) {
			v.found.fixLast(fmt.Sprintf("write %q", guess), &Edit{Offset: t.Start, End: t.End, Text: strconv.Quote(guess)})
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

// synonyms are words that other formats use for the words of this one.
var synonyms = map[string]string{
	"integer": FormatNumber, "int": FormatNumber, "float": FormatNumber, "double": FormatNumber, "decimal": FormatNumber,
	"bool": FormatBoolean, "path": FormatFilepath, "file": FormatFilepath, "directory": FormatFilepath, "folder": FormatFilepath,
	"str": FormatString, "text": FormatString, "url": FormatString, "uri": FormatString, "email": FormatString,
	"http": string(StreamableHTTP), "flag": string(NamedArgument), "option": string(NamedArgument), "image/svg": "image/svg+xml",
}

func (v *validator) mustBeOneOf(n *Node, allowed []string) bool {
	if slices.Contains(allowed, n.Text) {
		return true
	}
	p := v.fault(ruleChoice, n, "%s is %s, which is not allowed", v.subject(), jsonpos.Quote(n.Text))
	meant := grammar.Closest(n.Text, allowed)
	if s := synonyms[strings.ToLower(n.Text)]; meant == "" && slices.Contains(allowed, s) {
		meant = s
	}
	if meant != "" {
		p.suggest("did you mean %q?", meant).fix(n.Start, n.End, `"`+meant+`"`)
	} else {
		p.suggest("use %s", grammar.Alternatives(allowed))
	}
	return false
}
