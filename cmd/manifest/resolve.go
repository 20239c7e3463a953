package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// question is the command line of resolve.
type question struct {
	*call
	pack, remote int
	format       string
	inputs       bool
	reveal       bool
	given        launch.Values // by -set
	envFile      string
	opts         launch.Options
	doc          *manifest.Document
	source       *source
}

func runResolve(ctx context.Context, c *call) error {
	q := &question{call: c, given: launch.Values{}}
	q.define()
	if err := c.parse(); err != nil {
		return err
	}
	if err := q.check(); err != nil {
		return err
	}
	s, err := c.one(ctx)
	if err != nil {
		return err
	}
	q.source = s
	server, err := q.server()
	if err != nil || server == nil {
		return errors.Join(err, errSilent)
	}
	return q.answer(server)
}

func (q *question) define() {
	f := q.flags
	f.IntVar(&q.pack, "package", -1, "resolve package `N`, counted from 0; by default the first")
	f.IntVar(&q.remote, "remote", -1, "resolve remote `N`, counted from 0; the default where there are no packages")
	f.Func("set", "give an input its `name=value`; a name alone takes the value of the environment variable; may be repeated, for an input that is repeated too", q.set)
	f.StringVar(&q.envFile, "env-file", "", "take values from the lines NAME=value of `file`; names that are no inputs are passed over")
	f.BoolVar(&q.inputs, "inputs", false, "list the inputs that can be given, and resolve nothing")
	f.BoolVar(&q.reveal, "reveal", false, "with -format json: write argv, env, url and headers with their secrets")
	f.StringVar(&q.opts.Dir, "dir", "", "make paths that are given absolute, from `directory`")
	f.BoolVar(&q.opts.OmitUnfilled, "omit-unfilled", false, "leave out optional arguments and variables that would hold a {token} without a value")
	q.choice(&q.format, "format", []string{"text", "json", "schema"}, "how the answer is written; schema is for -inputs")
}

func (q *question) set(text string) error {
	name, value, found := strings.Cut(text, "=")
	if !found {
		if value, found = q.Environ[name]; !found {
			return fmt.Errorf("%q has no =value, and there is no such environment variable", name)
		}
	}
	q.given[name] = append(q.given[name], value)
	return nil
}

func (q *question) check() error {
	switch {
	case q.pack >= 0 && q.remote >= 0:
		return cli.Usagef("-package and -remote exclude each other")
	case q.reveal && (q.format != "json" || q.inputs):
		return cli.Usagef("-reveal goes with -format json: a line of text would be pasted into a shell")
	case q.format == "schema" && !q.inputs:
		return cli.Usagef("-format schema goes with -inputs")
	}
	return nil
}

// server reads the manifest. It returns nil after telling that it is not valid.
func (q *question) server() (*manifest.Server, error) {
	doc, _ := manifest.Parse(q.source.data, nil)
	report := doc.Validate(nil)
	if !report.Valid() {
		return nil, writeText(q.Stderr, []checked{{*q.source, report}}, false)
	}
	q.doc = doc
	return doc.Server()
}

// answer resolves what was asked for: a package, else a remote.
func (q *question) answer(s *manifest.Server) error {
	if q.pack < 0 && q.remote < 0 {
		if len(s.Packages) > 0 {
			q.pack = 0
		} else {
			q.remote = 0
		}
	}
	list, what, n := len(s.Packages), "package", q.pack
	if q.remote >= 0 {
		list, what, n = len(s.Remotes), "remote", q.remote
	}
	if n >= list {
		return cli.Usagef("there is no %s %d: %s has %s", what, n, q.source.name(), cli.Count(list, what))
	}
	q.opts.Pointer = fmt.Sprintf("/%ss/%d", what, n)
	if what == "package" {
		return q.answerPackage(&s.Packages[n])
	}
	return q.answerRemote(&s.Remotes[n])
}

func (q *question) answerPackage(p *manifest.Package) error {
	form := launch.PackageForm(p)
	if q.inputs {
		return q.writeForm(form)
	}
	if err := q.readEnvFile(form); err != nil {
		return err
	}
	plan, err := launch.ResolvePackage(p, q.given, &q.opts)
	switch {
	case err != nil:
		return q.tell(err)
	case q.reveal:
		return writeIndented(q.Stdout, revealPlan(plan))
	case q.format == "json":
		return writeIndented(q.Stdout, plan)
	}
	_, err = io.WriteString(q.Stdout, plan.Consent())
	return err
}

