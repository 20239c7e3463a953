package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/ratelimit/server"
	"github.com/ashlar-go/ashlar/ratelimit/settings"
)

func run(ctx context.Context, env cli.Env) error {
	flags := flag.NewFlagSet("ratelimitd", flag.ContinueOnError)
	list := flags.Bool("settings", false, "list the environment variables and exit")
	if err := env.Parse(flags); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return cli.Usagef("unexpected argument %q: ratelimitd is configured by environment variables, see -settings", flags.Arg(0))
	}
	if *list {
		return printSettings(env.Stdout)
	}
	s, err := settings.Parse(env.Environ)
	if err != nil {
		return cli.Usagef("settings:\n%w", err)
	}
	log := server.NewLogTo(env.Stderr, s)
	return server.Run(ctx, s, &server.Options{
		Log: log,
		Listening: func(a server.Addresses) {
			fmt.Fprintf(env.Stderr, "ratelimitd: gRPC on %s, HTTP on %s, counters %s\n", a.GRPC, a.HTTP, whereCounters(env.Environ))
		},
	})
}

// whereCounters says where counters live, and why there.
func whereCounters(environ map[string]string) string {
	if environ["BACKEND_TYPE"] == "" {
		return "embedded in this process: BACKEND_TYPE is not set, and neither is KVSTORE_URL"
	}
	return "embedded in this process: BACKEND_TYPE says so"
}

func printSettings(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range settings.Table() {
		fmt.Fprintf(t, "%s\t%s\t%s\n", v.Name, v.Default, v.Doc)
	}
	return t.Flush()
}
