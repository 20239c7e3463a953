package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// command is one of the program's commands.
type command struct {
	name, arguments, summary string
	run                      func(ctx context.Context, c *call) error
}

// commands in the order in which help lists them.
func commands() []command {
	return []command{
		{"validate", "FILE|DIR|GLOB|-...", "say everything that is wrong with manifests", runValidate},
		{"resolve", "FILE|-", "show what a manifest would run or connect to, with your values", runResolve},
		{"fmt", "FILE|-...", "indent manifests, keeping keys and their order", runFormat},
		{"fix", "FILE|-...", "apply the suggestions that are edits, and show a diff", runFix},
		{"migrate", "FILE|-...", "bring manifests of an older public schema to the current one", runMigrate},
		{"init", "", "ask a few questions and write a valid manifest", runInit},
		{"fetch", "FILE|URL", "download a bundle file and check its SHA-256", runFetch},
		{"schema", "", "print the JSON Schema of manifests", runSchema},
		{"completion", "", "print completions for bash", runCompletion},
	}
}

// call is a command with its flags.
type call struct {
	cli.Env
	flags *flag.FlagSet
	files []string // arguments that are no flags
}

// errSilent is a failure of which all has been said.
var errSilent = errors.New("")

func run(ctx context.Context, env cli.Env) error {
	if len(env.Args) == 0 {
		return cli.Usagef("a command is missing\n%s", overview())
	}
	name, rest := env.Args[0], env.Args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		if len(rest) == 0 {
			_, err := io.WriteString(env.Stdout, overview())
			return err
		}
		name, rest = rest[0], []string{"-h"}
	}
	at := slices.IndexFunc(commands(), func(c command) bool { return c.name == name })
	if at < 0 {
		return cli.Usagef("there is no command %q\n%s", name, overview())
	}
	c := commands()[at]
	env.Args = rest
	err := c.run(ctx, newCall(env, c))
	if errors.Is(err, context.Canceled) {
		// Half a check is none, nor is half a file: a script must not go on.
		return fmt.Errorf("%s was interrupted: %v", name, err)
	}
	return err
}

func overview() string {
	var b strings.Builder
	b.WriteString("Usage: manifest COMMAND [flags] [arguments]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-11s %s\n", c.name, c.summary)
	}
	b.WriteString("\n\"manifest help COMMAND\" tells more. The exit code is 0 if all is well, 1 if not,\nand 2 for wrong flags and files that can't be read.\n")
	return b.String()
}

func newCall(env cli.Env, c command) *call {
	f := flag.NewFlagSet("manifest "+c.name, flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintf(f.Output(), "Usage: manifest %s [flags] %s\n%s.\n", c.name, c.arguments, strings.ToUpper(c.summary[:1])+c.summary[1:])
		f.PrintDefaults()
	}
	return &call{Env: env, flags: f}
}

// parse reads flags and arguments, which may be mixed. After "--" all are arguments.
func (c *call) parse() error {
	for rest := c.Args; ; {
		c.Args = rest
		if err := c.Parse(c.flags); err != nil {
			return err
		}
		left := c.flags.Args()
		if at := len(rest) - len(left); len(left) == 0 || at > 0 && rest[at-1] == "--" {
			c.files = append(c.files, left...)
			return nil
		}
		c.files = append(c.files, left[0])
		rest = left[1:]
	}
}

// choice is a flag with a few values.
func (c *call) choice(to *string, name string, values []string, usage string) {
	*to = values[0]
	c.flags.Func(name, fmt.Sprintf("%s: `%s`", usage, strings.Join(values, "|")), func(s string) error {
		if !slices.Contains(values, s) {
			return fmt.Errorf("use %s", strings.Join(values, ", "))
		}
		*to = s
		return nil
	})
}

// unreadable is a failure to read or write: not the fault of a manifest.
func unreadable(err error) error { return &cli.UsageError{Err: err} }
