package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/suggest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// app is what the commands share.
type app struct {
	env     cli.Env
	schema  *records.Schema // of the program; the server may have more
	context string          // flag
	server  string          // flag
	http    *http.Client
}

// withDashes adds the second dash to -help and -version, which the other programs accept with one.
func withDashes(args []string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "-help" || arg == "-version" {
			args[i] = "-" + arg
		}
	}
	return args
}

func run(ctx context.Context, env cli.Env) error {
	a := &app{env: env, schema: inventory.Schema(), http: &http.Client{Timeout: 10 * time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a redirect could lead the token elsewhere
	}}}
	root := a.root()
	root.SetArgs(withDashes(env.Args))
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	return root.ExecuteContext(ctx)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use: "inventoryctl", Short: "Work with an inventory server",
		Long: "Work with the records of an inventory server at the command line.\n\nRecords are named by what people call them:\n\n" +
			"  sw1              the device sw1; sw1@VIE if several locations have one\n" +
			"  sw1:eth0         the interface or port eth0 of the device sw1\n" +
			"  10.0.0.0/8@red   the prefix or address in the VRF red\n\n" +
			"or by id. The variables INVENTORY_URL and INVENTORY_TOKEN replace the context of a login.\nThe exit code is 0 for success, 1 for failure and 2 for wrong arguments.",
		Example:       "  inventoryctl login http://localhost:3000\n  inventoryctl get devices --filter status=offline\n  inventoryctl trace sw1:eth0",
		SilenceErrors: true, SilenceUsage: true, Version: cli.Version(),
	}
	root.SetVersionTemplate("inventoryctl {{.Version}}\n")
	root.PersistentFlags().StringVar(&a.context, "context", "", "the `name` of the context, instead of the current one")
	root.PersistentFlags().StringVar(&a.server, "server", "", "the `URL` of the server, instead of that of the context; takes INVENTORY_TOKEN")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usagef(c, "%w%s", err, meantFlag(c, err)) })
	root.AddCommand(
		a.loginCommand(), a.logoutCommand(), a.contextCommand(),
		a.getCommand(), a.describeCommand(), a.createCommand(), a.setCommand(), a.deleteCommand(),
		a.applyCommand(), a.diffCommand(), a.exportCommand(), a.traceCommand(), a.searchCommand(), a.driftCommand(), a.nextCommand(), a.ansibleCommand(),
	)
	return root
}

// meantFlag returns the end of an error about an unknown flag: the one that was probably meant.
func meantFlag(c *cobra.Command, err error) string {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return ""
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if meant := suggest.Among(name, names); meant != "" {
		return ": did you mean --" + meant + "?"
	}
	return ""
}

// usagef returns an error about the use of a command.
func usagef(c *cobra.Command, format string, args ...any) error {
	return cli.Usagef(format+"; run %s --help", append(args, c.CommandPath())...)
}

// exactly requires a number of arguments, and says which.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef(c, "%s takes %s", c.Name(), what)
		}
		return nil
	}
}

// atLeast requires a minimum of arguments, and says which.
func atLeast(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < n {
			return usagef(c, "%s takes %s", c.Name(), what)
		}
		return nil
	}
}

// printf prints a line for people. Errors of the output are those of its end, which nobody reads.
func printf(w io.Writer, format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