func (q *question) answerRemote(r *manifest.Remote) error {
	form := launch.RemoteForm(r)
	if q.inputs {
		return q.writeForm(form)
	}
	if err := q.readEnvFile(form); err != nil {
		return err
	}
	e, err := launch.ResolveRemote(r, q.given, &q.opts)
	switch {
	case err != nil:
		return q.tell(err)
	case q.reveal:
		return writeIndented(q.Stdout, object{"type": e.Type, "url": e.URL.Value.Reveal(), "headers": pairs(e.Headers)})
	case q.format == "json":
		return writeIndented(q.Stdout, e)
	}
	_, err = io.WriteString(q.Stdout, e.Consent())
	return err
}

// revealPlan is what a script needs to start a plan.
func revealPlan(p *launch.Plan) object {
	o := object{"argv": p.Argv(), "env": p.Env(), "transport": p.Transport}
	if len(p.Setup) > 0 {
		var all [][]string
		for _, c := range p.Setup {
			all = append(all, c.Argv())
		}
		o["setup"] = all
	}
	if len(p.Files) > 0 {
		o["files"], o["arguments"] = p.Files, launch.Command(p.Arguments).Argv()
	}
	if p.URL != nil {
		o["url"], o["headers"] = p.URL.Value.Reveal(), pairs(p.Headers)
	}
	return o
}

func pairs(list []launch.Setting) [][2]string {
	out := make([][2]string, len(list))
	for i, s := range list {
		out[i] = [2]string{s.Name, s.Value.Reveal()}
	}
	return out
}

// tell says what keeps the manifest from being resolved, and where in it.
func (q *question) tell(err error) error {
	var faults launch.Faults
	if !errors.As(err, &faults) {
		return err
	}
	if q.format == "json" {
		return errors.Join(writeIndented(q.Stdout, object{"faults": faults, "missing": faults.Missing()}), errSilent)
	}
	var b bytes.Buffer
	for i := range faults {
		f := &faults[i]
		place := q.source.name()
		if n := q.doc.Lookup(f.Pointer); n != nil && f.Pointer != "" {
			line, column := q.doc.Position(n.Start)
			place = fmt.Sprintf("%s:%d:%d", place, line, column)
		}
		fmt.Fprintf(&b, "%s: %s\n", place, cli.Printable(f.Message))
		if f.Suggestion != "" {
			fmt.Fprintf(&b, "      = %s\n", cli.Printable(f.Suggestion))
		}
	}
	for _, key := range faults.Missing() {
		if plainKey(key) {
			fmt.Fprintf(&b, "give it with: -set '%s=...'\n", key)
		}
	}
	_, werr := q.Stderr.Write(b.Bytes())
	return errors.Join(werr, errSilent)
}

// plainKey says that a key is nothing but a name in a shell, where it may be pasted.
func plainKey(key string) bool {
	return strings.Trim(strings.ToLower(key), "abcdefghijklmnopqrstuvwxyz0123456789-_./") == ""
}

func (q *question) writeForm(f *launch.Form) error {
	switch q.format {
	case "json":
		return writeIndented(q.Stdout, f)
	case "schema":
		_, err := q.Stdout.Write(append(f.Schema(), '\n'))
		return err
	}
	var b bytes.Buffer
	for i := range f.Prompts {
		p := &f.Prompts[i]
		fmt.Fprintf(&b, "%s (%s)\n", cli.Printable(p.Key), traits(p))
		if p.Description != "" {
			fmt.Fprintf(&b, "      %s\n", cli.Printable(p.Description))
		}
	}
	if len(f.Prompts) == 0 {
		b.WriteString("there is nothing to give\n")
	}
	_, err := q.Stdout.Write(b.Bytes())
	return err
}

// traits is what can be given for an input.
func traits(p *launch.Prompt) string {
	words := []string{p.Format}
	for _, t := range []struct {
		so   bool
		word string
	}{{p.Required, "required"}, {p.Secret, "secret"}, {p.Repeated, "repeated"}} {
		if t.so {
			words = append(words, t.word)
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
