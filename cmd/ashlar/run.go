package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"

	"golang.org/x/sync/errgroup"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

func run(ctx context.Context, env cli.Env) (err error) {
	flags := flag.NewFlagSet("ashlar", flag.ContinueOnError)
	host := flags.String("host", "127.0.0.1", "`address` to listen on")
	home, network := newHome(flags), newNetwork(flags)
	limits, books := newLimits(flags), newBooks(flags)
	if err := env.Parse(flags); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return cli.Usagef("unexpected argument %q: see -help", flags.Arg(0))
	}
	if err := limits.load(*host, env.Stderr); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, books.close(), home.close(), network.close()) }()
	if err := books.open(ctx, *host, env.Stderr); err != nil {
		return err
	}
	if err := home.open(ctx, *host, env.Stderr); err != nil {
		return err
	}
	if err := network.open(ctx, *host, env.Stderr); err != nil {
		return err
	}

	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return books.serve(groupCtx) })
	group.Go(func() error { return network.serve(groupCtx) })
	group.Go(func() error {
		return limits.serve(groupCtx, func(a server.Addresses) {
			at := places{a, limits.from, books.listener.Addr(), network.listener.Addr(), home.listener.Addr(), network.password}
			// The landing page links to all others, so it starts last.
			group.Go(func() error { return home.serve(groupCtx, at.systems) })
			fmt.Fprint(env.Stdout, at.welcome())
		})
	})
	return group.Wait()
}

// places holds the addresses of all systems.
type places struct {
	server.Addresses        // of the rate limit service
	limits           string // origin of its limits
	books            net.Addr
	network          net.Addr
	home             net.Addr
	password         string // of the inventory's admin
}

// welcome returns the addresses and commands to try.
func (p *places) welcome() string {
	return fmt.Sprintf(`ashlar is running; Ctrl-C stops it.

  start here              http://%[6]s/
  inventory               http://%[7]s/docs/
  log in there as         admin, %[8]s
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
  curl -i http://%[7]s/users/login -H 'Content-Type: application/json' -d '{"username":"admin","password":"%[8]s"}'

`, p.GRPC, p.HTTP, p.limits, p.books, p.Debug, p.home, p.network, p.password)
}

// systems returns the content of the landing page, with the password only for requests from this
// machine.
func (p *places) systems(here bool) []system {
	login := "log in as admin, with the password printed at startup"
	if here {
		login = "log in as admin, " + p.password
	}
	at := func(a net.Addr, path string) string { return "http://" + a.String() + path }
	return []system{
		{"inventory", "Network inventory", "Devices, interfaces, locations, VLANs and links in a SQLite file, with demo data.", []link{
			{"API documentation", at(p.network, "/docs/"), login},
			{"OpenAPI document", at(p.network, "/openapi.json"), ""},
			{"Health", at(p.network, "/healthz"), ""},
		}},
		{"limits", "Rate limits", "The v3 rate limit service, with counters in this process.", []link{
			{"Debug pages", at(p.Debug, "/"), ""},
			{"Statistics", at(p.Debug, "/stats"), ""},
			{"Configuration", at(p.Debug, "/rlconfig"), "from " + p.limits},
			{"Health", at(p.HTTP, "/healthcheck"), ""},
		}},
		{"catalog", "Book catalog", "A small sample that shows how the systems are built.", []link{
			{"Books", at(p.books, "/api/books"), ""},
		}},
	}
}
