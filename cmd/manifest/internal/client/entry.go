package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// Server is a package or a remote of a manifest with the values of a user.
type Server struct {
	// Name identifies the server in the configuration; see [Name].
	Name string
	// Package or Remote is what the program shall use; the other one is nil.
	Package *manifest.Package
	Remote  *manifest.Remote
	// Values are those of inputs that are not secret.
	Values launch.Values
	// Ask lists optional inputs, by key or pointer, that are referred to like required secrets.
	Ask []string
	// Launch are the options of package launch. May be nil.
	Launch *launch.Options
}

// Name returns a name for the configuration from the name of a manifest: the part after the
// slash, with a dash for each character that is not a letter, a digit, a dash or an underscore.
func Name(server string) string {
	return regexp.MustCompile(`[^\w-]`).ReplaceAllString(server[strings.LastIndexByte(server, '/')+1:], "-")
}

// Entry is a server as the configuration of a program has it.
type Entry struct {
	Name string
	Type manifest.TransportType
	// Command, Args and Env start a local server.
	Command string
	Args    []string
	Env     []Pair
	// Passed are variables of the program's own environment that the server gets.
	Passed []string
	// URL and Headers connect to a server that runs elsewhere.
	URL     string
	Headers []Pair
	// BearerVariable is the variable with the token, and HeaderVariables those with values of
	// headers, for programs that refer to variables in this way.
	BearerVariable  string
	HeaderVariables []Pair
	// Needs lists the values that a person has to provide.
	Needs []Need
	// Setup are commands to run once before, and Start is one to keep running, for display.
	Setup []string
	Start string
	// Notices are those of package launch.
	Notices []launch.Notice
}

// Pair is a name with a value.
type Pair struct{ Name, Value string }

// Need is a value that the file refers to.
type Need struct {
	// Name is that of a variable of the program's environment, or the id of an input for which
	// the program asks.
	Name        string
	Asked       bool // the program asks for it
	Key         string
	Description string
	Secret      bool
	Choices     []string
	Default     string

	marker string
}

// maxName is the longest name of a server.
const maxName = 128

// Patterns of ASCII letters, digits and underscores, which \w stands for.
var (
	namePattern = regexp.MustCompile(`^[\w-]+$`)          // of a server
	variable    = regexp.MustCompile(`^[A-Za-z_]\w*$`)    // a name that every shell has for a variable
	plainWord   = regexp.MustCompile(`^[\w\-.:/@%+=,]+$`) // of a command, without quotes
	others      = regexp.MustCompile(`\W`)                // than those in variables
	othersInID  = regexp.MustCompile(`[\W_]`)
)

// Entry resolves a server. The error is launch.Faults: those of package launch, and one for each
// value that the file of the program cannot express.
func (p *Program) Entry(s *Server) (*Entry, error) {
	if len(s.Name) > maxName || !namePattern.MatchString(s.Name) {
		return nil, fmt.Errorf("the name %s must have 1 to %d letters, digits, dashes and underscores", jsonpos.Quote(s.Name), maxName)
	}
	b := &builder{program: p, server: s, inputs: map[string]*manifest.Input{}, values: launch.Values{}, entry: &Entry{Name: s.Name}}
	b.options = *cmp.Or(s.Launch, &launch.Options{})
	if err := b.prepare(); err != nil {
		return nil, err
	}
	if s.Package != nil {
		if err := b.local(); err != nil {
			return nil, err
		}
	} else {
		to, err := launch.ResolveRemote(b.remote, b.values, &b.options)
		if err != nil {
			return nil, err
		}
		b.entry.Notices = to.Notices
		b.connect(to.Type, &to.URL, to.Headers)
	}
	if len(b.faults) > 0 {
		return nil, b.faults
	}
	return b.entry, nil
}

