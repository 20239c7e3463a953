package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// label is the registryType of the package as which a bundle is resolved.
const label = "bundle"

// Form lists the inputs: one for each key of user_config, in its order.
func (b *Bundle) Form() *launch.Form {
	f := &launch.Form{Prompts: []launch.Prompt{}}
	for i := range b.Manifest.Config {
		c := &b.Manifest.Config[i]
		p := launch.Prompt{
			Key: c.Key, Name: c.Key, Pointer: "/user_config/" + jsonpos.EscapeToken(c.Key), Role: launch.RoleVariable,
			Description: cmp.Or(c.Description, c.Title), Format: types[c.Type],
			Required: c.Required, Secret: c.Sensitive, Repeated: c.Multiple,
		}
		f.Prompts = append(f.Prompts, p)
	}
	return f
}

// Resolve returns how to start the server, unpacked in a directory, with values by the keys of
// user_config. The error is launch.Faults.
func (b *Bundle) Resolve(dir string, given launch.Values, opts *launch.Options) (*launch.Plan, error) {
	r := &resolver{bundle: b, dir: dir, values: map[string][]string{}, opts: *cmp.Or(opts, &launch.Options{}), notices: slices.Clone(b.Manifest.Notices)}
	r.assign(given)
	pack := r.pack()
	if err := r.faults.err(); err != nil {
		return nil, err
	}
	r.opts.OmitUnfilled = true
	r.opts.Launchers = map[string]launch.Launcher{label: {Command: []string{r.command}}}
	plan, err := launch.ResolvePackage(pack, r.byPointer(pack), &r.opts)
	if err != nil {
		return nil, r.translate(err)
	}
	r.locate(plan, pack)
	return plan, nil
}

// locate turns the pointers of a plan into those of manifest.json. Notices about the package that
// the bundle was resolved as, and about text in braces, which is none of its references, go.
func (r *resolver) locate(plan *launch.Plan, pack *manifest.Package) {
	at := func(pointer string) string {
		list, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(pointer, r.opts.Pointer), "/"), "/")
		index, _, _ := strings.Cut(rest, "/")
		i, err := strconv.Atoi(index)
		switch {
		case err == nil && list == "packageArguments" && r.bundle.Manifest.Server.Command != nil:
			return r.opts.Pointer + "/server/mcp_config/args/" + index
		case err == nil && list == "environmentVariables":
			return r.opts.Pointer + "/server/mcp_config/env/" + jsonpos.EscapeToken(pack.EnvironmentVariables[i].Name)
		}
		return r.opts.Pointer + "/server"
	}
	for _, items := range [][]launch.Item{plan.Command, plan.Arguments} {
		for i := range items {
			items[i].Origin = at(items[i].Origin)
		}
	}
	for i := range plan.Environment {
		plan.Environment[i].Origin = at(plan.Environment[i].Origin)
	}
	var paths []launch.Setting // each once, although the command may refer to it several times
	for _, p := range plan.Paths {
		p.Name, p.Origin = strings.TrimPrefix(p.Name, variable), at(p.Origin)
		if !slices.ContainsFunc(paths, func(have launch.Setting) bool { return have.Name == p.Name && have.Value.Reveal() == p.Value.Reveal() }) {
			paths = append(paths, p)
		}
	}
	plan.Paths = paths
	for _, n := range plan.Notices {
		if n.Pointer != r.opts.Pointer && !strings.HasSuffix(n.Pointer, "/value") {
			n.Pointer = at(n.Pointer)
			r.notices = append(r.notices, n)
		}
	}
	plan.Notices = r.notices
}

// resolver resolves a bundle.
type resolver struct {
	bundle  *Bundle
	dir     string
	opts    launch.Options
	values  map[string][]string // by key
	command string
	faults  faults
	notices []launch.Notice
}

