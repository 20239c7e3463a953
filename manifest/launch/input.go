package launch

import (
	"fmt"
	"math/big"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/manifest"
)

// target receives the values of an input.
type target struct {
	in        *manifest.Input
	variables []manifest.Variable
	name      string
	pointer   string // within the package or remote
	// fault returns why the target cannot have a value, or "". nil accepts all values.
	fault func(value string) string
}

// subject begins a message about the value.
func (t target) subject() string {
	if t.name == "" {
		return "the value"
	}
	return "the value of " + jsonpos.Quote(t.name)
}

// text is a value of an input.
type text struct {
	string
	secret bool
	given  bool // it begins with what a user provided
	fixed  bool // it is the value of the manifest
	// filled are the values of tokens in a template that has other text too.
	filled []filling
	frame  string // the text of that template around its tokens
}

// filling is the value of a token.
type filling struct {
	name, value string
	given       bool
}

func (t text) value() Value { return newValue(t.string, t.secret) }

// lookupIn returns a lookup function for substitute.
func lookupIn(m map[string]text) func(name string) (text, bool) {
	return func(name string) (text, bool) { t, ok := m[name]; return t, ok }
}

// input returns the values of an input: several only if it is repeated, none if it has no
// value or after a fault.
func (r *resolver) input(to target) []text {
	if to.in.Value != nil {
		if t, ok := r.fixedValue(to); ok && r.accepts(to, t) {
			return []text{t}
		}
		return nil
	}
	return slices.DeleteFunc(r.provided(to.in, to.name, to.pointer), func(t text) bool { return !r.accepts(to, t) })
}

// fixedValue substitutes the tokens of a fixed value.
func (r *resolver) fixedValue(to target) (text, bool) {
	in, before := to.in, len(r.faults)
	if r.opts.OmitUnfilled && in.IsRequired != nil && !*in.IsRequired && r.lacksVariable(to) {
		return text{}, false
	}
	variables := r.variables(to.pointer, *in.Value, to.variables, to.fault)
	t, open, ok := substitute(*in.Value, lookupIn(variables))
	switch {
	case len(r.faults) > before:
		return text{}, false
	case !ok:
		r.manifestFault(to.pointer+"/value", "", "%s is longer than %d bytes after substitution", to.subject(), maxText)
		return text{}, false
	case len(open) > 0 && r.opts.OmitUnfilled && !isTrue(in.IsRequired) && declaresAny(to.variables, open):
		return text{}, false
	case len(open) > 0:
		r.notice(SeverityWarning, to.pointer+"/value", "%s contains %s, which has no value", to.subject(), jsonpos.Quote("{"+open[0]+"}"))
	default:
		if why := normalize(in, &t.string); why != "" {
			r.manifestFault(to.pointer+"/value", "", "%s %s after substitution", to.subject(), why)
			return text{}, false
		}
	}
	t.secret, t.fixed = t.secret || isTrue(in.IsSecret), true
	return t, true
}

// lacksVariable reports whether a required variable of a fixed value has no value.
func (r *resolver) lacksVariable(to target) bool {
	used := variableSet(*to.in.Value)
	return slices.ContainsFunc(to.variables, func(v manifest.Variable) bool {
		in := &v.Input
		return used[v.Name] && in.Value == nil && in.Default == nil && isTrue(in.IsRequired) && r.given[variablePointer(to.pointer, v.Name)] == nil
	})
}

// declaresAny reports whether one of the names is among the variables.
func declaresAny(variables []manifest.Variable, names []string) bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return slices.ContainsFunc(variables, func(v manifest.Variable) bool { return set[v.Name] })
}

// variables returns the values of the variables that a template uses, without those that
// have none. A variable's fixed value is not substituted.
func (r *resolver) variables(pointer, template string, variables []manifest.Variable, fault func(string) string) map[string]text {
	used := variableSet(template)
	values := make(map[string]text)
	for i := range variables {
		v := &variables[i]
		if !used[v.Name] {
			continue
		}
		if v.Input.Value != nil {
			values[v.Name] = text{string: *v.Input.Value, secret: isTrue(v.Input.IsSecret)}
			addName(r.inner, v.Name, values[v.Name])
			continue
		}
		to := target{name: v.Name, pointer: variablePointer(pointer, v.Name), fault: fault}
		if all := r.provided(&v.Input, to.name, to.pointer); len(all) > 0 && r.accepts(to, all[0]) {
			values[v.Name] = all[0]
			addName(r.inner, v.Name, all[0])
		}
	}
	return values
}

// provided returns the values of an input without a fixed one: what the user provided, else
// the default. It reports missing values and those that the input cannot have.
func (r *resolver) provided(in *manifest.Input, name, pointer string) []text {
	p := r.prompts[pointer]
	given := r.given[pointer]
	if len(given) > 1 && !p.Repeated {
		r.fault(Fault{Kind: FaultValue, Key: p.Key, Pointer: pointer, Message: fmt.Sprintf("%s takes one value, not %d", jsonpos.Quote(name), len(given))})
		return nil
	}
	if p.Required {
		given = slices.DeleteFunc(slices.Clone(given), func(s string) bool { return s == "" })
	}
	var all []text
	for _, s := range given {
		if why := normalize(in, &s); why != "" {
			r.fault(Fault{Kind: FaultValue, Key: p.Key, Pointer: pointer, Message: jsonpos.Quote(name) + " " + why, Suggestion: allowed(in)})
			continue
		}
		all = append(all, r.atPath(in, name, pointer, text{string: s, secret: p.Secret, given: true}))
	}
	switch {
	case len(given) > 0:
	case in.Default != nil:
		s := *in.Default
		why := normalize(in, &s)
		if why == notChosen {
			r.notice(SeverityWarning, pointer+"/default", "the default of %s %s, and is used", jsonpos.Quote(name), why)
		} else if why != "" {
			message := fmt.Sprintf("the default of %s %s", jsonpos.Quote(name), why)
			r.fault(Fault{Kind: FaultManifest, Key: p.Key, Pointer: pointer + "/default", Message: message, Suggestion: allowed(in)})
			return nil
		}
		return []text{r.atPath(in, name, pointer, text{string: s, secret: p.Secret})}
	case p.Required:
		f := Fault{Kind: FaultMissing, Key: p.Key, Pointer: p.Pointer, Message: jsonpos.Quote(p.Key) + " is required and has no value"}
		if p.Description != "" {
			f.Suggestion = "description: " + jsonpos.Quote(p.Description)
		}
		r.fault(f)
	}
	return all
}