// builder builds an entry.
type builder struct {
	program *Program
	server  *Server
	options launch.Options
	pack    *manifest.Package // copies in which inputs that are referred to take any text
	remote  *manifest.Remote
	inputs  map[string]*manifest.Input // of the copies, by their pointers
	values  launch.Values
	needs   []Need
	entry   *Entry
	faults  launch.Faults
}

func (b *builder) fault(f launch.Fault) {
	f.Kind, f.Pointer = launch.FaultManifest, b.options.Pointer+f.Pointer
	b.faults = append(b.faults, f)
}

// prepare decides which inputs are referred to, and gives each a marker as its value.
func (b *builder) prepare() error {
	s := b.server
	var form *launch.Form
	var err error
	if s.Package != nil {
		b.pack, err = clone(s.Package)
		form = launch.PackageForm(s.Package)
	} else {
		b.remote, err = clone(s.Remote)
		form = launch.RemoteForm(s.Remote)
	}
	if err != nil {
		return err
	}
	b.collect()
	for key, values := range s.Values {
		found := form.Find(key)
		for _, pointer := range found {
			b.values[pointer] = values
		}
		if found == nil {
			b.values[key] = values
		}
	}
	for i := range form.Prompts {
		b.prompt(&form.Prompts[i])
	}
	if len(b.faults) > 0 {
		return b.faults
	}
	return nil
}

// prompt handles one input.
func (b *builder) prompt(p *launch.Prompt) {
	_, byKey := b.values[p.Key]
	_, byPointer := b.values[p.Pointer]
	given := byKey || byPointer
	within, _, _ := strings.Cut(p.Pointer, "/variables/")
	in := b.inputs[within] // the value that has the variable, or the input itself
	secret := p.Secret || in != nil && in.IsSecret != nil && *in.IsSecret
	asked := slices.Contains(b.server.Ask, p.Key) || slices.Contains(b.server.Ask, p.Pointer)
	required := p.Required && p.Default == nil
	switch {
	case secret && given:
		b.fault(launch.Fault{
			Key: p.Key, Pointer: p.Pointer, Message: fmt.Sprintf("%s is a secret, which is never written to a file", jsonpos.Quote(p.Key)),
			Suggestion: "leave it out: the entry refers to it",
		})
	case given:
	case asked, secret && required, b.program.inputs && required && p.Role != launch.RoleVariable:
		b.refer(p, secret)
	}
}

// refer gives an input a marker as its value.
func (b *builder) refer(p *launch.Prompt, secret bool) {
	n := Need{
		Key: p.Key, Description: p.Description, Secret: secret, Choices: p.Choices, Asked: b.program.inputs,
		marker: fmt.Sprintf("ashlarmark%dx", len(b.needs)),
	}
	if p.Default != nil && !p.Default.IsSecret() {
		n.Default = p.Default.Reveal()
	}
	n.Name = b.variable(p)
	if in := b.inputs[p.Pointer]; in != nil {
		in.Format, in.Choices = nil, nil
	}
	b.needs = append(b.needs, n)
	b.values[p.Pointer] = []string{n.marker}
}

// variable returns the name of the variable, or the id of the input, for a prompt: that of the
// server's own variable, else the server's name and the prompt's, and a number if it is taken.
func (b *builder) variable(p *launch.Prompt) string {
	name := p.Name
	if p.Role != launch.RoleEnvironment || b.program.inputs || !variable.MatchString(name) {
		name = strings.Trim(p.Name, "-")
		underscored := func(s string) string { return strings.ToUpper(others.ReplaceAllString(s, "_")) }
		if !strings.HasPrefix(underscored(name), underscored(b.server.Name)) {
			name = b.server.Name + "_" + name
		}
		if b.program.inputs {
			name = strings.ToLower(othersInID.ReplaceAllString(name, "-"))
		} else if name = underscored(name); !variable.MatchString(name) {
			name = "_" + name
		}
	}
	unique := name
	for i := 2; slices.ContainsFunc(b.needs, func(n Need) bool { return n.Name == unique }); i++ {
		unique = name + "_" + strconv.Itoa(i)
	}
	return unique
}

