package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

// app has the parts that the commands share.
type app struct {
	env     cli.Env
	schema  *records.Schema // of the program; the server may have more
	context string          // flag
	server  string          // flag
}

func run(ctx context.Context, env cli.Env) error {
	schema, err := inventory.NewSchema(feature.Parts(standard.Features()...)...)
	if err != nil {
		return err
	}
	a := &app{env: env, schema: schema}
	return env.Execute(ctx, a.root())
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use: "inventoryctl COMMAND [flags]", Short: "Work with an inventory server",
		Long: "Work with the records of an inventory server at the command line.\n\nRecords are named by what people call them:\n\n" +
			"  sw1              the device sw1; sw1@VIE if several locations have one\n" +
			"  sw1:eth0         the interface or port eth0 of the device sw1\n" +
			"  10.0.0.0/8@red   the prefix or address in the VRF red\n\n" +
			"or by id. The variables INVENTORY_URL and INVENTORY_TOKEN replace the context of a login.",
		Example: "  inventoryctl login http://localhost:3000\n  inventoryctl get devices --filter status=offline\n  inventoryctl trace sw1:eth0",
	}
	root.PersistentFlags().StringVar(&a.context, "context", "", "the `name` of the context, instead of the current one")
	root.PersistentFlags().StringVar(&a.server, "server", "", "the `URL` of the server, instead of that of the context; takes INVENTORY_TOKEN")
	root.AddCommand(
		a.loginCommand(), a.logoutCommand(), a.contextCommand(),
		a.getCommand(), a.describeCommand(), a.createCommand(), a.setCommand(), a.deleteCommand(),
		a.applyCommand(), a.diffCommand(), a.exportCommand(), a.traceCommand(), a.searchCommand(), a.driftCommand(), a.proposalCommand(), a.nextCommand(), a.ansibleCommand(), a.nsupdateCommand(),
	)
	return root
}

// printf prints a line for people. Errors of the output are those of its end, which nobody reads.
func printf(w io.Writer, format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
