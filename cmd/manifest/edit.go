package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/manifest"
)

// edited is the result of changing a manifest.
type edited struct {
	data  []byte
	notes []string // one per change
}

// editAll changes files and shows the changes as a diff. The standard input goes to the
// standard output, and the diff then to the error stream. A file that cannot be changed is
// reported, and the others are changed.
func (c *call) editAll(ctx context.Context, dryRun bool, change func(s *source) (*edited, error)) error {
	all, err := c.sources(ctx)
	if err != nil {
		return err
	}
	failed := false
	for i := range all {
		s := &all[i]
		e, err := change(s)
		if err != nil {
			failed = true
			fmt.Fprintf(c.Stderr, "%s: %v\n", s.name(), err)
			continue
		}
		if err := c.save(s, e, dryRun); err != nil {
			return err
		}
	}
	if failed {
		return errReported
	}
	return nil
}

// save shows what changed and writes the file, unless it is a dry run.
func (c *call) save(s *source, e *edited, dryRun bool) error {
	if s.fromRegistry && !dryRun {
		return cli.Usagef("%s is the response of a registry: use -n, which changes nothing", s.name())
	}
	to := c.Stdout
	if s.path == "-" && !dryRun {
		if _, err := c.Stdout.Write(e.data); err != nil {
			return err
		}
		to = c.Stderr
	}
	for _, note := range e.notes {
		fmt.Fprintf(to, "%s: %s\n", s.name(), cli.Printable(note))
	}
	same := bytes.Equal(s.data, e.data)
	if same {
		fmt.Fprintf(to, "%s: nothing to change\n", s.name())
	}
	if _, err := io.WriteString(to, diff(s.name(), string(masked(s.data)), string(masked(e.data)))); err != nil {
		return err
	}
	if same || dryRun || s.path == "-" {
		return nil
	}
	return replace(s.path, e.data)
}

// Limits of fix: how often fixes are applied, because one may uncover another, and how many
// problems are considered each time.
const (
	maxRounds = 5
	maxFixes  = 10_000
)

func runFix(ctx context.Context, c *call) error {
	c.fromFlag()
	profile := c.profile()
	dryRun := c.flags.Bool("n", false, "show the diff and change nothing")
	if err := c.parse(); err != nil {
		return err
	}
	left := 0
	err := c.editAll(ctx, *dryRun, func(s *source) (*edited, error) {
		e := &edited{data: s.data}
		for round := 0; ; round++ {
			r := manifest.Validate(e.data, &manifest.Options{Profile: *profile, MaxProblems: maxFixes})
			fixed, n := r.Problems.Fix(e.data)
			if n == 0 || round == maxRounds {
				if left += r.Errors; r.Errors > 0 {
					e.notes = append(e.notes, cli.Count(r.Errors, "error")+" left: see manifest validate")
				}
				return e, nil
			}
			for i := range r.Problems {
				if r.Problems[i].Fix != nil {
					e.notes = append(e.notes, r.Problems[i].Error())
				}
			}
			e.data = fixed
		}
	})
	if err == nil && left > 0 {
		return errReported
	}
	return err
}

func runMigrate(ctx context.Context, c *call) error {
	from := c.flags.String("from", "", "the `date` of the schema (default: that of $schema)")
	dryRun := c.flags.Bool("n", false, "show the diff and change nothing")
	if err := c.parse(); err != nil {
		return err
	}
	return c.editAll(ctx, *dryRun, func(s *source) (*edited, error) {
		doc, err := manifest.Parse(s.data, nil)
		if err != nil {
			return nil, err
		}
		m, err := doc.Migrate(*from)
		if err != nil {
			return nil, err
		}
		e := &edited{data: m.Apply(doc.Text())}
		for _, change := range m.Changes {
			e.notes = append(e.notes, change.Pointer+": "+change.Message)
		}
		return e, nil
	})
}

func runFormat(ctx context.Context, c *call) error {
	check := c.flags.Bool("check", false, "change nothing; name the files that are not formatted and exit with 1")
	if err := c.parse(); err != nil {
		return err
	}
	all, err := c.sources(ctx)
	if err != nil {
		return err
	}
	failed := false
	for i := range all {
		ok, err := c.format(&all[i], *check)
		if err != nil {
			return err
		}
		failed = failed || !ok
	}
	if failed {
		return errReported
	}
	return nil
}

// format formats one file. It returns false for a file that is not JSON and, if it only
// checks, for one that is not formatted.
func (c *call) format(s *source, check bool) (bool, error) {
	text, err := formatted(s.data)
	if syntax, ok := errors.AsType[manifest.Problems](err); ok {
		fmt.Fprintf(c.Stderr, "%s: %v\n", s.name(), syntax)
		return false, nil
	}
	same := bytes.Equal(text, s.data)
	switch {
	case err != nil:
	case check && !same:
		_, err = fmt.Fprintln(c.Stdout, s.name())
		return false, err
	case check:
	case s.path == "-":
		_, err = c.Stdout.Write(text)
	case !same:
		err = replace(s.path, text)
	}
	return true, err
}

// formatted indents a document by two spaces. Keys keep their order, strings and numbers
// their spelling.
func formatted(data []byte) ([]byte, error) {
	if _, err := manifest.Parse(data, nil); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(data), "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
