package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/cmd/manifest/internal/bundle"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// defineBundle defines the command that shows what a bundle file would run, and unpacks it.
func defineBundle(c *call) runner {
	q := &resolveCall{call: c, given: launch.Values{}, pack: -1, remote: -1}
	f := c.flags
	sum := f.String("sha256", "", "the `hash` that the file must have: 64 hexadecimal digits, as in the manifest that names it")
	to := f.String("unpack", "", "unpack the file to a new `directory`")
	f.Func("set", "set an input: `name=value`; a name alone takes the value of the environment variable; may be repeated", q.set)
	f.BoolVar(&q.inputs, "inputs", false, "list the inputs and resolve nothing")
	f.BoolVar(&q.reveal, "reveal", false, "with -format json: write argv and env with their secrets")
	q.format = c.choice("format", "the output `format`; schema is for -inputs", "text", "json", "schema")
	return func(_ context.Context) (err error) {
		switch {
		case len(c.files) != 1:
			return cli.Usagef("name one bundle file")
		case *sum == "":
			return cli.Usagef("-sha256 is missing: a file that cannot be verified is not read")
		}
		if err := q.checkFormat(); err != nil {
			return err
		}
		b, err := bundle.Open(c.files[0], *sum, nil)
		if faults, ok := errors.AsType[launch.Faults](err); ok {
			for i := range faults {
				fmt.Fprintf(c.Stderr, "manifest.json: %s\n", cli.Printable(faults[i].Error()))
			}
			return errReported
		}
		if err != nil {
			return unreadable(fmt.Errorf("%s: %w", cli.Printable(c.files[0]), err))
		}
		defer func() { err = errors.Join(err, b.Close()) }()
		if q.inputs {
			for _, n := range b.Manifest.Notices {
				fmt.Fprintf(c.Stderr, "manifest.json: %s: %s\n", cli.Printable(n.Pointer), cli.Printable(n.Message))
			}
			return q.writeForm(b.Form())
		}
		dir := *to
		if dir == "" {
			dir = "DIRECTORY"
		} else if dir, err = filepath.Abs(dir); err != nil {
			return unreadable(err)
		}
		plan, err := b.Resolve(dir, q.given, nil)
		if err != nil {
			return q.reportFaults(cli.Printable(c.files[0]), nil, err)
		}
		if *to != "" {
			if err := b.Unpack(dir); err != nil {
				return unreadable(err)
			}
		}
		return q.write(plan)
	}
}
