package manifest

import (
	"strconv"
	"strings"
)

// Role is what an input is for.
type Role string

// The roles. A variable is part of another input's value or of a remote's url.
const (
	RoleRuntimeArgument Role = "runtimeArgument"
	RolePackageArgument Role = "packageArgument"
	RoleEnvironment     Role = "environment"
	RoleHeader          Role = "header"
	RoleVariable        Role = "variable"
)

// Prompt is one input that a user can give: all that a client needs to ask for it.
type Prompt struct {
	// Key is what [Values] takes: the name if no other prompt of the form has it,
	// else the pointer.
	Key string `json:"key"`
	// Name is what the manifest calls it: a flag, a valueHint, the name of an
	// environment variable, header or variable. It may be empty.
	Name string `json:"name"`
	// Pointer is that of the input within the package or remote.
	Pointer     string `json:"pointer"`
	Role        Role   `json:"role"`
	Description string `json:"description,omitempty"`
	// Placeholder is what a field shows while it is empty. It is never a value.
	Placeholder string `json:"placeholder,omitempty"`
	// Format is string, number, boolean or filepath.
	Format   string `json:"format"`
	Required bool   `json:"required,omitempty"`
	Secret   bool   `json:"secret,omitempty"`
	// Repeated says that any number of values can be given.
	Repeated bool `json:"repeated,omitempty"`
	// Default is used if nothing is given; nil is none. That of a Secret prints
	// as ***.
	Default *Value `json:"default,omitempty"`
	// Choices are all that can be given, unless there are none.
	Choices []string `json:"choices,omitempty"`
}

// Form is the inputs of a package or a remote, in the order of the document.
type Form struct {
	Prompts []Prompt `json:"prompts"`
}

// Form lists what a user can give to start the package. What has a value is not
// for users; of its variables those are listed that it uses.
func (p *Package) Form() *Form {
	var b formBuilder
	b.arguments(RoleRuntimeArgument, "/runtimeArguments", p.RuntimeArguments)
	b.arguments(RolePackageArgument, "/packageArguments", p.PackageArguments)
	b.pairs(RoleEnvironment, "/environmentVariables", p.EnvironmentVariables)
	b.pairs(RoleHeader, "/transport/headers", p.Transport.Headers)
	return b.form()
}

// Form lists what a user can give to reach the remote: the variables that its url
// uses, and its headers.
func (r *Remote) Form() *Form {
	var b formBuilder
	b.variables("", r.URL, r.Variables)
	b.pairs(RoleHeader, "/headers", r.Headers)
	return b.form()
}

// formBuilder gathers prompts.
type formBuilder struct {
	prompts []Prompt
	names   map[string]int // how many prompts have a name
}

func (b *formBuilder) arguments(role Role, at string, args []Argument) {
	for i := range args {
		a := &args[i]
		b.input(Prompt{
			Name: a.label(), Pointer: indexed(at, i), Role: role, Repeated: is(a.IsRepeated),
		}, &a.Input, a.Variables)
	}
}

func (b *formBuilder) pairs(role Role, at string, pairs []KeyValueInput) {
	for i := range pairs {
		p := &pairs[i]
		b.input(Prompt{Name: p.Name, Pointer: indexed(at, i), Role: role}, &p.Input, p.Variables)
	}
}

// input adds an input, or the variables of its value.
func (b *formBuilder) input(p Prompt, in *Input, vars []Variable) {
	if in.Value != nil {
		b.variables(p.Pointer, *in.Value, vars)
		return
	}
	p.Description, p.Placeholder = or(in.Description, ""), or(in.Placeholder, "")
	p.Format = or(in.Format, "string")
	p.Required, p.Secret = is(in.IsRequired), is(in.IsSecret)
	p.Choices = in.Choices
	if in.Default != nil {
		preset := in.value(*in.Default)
		p.Default = &preset
	}
	b.prompts = append(b.prompts, p)
	if b.names == nil {
		b.names = make(map[string]int)
	}
	b.names[p.Name]++
}

// variables adds those that a template uses and users give.
func (b *formBuilder) variables(at, template string, vars []Variable) {
	used := tokens(template)
	for i := range vars {
		if v := &vars[i]; used[v.Name] && v.Input.Value == nil {
			b.input(Prompt{Name: v.Name, Pointer: variablePointer(at, v.Name), Role: RoleVariable}, &v.Input, nil)
		}
	}
}

// form gives every prompt its key.
func (b *formBuilder) form() *Form {
	for i := range b.prompts {
		p := &b.prompts[i]
		p.Key = p.Pointer
		if p.Name != "" && p.Name[0] != '/' && b.names[p.Name] == 1 {
			p.Key = p.Name
		}
	}
	return &Form{Prompts: append([]Prompt{}, b.prompts...)}
}

// label is what an argument is called.
func (a *Argument) label() string {
	if a.Type == NamedArgument {
		return a.Name
	}
	return or(a.ValueHint, "")
}

// value is a text of the input, masked if the input is secret.
func (i *Input) value(text string) Value {
	if is(i.IsSecret) {
		return secretValue(text, masked)
	}
	return plainValue(text)
}

func is(flag *bool) bool { return flag != nil && *flag }

func or(text *string, otherwise string) string {
	if text == nil {
		return otherwise
	}
	return *text
}

func indexed(at string, i int) string { return at + "/" + strconv.Itoa(i) }

func variablePointer(at, name string) string {
	return at + "/variables/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// tokens is the set of names in braces.
func tokens(template string) map[string]bool {
	names := make(map[string]bool)
	for {
		_, name, rest := cutVariable(template)
		if name == "" {
			return names
		}
		names[name] = true
		template = rest
	}
}
