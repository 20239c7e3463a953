package launch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/manifest"
)

// Options are optional settings. A nil *Options and zero fields mean the defaults.
type Options struct {
	// Pointer is the JSON pointer of the package or remote in its document, such as
	// "/packages/0". Origins and faults begin with it. Default: "".
	Pointer string
	// Dir is joined to relative inputs of format filepath. Default: they stay unchanged.
	Dir string
	// OmitUnfilled omits an optional argument, variable or header if a declared variable in
	// its value has no value; a required variable counts too if the input itself has
	// isRequired false. By default the token stays in the value, as the specification
	// requires, and a required variable is missing.
	OmitUnfilled bool
	// Strict makes faults of what is a notice otherwise because the publisher's meaning is
	// not certain: options that the launcher is not known to have, arguments of a launcher
	// that is not used, and words that stand where the launcher takes the package from.
	Strict bool
	// Launchers by registryType replace [DefaultLauncher]. The runtimeHint of such a
	// package is ignored.
	Launchers map[string]Launcher
	// BundleLabels are as in [manifest.Options].
	BundleLabels []string
}

// ResolvePackage turns a package and the values of a user into a plan. It runs nothing and
// does not access files, environment or network.
//
// The error is nil or [Faults], which list everything at once: required inputs without a
// value, values that an input cannot have, and what in the manifest cannot be turned into a
// command. A value never becomes a second argument, an option, a line of a header or another
// part of the url (REFERENCE.md, 9).
func ResolvePackage(p *manifest.Package, given Values, opts *Options) (*Plan, error) {
	r := newResolver(PackageForm(p), given, opts)
	plan := r.plan(p)
	if len(r.faults) > 0 {
		return nil, r.faults
	}
	plan.Notices = r.notices
	return plan, nil
}

// ResolveRemote turns a remote and the values of a user into an endpoint. The error is as
// for [ResolvePackage].
func ResolveRemote(remote *manifest.Remote, given Values, opts *Options) (*Endpoint, error) {
	r := newResolver(RemoteForm(remote), given, opts)
	variables := r.variables("", remote.URL, remote.Variables, nil)
	link := r.url("/url", remote.URL, lookupIn(variables))
	e := &Endpoint{Type: remote.Type, URL: link, Headers: r.headers("/headers", remote.Headers)}
	if len(r.faults) > 0 {
		return nil, r.faults
	}
	e.Notices = r.notices
	return e, nil
}

// Limits. maxText is the longest argument of a process on Linux, maxTexts half of the
// space for all of them.
const (
	maxText   = 128<<10 - 1
	maxTexts  = 1 << 20
	maxFaults = 100 // and notices
)

// resolver resolves one package or remote.
type resolver struct {
	opts    Options
	prompts map[string]*Prompt  // by pointer
	named   map[string]*Prompt  // the first with each name
	given   map[string][]string // by pointer
	left    int                 // bytes that further values may have
	paths   []Setting
	inner   map[string]text // the values of variables of other inputs, by name
	faults  Faults
	notices []Notice
}

func newResolver(form *Form, given Values, opts *Options) *resolver {
	r := &resolver{prompts: make(map[string]*Prompt), named: make(map[string]*Prompt), given: make(map[string][]string), inner: make(map[string]text), left: maxTexts}
	r.opts = *cmp.Or(opts, &Options{})
	if r.opts.BundleLabels == nil {
		r.opts.BundleLabels = []string{"mcpb"}
	}
	pointers := make(map[string][]string) // by name
	for i := range form.Prompts {
		p := &form.Prompts[i]
		r.prompts[p.Pointer] = p
		pointers[p.Name] = append(pointers[p.Name], p.Pointer)
		if r.named[p.Name] == nil {
			r.named[p.Name] = p
		}
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		found := form.Find(key)
		for _, pointer := range found {
			r.assign(key, given[key], r.prompts[pointer], nil)
		}
		if found == nil {
			r.assign(key, given[key], nil, pointers[key])
		}
	}
	return r
}

// assign assigns values to the input with a key.
func (r *resolver) assign(key string, values []string, p *Prompt, sameName []string) {
	f := Fault{Kind: FaultUnknown, Key: key}
	switch {
	case p == nil && len(sameName) > 0:
		f.Message = fmt.Sprintf("the name %s belongs to %d inputs", jsonpos.Quote(key), len(sameName))
		f.Suggestion = "use " + grammar.Alternatives(sameName[:min(len(sameName), 5)])
		r.fault(f)
	case p == nil && len(r.faults) < maxFaults:
		f.Message, f.Suggestion = "unknown input "+jsonpos.Quote(key), r.knownInputs(key)
		r.fault(f)
	case p == nil:
	case r.given[p.Pointer] != nil:
		f.Message, f.Suggestion = fmt.Sprintf("%s is given by its name and by its pointer", jsonpos.Quote(p.Name)), "give it once"
		r.fault(f)
	default:
		r.given[p.Pointer] = append([]string{}, values...)
	}
}

