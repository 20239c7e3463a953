package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/manifest"
)

// runner runs a command after its flags are parsed.
type runner = func(ctx context.Context) error

// commands adds the commands to root.
func commands(root *cobra.Command, env cli.Env) {
	for _, c := range []struct {
		use, short string
		define     func(c *call) runner
	}{
		{"validate [flags] FILE|DIR|GLOB|NAME[@VERSION]|-...", "Report all problems of manifests", defineValidate},
		{"resolve [flags] FILE|NAME[@VERSION]|-", "Show what a manifest would run or connect to, with your values", defineResolve},
		{"client [flags] FILE|NAME[@VERSION]|-", "Write a server into the configuration of a program that uses it", defineClient},
		{"diff [flags] OLDER NEWER", "Show what changed between two versions, and how grave it is", defineDiff},
		{"fmt [flags] FILE|-...", "Indent manifests, keeping keys and their order", defineFormat},
		{"fix [flags] FILE|NAME[@VERSION]|-...", "Apply the suggestions that are edits, and show a diff", defineFix},
		{"migrate [flags] FILE|-...", "Update manifests of an older public schema to the current one", defineMigrate},
		{"init [flags]", "Ask a few questions and write a valid manifest", defineInit},
		{"bump [flags] VERSION|major|minor|patch [FILE]", "Set the version of a manifest and of the package files beside it", defineBump},
		{"sync [flags] [FILE]", "Make the package files and the README beside a manifest agree with it", defineSync},
		{"publish-check [flags] [FILE]", "Check what a registry checks before it publishes", definePublishCheck},
		{"fetch [flags] FILE|NAME[@VERSION]|URL", "Download a bundle file and verify its SHA-256", defineFetch},
		{"bundle [flags] FILE.mcpb", "Show what a bundle file would run, and unpack it", defineBundle},
		{"serve [flags] FILE|DIR|MIRROR|REGISTRY...", "Serve manifests, a mirror, or a registry that others publish to, with a catalog page", defineServe},
		{"mirror [flags] URL", "Copy a registry into a file, or bring the copy up to date", defineMirror},
		{"schema", "Print the JSON Schema of manifests", defineSchema},
	} {
		command := &cobra.Command{Use: c.use, Short: c.short}
		options := manifest.Options{MaxBytes: maxFile, MaxDepth: 64, MaxMetaDepth: 10_000, MaxValues: maxValues}
		own := &call{Env: env, command: command, flags: command.Flags(), options: options}
		run := c.define(own)
		command.RunE = func(command *cobra.Command, args []string) error {
			own.files = args
			err := run(command.Context())
			if errors.Is(err, context.Canceled) {
				// An incomplete validation or file is not a success.
				return fmt.Errorf("%s was interrupted: %v", command.Name(), err)
			}
			return err
		}
		root.AddCommand(command)
	}
}

// call is a call of a command.
type call struct {
	cli.Env
	command *cobra.Command
	flags   *pflag.FlagSet
	files   []string // arguments that are not flags
	options manifest.Options
	from    string // registry that the arguments are read from, or ""
}

// errReported is a failure that has been reported completely.
var errReported = errors.New("")

func run(ctx context.Context, env cli.Env) error {
	root := &cobra.Command{
		Use:  "manifest COMMAND [flags] [ARGUMENT...]",
		Long: "manifest is for the publishers and users of tool servers: it checks, changes, resolves and compares their manifests.",
		Example: `  manifest validate -profile registry server.json
    	all problems with their lines
  manifest client -for vscode -set city=Rome server.json
    	the server in the configuration of an editor`,
		Annotations: map[string]string{cli.ExitCodes: "2 also for files that cannot be read; diff has a code for each class of changes"},
	}
	root.RunE = func(*cobra.Command, []string) error { return cli.Usagef("missing command: see manifest -help") }
	commands(root, env)
	return env.Execute(ctx, root)
}

// choice defines a flag with a few values. The first one is the default.
func (c *call) choice(name, usage string, values ...string) *string {
	chosen := values[0]
	c.flags.Func(name, fmt.Sprintf("%s: %s (default %s)", usage, strings.Join(values, ", "), chosen), func(s string) error {
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
	c.flags.Func("profile", "the `rules`: neutral, 2025-09-29, 2025-10-17, 2025-12-11, registry, declared or publish; neutral is the specification, registry adds what a public registry requires, publish what it requires of packages too, declared is the date in $schema", func(s string) (err error) {
		c.options.Profile, err = manifest.ParseProfile(s)
		return err
	})
}

// unreadable marks an error of reading or writing files, which has the exit code 2.
func unreadable(err error) error { return &cli.UsageError{Err: err} }

func defineSchema(c *call) runner {
	return func(context.Context) error {
		_, err := c.Stdout.Write(manifest.Schema())
		return err
	}
}