// local fills the entry from a package.
func (b *builder) local() error {
	plan, err := launch.ResolvePackage(b.pack, b.values, &b.options)
	if err != nil {
		return err
	}
	e := b.entry
	e.Notices = plan.Notices
	if len(plan.Files) > 0 {
		b.fault(launch.Fault{Message: "the command of a bundle is in its file, which must be downloaded and unpacked first", Suggestion: "use manifest fetch, or open the file in a program that installs bundles"})
		return nil
	}
	for _, c := range plan.Setup {
		e.Setup = append(e.Setup, b.display(c.Argv()))
	}
	if plan.URL != nil {
		e.Start = b.start(plan)
		b.connect(plan.Transport, plan.URL, plan.Headers)
		return nil
	}
	e.Type = plan.Transport
	for i, item := range plan.Command {
		text := b.text(item.Value, item.Origin, "an argument")
		if i == 0 {
			e.Command = text
		} else {
			e.Args = append(e.Args, text)
		}
	}
	for _, v := range plan.Environment {
		b.environment(v)
	}
	return nil
}

// connect fills the entry with a url and headers.
func (b *builder) connect(transport manifest.TransportType, link *launch.Item, headers []launch.Setting) {
	p, e := b.program, b.entry
	if p.links[transport] == "" {
		f := launch.Fault{Message: fmt.Sprintf("%s does not accept a server of transport %s in its file", p.Title, transport)}
		if b.remote != nil {
			f.Pointer = "/type"
		} else {
			f.Pointer = "/transport/type"
		}
		b.fault(f)
		return
	}
	e.Type, e.URL = transport, b.text(link.Value, link.Origin, "a url")
	for _, h := range headers {
		b.header(h)
	}
}

// environment adds a variable of a local server.
func (b *builder) environment(v launch.Setting) {
	p, e := b.program, b.entry
	n := b.only(v.Value.Reveal())
	if n != nil && n.Name == v.Name && (p.named != "" || p.reference == nil && p.inherits) {
		e.Passed = append(e.Passed, v.Name)
		b.need(n)
		return
	}
	e.Env = append(e.Env, Pair{v.Name, b.text(v.Value, v.Origin, "a variable")})
}

// header adds a header.
func (b *builder) header(h launch.Setting) {
	p, e := b.program, b.entry
	value := h.Value.Reveal()
	if p.variables == "" || !b.hasMarker(value) {
		e.Headers = append(e.Headers, Pair{h.Name, b.text(h.Value, h.Origin, "a header")})
		for i := range b.needs { // the program replaces only these
			if n := &b.needs[i]; p.named != "" && strings.Contains(value, n.marker) && !slices.Contains(e.Passed, n.Name) {
				e.Passed = append(e.Passed, n.Name)
			}
		}
		return
	}
	if n := b.only(value); n != nil {
		e.HeaderVariables = append(e.HeaderVariables, Pair{h.Name, n.Name})
		b.need(n)
		return
	}
	token, bearer := strings.CutPrefix(value, "Bearer ")
	if n := b.only(token); n != nil && bearer && strings.EqualFold(h.Name, "Authorization") && e.BearerVariable == "" {
		e.BearerVariable = n.Name
		b.need(n)
		return
	}
	b.refuse(value, h.Origin, "a part of a header")
}

// text replaces the markers in a value by references.
func (b *builder) text(v launch.Value, origin, where string) string {
	s, p := v.Reveal(), b.program
	if p.expands != nil {
		if found := p.expands.FindString(s); found != "" {
			b.faults = append(b.faults, launch.Fault{
				Kind: launch.FaultManifest, Pointer: origin, Message: fmt.Sprintf("%s would replace %s in %s", p.Title, jsonpos.Quote(found), where),
			})
			return ""
		}
	}
	if b.hasMarker(s) && (p.reference == nil || p.variables != "") {
		b.refuse(s, origin, where)
		return ""
	}
	for i := range b.needs {
		n := &b.needs[i]
		if strings.Contains(s, n.marker) {
			s = strings.ReplaceAll(s, n.marker, p.reference(n.Name))
			b.need(n)
		}
	}
	return s
}

