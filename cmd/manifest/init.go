package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/cmd/manifest/internal/publish"
	"github.com/ashlar-go/ashlar/manifest"
)

func defineInit(c *call) runner {
	out := c.flags.StringP("o", "o", "server.json", "write to `file`; - means the standard output")
	force := c.flags.Bool("force", false, "replace an existing file")
	yes := c.flags.Bool("yes", false, "ask nothing: take what the package files, the README and git say")
	return func(ctx context.Context) error {
		if len(c.files) > 0 {
			return cli.Usagef("init takes no arguments: name the file with -o")
		}
		if _, err := os.Lstat(*out); *out != "-" && !*force && !errors.Is(err, fs.ErrNotExist) {
			return cli.Usagef("%s already exists: use -force to replace it, or another name with -o", *out)
		}
		project, err := publish.Read(filepath.Dir(*out))
		if err != nil {
			return unreadable(err)
		}
		var data []byte
		if *yes {
			data, err = c.drafted(project)
		} else {
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			i := &interview{ctx: ctx, call: c, answers: bufio.NewScanner(c.Input(ctx)), draft: project.Draft()}
			data, err = i.manifest()
		}
		if err != nil {
			return err
		}
		if *out == "-" {
			_, err := c.Stdout.Write(data)
			return err
		}
		if err := replace(*out, data); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.Stderr, "wrote %s, which is valid\n", *out)
		return err
	}
}

// drafted returns the manifest that the files of a project give, or reports what they leave out.
func (c *call) drafted(p *publish.Project) ([]byte, error) {
	data, err := json.Marshal(p.Draft())
	if err != nil {
		return nil, err
	}
	if data, err = formatted(data, &c.options); err != nil {
		return nil, err
	}
	if report := manifest.Validate(data, &c.options); !report.Valid() {
		fmt.Fprintln(c.Stderr, "the files of the project do not say everything; without -yes, init asks for the rest:")
		return nil, errors.Join(c.writeText(c.Stderr, []checked{{source{path: "draft", data: data}, report}}, false), errReported)
	}
	return data, nil
}

// interview writes questions to the error stream and reads one line for each. After an error it asks
// nothing, and its answers are empty.
type interview struct {
	err     error
	ctx     context.Context
	call    *call
	answers *bufio.Scanner
	server  manifest.Server
	draft   *manifest.Server // what the files of the project say
}

var errNoAnswer = errors.New("the input ended before the last answer")

// line prompts for one line.
func (i *interview) line(question, preset string) string {
	if i.err != nil {
		return ""
	}
	if preset != "" {
		question += " [" + preset + "]"
	}
	fmt.Fprintf(i.call.Stderr, "%s: ", question)
	if !i.answers.Scan() {
		i.err = cmp.Or(context.Cause(i.ctx), errNoAnswer)
		return ""
	}
	return cmp.Or(strings.TrimSpace(i.answers.Text()), preset)
}

// ask repeats a question until the manifest is valid at the pointer.
func (i *interview) ask(question, preset, pointer string, set func(answer string)) {
	for {
		set(i.line(question, preset))
		why := i.fault(pointer)
		if i.err != nil || why == "" {
			return
		}
		fmt.Fprintf(i.call.Stderr, "  %s\n", why)
	}
}

// fault returns what is wrong at a pointer, or "".
func (i *interview) fault(pointer string) string {
	data, err := json.Marshal(&i.server)
	i.err = cmp.Or(i.err, err)
	for _, p := range manifest.Validate(data, nil).Problems {
		if p.Pointer == pointer && (p.Severity == manifest.Error || p.Rule == "identifier-empty") {
			return strings.TrimSuffix(cli.Printable(p.Message+" ("+p.Suggestion+")"), " ()")
		}
	}
	return ""
}

// choose prompts for one of a few words. The first one is the default.
func (i *interview) choose(question string, words ...string) string {
	for {
		answer := i.line(question+" ("+strings.Join(words, ", ")+")", words[0])
		if i.err != nil || slices.Contains(words, answer) {
			return answer
		}
		fmt.Fprintf(i.call.Stderr, "  use one of %s\n", strings.Join(words, ", "))
	}
}

