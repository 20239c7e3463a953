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

// edited is what a command made of a manifest.
type edited struct {
	data  []byte
	notes []string // one per change
}

// edit is a command that changes files: each is replaced, and what changed is shown as
// a diff. The standard input goes to the standard output, the rest then to the error
// stream. A file that can't be changed is told, and the others are.
func (c *call) edit(ctx context.Context, dry bool, change func(s *source) (*edited, error)) error {
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
		if err := c.show(s, e, dry); err != nil {
			return err
		}
	}
	if failed {
		return errSilent
	}
	return nil
}

func (c *call) show(s *source, e *edited, dry bool) error {
	to := c.Stdout
	if s.path == "-" && !dry {
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
	if same || dry || s.path == "-" {
		return nil
	}
	return replace(s.path, e.data)
}

func runFix(ctx context.Context, c *call) error {
	var profile string
	c.choice(&profile, "profile", []string{"neutral", "2025-09-29", "2025-10-17", "2025-12-11", "registry"}, "the rules")
	dry := c.flags.Bool("n", false, "show the diff and change nothing")
	if err := c.parse(); err != nil {
		return err
	}
	p, err := manifest.ParseProfile(profile)
	if err != nil {
		return err
	}
	left := false
	err = c.edit(ctx, *dry, func(s *source) (*edited, error) {
		e, rest := fixed(s.data, p)
		left = left || rest > 0
		if rest > 0 {
			e.notes = append(e.notes, cli.Count(rest, "error")+" left: see manifest validate")
		}
		return e, nil
	})
	if err == nil && left {
		return errSilent
	}
	return err
}

// Bounds of what is fixed: how often fixes are applied, of which few uncover another,
// and how many problems are looked at each time.
const (
	maxRounds = 5
	maxFixes  = 10_000
)

// fixed applies suggestions until there is none left: one may uncover another. It
// returns how many errors are left.
func fixed(data []byte, p manifest.Profile) (e *edited, left int) {
	e = &edited{data: data}
	for round := 0; ; round++ {
		r := manifest.Validate(e.data, &manifest.Options{Profile: p, MaxProblems: maxFixes})
		next, n := r.Problems.Fix(e.data)
		if n == 0 || round == maxRounds {
			return e, r.Errors
		}
		for i := range r.Problems {
			if r.Problems[i].Fix != nil {
				e.notes = append(e.notes, r.Problems[i].Error())
			}
		}
		e.data = next
	}
}

func runMigrate(ctx context.Context, c *call) error {
	from := c.flags.String("from", "", "the `date` of the schema; by default that of $schema")
	dry := c.flags.Bool("n", false, "show the diff and change nothing")
	if err := c.parse(); err != nil {
		return err
	}
	return c.edit(ctx, *dry, func(s *source) (*edited, error) {
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
		return errSilent
	}
	return nil
}

// format formats one file. It returns false for one that is not JSON, and for one
// that is not formatted if that is all that is asked.
func (c *call) format(s *source, check bool) (bool, error) {
	text, err := formatted(s.data)
	var syntax manifest.Problems
	switch {
	case errors.As(err, &syntax):
		fmt.Fprintf(c.Stderr, "%s: %v\n", s.name(), syntax)
		return false, nil
	case err != nil:
		return false, err
	case check:
		if bytes.Equal(text, s.data) {
			return true, nil
		}
		_, err := fmt.Fprintln(c.Stdout, s.name())
		return false, err
	case s.path == "-":
		_, err := c.Stdout.Write(text)
		return true, err
	case bytes.Equal(text, s.data):
		return true, nil
	}
	return true, replace(s.path, text)
}

// formatted indents a document by two spaces. Keys keep their order, and strings and
// numbers the way they are written.
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
