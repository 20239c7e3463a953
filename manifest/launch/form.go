package launch

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/manifest"
)

// Role is the use of an input.
type Role string

// The roles. A variable is part of the value of another input or of a remote's url.
const (
	RoleRuntimeArgument Role = "runtimeArgument"
	RolePackageArgument Role = "packageArgument"
	RoleEnvironment     Role = "environment"
	RoleHeader          Role = "header"
	RoleVariable        Role = "variable"
)

// Prompt is one input that a user can provide, with all that a client needs to ask for
// it.
type Prompt struct {
	// Key identifies the input in [Values]: the name if no other prompt of the form has
	// it, else the pointer.
	Key string `json:"key"`
	// Name is a flag, a valueHint, or the name of an environment variable, header or
	// variable. It may be empty.
	Name string `json:"name"`
	// Pointer is the JSON pointer of the input within the package or remote.
	Pointer     string `json:"pointer"`
	Role        Role   `json:"role"`
	Description string `json:"description,omitempty"`
	// Placeholder is shown in an empty field. It is never a value.
	Placeholder string `json:"placeholder,omitempty"`
	// Format is string, number, boolean or filepath.
	Format   string `json:"format"`
	Required bool   `json:"required,omitempty"`
	Secret   bool   `json:"secret,omitempty"`
	// Repeated allows any number of values.
	Repeated bool `json:"repeated,omitempty"`
	// Default is used if there is no value; nil means none. A Secret one prints as ***.
	Default *Value `json:"default,omitempty"`
	// Choices are the only allowed values, unless there are none.
	Choices []string `json:"choices,omitempty"`
}

// Form lists the inputs of a package or a remote in the order of the document.
type Form struct {
	Prompts []Prompt `json:"prompts"`
}

// PackageForm returns what a user can provide to start a package. Inputs with a value are
// not listed, but the variables in their values are, and so are the tokens of headers that
// are not declared.
func PackageForm(p *manifest.Package) *Form {
	var f Form
	f.addArguments(RoleRuntimeArgument, "/runtimeArguments", runtimeArguments(p))
	f.addArguments(RolePackageArgument, "/packageArguments", p.PackageArguments)
	f.addPairs(RoleEnvironment, "/environmentVariables", p.EnvironmentVariables)
	f.addPairs(RoleHeader, "/transport/headers", headersWithTokens(p.Transport.Headers))
	return f.withKeys()
}

// RemoteForm returns what a user can provide to connect to a remote: the variables in its
// url, and its headers.
func RemoteForm(r *manifest.Remote) *Form {
	var f Form
	f.addVariables("", r.URL, r.Variables)
	f.addPairs(RoleHeader, "/headers", headersWithTokens(r.Headers))
	return f.withKeys()
}

func (f *Form) addArguments(role Role, pointer string, args []manifest.Argument) {
	for i := range args {
		a := &args[i]
		f.add(Prompt{Name: label(a), Pointer: indexed(pointer, i), Role: role, Repeated: isTrue(a.IsRepeated)}, &a.Input, a.Variables)
	}
}

func (f *Form) addPairs(role Role, pointer string, pairs []manifest.KeyValueInput) {
	for i := range pairs {
		p := &pairs[i]
		f.add(Prompt{Name: p.Name, Pointer: indexed(pointer, i), Role: role}, &p.Input, p.Variables)
	}
}

// addVariables adds the variables that a template uses and users provide.
func (f *Form) addVariables(pointer, template string, variables []manifest.Variable) {
	used := variableSet(template)
	for i := range variables {
		if v := &variables[i]; v.Input.Value == nil && used[v.Name] {
			f.add(Prompt{Name: v.Name, Pointer: variablePointer(pointer, v.Name), Role: RoleVariable}, &v.Input, nil)
		}
	}
}

// headersWithTokens returns headers that are never sent with a token instead of a value:
// tokens that a value does not declare are secret and required variables, and a default
// with a token is a placeholder.
func headersWithTokens(list []manifest.KeyValueInput) []manifest.KeyValueInput {
	out := slices.Clone(list)
	for i := range out {
		h := &out[i]
		if h.Value == nil {
			if h.Default != nil && len(headerTokens(*h.Default)) > 0 {
				h.Default, h.Placeholder = nil, h.Default
			}
			continue
		}
		for _, name := range headerTokens(*h.Value) {
			if !slices.ContainsFunc(h.Variables, func(v manifest.Variable) bool { return v.Name == name }) {
				h.Variables = append(slices.Clip(h.Variables), manifest.Variable{Name: name, Input: manifest.Input{IsRequired: new(true), IsSecret: new(true)}})
			}
		}
	}
	return out
}

// headerTokens returns the names in braces, without other text in braces such as JSON.
func headerTokens(value string) []string {
	return slices.DeleteFunc(grammar.Variables(value, 0), func(name string) bool {
		return len(name) > grammar.MaxKey || !grammar.Only(name, "-_. ")
	})
}

// variableSet returns the names of the variables in a template.
func variableSet(template string) map[string]bool {
	names := make(map[string]bool)
	for _, name := range grammar.Variables(template, 0) {
		names[name] = true
	}
	return names
}