// knownInputs suggests what may have been meant by an unknown key.
func (r *resolver) knownInputs(key string) string {
	var keys []string
	for _, p := range r.prompts {
		keys = append(keys, p.Key)
	}
	slices.Sort(keys)
	if meant := grammar.Closest(key, keys); meant != "" {
		return "did you mean " + jsonpos.Quote(meant) + "?"
	}
	if len(keys) == 0 || len(keys) > 8 {
		return ""
	}
	for i, k := range keys {
		if len(k) > grammar.MaxKey || !grammar.Only(k, "-_./") {
			keys[i] = jsonpos.Quote(k)
		}
	}
	return "use " + grammar.Alternatives(keys)
}

// fault adds a fault with a pointer within the package or remote.
func (r *resolver) fault(f Fault) {
	if len(r.faults) >= maxFaults {
		return
	}
	if f.Pointer != "" || f.Kind == FaultManifest {
		f.Pointer = r.opts.Pointer + f.Pointer
	}
	r.faults = append(r.faults, f)
}

func (r *resolver) manifestFault(pointer, suggestion, format string, args ...any) {
	r.fault(Fault{Kind: FaultManifest, Pointer: pointer, Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
}

func (r *resolver) notice(severity Severity, pointer, format string, args ...any) {
	r.noticeAt(severity, r.opts.Pointer+pointer, format, args...)
}

// noticeAt adds a notice about a value by its origin.
func (r *resolver) noticeAt(severity Severity, origin, format string, args ...any) {
	if len(r.notices) < maxFaults {
		r.notices = append(r.notices, Notice{Severity: severity, Pointer: origin, Message: fmt.Sprintf(format, args...)})
	}
}

// doubt adds a fault if Options.Strict is set, else a notice.
func (r *resolver) doubt(pointer, suggestion, format string, args ...any) {
	if r.opts.Strict {
		r.manifestFault(pointer, suggestion, format, args...)
		return
	}
	r.notice(SeverityWarning, pointer, format, args...)
}

// plan resolves the parts of a package.
func (r *resolver) plan(p *manifest.Package) *Plan {
	names := make(map[string]text) // what variables in the url refer to
	runtime := r.arguments("/runtimeArguments", runtimeArguments(p), names)
	arguments := r.arguments("/packageArguments", p.PackageArguments, names)
	plan := &Plan{
		Transport:   p.Transport.Type,
		Environment: r.environment(p.EnvironmentVariables, names),
		Arguments:   itemsOf(arguments),
	}
	switch p.Transport.Type {
	case manifest.Stdio:
	case manifest.StreamableHTTP, manifest.SSE:
		for name, t := range r.inner {
			addName(names, name, t)
		}
		link := r.url("/transport/url", p.Transport.URL, lookupIn(names))
		plan.URL, plan.Headers = &link, r.headers("/transport/headers", p.Transport.Headers)
	default:
		r.manifestFault("/transport/type", "use stdio, streamable-http or sse", "unknown transport type %s", jsonpos.Quote(string(p.Transport.Type)))
	}
	plan.Paths = r.paths
	if slices.Contains(r.opts.BundleLabels, p.RegistryType) {
		r.bundle(p, plan, runtime)
	} else {
		r.command(p, plan, runtime)
	}
	return plan
}

// addName adds a name that variables in the url may refer to. The first one counts.
func addName(names map[string]text, name string, t text) {
	if _, exists := names[name]; !exists && name != "" {
		names[name] = t
	}
}

// arguments resolves a list of arguments, without those that have no value.
func (r *resolver) arguments(pointer string, args []manifest.Argument, names map[string]text) []element {
	var parts []element
	for i := range args {
		a, pointer := &args[i], indexed(pointer, i)
		switch {
		case a.Type != manifest.NamedArgument && a.Type != manifest.PositionalArgument:
			r.manifestFault(pointer+"/type", "use positional or named", "unknown argument type %s", jsonpos.Quote(string(a.Type)))
			continue
		case a.Type == manifest.NamedArgument && (a.Name == "" || strings.IndexByte(a.Name, 0) >= 0):
			r.manifestFault(pointer+"/name", "write the flag with its dashes", "the name of a named argument is empty or has a NUL character")
			continue
		}
		for _, t := range r.input(target{in: &a.Input, variables: a.Variables, name: label(a), pointer: pointer}) {
			addName(names, label(a), t)
			if p, ok := r.argument(a, pointer, t); ok {
				parts = append(parts, p)
			}
		}
	}
	return parts
}

// argument renders one value of an argument. It omits an optional argument with an empty
// value; a flag with a fixed empty value stands alone.
func (r *resolver) argument(a *manifest.Argument, pointer string, t text) (element, bool) {
	p := element{value: t, pointer: pointer}
	origin := r.opts.Pointer + pointer
	empty := t.string == "" && !isTrue(a.IsRequired)
	value := Item{Value: t.value(), Origin: origin}
	dash := t.given && strings.HasPrefix(t.string, "-")
	positional, long := a.Type == manifest.PositionalArgument, strings.HasPrefix(a.Name, "--")
	if dash && (positional || !long && orElse(a.Format, "") != "number") {
		f := Fault{Kind: FaultValue, Pointer: pointer, Suggestion: "begin a path with ./, or use another value"}
		f.Message = target{name: label(a)}.subject() + " begins with '-' and would be taken for an option"
		if p := r.prompts[pointer]; p != nil {
			f.Key = p.Key
		}
		r.fault(f)
		return element{}, false
	}
	if positional {
		p.items = []Item{value}
		return p, !empty
	}
	p.names = []string{a.Name}
	flag := Item{Value: plainValue(a.Name), Origin: origin}
	switch {
	case empty && !t.fixed:
		return element{}, false
	case empty:
		p.items = []Item{flag}
	case dash && long:
		p.items = []Item{{Value: joined(a.Name, t), Origin: origin}}
	default:
		p.items = []Item{flag, value}
	}
	return p, true
}

// joined returns name=value.
func joined(name string, t text) Value {
	if t.secret {
		return secretValue(name+"="+t.string, name+"="+masked)
	}
	return plainValue(name + "=" + t.string)
}

// environment resolves environment variables. Of two with one name the last one counts.
func (r *resolver) environment(list []manifest.KeyValueInput, names map[string]text) []Setting {
	var env []Setting
	at := make(map[string]int) // the index of each name in env
	for i := range list {
		v, pointer := &list[i], indexed("/environmentVariables", i)
		if v.Name == "" && orElse(v.Value, "") == "" && orElse(v.Default, "") == "" {
			r.notice(SeverityInfo, pointer, "a variable without a name and a value is left out")
			continue
		}
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") {
			r.manifestFault(pointer+"/name", "", "%s is not a valid name of an environment variable", jsonpos.Quote(v.Name))
			continue
		}
		s, t, ok := r.setting(v, pointer, nil)
		if !ok {
			continue
		}
		addName(names, v.Name, t)
		switch severity := influence(v.Name); severity {
		case "":
		case SeverityInfo:
			r.notice(severity, pointer, "other programs than the server may read %s too", jsonpos.Quote(v.Name))
		default:
			r.notice(severity, pointer, "%s changes how programs are found, loaded, installed or connected to", jsonpos.Quote(v.Name))
		}
		if before, twice := at[v.Name]; twice {
			r.notice(SeverityInfo, pointer, "%s is set twice: this value is used", jsonpos.Quote(v.Name))
			env[before] = s
			continue
		}
		at[v.Name] = len(env)
		env = append(env, s)
	}
	return env
}

func (r *resolver) headers(pointer string, list []manifest.KeyValueInput) []Setting {
	var headers []Setting
	list = headersWithTokens(list)
	for i := range list {
		h, pointer := &list[i], indexed(pointer, i)
		if h.Name == "" || !grammar.Only(h.Name, "!#$%&'*+-.^_`|~") { // RFC 9110, section 5.6.2
			r.manifestFault(pointer+"/name", "", "%s is not a valid name of a header", jsonpos.Quote(h.Name))
			continue
		}
		if found := grammar.Placeholder(orElse(h.Value, "")); found != "" {
			r.manifestFault(pointer+"/value", "write {name} and declare the variable", "the value of %s has the placeholder %s, which nothing replaces", jsonpos.Quote(h.Name), jsonpos.Quote(found))
			continue
		}
		if s, _, ok := r.setting(h, pointer, headerFault); ok {
			headers = append(headers, s)
		}
	}
	return headers
}

// headerFault returns why a string cannot be the value of a header, or "".
func headerFault(value string) string {
	switch {
	case strings.ContainsAny(value, "\r\n"):
		return "has a line break, which a header cannot have"
	case strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }):
		return "has a control character, which a header cannot have"
	}
	return ""
}

// setting resolves a variable or header. It returns false if it has no value.
func (r *resolver) setting(v *manifest.KeyValueInput, pointer string, fault func(string) string) (Setting, text, bool) {
	all := r.input(target{in: &v.Input, variables: v.Variables, name: v.Name, pointer: pointer, fault: fault})
	if len(all) == 0 || all[0].string == "" && !all[0].fixed && !all[0].given {
		return Setting{}, text{}, false
	}
	return Setting{Name: v.Name, Value: all[0].value(), Origin: r.opts.Pointer + pointer}, all[0], true
}
