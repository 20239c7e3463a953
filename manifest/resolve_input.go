package manifest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// slot is where the values of an input go.
type slot struct {
	in      *Input
	vars    []Variable
	name    string
	pointer string // within the package or remote
	// refuses says what is wrong with a text in this place, or "".
	refuses func(text string) string
}

// filled is a text for a slot.
type filled struct {
	text   string
	secret bool
	// given says that the text begins with what a user gave.
	given bool
	fixed bool // by the manifest's value
}

// value is the text as a part of a plan.
func (f filled) value() Value {
	if f.secret {
		return secretValue(f.text, masked)
	}
	return plainValue(f.text)
}

// fill returns the texts of a slot: several only if it is repeated, none if nothing
// goes there or if there was a fault.
func (r *resolver) fill(s slot) []filled {
	if s.in.Value != nil {
		return r.compose(s)
	}
	var all []filled
	for _, f := range r.answers(s.in, s.name, s.pointer) {
		if r.fits(s, f) {
			all = append(all, f)
		}
	}
	return all
}

// compose fills the tokens of a fixed value.
func (r *resolver) compose(s slot) []filled {
	before := len(r.faults)
	if r.opts.OmitUnfilled && s.in.IsRequired != nil && !*s.in.IsRequired && r.lacks(s) {
		return nil
	}
	vars := r.variables(s.pointer, *s.in.Value, s.vars, s.refuses)
	f, open, ok := substitute(*s.in.Value, func(name string) (filled, bool) { f, ok := vars[name]; return f, ok })
	switch {
	case len(r.faults) > before:
		return nil
	case !ok:
		r.unfit(s.pointer+"/value", "", "%s is longer than %d bytes when it is filled in", s.called(), maxText)
		return nil
	case len(open) > 0 && r.opts.OmitUnfilled && !is(s.in.IsRequired) && declares(s.vars, open):
		return nil
	}
	f.secret = f.secret || is(s.in.IsSecret)
	f.fixed = true
	if len(open) > 0 {
		r.notice(s.pointer+"/value", "%s has %s in it, for which there is no value", s.called(), show("{"+open[0]+"}"))
	} else if why := misfit(s.in, &f.text); why != "" {
		r.unfit(s.pointer+"/value", "", "%s %s when it is filled in", s.called(), why)
		return nil
	}
	if !r.fits(s, f) {
		return nil
	}
	return []filled{f}
}

// lacks says that a required variable of a fixed value was not given.
func (r *resolver) lacks(s slot) bool {
	used := tokens(*s.in.Value)
	return slices.ContainsFunc(s.vars, func(v Variable) bool {
		in := &v.Input
		return used[v.Name] && in.Value == nil && in.Default == nil && is(in.IsRequired) && r.given[variablePointer(s.pointer, v.Name)] == nil
	})
}

// declares says that one of the names is among the variables.
func declares(vars []Variable, names []string) bool {
	open := make(map[string]bool, len(names))
	for _, name := range names {
		open[name] = true
	}
	return slices.ContainsFunc(vars, func(v Variable) bool { return open[v.Name] })
}

// variables are the texts of those that a template uses, without those that have
// none. What a variable's value holds is not looked at again.
func (r *resolver) variables(at, template string, vars []Variable, refuses func(string) string) map[string]filled {
	used := tokens(template)
	texts := make(map[string]filled)
	for i := range vars {
		v := &vars[i]
		if !used[v.Name] {
			continue
		}
		if v.Input.Value != nil {
			texts[v.Name] = filled{text: *v.Input.Value, secret: is(v.Input.IsSecret)}
			continue
		}
		s := slot{name: v.Name, pointer: variablePointer(at, v.Name), refuses: refuses}
		if all := r.answers(&v.Input, s.name, s.pointer); len(all) > 0 && r.fits(s, all[0]) {
			texts[v.Name] = all[0]
		}
	}
	return texts
}

