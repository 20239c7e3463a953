package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ResolveOptions is what may be set for resolving. A nil *ResolveOptions and its
// zero fields mean the defaults.
type ResolveOptions struct {
	// Pointer is that of the package or remote in its document, such as
	// "/packages/0": what origins and faults begin with. Default: "".
	Pointer string
	// Dir makes inputs of format filepath absolute: a relative one is joined to it.
	// Default: they stay as they are.
	Dir string
	// OmitUnfilled leaves out an optional argument, variable or header of whose value
	// a declared variable was not given; a required variable too, where isRequired
	// false is written down for what it is part of. By default the token stays in it, as
	// the specification has it, and a required variable is missing.
	OmitUnfilled bool
	// Launchers by registryType come before [DefaultLauncher]; the runtimeHint of
	// such a package is not looked at.
	Launchers map[string]Launcher
	// BundleLabels as in [Options].
	BundleLabels []string
}

// Resolve makes a plan of what the package says and what a user has given. It runs
// nothing, and looks at no file, environment or network.
//
// The error is nil or [Faults], which name everything at once: required inputs that
// were not given, values that an input cannot have, and what in the manifest can't
// be turned into a command. Which characters a value can have depends on where it
// goes; it never becomes a second argument, an option, a line of a header or
// another part of the url.
func (p *Package) Resolve(given Values, opts *ResolveOptions) (*Plan, error) {
	r := newResolver(p.Form(), given, opts)
	plan := r.plan(p)
	if len(r.faults) > 0 {
		return nil, r.faults
	}
	plan.Notices = r.notices
	return plan, nil
}

// Resolve makes an endpoint of what the remote says and what a user has given. The
// error is as that of [Package.Resolve].
func (r *Remote) Resolve(given Values, opts *ResolveOptions) (*Endpoint, error) {
	s := newResolver(r.Form(), given, opts)
	vars := s.variables("", r.URL, r.Variables, nil)
	link := s.url("/url", r.URL, func(name string) (filled, bool) { f, ok := vars[name]; return f, ok })
	e := &Endpoint{Type: r.Type, URL: link, Headers: s.headers("/headers", r.Headers)}
	if len(s.faults) > 0 {
		return nil, s.faults
	}
	e.Notices = s.notices
	return e, nil
}

// Bounds of what is resolved. The first is the longest argument of a process on
// Linux, the second half of what all of them may have.
const (
	maxText  = 128<<10 - 1
	maxTexts = 1 << 20
)

// resolver is one package or remote on its way to a plan.
type resolver struct {
	opts    ResolveOptions
	prompts map[string]*Prompt  // by pointer
	named   map[string]*Prompt  // the first by each name
	given   map[string][]string // by pointer
	left    int                 // bytes that all texts may still have
	paths   []Setting
	faults  Faults
	notices []Notice
}

func newResolver(form *Form, given Values, opts *ResolveOptions) *resolver {
	r := &resolver{prompts: make(map[string]*Prompt), named: make(map[string]*Prompt), given: make(map[string][]string), left: maxTexts}
	if opts != nil {
		r.opts = *opts
	}
	if r.opts.BundleLabels == nil {
		r.opts.BundleLabels = []string{"mcpb"}
	}
	keys := make(map[string]*Prompt)
	names := make(map[string][]string)
	for i := range form.Prompts {
		p := &form.Prompts[i]
		keys[p.Key], keys[p.Pointer], r.prompts[p.Pointer] = p, p, p
		names[p.Name] = append(names[p.Name], p.Pointer)
		if r.named[p.Name] == nil {
			r.named[p.Name] = p
		}
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		r.assign(key, given[key], keys[key], names[key])
	}
	return r
}

// assign gives values to the input that a key names.
func (r *resolver) assign(key string, texts []string, p *Prompt, named []string) {
	switch {
	case p == nil && len(named) > 0:
		r.fault(Fault{
			Kind: FaultUnknown, Key: key, Message: fmt.Sprintf("the name %s is that of %d inputs", show(key), len(named)),
			Suggestion: "use " + alternatives(named[:min(len(named), 5)]),
		})
	case p == nil:
		r.unknown(key)
	case r.given[p.Pointer] != nil:
		r.fault(Fault{Kind: FaultUnknown, Key: key, Message: fmt.Sprintf("%s is given by its name and by its pointer", show(p.Name)), Suggestion: "give it once"})
	default:
		r.given[p.Pointer] = append([]string{}, texts...)
	}
}

func (r *resolver) unknown(key string) {
	if len(r.faults) >= defaultProblems {
		return
	}
	var keys []string
	for _, p := range r.prompts {
		keys = append(keys, p.Key)
	}
	slices.Sort(keys)
	f := Fault{Kind: FaultUnknown, Key: key, Message: fmt.Sprintf("there is no input %s that can be given", show(key))}
	if meant := nearest(key, keys); meant != "" {
		f.Suggestion = "did you mean " + show(meant) + "?"
	} else if len(keys) > 0 && len(keys) <= 8 {
		for i, k := range keys {
			if !only(k, "-_./") || len(k) > maxKey {
				keys[i] = show(k)
			}
		}
		f.Suggestion = "there is " + strings.Join(keys, ", ")
	}
	r.fault(f)
}

// fault adds a fault. Its pointer is that within the package or remote.
func (r *resolver) fault(f Fault) {
	if len(r.faults) >= defaultProblems {
		return
	}
	if f.Pointer != "" || f.Kind == FaultManifest {
		f.Pointer = r.opts.Pointer + f.Pointer
	}
	r.faults = append(r.faults, f)
}

// unfit is a fault of the manifest.
func (r *resolver) unfit(pointer, suggestion, format string, args ...any) {
	r.fault(Fault{Kind: FaultManifest, Pointer: pointer, Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
}

func (r *resolver) notice(pointer, format string, args ...any) {
	if len(r.notices) < defaultProblems {
		r.notices = append(r.notices, Notice{Pointer: r.opts.Pointer + pointer, Message: fmt.Sprintf(format, args...)})
	}
}
