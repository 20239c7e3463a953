package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ashlar-go/ashlar/internal/buildinfo"
	"github.com/ashlar-go/ashlar/internal/suggest"
)

// ExitCodes is the annotation of a root command that lists exit codes beyond 0, 1 and 2.
const ExitCodes = "exit"

// usage is the template of the usage of all commands.
const usage = `Usage:
  {{.UseLine}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if or .IsAvailableCommand (eq .Name "help")}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags, with one dash or two:
{{.LocalFlags.FlagUsagesWrapped 110 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

"{{.Root.CommandPath}} -help" lists further flags.{{end}}{{if .HasAvailableSubCommands}}

"{{.CommandPath}} COMMAND -help" describes a command.{{end}}{{if not .HasParent}}

Exit codes: 0 success, or stopped by a signal; 1 failure; 2 wrong arguments or settings{{with .Annotations.exit}}; {{.}}{{end}}.{{end}}
`

// Execute runs the command that Args select below root, with the streams of e. Long flags may have one dash, as
// those of package flag. It adds -version, -completion, suggestions for misspelled
// flags and commands, and a [UsageError] for wrong flags and arguments.
func (e Env) Execute(ctx context.Context, root *cobra.Command) error {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Version = version()
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetUsageTemplate(usage)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageOf(c, fmt.Errorf("%w%s", err, meantFlag(c, err)))
	})
	root.CompletionOptions.DisableDefaultCmd = !root.HasSubCommands()
	root.Flags().String("completion", "", "print completions for a `shell`, bash, zsh or fish, and exit")
	root.SetHelpCommand(&cobra.Command{Use: "help [COMMAND]", Short: "Describe a command", RunE: func(_ *cobra.Command, names []string) error {
		c, rest, err := root.Find(names)
		if err == nil && len(rest) > 0 {
			err = c.ValidateArgs(rest)
		}
		if err != nil {
			return err
		}
		return c.Help()
	}})
	e.prepare(root)
	args := e.Args
	if len(args) > 1 && args[0] == cobra.ShellCompRequestCmd { // the last one is incomplete
		last := len(args) - 1
		args = slices.Concat(args[:1], doubleDashes(root, args[1:last]), args[last:])
	} else {
		args = doubleDashes(root, args)
	}
	if len(args) == 2 && args[0] == "--completion" {
		return complete(e.Stdout, root, args[1])
	}
	root.SetArgs(args)
	root.SetIn(e.Stdin)
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	return root.ExecuteContext(ctx)
}

// prepare makes a command and those below it report wrong arguments and unknown commands as a [UsageError].
func (e Env) prepare(c *cobra.Command) {
	if c.HasSubCommands() && c.Args == nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var names []string
			for _, sub := range c.Commands() {
				names = append(names, sub.Name())
			}
			if meant := suggest.Among(args[0], names); meant != "" {
				return fmt.Errorf("unknown command %q: did you mean %s?", args[0], meant)
			}
			return fmt.Errorf("unknown command %q", args[0])
		}
		if !c.Runnable() {
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
	if e.Instead != nil {
		c.Args, c.RunE = cobra.ArbitraryArgs, func(c *cobra.Command, _ []string) error { e.Instead(c); return nil }
	}
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usageOf(c, err)
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		e.prepare(sub)
	}
}

// usageOf returns a [UsageError] with a hint at the help of a command.
func usageOf(c *cobra.Command, err error) error {
	return Usagef("%w; see %s -help", err, c.CommandPath())
}

// Args accepts at least least and at most most arguments, which the error describes.
func Args(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return fmt.Errorf("%s takes %s", c.Name(), what)
		}
		return nil
	}
}

// meantFlag returns the end of an error about an unknown flag: the one that was probably meant.
func meantFlag(c *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return ""
	}
	name := unknown.GetSpecifiedName()
	if of := unknown.GetSpecifiedShortnames(); of != "" {
		name = of
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if meant := suggest.Among(name, names); meant != "" {
		return ": did you mean -" + meant + "?"
	}
	return ""
}

// doubleDashes returns the arguments with a second dash before the long flags of a command that have one. It leaves
// values of flags, shorthands, numbers and what follows -- alone.
func doubleDashes(c *cobra.Command, args []string) []string {
	args = slices.Clone(args)
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	for i, commands := 0, true; i < len(args) && args[i] != "--"; i++ {
		arg := args[i]
		if len(arg) < 2 || arg[0] != '-' {
			at := slices.IndexFunc(c.Commands(), func(sub *cobra.Command) bool { return commands && (sub.Name() == arg || sub.HasAlias(arg)) })
			if commands = at >= 0; commands {
				c = c.Commands()[at]
				c.InitDefaultHelpFlag()
			}
			continue
		}
		name, _, given := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
		f := c.Flag(name)
		switch {
		case arg[1] == '-' || len(name) == 1:
			if f == nil && arg[1] != '-' {
				f = c.Flags().ShorthandLookup(name)
			}
		case f != nil || !shorthands(c, name):
			args[i] = "-" + arg
		}
		if f != nil && f.NoOptDefVal == "" && !given {
			i++ // its value
		}
	}
	return args
}

// shorthands reports whether the letters are shorthands of flags that have a longer name, the last one with its
// value, or the digits of a number.
func shorthands(c *cobra.Command, letters string) bool {
	for i := range len(letters) {
		f := c.Flags().ShorthandLookup(letters[i : i+1])
		switch {
		case f == nil || f.Name == f.Shorthand:
			return i == 0 && letters[0] >= '0' && letters[0] <= '9'
		case f.NoOptDefVal == "":
			return true
		}
	}
	return true
}

// complete writes the completions of a program for a shell.
func complete(w io.Writer, root *cobra.Command, shell string) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(w, true)
	case "zsh":
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, true)
	}
	return Usagef("unknown shell %q: use bash, zsh or fish", shell)
}

// GoFlags adds flags of package flag to those of a command. given returns the values of those that are set.
func GoFlags(to *pflag.FlagSet, from *flag.FlagSet) (given func() map[string]string) {
	to.AddGoFlagSet(from)
	return func() map[string]string {
		set := map[string]string{}
		from.VisitAll(func(f *flag.Flag) {
			if to.Changed(f.Name) {
				set[f.Name] = f.Value.String()
			}
		})
		return set
	}
}

// version returns the version of this program, such as "v1.2.3 (commit 0123456789ab, go1.26.0,
// linux/amd64)", as the Go command has recorded it.
func version() string {
	name, revision, goVersion := buildinfo.Read()
	facts := []string{goVersion, runtime.GOOS + "/" + runtime.GOARCH}
	if commit, changed := strings.CutSuffix(revision, "+changes"); commit != "" {
		commit = "commit " + commit[:min(12, len(commit))]
		if changed {
			commit += " with changes"
		}
		facts = append([]string{commit}, facts...)
	}
	return name + " (" + strings.Join(facts, ", ") + ")"
}