// assign sets the values: those of the user, else the defaults.
func (r *resolver) assign(given launch.Values) {
	m := r.bundle.Manifest
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(m.Config, func(c Config) bool { return c.Key == key }) {
			r.faults.all = append(r.faults.all, launch.Fault{Kind: launch.FaultUnknown, Key: key, Message: "unknown input " + jsonpos.Quote(key)})
		}
	}
	for i := range m.Config {
		c := &m.Config[i]
		if values, ok := given[c.Key]; ok {
			r.values[c.Key] = values
		} else if values, _ := c.defaults(); values != nil {
			for _, v := range values {
				r.values[c.Key] = append(r.values[c.Key], r.directories(v))
			}
		}
		r.bounds(c)
	}
}

// bounds checks the values of a number.
func (r *resolver) bounds(c *Config) {
	for _, v := range r.values[c.Key] {
		n, err := strconv.ParseFloat(v, 64)
		if c.Type != "number" || err != nil { // package launch reports what is not a number
			continue
		}
		if c.Min != nil && n < *c.Min || c.Max != nil && n > *c.Max {
			r.faults.all = append(r.faults.all, launch.Fault{
				Kind: launch.FaultValue, Key: c.Key, Pointer: "/user_config/" + jsonpos.EscapeToken(c.Key),
				Message: fmt.Sprintf("%s is outside of its range", jsonpos.Quote(c.Key)), Suggestion: "use " + span(c.Min, c.Max),
			})
		}
	}
}

// span describes a range.
func span(from, to *float64) string {
	text := func(n *float64) string { return strconv.FormatFloat(*n, 'g', -1, 64) }
	switch {
	case from == nil:
		return text(to) + " or less"
	case to == nil:
		return text(from) + " or more"
	}
	return text(from) + " to " + text(to)
}

