package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// resolveCall is a call of resolve with its flags.
type resolveCall struct {
	*call
	pack, remote   int // flags
	chosenPackage  *manifest.Package
	chosenRemote   *manifest.Remote
	format         *string
	inputs, reveal bool
	system         string        // GOOS
	given          launch.Values // by -set
	envFile        string
	opts           launch.Options
}

func defineResolve(c *call) runner {
	q := newResolveCall(c)
	c.fromFlag()
	f := c.flags
	f.StringVar(&q.envFile, "env-file", "", "read values from the lines NAME=value of `file`; names that are not inputs are ignored")
	f.BoolVar(&q.inputs, "inputs", false, "list the inputs and resolve nothing")
	f.BoolVar(&q.reveal, "reveal", false, "with -format json: write argv, env, url and headers with their secrets")
	f.StringVar(&q.system, "os", "", "with -reveal: write argv for an operating `system` instead of this one: on windows npx is started by cmd")
	c.limits()
	q.format = c.choice("format", "the output `format`; schema is for -inputs", "text", "json", "schema")
	return func(ctx context.Context) error {
		if err := q.checkFormat(); err != nil {
			return err
		}
		s, err := c.one(ctx)
		if err != nil {
			return err
		}
		doc, _, err := q.choosePart(s)
		if err != nil {
			return err
		}
		return q.resolve(s.name(), doc)
	}
}

// checkFormat checks flags that need others.
func (q *resolveCall) checkFormat() error {
	switch {
	case q.pack >= 0 && q.remote >= 0:
		return cli.Usagef("-package and -remote exclude each other")
	case q.reveal && (*q.format != "json" || q.inputs):
		return cli.Usagef("-reveal needs -format json, because text would be pasted into a shell")
	case *q.format == "schema" && !q.inputs:
		return cli.Usagef("-format schema needs -inputs")
	}
	q.system = cmp.Or(q.system, runtime.GOOS)
	return nil
}

// newResolveCall defines the flags that choose a package or remote and set its inputs.
func newResolveCall(c *call) *resolveCall {
	q := &resolveCall{call: c, given: launch.Values{}}
	f := c.flags
	f.IntVar(&q.pack, "package", -1, "use package `N`, counted from 0, instead of the first one")
	f.IntVar(&q.remote, "remote", -1, "use remote `N`, counted from 0, instead of a package")
	f.Func("set", "set an input: `name=value`; a name alone takes the value of the environment variable; may be repeated", q.set)
	f.StringVar(&q.opts.Dir, "dir", "", "make relative paths absolute, from `directory`")
	f.BoolVar(&q.opts.OmitUnfilled, "omit-unfilled", false, "omit optional arguments and variables that would contain a {token} without a value")
	f.BoolVar(&q.opts.Strict, "strict", false, "report as faults what is a warning otherwise: unknown options of the launcher, arguments of another one, words in place of the package")
	return q
}

func (q *resolveCall) set(text string) error {
	name, value, found := strings.Cut(text, "=")
	if !found {
		if value, found = q.Environ[name]; !found {
			return fmt.Errorf("%q has no =value, and no environment variable has that name", name)
		}
	}
	q.given[name] = append(q.given[name], value)
	return nil
}

