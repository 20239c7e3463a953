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
	"github.com/ashlar-go/ashlar/manifest"
)

// command is one of the program's commands.
type command struct {
	name, arguments, summary string
	run                      func(ctx context.Context, c *call) error
}

// commands returns the commands in the order of the help.
func commands() []command {
	return []command{
		{"validate", "FILE|DIR|GLOB|-...", "report all problems of manifests", runValidate},
		{"resolve", "FILE|NAME[@VERSION]|-", "show what a manifest would run or connect to, with your values", runResolve},
		{"client", "FILE|-", "write a server into the configuration of a program that uses it", runClient},
		{"diff", "OLDER NEWER", "show what changed between two versions, and how grave it is", runDiff},
		{"fmt", "FILE|-...", "indent manifests, keeping keys and their order", runFormat},
		{"fix", "FILE|-...", "apply the suggestions that are edits, and show a diff", runFix},
		{"migrate", "FILE|-...", "update manifests of an older public schema to the current one", runMigrate},
		{"init", "", "ask a few questions and write a valid manifest", runInit},
		{"bump", "VERSION|major|minor|patch [FILE]", "set the version of a manifest and of the package files beside it", runBump},
		{"sync", "[FILE]", "make the package files and the README beside a manifest agree with it", runSync},
		{"publish-check", "[FILE]", "check what a registry checks before it publishes", runPublishCheck},
		{"fetch", "FILE|URL", "download a bundle file and verify its SHA-256", runFetch},
		{"bundle", "FILE.mcpb", "show what a bundle file would run, and unpack it", runBundle},
		{"serve", "FILE|DIR|MIRROR...", "serve manifests or a mirror as a read-only registry with a catalog page", runServe},
		{"mirror", "URL", "copy a registry into a file, or bring the copy up to date", runMirror},
		{"schema", "", "print the JSON Schema of manifests", runSchema},
		{"completion", "[bash|zsh|fish]", "print completions for a shell", runCompletion},
	}
}

// call is a call of a command.
type call struct {
	cli.Env
	flags   *flag.FlagSet
	files   []string // arguments that are not flags
	options manifest.Options
	from    string // registry that the arguments are read from, or ""
}

// errReported is a failure that has been reported completely.
var errReported = errors.New("")

func run(ctx context.Context, env cli.Env) error {
	if len(env.Args) == 0 {
		return cli.Usagef("missing command\n%s", overview())
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
		var names []string
		for _, c := range commands() {
			names = append(names, c.name)
		}
		return cli.UnknownCommand(name, names, "\n"+overview())
	}
	c := commands()[at]
	env.Args = rest
	f := flag.NewFlagSet("manifest "+c.name, flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintf(f.Output(), "Usage: manifest %s [flags] %s\n%s.\n", c.name, c.arguments, strings.ToUpper(c.summary[:1])+c.summary[1:])
		f.PrintDefaults()
	}
	options := manifest.Options{MaxBytes: maxFile, MaxDepth: 64, MaxMetaDepth: 10_000, MaxValues: maxValues}
	err := c.run(ctx, &call{Env: env, flags: f, options: options})
	if errors.Is(err, context.Canceled) {
		// An incomplete validation or file is not a success.
		return fmt.Errorf("%s was interrupted: %v", name, err)
	}
	return err
}

func overview() string {
	var b strings.Builder
	b.WriteString("manifest is for the publishers and users of tool servers: it checks, changes, resolves and compares their manifests.\n\n" +
		"Usage: manifest COMMAND [flags] [arguments]\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-13s %s\n", c.name, c.summary)
	}
	b.WriteString(`
Examples:
  manifest validate -profile registry server.json
    	all problems with their places
  manifest client -for vscode -set city=Rome server.json
    	the server in the configuration of an editor
`)
	b.WriteString("\n\"manifest help COMMAND\" describes a command. The exit code is 0 for success, 1 for failure,\nand 2 for wrong flags and files that cannot be read.\n")
	return b.String()
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

// choice defines a flag with a few values. The first one is the default.
func (c *call) choice(name, usage string, values ...string) *string {
	chosen := values[0]
	c.flags.Func(name, fmt.Sprintf("%s: `%s`", usage, strings.Join(values, "|")), func(s string) error {
		if !slices.Contains(values, s) {
			return fmt.Errorf("use %s", strings.Join(values, ", "))
		}
		chosen = s
		return nil
	})
	return &chosen
}

// profile defines the flag -profile.
func (c *call) profile() {
	c.flags.Func("profile", "the rules: `neutral|2025-09-29|2025-10-17|2025-12-11|registry|declared`; neutral is the specification, registry adds what a public registry requires, declared is the date in $schema", func(s string) (err error) {
		c.options.Profile, err = manifest.ParseProfile(s)
		return err
	})
}

// unreadable marks an error of reading or writing files, which has the exit code 2.
func unreadable(err error) error { return &cli.UsageError{Err: err} }

func runSchema(_ context.Context, c *call) error {
	if err := c.parse(); err != nil {
		return err
	}
	_, err := c.Stdout.Write(manifest.Schema())
	return err
}

// runCompletion prints completions: commands first, then files.
func runCompletion(_ context.Context, c *call) error {
	if err := c.parse(); err != nil {
		return err
	}
	if len(c.files) > 1 {
		return cli.Usagef("name one shell: bash, zsh or fish")
	}
	shell := "bash"
	if len(c.files) == 1 {
		shell = c.files[0]
	}
	names := []string{"help"}
	for _, c := range commands() {
		names = append(names, c.name)
	}
	slices.Sort(names)
	return cli.WriteCompletion(c.Stdout, shell, "manifest", "completion "+shell, names, nil)
}