// manifest asks all questions and returns the formatted document.
func (i *interview) manifest() ([]byte, error) {
	i.about()
	i.endpoint()
	if i.err != nil {
		return nil, i.err
	}
	data, err := json.Marshal(&i.server)
	if err != nil {
		return nil, err
	}
	if err := manifest.Validate(data, nil).Err(); err != nil {
		return nil, err
	}
	return formatted(data, nil)
}

func (i *interview) about() {
	s := &i.server
	d := i.draft
	s.Schema, s.Repository = d.Schema, d.Repository
	for _, q := range []struct {
		question, preset, pointer string
		set                       func(answer string)
	}{
		{"Name, such as com.example/weather", d.Name, "/name", func(a string) { s.Name = a }},
		{"Title (may be empty)", orEmpty(d.Title), "/title", func(a string) { s.Title = optional(a) }},
		{"Description, in at most 100 characters", d.Description, "/description", func(a string) { s.Description = a }},
		{"Version", cmp.Or(d.Version, "1.0.0"), "/version", func(a string) { s.Version = a }},
		{"Website (may be empty)", orEmpty(d.WebsiteURL), "/websiteUrl", func(a string) { s.WebsiteURL = optional(a) }},
	} {
		i.ask(q.question, q.preset, q.pointer, q.set)
	}
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// endpoint asks how to install or reach the server.
func (i *interview) endpoint() {
	if len(i.draft.Packages) > 0 {
		for j := range i.draft.Packages {
			p := &i.draft.Packages[j]
			fmt.Fprintf(i.call.Stderr, "  found: %s %s %s\n", p.RegistryType, cli.Printable(p.Identifier), cli.Printable(orEmpty(p.Version)))
		}
		if i.choose("Use what was found", "yes", "no") == "yes" {
			i.server.Packages = i.draft.Packages
			i.server.Packages[0].EnvironmentVariables = i.settings("an environment variable")
			return
		}
	}
	kind := i.choose("Type of package, or remote", append(manifest.RegistryTypes(), "remote")...)
	if kind != "remote" {
		i.pack(kind)
		return
	}
	i.server.Remotes = []manifest.Remote{{Type: manifest.TransportType(i.choose("Transport", "streamable-http", "sse"))}}
	r := &i.server.Remotes[0]
	i.ask("URL", "", "/remotes/0/url", func(a string) { r.URL = a })
	r.Headers = i.settings("a header")
}

func (i *interview) pack(kind string) {
	i.server.Packages = []manifest.Package{{RegistryType: kind}}
	p := &i.server.Packages[0]
	question := map[string]string{manifest.OCI: "Image with its tag, such as images.example/weather:1.0.0", manifest.MCPB: "URL of the file"}[kind]
	question = cmp.Or(question, "Name of the package")
	i.ask(question, "", "/packages/0/identifier", func(a string) { p.Identifier = a })
	if kind != manifest.OCI {
		i.ask("Version of the package", i.server.Version, "/packages/0/version", func(a string) { p.Version = optional(a) })
	}
	if kind == manifest.MCPB {
		i.ask("SHA-256 of the file", "", "/packages/0/fileSha256", func(a string) { p.FileSHA256 = &a })
	}
	p.Transport.Type = manifest.TransportType(i.choose("Transport", "stdio", "streamable-http", "sse"))
	if p.Transport.Type != manifest.Stdio {
		i.ask("URL", "http://localhost:8080/mcp", "/packages/0/transport/url", func(a string) { p.Transport.URL = a })
	}
	p.EnvironmentVariables = i.settings("an environment variable")
}

// settings asks for names until the answer is empty.
func (i *interview) settings(what string) (all []manifest.KeyValueInput) {
	for {
		name := i.line("Name of "+what+" that users provide (empty for none)", "")
		if name == "" {
			return all
		}
		in := manifest.KeyValueInput{Name: name, Input: manifest.Input{Description: optional(i.line("  Description", ""))}}
		for _, flag := range []struct {
			question string
			to       **bool
		}{{"Required", &in.IsRequired}, {"Secret", &in.IsSecret}} {
			if i.choose("  "+flag.question, "no", "yes") == "yes" {
				*flag.to = new(true)
			}
		}
		all = append(all, in)
	}
}
