package manifest

import (
	"slices"
	"strings"
)

// part is an argument of the manifest as items of a command line.
type part struct {
	flag  string // the name of a named one
	value filled
	items []Item
}

// plan puts together what a package consists of.
func (r *resolver) plan(p *Package) *Plan {
	names := make(nameTable)
	runtime := r.arguments("/runtimeArguments", p.RuntimeArguments, names)
	arguments := r.arguments("/packageArguments", p.PackageArguments, names)
	plan := &Plan{
		Transport:   p.Transport.Type,
		Environment: r.environment(p.EnvironmentVariables, names),
		Arguments:   itemsOf(arguments),
	}
	switch p.Transport.Type {
	case Stdio:
	case StreamableHTTP, SSE:
		link := r.url("/transport/url", p.Transport.URL, names.lookup)
		plan.URL, plan.Headers = &link, r.headers("/transport/headers", p.Transport.Headers)
	default:
		r.unfit("/transport/type", "use stdio, streamable-http or sse", "the transport's type is %s", show(string(p.Transport.Type)))
	}
	plan.Paths = r.paths
	r.start(p, plan, runtime)
	return plan
}

// nameTable is what the variables of a package's url may name: the first value of a
// name, in the order of the document.
type nameTable map[string]filled

func (t nameTable) add(name string, f filled) {
	if _, taken := t[name]; !taken && name != "" {
		t[name] = f
	}
}

func (t nameTable) lookup(name string) (filled, bool) {
	f, ok := t[name]
	return f, ok
}

// arguments are those of a list that take part.
func (r *resolver) arguments(at string, args []Argument, names nameTable) []part {
	var parts []part
	for i := range args {
		a, pointer := &args[i], indexed(at, i)
		for _, f := range r.argument(a, pointer) {
			names.add(a.label(), f)
			if p, ok := r.part(a, pointer, f); ok {
				parts = append(parts, p)
			}
		}
	}
	return parts
}

func (r *resolver) argument(a *Argument, pointer string) []filled {
	switch {
	case a.Type != NamedArgument && a.Type != PositionalArgument:
		r.unfit(pointer+"/type", "use positional or named", "an argument's type is %s", show(string(a.Type)))
		return nil
	case a.Type == NamedArgument && (a.Name == "" || strings.IndexByte(a.Name, 0) >= 0):
		r.unfit(pointer+"/name", "write the flag with its dashes", "the name of a named argument is empty or has a NUL character")
		return nil
	}
	return r.fill(slot{in: &a.Input, vars: a.Variables, name: a.label(), pointer: pointer})
}

// part writes one value of an argument. An empty one that nobody asked for is left
// out; a flag that is fixed to an empty value stands alone.
func (r *resolver) part(a *Argument, pointer string, f filled) (part, bool) {
	p := part{value: f}
	origin := r.opts.Pointer + pointer
	empty := f.text == "" && !is(a.IsRequired)
	value := Item{Value: f.value(), Origin: origin}
	dash := f.given && strings.HasPrefix(f.text, "-")
	switch {
	case a.Type == PositionalArgument && dash, dash && !strings.HasPrefix(a.Name, "--") && or(a.Format, "") != "number":
		r.option(a, pointer)
		return part{}, false
	case a.Type == PositionalArgument:
		p.items = []Item{value}
		return p, !empty
	}
	p.flag = a.Name
	flag := Item{Value: plainValue(a.Name), Origin: origin}
	switch {
	case empty && !f.fixed:
		return part{}, false
	case empty:
		p.items = []Item{flag}
	case dash && strings.HasPrefix(a.Name, "--"):
		p.items = []Item{{Value: joined(a.Name, f), Origin: origin}}
	default:
		p.items = []Item{flag, value}
	}
	return p, true
}

// option refuses a value that a program would take for an option of its own.
func (r *resolver) option(a *Argument, pointer string) {
	f := Fault{Kind: FaultValue, Pointer: pointer, Message: slot{name: a.label()}.called() + " begins with '-' and would be taken for an option"}
	if p := r.prompts[pointer]; p != nil {
		f.Key = p.Key
	}
	f.Suggestion = "begin a path with ./, or use another value"
	r.fault(f)
}

// joined is --flag=value: a value that begins with a dash is taken for none else.
func joined(flag string, f filled) Value {
	if f.secret {
		return secretValue(flag+"="+f.text, flag+"="+masked)
	}
	return plainValue(flag + "=" + f.text)
}

func itemsOf(parts []part) []Item {
	var items []Item
	for i := range parts {
		items = append(items, parts[i].items...)
	}
	return items
}

// environment is the variables that are set. Of two with one name the last counts.
func (r *resolver) environment(list []KeyValueInput, names nameTable) []Setting {
	var env []Setting
	at := make(map[string]int) // where each name stands
	for i := range list {
		v, pointer := &list[i], indexed("/environmentVariables", i)
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") {
			r.unfit(pointer+"/name", "", "%s can't be the name of an environment variable", show(v.Name))
			continue
		}
		s, f, ok := r.setting(v, pointer, nil)
		if !ok {
			continue
		}
		names.add(v.Name, f)
		if steers(v.Name) {
			r.notice(pointer, "%s changes how programs are found, loaded or connected to", show(v.Name))
		}
		if before, twice := at[v.Name]; twice {
			r.notice(pointer, "%s is set twice, and this one counts", show(v.Name))
			env[before] = s
			continue
		}
		at[v.Name] = len(env)
		env = append(env, s)
	}
	return env
}

// steers says that a variable reaches beyond the server: to the loader, the shell,
// the interpreter or the launcher.
func steers(name string) bool {
	return steersAll(name) || hasPrefix(name, "NPM_CONFIG_", "UV_", "PIP_") || slices.Contains([]string{
		"NODE_OPTIONS", "NODE_PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP",
		"PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS", "DOTNET_STARTUP_HOOKS", "GIT_SSH_COMMAND",
	}, strings.ToUpper(name))
}

// steersAll says that a variable reaches any program, or those that launch containers.
func steersAll(name string) bool {
	return hasPrefix(name, "LD_", "DYLD_", "DOCKER_", "CONTAINER_", "CONTAINERS_", "XDG_") || slices.Contains([]string{
		"PATH", "HOME", "SHELL", "IFS", "ENV", "BASH_ENV", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
	}, strings.ToUpper(name))
}

// hasPrefix says that a name begins with one of the prefixes, in any case.
func hasPrefix(name string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(strings.ToUpper(name), p) })
}

func (r *resolver) headers(at string, list []KeyValueInput) []Setting {
	var headers []Setting
	for i := range list {
		h, pointer := &list[i], indexed(at, i)
		if !isToken(h.Name) {
			r.unfit(pointer+"/name", "", "%s can't be the name of a header", show(h.Name))
			continue
		}
		if s, _, ok := r.setting(h, pointer, withLineBreak); ok {
			headers = append(headers, s)
		}
	}
	return headers
}

// setting fills a variable or header. It returns false if there is none.
func (r *resolver) setting(v *KeyValueInput, pointer string, refuses func(string) string) (Setting, filled, bool) {
	all := r.fill(slot{in: &v.Input, vars: v.Variables, name: v.Name, pointer: pointer, refuses: refuses})
	if len(all) == 0 || all[0].text == "" && !all[0].fixed && !all[0].given {
		return Setting{}, filled{}, false
	}
	return Setting{Name: v.Name, Value: all[0].value(), Origin: r.opts.Pointer + pointer}, all[0], true
}