// choosePart reads a manifest and chooses what to resolve: by default the first package, or the first remote if
// there are no packages. A part with errors is reported and not resolved; by default the
// next one is.
func (q *resolveCall) choosePart(s *source) (*manifest.Document, *manifest.Server, error) {
	doc, _ := manifest.Parse(s.data, &q.options)
	r := doc.Read(&q.options)
	packages, remotes := len(r.Server.Packages), len(r.Server.Remotes)
	if packages == 0 && remotes == 0 && !r.Report.Valid() {
		return nil, nil, errors.Join(q.writeText(q.Stderr, []checked{{*s, r.Report}}, false), errReported)
	}
	what, n, count := "package", q.pack, packages
	part := func(i int) error { _, err := r.Package(i); return err }
	if q.remote >= 0 || q.pack < 0 && packages == 0 {
		what, n, count = "remote", q.remote, remotes
		part = func(i int) error { _, err := r.Remote(i); return err }
	}
	if n >= count || count == 0 {
		return nil, nil, cli.Usagef("no %s %d: %s has %s", what, max(0, n), s.name(), cli.Count(count, what))
	}
	first := max(0, n)
	chosen := first
	for n < 0 && chosen+1 < count && part(chosen) != nil {
		chosen++
	}
	var problems manifest.Problems
	if errors.As(part(chosen), &problems) {
		_ = errors.As(part(first), &problems) // the first one, if all have errors
		report := &manifest.Report{Problems: problems, Errors: len(problems)}
		return nil, nil, errors.Join(q.writeText(q.Stderr, []checked{{*s, report}}, false), errReported)
	}
	q.opts.Pointer = fmt.Sprintf("/%ss/%d", what, chosen)
	if what == "package" {
		q.chosenPackage = &r.Server.Packages[chosen]
	} else {
		q.chosenRemote = &r.Server.Remotes[chosen]
	}
	if chosen > first {
		fmt.Fprintf(q.Stderr, "%s: %s %d has errors, see manifest validate: resolving %s %d\n", s.name(), what, first, what, chosen)
	} else if !r.Report.Valid() {
		fmt.Fprintf(q.Stderr, "%s: other parts have %s: see manifest validate\n", s.name(), cli.Count(r.Report.Errors, "error"))
	}
	return doc, r.Server, nil
}

// resolve resolves the chosen package or remote.
func (q *resolveCall) resolve(name string, doc *manifest.Document) (err error) {
	var form *launch.Form
	if q.chosenPackage != nil {
		form = launch.PackageForm(q.chosenPackage)
	} else {
		form = launch.RemoteForm(q.chosenRemote)
	}
	if q.inputs {
		return q.writeForm(form)
	}
	if err := q.readEnvFile(form); err != nil {
		return err
	}
	var r result
	if q.chosenPackage != nil {
		r, err = launch.ResolvePackage(q.chosenPackage, q.given, &q.opts)
	} else {
		r, err = launch.ResolveRemote(q.chosenRemote, q.given, &q.opts)
	}
	if err == nil {
		err = q.write(r)
	}
	if err != nil {
		return q.reportFaults(name, doc, err)
	}
	return nil
}

// write writes what was resolved.
func (q *resolveCall) write(r result) error {
	switch {
	case q.reveal:
		o, err := revealed(r, q.system)
		if err != nil {
			return err
		}
		return writeIndented(q.Stdout, o)
	case *q.format == "json":
		return writeIndented(q.Stdout, r)
	}
	_, err := io.WriteString(q.Stdout, r.Consent())
	return err
}

// result is a plan or an endpoint.
type result interface{ Consent() string }

// revealed returns what a script needs to start a plan on an operating system, or to connect
// to an endpoint.
func revealed(r result, system string) (object, error) {
	if e, ok := r.(*launch.Endpoint); ok {
		return object{"type": e.Type, "url": e.URL.Value.Reveal(), "headers": pairs(e.Headers)}, nil
	}
	p := r.(*launch.Plan)
	argv, err := p.ArgvFor(system)
	if err != nil {
		return nil, err
	}
	o := object{"argv": argv, "env": p.Env(), "transport": p.Transport}
	var setup [][]string
	for _, c := range p.Setup {
		argv, err := c.ArgvFor(system)
		if err != nil {
			return nil, err
		}
		setup = append(setup, argv)
	}
	if setup != nil {
		o["setup"] = setup
	}
	if len(p.Files) > 0 {
		o["files"], o["arguments"] = p.Files, launch.Command(p.Arguments).Argv()
	}
	if p.URL != nil {
		o["url"], o["headers"] = p.URL.Value.Reveal(), pairs(p.Headers)
	}
	return o, nil
}

func pairs(list []launch.Setting) [][2]string {
	out := make([][2]string, len(list))
	for i, s := range list {
		out[i] = [2]string{s.Name, s.Value.Reveal()}
	}
	return out
}