// directories replaces the references to directories.
func (r *resolver) directories(s string) string {
	home, separator := r.bundle.opts.Home, "/"
	if r.bundle.opts.GOOS == "windows" {
		separator = `\`
	}
	return strings.NewReplacer(
		"${__dirname}", r.dir, "${HOME}", home, "${DESKTOP}", home+separator+"Desktop", "${DOCUMENTS}", home+separator+"Documents",
		"${DOWNLOADS}", home+separator+"Downloads", "${pathSeparator}", separator, "${/}", separator,
	).Replace(s)
}

// reference begins a reference of the manifest to an input; its key and the closing brace follow.
const reference = "${user_config."

// pack returns the command as a package.
func (r *resolver) pack() *manifest.Package {
	b := r.bundle
	s := &b.Manifest.Server
	if at := b.Manifest.Compatibility.Platforms; len(at) > 0 && !slices.Contains(at, platform(b.opts.GOOS)) {
		r.faults.add("/compatibility/platforms", "", "the server does not run on %s", platform(b.opts.GOOS))
	}
	c := Command{Command: "uv", Args: []string{"run", "--directory", "${__dirname}", s.EntryPoint}}
	if s.Command != nil {
		c = s.Command.on(b.opts.GOOS)
	}
	r.setCommand(c.Command)
	p := &manifest.Package{RegistryType: label, Identifier: "bundle", Transport: manifest.Transport{Type: manifest.Stdio}}
	for i, arg := range c.Args {
		if clean(arg) == clean(s.EntryPoint) && s.Type != "uv" {
			arg = "${__dirname}/" + clean(arg)
		}
		p.PackageArguments = append(p.PackageArguments, r.argument(arg, "/server/mcp_config/args/"+strconv.Itoa(i)))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		v := manifest.KeyValueInput{Name: name, Input: manifest.Input{IsSecret: new(secretName.MatchString(name))}}
		v.Value, v.Variables = r.template(c.Env[name], "/server/mcp_config/env/"+jsonpos.EscapeToken(name))
		p.EnvironmentVariables = append(p.EnvironmentVariables, v)
	}
	return p
}

// platform returns the name of an operating system in manifests.
func platform(goos string) string {
	if goos == "windows" {
		return "win32"
	}
	return goos
}

// setCommand sets the program to run.
func (r *resolver) setCommand(name string) {
	b := r.bundle
	if program := b.program(); program != "" {
		r.command = filepath.Join(r.dir, filepath.FromSlash(program))
		return
	}
	r.command = r.directories(name)
	if strings.Contains(name, reference) {
		r.faults.add("/server/mcp_config/command", "", "the command depends on an input")
	}
	runtimes := map[string][]string{"node": {"node"}, "python": {"python", "python3"}, "uv": {"uv"}}[b.Manifest.Server.Type]
	if !slices.Contains(runtimes, name) {
		message := fmt.Sprintf("the command %s is neither in the bundle nor the runtime of a %s server", jsonpos.Quote(name), b.Manifest.Server.Type)
		r.notices = append(r.notices, launch.Notice{Severity: launch.SeverityWarning, Pointer: "/server/mcp_config/command", Message: message})
	}
}

// argument returns an argument of the command. One that is only a reference to an input with
// several values becomes several arguments.
func (r *resolver) argument(arg, pointer string) manifest.Argument {
	a := manifest.Argument{Type: manifest.PositionalArgument}
	key, begins := strings.CutPrefix(arg, reference)
	key, ends := strings.CutSuffix(key, "}")
	if c := r.config(key); begins && ends && c != nil && c.Multiple {
		a.Input, a.ValueHint, a.IsRepeated = r.input(c), &c.Key, new(true)
		return a
	}
	a.Value, a.Variables = r.template(arg, pointer)
	return a
}

// config returns the input with a key, nil if there is none.
func (r *resolver) config(key string) *Config {
	all := r.bundle.Manifest.Config
	i := slices.IndexFunc(all, func(c Config) bool { return c.Key == key })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// template returns a string as a template of package manifest with its variables.
func (r *resolver) template(s, pointer string) (*string, []manifest.Variable) {
	s = r.directories(s)
	var variables []manifest.Variable
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, reference)
		key, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			out.WriteString(s)
			break
		}
		out.WriteString(before)
		c := r.config(key)
		switch {
		case c == nil:
			r.faults.add(pointer, "", "%s refers to an input that user_config does not have", jsonpos.Quote(reference+key+"}"))
		case c.Multiple && len(r.values[key]) > 1:
			r.faults.add(pointer, "", "the values of %s are a list, which cannot be a part of a string", jsonpos.Quote(key))
		default:
			out.WriteString("{" + variable + key + "}")
			if !slices.ContainsFunc(variables, func(v manifest.Variable) bool { return v.Name == variable+key }) {
				variables = append(variables, manifest.Variable{Name: variable + key, Input: r.input(c)})
			}
		}
		s = after
	}
	return new(out.String()), variables
}

// variable begins the names of variables, so that other text in braces is not taken for one.
const variable = "user_config."

// input returns an input for package launch.
func (r *resolver) input(c *Config) manifest.Input {
	format := types[c.Type]
	return manifest.Input{IsRequired: &c.Required, IsSecret: &c.Sensitive, Format: &format}
}

// byPointer returns the values by the pointers of the inputs in a package.
func (r *resolver) byPointer(p *manifest.Package) launch.Values {
	values := launch.Values{}
	for _, prompt := range launch.PackageForm(p).Prompts {
		if given := r.values[strings.TrimPrefix(prompt.Name, variable)]; given != nil {
			values[prompt.Pointer] = given
		}
	}
	return values
}

// translate turns faults of the package into such of the bundle, each once.
func (r *resolver) translate(err error) error {
	list, ok := errors.AsType[launch.Faults](err)
	if !ok {
		return err
	}
	var out launch.Faults
	for _, f := range list {
		i := slices.IndexFunc(r.bundle.Manifest.Config, func(c Config) bool {
			return strings.HasSuffix(f.Pointer, "/"+jsonpos.EscapeToken(variable+c.Key)) || f.Key == c.Key || f.Key == variable+c.Key
		})
		if i >= 0 {
			f.Key = r.bundle.Manifest.Config[i].Key
			f.Pointer = "/user_config/" + jsonpos.EscapeToken(f.Key)
		}
		f.Message = strings.ReplaceAll(f.Message, variable, "")
		if !slices.ContainsFunc(out, func(have launch.Fault) bool { return have == f }) {
			out = append(out, f)
		}
	}
	return out
}
