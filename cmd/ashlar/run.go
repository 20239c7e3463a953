package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/settings"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

func run(ctx context.Context, env cli.Env) (err error) {
	flags := flag.NewFlagSet("ashlar", flag.ContinueOnError)
	host := flags.String("host", "127.0.0.1", "`address` to listen on")
	allowed := flags.String("allowed-hosts", "", "comma-separated `names` in the Host header besides those of the machine; * allows all")
	home, network := newHome(flags), newNetwork(flags)
	limits, books := newLimits(flags), newBooks(flags)
	if err := env.Parse(flags); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return cli.Usagef("unexpected argument %q: see -help", flags.Arg(0))
	}
	var names []string
	if *allowed != "" {
		names = settings.Split(*allowed)
	}
	if err := limits.load(*host, names, env.Stderr); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, books.close(), home.close(), network.close()) }()
	if err := books.open(ctx, *host, names, env.Stderr); err != nil {
		return err
	}
	if err := home.open(ctx, *host, names, env.Stderr); err != nil {
		return err
	}
	if err := network.open(ctx, *host, names, env.Stderr); err != nil {
		return err
	}

	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return books.serve(groupCtx) })
	group.Go(func() error { return network.serve(groupCtx) })
	group.Go(func() error {
		return limits.serve(groupCtx, func(a server.Addresses) {
			at := &places{
				a, limits.from, books.listener.Addr(), network.listener.Addr(), home.listener.Addr(),
				network.password, filepath.Join(network.dir, passwordFile),
			}
			// The landing page links to all others, so it starts last.
			group.Go(func() error { return home.serve(groupCtx, at) })
			fmt.Fprint(env.Stdout, at.welcome(home.codes.issue(time.Now())))
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
	passwordFile     string
}

// welcome returns the addresses and commands to try. code is that of a sign-in link.
func (p *places) welcome(code string) string {
	return fmt.Sprintf(`ashlar is running; Ctrl-C stops it.

  start here              http://%[6]s/
  inventory               http://%[7]s/docs/
  sign in as admin        %[9]s (once, within %[10]v)
  its password            %[8]s
  rate limits over gRPC   %[1]s
  rate limits over HTTP   http://%[2]s/json
  health                  http://%[2]s/healthcheck
  debug, statistics       http://%[5]s/
  limits                  %[3]s
  book catalog            http://%[4]s/api/books

Try in another terminal, the first a few times in a row:

  go run ./cmd/ratelimit-client -dial_string %[1]s -domain demo -descriptors client=bob
  curl -i http://%[2]s/json --json '{"domain":"demo","descriptors":[{"entries":[{"key":"client","value":"bob"}]}]}'
  curl -i http://%[4]s/api/books
  curl -i http://%[7]s/users/login -H 'Content-Type: application/json' -d '{"username":"admin","password":"'"$(cat %[11]s)"'"}'

`, p.GRPC, p.HTTP, p.limits, p.books, p.Debug, p.home, p.network, p.passwordFile, p.signInURL(code), codeLifetime, quoted(p.passwordFile))
}

// quoted quotes an argument for a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// systems returns the content of the landing page.
func (p *places) systems() []system {
	at := func(a net.Addr, path string) string { return "http://" + a.String() + path }
	return []system{
		{"inventory", "Network inventory", "Devices, interfaces, locations, VLANs and links in a SQLite file, with demo data.", []link{
			{"API documentation", at(p.network, "/docs/"), "log in as admin with the password in " + p.passwordFile},
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