// reportFaults writes what prevents the manifest from being resolved, with positions if there is a
// document.
func (q *resolveCall) reportFaults(name string, doc *manifest.Document, err error) error {
	var faults launch.Faults
	if !errors.As(err, &faults) {
		return err
	}
	if q.format != nil && *q.format == "json" {
		return errors.Join(writeIndented(q.Stdout, object{"faults": faults, "missing": faults.Missing()}), errReported)
	}
	var b bytes.Buffer
	for i := range faults {
		f := &faults[i]
		position := name
		if n := nearest(doc, f.Pointer); n != nil {
			line, column := doc.Position(n.Start)
			position = fmt.Sprintf("%s:%d:%d", name, line, column)
		}
		fmt.Fprintf(&b, "%s: %s\n", position, cli.Printable(f.Message))
		if f.Suggestion != "" {
			fmt.Fprintf(&b, "      = %s\n", cli.Printable(f.Suggestion))
		}
	}
	for _, key := range faults.Missing() {
		// The line may be pasted into a shell.
		if strings.Trim(strings.ToLower(key), "abcdefghijklmnopqrstuvwxyz0123456789-_./") == "" {
			fmt.Fprintf(&b, "set it with: -set '%s=...'\n", key)
		}
	}
	_, werr := q.Stderr.Write(b.Bytes())
	return errors.Join(werr, errReported)
}

// nearest returns the value at a pointer, or else the closest one around it: an undeclared
// token of a header has the pointer of a declaration that is missing.
func nearest(doc *manifest.Document, pointer string) *manifest.Node {
	for doc != nil && pointer != "" {
		if n := doc.Lookup(pointer); n != nil {
			return n
		}
		pointer = pointer[:strings.LastIndexByte(pointer, '/')]
	}
	return nil
}

func (q *resolveCall) writeForm(f *launch.Form) error {
	switch *q.format {
	case "json":
		return writeIndented(q.Stdout, f)
	case "schema":
		_, err := q.Stdout.Write(append(f.Schema(), '\n'))
		return err
	}
	var b bytes.Buffer
	for i := range f.Prompts {
		p := &f.Prompts[i]
		fmt.Fprintf(&b, "%s (%s)\n", cli.Printable(p.Key), describe(p))
		if p.Description != "" {
			fmt.Fprintf(&b, "      %s\n", cli.Printable(p.Description))
		}
	}
	if len(f.Prompts) == 0 {
		b.WriteString("there are no inputs\n")
	}
	_, err := q.Stdout.Write(b.Bytes())
	return err
}

// describe lists the properties of an input.
func describe(p *launch.Prompt) string {
	words := []string{p.Format}
	for _, property := range []struct {
		set  bool
		word string
	}{{p.Required, "required"}, {p.Secret, "secret"}, {p.Repeated, "repeated"}} {
		if property.set {
			words = append(words, property.word)
		}
	}
	if len(p.Choices) > 0 {
		words = append(words, "one of "+cli.Printable(strings.Join(p.Choices, ", ")))
	}
	if p.Default != nil {
		words = append(words, "default "+cli.Printable(p.Default.String()))
	}
	return strings.Join(words, ", ")
}

// readEnvFile reads the file of -env-file. Values of -set take precedence, and names that
// are not inputs are ignored.
func (q *resolveCall) readEnvFile(form *launch.Form) error {
	if q.envFile == "" {
		return nil
	}
	data, err := os.ReadFile(q.envFile)
	if err != nil {
		return unreadable(err)
	}
	values, err := parseEnv(string(data))
	if err != nil {
		return cli.Usagef("%s: %w", q.envFile, err)
	}
	for i := range form.Prompts {
		key := form.Prompts[i].Key
		value, found := values[key]
		if _, set := q.given[key]; found && !set {
			q.given[key] = []string{value}
		}
	}
	return nil
}

// parseEnv reads lines NAME=value. A value may be in single quotes, which keep it unchanged,
// or in double quotes with the escapes \n, \" and \\. Lines that begin with # are comments.
// Errors do not show the line, which may have a secret.
func parseEnv(text string) (map[string]string, error) {
	values := make(map[string]string)
	for i, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, found := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !found || name == "" {
			return nil, fmt.Errorf("line %d is not NAME=value", i+1)
		}
		if value != "" && (value[0] == '"' || value[0] == '\'') {
			quote := value[0]
			if len(value) < 2 || value[len(value)-1] != quote {
				return nil, fmt.Errorf("line %d has an unclosed quote", i+1)
			}
			value = value[1 : len(value)-1]
			if quote == '"' {
				value = strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\\`, `\`).Replace(value)
			}
		}
		values[name] = value
	}
	return values, nil
}
