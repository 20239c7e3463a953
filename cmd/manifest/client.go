package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/cmd/manifest/internal/client"
	"github.com/ashlar-go/ashlar/manifest"
)

// clientCall is a call of client with its flags.
type clientCall struct {
	*resolveCall
	program            *client.Program
	name, file, remove string
	user, dryRun, mend bool
	ask                []string
}

func defineClient(c *call) runner {
	q := &clientCall{resolveCall: newResolveCall(c)}
	f := c.flags
	var ids []string
	for _, p := range client.Programs() {
		ids = append(ids, p.ID)
	}
	f.Func("for", "the `program`: "+strings.Join(ids, ", "), func(id string) (err error) {
		q.program, err = client.Find(id)
		return err
	})
	f.StringVar(&q.name, "name", "", "the `name` of the server in the configuration (default: from the manifest)")
	f.StringVar(&q.file, "file", "", "the configuration `file` (default: that of the program in this directory)")
	f.BoolVar(&q.user, "user", false, "change the configuration of the user instead of that in this directory")
	f.BoolVar(&q.dryRun, "dry-run", false, "show the change and write nothing")
	f.BoolVar(&q.mend, "mend", false, "remove from the file what the program does not read, such as comments")
	f.StringVar(&q.remove, "remove", "", "remove the server of a `name` instead of adding one")
	f.Func("ask", "refer to an optional `input` too, as to a required secret; may be repeated", func(key string) error {
		q.ask = append(q.ask, key)
		return nil
	})
	c.fromFlag()
	c.limits()
	return func(ctx context.Context) error {
		if q.pack >= 0 && q.remote >= 0 {
			return cli.Usagef("-package and -remote exclude each other")
		}
		if q.program == nil {
			return cli.Usagef("name the program with -for: %s", strings.Join(ids, ", "))
		}
		if err := q.findFile(); err != nil {
			return err
		}
		if q.remove != "" {
			return q.removeServer()
		}
		s, err := c.one(ctx)
		if err != nil {
			return err
		}
		doc, server, err := q.choosePart(s)
		if err != nil {
			return err
		}
		return q.add(s.name(), doc, server)
	}
}

// findFile sets the path of the configuration file.
func (q *clientCall) findFile() error {
	switch {
	case q.file != "" && q.user:
		return cli.Usagef("-file and -user exclude each other")
	case q.file != "":
		return nil
	case q.program.Project != "" && !q.user:
		q.file = filepath.FromSlash(q.program.Project)
		return nil
	}
	home := cmp.Or(q.Environ["HOME"], q.Environ["USERPROFILE"])
	if home == "" {
		return errors.New("no home directory: name the configuration with -file")
	}
	q.file = filepath.FromSlash(q.program.File(runtime.GOOS, home, q.Environ["APPDATA"]))
	return nil
}

func (q *clientCall) add(name string, doc *manifest.Document, s *manifest.Server) error {
	entry, err := q.program.Entry(&client.Server{
		Name: cmp.Or(q.name, client.Name(s.Name)), Package: q.chosenPackage, Remote: q.chosenRemote,
		Values: q.given, Ask: q.ask, Launch: &q.opts,
	})
	if err != nil {
		return q.reportFaults(name, doc, err)
	}
	if err := q.change(func(file []byte) ([]byte, error) { return q.program.Add(file, entry) }); err != nil {
		return err
	}
	_, err = io.WriteString(q.Stdout, q.advice(entry))
	return err
}

func (q *clientCall) removeServer() error {
	if len(q.files) > 0 {
		return cli.Usagef("-remove takes a name and no manifest")
	}
	return q.change(func(file []byte) ([]byte, error) { return q.program.Remove(file, q.remove) })
}

// change changes the configuration and shows what changed.
func (q *clientCall) change(edit func([]byte) ([]byte, error)) error {
	before, err := os.ReadFile(q.file)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return unreadable(err)
	}
	text := before
	if mended, wrong := q.program.Mend(before); wrong != nil && q.mend {
		text = mended
	} else if wrong != nil {
		fmt.Fprintf(q.Stderr, "%s:%d:%d: warning: %s does not read this file: it has %s (-mend removes all)\n",
			cli.Printable(q.file), wrong.Line, wrong.Column, q.program.Title, wrong.What)
	}
	after, err := edit(text)
	if err != nil {
		return fmt.Errorf("%s: %w", cli.Printable(q.file), err)
	}
	if bytes.Equal(before, after) {
		fmt.Fprintf(q.Stdout, "%s: nothing to change\n", cli.Printable(q.file))
		return nil
	}
	if _, err := io.WriteString(q.Stdout, diff(cli.Printable(q.file), string(before), string(after))); err != nil || q.dryRun {
		return err
	}
	if !fresh {
		return replace(q.file, after)
	}
	if err := os.MkdirAll(filepath.Dir(q.file), 0o700); err != nil {
		return unreadable(err)
	}
	if err := os.WriteFile(q.file, after, 0o600); err != nil {
		return unreadable(err)
	}
	return nil
}

// advice says what a person has to do for an entry.
func (q *clientCall) advice(e *client.Entry) string {
	var b strings.Builder
	for _, c := range e.Setup {
		fmt.Fprintf(&b, "Run once before: %s\n", cli.Printable(c))
	}
	if e.Start != "" {
		fmt.Fprintf(&b, "Start the server yourself: %s\n", cli.Printable(e.Start))
	}
	for i := range e.Needs {
		n := &e.Needs[i]
		if n.Asked {
			fmt.Fprintf(&b, "%s will ask for %s", q.program.Title, n.Name)
		} else {
			fmt.Fprintf(&b, "Set the environment variable %s before you start %s", n.Name, q.program.Title)
		}
		if n.Description != "" {
			fmt.Fprintf(&b, ": %s", cli.Printable(n.Description))
		}
		b.WriteByte('\n')
	}
	for _, n := range e.Notices {
		fmt.Fprintf(&b, "Note: %s\n", cli.Printable(n.Message))
	}
	return b.String()
}
