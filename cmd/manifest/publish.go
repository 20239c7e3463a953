package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/cmd/manifest/internal/publish"
	"github.com/ashlar-go/ashlar/manifest"
)

// server returns a valid manifest as a struct. It reports the problems of others.
func (c *call) server(s *source) (*manifest.Document, *manifest.Server, error) {
	doc, _ := manifest.Parse(s.data, &c.options)
	if report := doc.Validate(nil); !report.Valid() {
		return nil, nil, errors.Join(c.writeText(c.Stderr, []checked{{*s, report}}, false), errReported)
	}
	server, err := doc.Server()
	return doc, server, err
}

// own reads the manifest of a project: the file that the arguments name, else server.json, with the
// project in its directory.
func (c *call) own(ctx context.Context) (*source, *manifest.Document, *publish.Project, error) {
	if len(c.files) == 0 {
		c.files = []string{"server.json"}
	}
	s, err := c.one(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if s.path == "-" {
		return nil, nil, nil, cli.Usagef("name the file: its directory is that of the project")
	}
	doc, _, err := c.server(s)
	if err != nil {
		return nil, nil, nil, err
	}
	p, err := publish.Read(filepath.Dir(s.path))
	if err != nil {
		return nil, nil, nil, unreadable(err)
	}
	return s, doc, p, nil
}

// defineBump defines the command that sets another version everywhere.
func defineBump(c *call) runner {
	dryRun := c.flags.BoolP("n", "n", false, "show the change and write nothing")
	return func(ctx context.Context) error {
		if len(c.files) == 0 {
			return cli.Usagef("name the version: major, minor, patch or the version itself")
		}
		step := c.files[0]
		c.files = c.files[1:]
		s, doc, project, err := c.own(ctx)
		if err != nil {
			return err
		}
		version, err := publish.Next(doc.Lookup("/version").Text, step)
		if err != nil {
			return cli.Usagef("%w", err)
		}
		bumped, notes, err := publish.Bump(doc, version)
		if err != nil {
			return err
		}
		if report := bumped.Validate(nil); !report.Valid() {
			changed := source{path: s.path, data: []byte(bumped.Text())}
			return errors.Join(c.writeText(c.Stderr, []checked{{changed, report}}, false), errReported)
		}
		if err := c.save(s, &edited{[]byte(bumped.Text()), notes}, *dryRun); err != nil {
			return err
		}
		server, err := bumped.Server()
		if err != nil {
			return err
		}
		changes, err := project.Sync(server)
		if err != nil {
			return err
		}
		return c.saveProject(project, changes, *dryRun)
	}
}

// saveProject shows and writes the changes of a project.
func (c *call) saveProject(p *publish.Project, changes *publish.Changes, dryRun bool) error {
	for _, name := range changes.Names() {
		path := filepath.Join(p.Dir, name)
		before, err := os.ReadFile(path)
		if err != nil {
			return unreadable(err)
		}
		if err := c.save(&source{path: path, data: before}, &edited{data: changes.Files[name]}, dryRun); err != nil {
			return err
		}
	}
	return nil
}

// defineSync defines the command that makes the files of a project say what the manifest says.
func defineSync(c *call) runner {
	check := c.flags.Bool("check", false, "change nothing; name what differs and exit with 1")
	return func(ctx context.Context) error {
		s, doc, project, err := c.own(ctx)
		if err != nil {
			return err
		}
		server, err := doc.Server()
		if err != nil {
			return err
		}
		changes, err := project.Sync(server)
		if err != nil {
			return err
		}
		left := false
		for _, d := range changes.Differences {
			fmt.Fprintf(c.Stdout, "%s: %s\n", cli.Printable(filepath.Join(project.Dir, d.File)), cli.Printable(d.Message))
			left = left || !d.Fixed || *check
		}
		switch {
		case len(changes.Differences) == 0:
			fmt.Fprintf(c.Stdout, "%s: %s and the README agree with it\n", s.name(), cli.Count(len(project.Packages), "package file"))
		case !*check:
			if err := c.saveProject(project, changes, false); err != nil {
				return err
			}
		}
		if left {
			return errReported
		}
		return nil
	}
}

// definePublishCheck defines the command that checks what a registry would check.
func definePublishCheck(c *call) runner {
	opts := &publish.Options{Packages: map[string]string{}}
	c.flags.StringVar(&opts.Registry, "registry", "", "ask the registry of servers at `url` whether the version is new")
	c.flags.Func("packages", "ask a registry of packages: `type=url`, such as npm=https://...; may be repeated", func(text string) error {
		kind, link, found := strings.Cut(text, "=")
		if !found || !strings.HasPrefix(link, "https://") && !strings.HasPrefix(link, "http://") {
			return errors.New("write a type and a url, such as npm=https://registry.example.com")
		}
		opts.Packages[kind] = link
		return nil
	})
	c.flags.BoolVar(&opts.Files, "files", false, "ask whether the files of bundles can be downloaded")
	return func(ctx context.Context) error {
		if len(c.files) == 0 {
			c.files = []string{"server.json"}
		}
		s, err := c.one(ctx)
		if err != nil {
			return err
		}
		report := manifest.Validate(s.data, &manifest.Options{Profile: manifest.Publish})
		if err := c.writeText(c.Stdout, []checked{{*s, report}}, false); err != nil || !report.Valid() {
			return errors.Join(err, errReported)
		}
		doc, server, err := c.server(s)
		if err != nil {
			return err
		}
		failed, err := c.checkProject(s, server)
		if err != nil {
			return err
		}
		problems, err := publish.Check(ctx, server, opts)
		for _, p := range problems {
			failed = true
			line, column := 1, 1
			if n := doc.Lookup(p.Pointer); n != nil {
				line, column = doc.Position(n.Start)
			}
			fmt.Fprintf(c.Stdout, "%s:%d:%d: %s\n", s.name(), line, column, cli.Printable(p.Message))
		}
		if err != nil {
			return err
		}
		if failed {
			return errReported
		}
		asked := "offline"
		if opts.Registry != "" || len(opts.Packages) > 0 || opts.Files {
			asked = "at the registries"
		}
		_, err = fmt.Fprintf(c.Stdout, "%s: ready to publish, checked %s\nnot checked: %s\n", s.name(), asked, strings.Join(unchecked(server, opts), "; "))
		return err
	}
}

// unchecked returns what a registry checks online and was not asked.
func unchecked(s *manifest.Server, opts *publish.Options) []string {
	list := []string{"that the namespace is yours"}
	if opts.Registry == "" {
		list = append(list, "that the version is new (-registry URL)")
	}
	for i := range s.Packages {
		what := ""
		switch kind := s.Packages[i].RegistryType; {
		case kind == manifest.MCPB && !opts.Files:
			what = "that the files of bundles can be downloaded (-files)"
		case kind != manifest.MCPB && opts.Packages[kind] == "":
			what = fmt.Sprintf("that packages of %s exist and name the server (-packages %[1]s=URL)", kind)
		}
		if what != "" && !slices.Contains(list, what) {
			list = append(list, what)
		}
	}
	return list
}

// checkProject reports the files beside a manifest that differ from it.
func (c *call) checkProject(s *source, server *manifest.Server) (failed bool, err error) {
	if s.path == "-" {
		return false, nil
	}
	project, err := publish.Read(filepath.Dir(s.path))
	if err != nil {
		return false, unreadable(err)
	}
	changes, err := project.Sync(server)
	if err != nil {
		return false, err
	}
	for _, d := range changes.Differences {
		_, err = io.WriteString(c.Stdout, cli.Printable(filepath.Join(project.Dir, d.File)+": "+d.Message)+"\n")
	}
	return len(changes.Differences) > 0, err
}