// add adds an input, or the variables of its value.
func (f *Form) add(p Prompt, in *manifest.Input, variables []manifest.Variable) {
	if in.Value != nil {
		f.addVariables(p.Pointer, *in.Value, variables)
		return
	}
	p.Description, p.Placeholder = orElse(in.Description, ""), orElse(in.Placeholder, "")
	p.Format, p.Choices = orElse(in.Format, "string"), in.Choices
	p.Required, p.Secret = isTrue(in.IsRequired), isTrue(in.IsSecret)
	if in.Default != nil {
		v := newValue(*in.Default, p.Secret)
		p.Default = &v
	}
	f.Prompts = append(f.Prompts, p)
}

// withKeys sets the keys of all prompts.
func (f *Form) withKeys() *Form {
	count := make(map[string]int)
	for i := range f.Prompts {
		count[f.Prompts[i].Name]++
	}
	for i := range f.Prompts {
		p := &f.Prompts[i]
		p.Key = p.Pointer
		if p.Name != "" && p.Name[0] != '/' && count[p.Name] == 1 {
			p.Key = p.Name
		}
	}
	f.Prompts = append([]Prompt{}, f.Prompts...) // [] in JSON if there are none
	return f
}

// Find returns the pointers of the inputs that a key of [Values] stands for: one by its Key, Pointer or name, with or without the
// leading dashes of a flag, or one and the variables of others that have its name. It returns nil for other keys.
func (f *Form) Find(key string) []string {
	var same, dashless []string
	inputs := 0
	for i := range f.Prompts {
		switch p := &f.Prompts[i]; {
		case p.Key == key || p.Pointer == key:
			return []string{p.Pointer}
		case p.Name == key:
			if same = append(same, p.Pointer); p.Role != RoleVariable {
				inputs++
			}
		case strings.TrimLeft(p.Name, "-") == key:
			dashless = append(dashless, p.Pointer)
		}
	}
	switch {
	case key != "" && len(same) > 0 && inputs <= 1:
		return same
	case key != "" && len(same) == 0 && len(dashless) == 1:
		return dashless
	}
	return nil
}

// label returns the name of an argument.
func label(a *manifest.Argument) string {
	if a.Type == manifest.NamedArgument {
		return a.Name
	}
	return orElse(a.ValueHint, "")
}

func isTrue(flag *bool) bool { return flag != nil && *flag }

func orElse(text *string, otherwise string) string {
	if text == nil {
		return otherwise
	}
	return *text
}

func indexed(pointer string, i int) string { return pointer + "/" + strconv.Itoa(i) }

func variablePointer(pointer, name string) string {
	return pointer + "/variables/" + jsonpos.EscapeToken(name)
}

// property is a JSON Schema with the keywords that a form needs.
type property struct {
	Title       *string   `json:"title,omitempty"`
	Description string    `json:"description,omitempty"`
	Type        any       `json:"type,omitempty"`
	Enum        []any     `json:"enum,omitempty"`
	Pattern     string    `json:"pattern,omitempty"`
	MinLength   int       `json:"minLength,omitempty"`
	Items       *property `json:"items,omitempty"`
	MinItems    int       `json:"minItems,omitempty"`
	Default     any       `json:"default,omitempty"`
	Examples    []string  `json:"examples,omitempty"`
	WriteOnly   bool      `json:"writeOnly,omitempty"`
}

// Schema returns the JSON Schema (draft-07) of the form's [Values], for clients that
// generate dialogs: an object with a property for each key. It contains no secret
// default.
func (f *Form) Schema() []byte {
	text := []byte(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,"properties":{`)
	var required []string
	for i := range f.Prompts {
		p := &f.Prompts[i]
		if i > 0 {
			text = append(text, ',')
		}
		text = append(jsonpos.AppendValue(text, p.Key), ':')
		text = jsonpos.AppendValue(text, p.property())
		if p.Required && p.Default == nil {
			required = append(required, p.Key)
		}
	}
	text = append(text, '}')
	if required != nil {
		text = jsonpos.AppendValue(append(text, `,"required":`...), required)
	}
	return append(text, '}')
}

func (p *Prompt) property() property {
	one := p.valueSchema()
	s := one
	if p.Repeated {
		s = property{Type: "array", Items: &one}
		if p.Required {
			s.MinItems = 1
		}
	}
	s.Title, s.Description, s.WriteOnly = &p.Name, p.Description, p.Secret
	if p.Default != nil && !p.Default.IsSecret() {
		s.Default = p.Default.Reveal()
		if p.Repeated {
			s.Default = []any{s.Default}
		}
	}
	if p.Placeholder != "" && !p.Secret {
		s.Examples = []string{p.Placeholder}
	}
	return s
}

// valueSchema describes one value. Numbers and booleans may also be given as strings.
func (p *Prompt) valueSchema() property {
	switch {
	case len(p.Choices) > 0:
		var s property
		for _, c := range p.Choices {
			s.Enum = append(s.Enum, c)
		}
		return s
	case p.Format == "number":
		return property{Type: []string{"number", "string"}, Pattern: `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`}
	case p.Format == "boolean":
		return property{Enum: []any{true, false, "true", "false"}}
	case p.Required && !p.Repeated:
		return property{Type: "string", MinLength: 1}
	}
	return property{Type: "string"}
}