// atPath makes a path absolute if Options.Dir is set, and lists it in the plan. Other
// values stay unchanged.
func (r *resolver) atPath(in *manifest.Input, name, pointer string, t text) text {
	if orElse(in.Format, "") != "filepath" || t.string == "" {
		return t
	}
	if r.opts.Dir != "" && !filepath.IsAbs(t.string) {
		t.string, t.given = filepath.Join(r.opts.Dir, t.string), false
	}
	r.paths = append(r.paths, Setting{Name: name, Value: t.value(), Origin: r.opts.Pointer + pointer})
	return t
}

// normalize returns why an input cannot have a value, or "". It writes booleans and
// numbers in the form of the specification. A choice may be written in another form, such
// as True.
func normalize(in *manifest.Input, value *string) string {
	chosen := slices.Contains(in.Choices, *value)
	switch orElse(in.Format, "") {
	case "boolean":
		lower := strings.ToLower(*value)
		if lower != "true" && lower != "false" {
			return "is neither true nor false"
		}
		*value = lower
	case "number":
		decimal, ok := decimal(*value)
		if !ok {
			return "is not a decimal number"
		}
		*value = decimal
	}
	if len(in.Choices) > 0 && !chosen && !slices.Contains(in.Choices, *value) {
		return notChosen
	}
	return ""
}

const notChosen = "is not one of the choices"

// allowed suggests a value. It does not show the choices of a secret.
func allowed(in *manifest.Input) string {
	if n := len(in.Choices); n > 0 && n <= 20 && !isTrue(in.IsSecret) {
		quoted := make([]string, n)
		for i, c := range in.Choices {
			quoted[i] = jsonpos.Quote(c)
		}
		return "use " + grammar.Alternatives(quoted)
	}
	switch orElse(in.Format, "") {
	case "boolean":
		return "use true or false"
	case "number":
		return "write digits, such as 8080 or 0.5"
	}
	return ""
}

// accepts checks a value against its target and the limits, and reports a fault.
func (r *resolver) accepts(to target, t text) bool {
	why := ""
	switch {
	case strings.IndexByte(t.string, 0) >= 0:
		why = "has a NUL character"
	case len(t.string) > maxText:
		why = fmt.Sprintf("is longer than %d bytes", maxText)
	case to.fault != nil:
		why = to.fault(t.string)
	}
	if r.left -= len(t.string); r.left < 0 && why == "" {
		why = fmt.Sprintf("exceeds the limit of %d bytes for all values together", maxTexts)
	}
	if why == "" {
		return true
	}
	f := Fault{Kind: FaultManifest, Pointer: to.pointer, Message: to.subject() + " " + why}
	if p := r.prompts[to.pointer]; p != nil && t.given {
		f.Kind, f.Key = FaultValue, p.Key
	}
	r.fault(f)
	return false
}

// substitute replaces the tokens of a template once: values are not scanned again. open are
// the names without a value, whose tokens stay. It returns false if the result is too long.
func substitute(template string, lookup func(name string) (text, bool)) (result text, open []string, ok bool) {
	var b, frame strings.Builder
	for rest := template; ; {
		before, name, after := grammar.CutVariable(rest)
		b.WriteString(before)
		frame.WriteString(before)
		if name == "" {
			result.string, result.frame = b.String(), frame.String()
			if result.frame == "" && len(result.filled) == 1 {
				result.filled = nil
			}
			return result, open, b.Len() <= maxText
		}
		value, known := lookup(name)
		if !known {
			open = append(open, name)
			value = text{string: "{" + name + "}"}
		} else {
			result.filled = append(result.filled, filling{name, value.string, value.given})
		}
		if b.Len() == 0 && value.string != "" {
			result.given = value.given
		}
		result.secret = result.secret || value.secret
		if b.WriteString(value.string); b.Len() > maxText {
			return text{}, nil, false
		}
		rest = after
	}
}

// maxExponent bounds the zeros that an exponent stands for.
const maxExponent = 400

// decimal writes a JSON number exactly and without an exponent.
func decimal(s string) (string, bool) {
	if len(s) > maxText || !grammar.IsNumber(s) {
		return "", false
	}
	mantissa, exponent, found := strings.Cut(strings.ToLower(s), "e")
	if !found {
		return s, true
	}
	shift, err := strconv.Atoi(exponent)
	if err != nil || shift > maxExponent || shift < -maxExponent {
		return "", false
	}
	n, ok := new(big.Rat).SetString(s)
	if !ok {
		return "", false
	}
	_, fraction, _ := strings.Cut(mantissa, ".")
	digits := n.FloatString(max(0, len(fraction)-shift))
	if strings.Contains(digits, ".") {
		digits = strings.TrimSuffix(strings.TrimRight(digits, "0"), ".")
	}
	return digits, true
}
