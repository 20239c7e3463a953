package main

import (
	"context"
	"flag"
	"fmt"
	"net"

	"golang.org/x/sync/errgroup"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

func run(ctx context.Context, env cli.Env) error {
	flags := flag.NewFlagSet("ashlar", flag.ContinueOnError)
	host := flags.String("host", "127.0.0.1", "`address` to listen on")
	limits := newLimits(flags)
	books := newBooks(flags)
	if err := env.Parse(flags); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return cli.Usagef("unexpected argument %q: see -help", flags.Arg(0))
	}
	if err := limits.load(*host, env.Stderr); err != nil {
		return err
	}
	if err := books.open(ctx, *host, env.Stderr); err != nil {
		return err
	}
	defer books.listener.Close()

	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return books.serve(groupCtx) })
	group.Go(func() error {
		return limits.serve(groupCtx, func(a server.Addresses) {
			fmt.Fprint(env.Stdout, welcome(a, limits.from, books.listener.Addr()))
		})
	})
	return group.Wait()
}

// welcome says where everything is and what to try.
func welcome(a server.Addresses, limits string, books net.Addr) string {
	return fmt.Sprintf(`ashlar is running; Ctrl-C stops it.

  rate limits over gRPC   %[1]s
  rate limits over HTTP   http://%[2]s/json
  health                  http://%[2]s/healthcheck
  debug, statistics       http://%[5]s/
  limits                  %[3]s
  book catalog            http://%[4]s/api/books

Try in another terminal, the first a few times in a row:

  go run ./cmd/ratelimit-client -dial_string %[1]s -domain demo -descriptors client=bob
  curl -i http://%[2]s/json -d '{"domain":"demo","descriptors":[{"entries":[{"key":"client","value":"bob"}]}]}'
  curl -i http://%[4]s/api/books

`, a.GRPC, a.HTTP, limits, books, a.Debug)
}