// refuse reports that the program cannot refer to a value where it is needed.
func (b *builder) refuse(s, origin, where string) {
	for i := range b.needs {
		if n := &b.needs[i]; strings.Contains(s, n.marker) {
			b.faults = append(b.faults, launch.Fault{
				Kind: launch.FaultManifest, Key: n.Key, Pointer: origin,
				Message:    fmt.Sprintf("%s cannot refer to a secret in %s, and %s is never written to a file", b.program.Title, where, jsonpos.Quote(n.Key)),
				Suggestion: "use another program, or another package or remote of the manifest",
			})
		}
	}
}

// need adds what a person has to provide.
func (b *builder) need(n *Need) {
	if !slices.ContainsFunc(b.entry.Needs, func(have Need) bool { return have.Name == n.Name }) {
		b.entry.Needs = append(b.entry.Needs, *n)
	}
}

// only returns what a text refers to if it is nothing else.
func (b *builder) only(s string) *Need {
	i := slices.IndexFunc(b.needs, func(n Need) bool { return n.marker == s })
	if i < 0 {
		return nil
	}
	return &b.needs[i]
}

func (b *builder) hasMarker(s string) bool {
	return slices.ContainsFunc(b.needs, func(n Need) bool { return strings.Contains(s, n.marker) })
}

// display returns words as text, with $NAME for what is referred to.
func (b *builder) display(words []string) string {
	shown := make([]string, len(words))
	for i, w := range words {
		shown[i] = shellWord(w)
		for j := range b.needs {
			shown[i] = strings.ReplaceAll(shown[i], b.needs[j].marker, "$"+b.needs[j].Name)
		}
	}
	return strings.Join(shown, " ")
}

// shellWord quotes a word for a reader.
func shellWord(s string) string {
	switch {
	case plainWord.MatchString(s):
		return s
	case strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }):
		return strconv.Quote(s)
	}
	return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "$", `\$`, "`", "\\`").Replace(s) + `"`
}

// start returns the command of a server that a person has to start, with its environment.
func (b *builder) start(plan *launch.Plan) string {
	words := append(plan.Env(), plan.Argv()...)
	for i := range b.needs {
		n := &b.needs[i]
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, n.marker) }) {
			n.Asked = false
			b.need(n)
		}
	}
	return b.display(words)
}

// collect finds the inputs of the copies.
func (b *builder) collect() {
	add := func(pointer string, in *manifest.Input, variables []manifest.Variable) {
		b.inputs[pointer] = in
		for i := range variables {
			b.inputs[pointer+"/variables/"+jsonpos.EscapeToken(variables[i].Name)] = &variables[i].Input
		}
	}
	arguments := func(list string, all []manifest.Argument) {
		for i := range all {
			add(list+"/"+strconv.Itoa(i), &all[i].Input, all[i].Variables)
		}
	}
	settings := func(list string, all []manifest.KeyValueInput) {
		for i := range all {
			add(list+"/"+strconv.Itoa(i), &all[i].Input, all[i].Variables)
		}
	}
	if b.pack != nil {
		arguments("/runtimeArguments", b.pack.RuntimeArguments)
		arguments("/packageArguments", b.pack.PackageArguments)
		settings("/environmentVariables", b.pack.EnvironmentVariables)
		settings("/transport/headers", b.pack.Transport.Headers)
	} else {
		add("", nil, b.remote.Variables)
		settings("/headers", b.remote.Headers)
	}
}

// clone copies a value by its JSON text.
func clone[T any](v *T) (*T, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	c := new(T)
	return c, json.Unmarshal(text, c)
}