// answers are the texts of an input without a value: what was given, else the
// default. It reports what is missing, and what the input can't have.
func (r *resolver) answers(in *Input, name, pointer string) []filled {
	p := r.prompts[pointer]
	texts, given := r.given[pointer]
	if given && len(texts) > 1 && !p.Repeated {
		r.fault(Fault{Kind: FaultValue, Key: p.Key, Pointer: pointer, Message: fmt.Sprintf("%s has %d values and takes one", show(name), len(texts))})
		return nil
	}
	if given && p.Required {
		texts = slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return t == "" })
	}
	if len(texts) == 0 && in.Default != nil {
		return r.preset(in, name, pointer)
	}
	if len(texts) == 0 && p.Required {
		r.missing(p)
	}
	var all []filled
	for _, text := range texts {
		if why := misfit(in, &text); why != "" {
			r.fault(Fault{Kind: FaultValue, Key: p.Key, Pointer: pointer, Message: fmt.Sprintf("%s %s", show(name), why), Suggestion: allowed(in)})
			continue
		}
		all = append(all, r.filled(in, name, pointer, filled{text: text, secret: p.Secret, given: true}))
	}
	return all
}

func (r *resolver) missing(p *Prompt) {
	f := Fault{Kind: FaultMissing, Key: p.Key, Pointer: p.Pointer, Message: fmt.Sprintf("%s is required and was not given", show(p.Key))}
	if p.Description != "" {
		f.Suggestion = "it is: " + show(p.Description)
	}
	r.fault(f)
}

// preset is the default.
func (r *resolver) preset(in *Input, name, pointer string) []filled {
	text := *in.Default
	if why := misfit(in, &text); why != "" {
		r.fault(Fault{
			Kind: FaultManifest, Key: r.prompts[pointer].Key, Pointer: pointer + "/default",
			Message: fmt.Sprintf("the default of %s %s", show(name), why), Suggestion: allowed(in),
		})
		return nil
	}
	return []filled{r.filled(in, name, pointer, filled{text: text, secret: is(in.IsSecret)})}
}

// filled completes a text of an input: paths are what a plan lists.
func (r *resolver) filled(in *Input, name, pointer string, f filled) filled {
	if or(in.Format, "") == "filepath" && f.text != "" {
		if r.opts.Dir != "" && !filepath.IsAbs(f.text) {
			f.text = filepath.Join(r.opts.Dir, f.text)
			f.given = false
		}
		r.paths = append(r.paths, Setting{Name: name, Value: f.value(), Origin: r.opts.Pointer + pointer})
	}
	return f
}

// misfit says why an input can't have a text, or "". It writes booleans and numbers
// in the one way that the specification has for them; a choice may be written in
// another, as True.
func misfit(in *Input, text *string) string {
	picked := slices.Contains(in.Choices, *text)
	switch or(in.Format, "") {
	case "boolean":
		lower := strings.ToLower(*text)
		if lower != "true" && lower != "false" {
			return "is neither true nor false"
		}
		*text = lower
	case "number":
		decimal, ok := decimalOf(*text)
		if !ok {
			return "is not a decimal number"
		}
		*text = decimal
	}
	if len(in.Choices) > 0 && !picked && !slices.Contains(in.Choices, *text) {
		return "is not one of the choices"
	}
	return ""
}

// allowed suggests what would be right. The choices of a secret are not for messages.
func allowed(in *Input) string {
	if n := len(in.Choices); n > 0 && n <= 20 && !is(in.IsSecret) {
		return "use " + alternatives(quoted(in.Choices))
	}
	switch or(in.Format, "") {
	case "boolean":
		return "use true or false"
	case "number":
		return "write digits, as 8080 or 0.5"
	}
	return ""
}

func quoted(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = show(t)
	}
	return out
}

// fits checks a text against its place and against the bounds.
func (r *resolver) fits(s slot, f filled) bool {
	why := ""
	switch {
	case strings.IndexByte(f.text, 0) >= 0:
		why = "has a NUL character"
	case len(f.text) > maxText:
		why = fmt.Sprintf("is longer than %d bytes", maxText)
	case s.refuses != nil:
		why = s.refuses(f.text)
	}
	if r.left -= len(f.text); r.left < 0 && why == "" {
		why = fmt.Sprintf("makes all values together longer than %d bytes", maxTexts)
	}
	if why == "" {
		return true
	}
	kind, key := FaultManifest, ""
	if p := r.prompts[s.pointer]; p != nil && f.given {
		kind, key = FaultValue, p.Key
	}
	r.fault(Fault{Kind: kind, Key: key, Pointer: s.pointer, Message: s.called() + " " + why})
	return false
}

// called is the slot in the words of a message.
func (s slot) called() string {
	if s.name == "" {
		return "the value"
	}
	return "the value of " + show(s.name)
}
