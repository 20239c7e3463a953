package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/cmd/manifest/internal/mirror"
	"github.com/ashlar-go/ashlar/manifest/registry/sqlite"
)

// defineMirror defines the command that copies a registry into a file, or brings the copy up to date.
func defineMirror(c *call) runner {
	to := c.flags.String("to", "", "the `file` of the mirror; it is created if there is none")
	return func(ctx context.Context) error {
		switch {
		case len(c.files) != 1:
			return cli.Usagef("name one registry, such as https://registry.example.com")
		case *to == "":
			return cli.Usagef("-to is missing: name the file of the mirror")
		}
		source, done, err := c.dial(c.files[0])
		if err != nil {
			return &cli.UsageError{Err: err}
		}
		defer done()
		store, err := sqlite.Open(ctx, *to)
		if err != nil {
			return unreadable(err)
		}
		p := cli.NewProgress(c.Env, "mirror")
		result, err := mirror.Run(ctx, source, store, &mirror.Options{Progress: func(r mirror.Result) {
			p.Show(func(elapsed time.Duration) string { return cli.Done(int64(r.Entries), 0, "versions", elapsed) })
		}})
		p.End()
		if err = errors.Join(err, store.Close()); err != nil {
			return fmt.Errorf("%w\nread and stored before: %s; run it again to continue there", err, cli.Count(result.Entries, "version"))
		}
		what := "all versions"
		if !result.Since.IsZero() {
			what = "what changed since " + result.Since.Format(time.RFC3339)
		}
		if result.Resumed {
			what += ", continued after an interruption"
		}
		_, err = fmt.Fprintf(c.Stdout, "%s: %s read (%s): %d deleted, %d unreadable\n", cli.Printable(*to), cli.Count(result.Entries, "version"), what, result.Deleted, result.Unreadable)
		return err
	}
}
