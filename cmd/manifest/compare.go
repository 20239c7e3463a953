package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	risks "github.com/ashlar-go/ashlar/cmd/manifest/internal/diff"
)

// exitRisk plus the class is the exit code of diff for everything above text.
const exitRisk = 10

// riskError is the result of diff as an exit code.
type riskError struct{ risk risks.Risk }

func (riskError) Error() string   { return "" }
func (e riskError) ExitCode() int { return exitRisk + int(e.risk) }

// defineDiff defines the command that compares two versions of a manifest.
func defineDiff(c *call) runner {
	c.fromFlag()
	format := c.choice("format", "the output `format`", "text", "json")
	var codes []string
	for _, r := range risks.Risks()[1:] {
		codes = append(codes, fmt.Sprintf("%d %s", exitRisk+int(r), r))
	}
	c.command.Long = c.command.Short + ".\n\nThe exit code is 0 without changes or for text only, else that of the gravest change: " + strings.Join(codes, ", ") + "."
	return func(ctx context.Context) error {
		if len(c.files) != 2 {
			return cli.Usagef("name the older and the newer manifest")
		}
		all, err := c.sources(ctx)
		if err != nil {
			return err
		}
		if len(all) != 2 {
			return cli.Usagef("name two manifests, not directories or patterns")
		}
		_, before, err := c.server(&all[0])
		if err != nil {
			return err
		}
		_, after, err := c.server(&all[1])
		if err != nil {
			return err
		}
		changes := risks.Compare(before, after)
		if *format == "json" {
			err = writeIndented(c.Stdout, append([]risks.Change{}, changes...))
		} else {
			for _, change := range changes {
				fmt.Fprintf(c.Stdout, "%-8s %s: %s\n", change.Risk, cli.Printable(change.Pointer), cli.Printable(change.Message))
			}
		}
		if err != nil || len(changes) == 0 || changes[0].Risk == risks.Text {
			return err
		}
		return riskError{changes[0].Risk}
	}
}
