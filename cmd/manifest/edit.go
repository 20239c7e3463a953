package main

import (
	"bytes"
	"context"
	"encoding/json"
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

// editAll changes files and saves the changes. A file that cannot be changed is reported, and the
// others are changed.
func (c *call) editAll(ctx context.Context, change func(s *source) (*edited, error), save func(s *source, e *edited) error) error {
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
		if err := save(s, e); err != nil {
			return err
		}
	}
	if failed {
		return errReported
	}
	return nil
}

// save shows what changed as a diff and writes the file, unless it is a dry run. The standard input
// goes to the standard output, and the diff then to the error stream.
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
	if _, err := io.WriteString(to, diff(s.name(), string(c.masked(s.data)), string(c.masked(e.data)))); err != nil {
		return err
	}
	if same || dryRun || s.path == "-" {
		return nil
	}
	return replace(s.path, e.data)
}

func defineFix(c *call) runner {
	c.fromFlag()
	c.profile()
	c.limits()
	dryRun := c.flags.BoolP("n", "n", false, "show the diff and change nothing")
	return func(ctx context.Context) error {
		left := 0
		err := c.editAll(ctx, func(s *source) (*edited, error) {
			fixed, done, r := manifest.Fix(s.data, &c.options)
			e := &edited{data: fixed}
			for i := range done {
				e.notes = append(e.notes, done[i].Error())
			}
			if left += r.Errors; r.Errors > 0 {
				e.notes = append(e.notes, cli.Count(r.Errors, "error")+" left: see manifest validate")
			}
			return e, nil
		}, func(s *source, e *edited) error { return c.save(s, e, *dryRun) })
		if err == nil && left > 0 {
			return errReported
		}
		return err
	}
}

func defineMigrate(c *call) runner {
	c.limits()
	from := c.flags.String("from", "", "the `date` of the schema (default: that of $schema, or of the oldest keys)")
	dryRun := c.flags.BoolP("n", "n", false, "show the diff and change nothing")
	return func(ctx context.Context) error {
		return c.editAll(ctx, func(s *source) (*edited, error) {
			doc, err := manifest.Parse(s.data, &c.options)
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
		}, func(s *source, e *edited) error { return c.save(s, e, *dryRun) })
	}
}

func defineFormat(c *call) runner {
	c.limits()
	check := c.flags.Bool("check", false, "change nothing; name the files that are not formatted and exit with 1")
	return func(ctx context.Context) error {
		unformatted := false
		err := c.editAll(ctx, func(s *source) (*edited, error) {
			text, err := formatted(s.data, &c.options)
			return &edited{data: text}, err
		}, func(s *source, e *edited) (err error) {
			same := bytes.Equal(e.data, s.data)
			switch {
			case *check && !same:
				unformatted = true
				_, err = fmt.Fprintln(c.Stdout, s.name())
			case *check:
			case s.path == "-":
				_, err = c.Stdout.Write(e.data)
			case !same:
				err = replace(s.path, e.data)
			}
			return err
		})
		if err == nil && unformatted {
			return errReported
		}
		return err
	}
}

// maxFormatted limits the size of a document that is indented, because white space grows with
// the depth.
const maxFormatted = 64 << 20

// formatted indents a document by two spaces. Keys keep their order, strings and numbers
// their spelling.
func formatted(data []byte, opts *manifest.Options) ([]byte, error) {
	doc, err := manifest.Parse(data, opts)
	if err != nil {
		return nil, err
	}
	if added := whiteSpace(doc.Root(), 1); len(data)+added > maxFormatted {
		return nil, fmt.Errorf("the indented manifest would have more than %d MiB, because it is nested deep", maxFormatted>>20)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(data), "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// whiteSpace returns how many bytes indenting adds at most to a value whose elements are at a
// depth.
func whiteSpace(n *manifest.Node, depth int) int {
	total := 0
	for i := range n.Elements {
		total += 2*depth + 2 + whiteSpace(&n.Elements[i], depth+1)
	}
	for i := range n.Members {
		total += 2*depth + 3 + whiteSpace(&n.Members[i].Value, depth+1)
	}
	return total + 2*depth
}
