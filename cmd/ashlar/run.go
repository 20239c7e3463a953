package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/settings"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

func run(ctx context.Context, env cli.Env) error {
	c := &cobra.Command{
		Use: "ashlar [flags]", Args: cli.Args(0, 0, "no arguments"),
		Long: "ashlar runs everything in one process on embedded defaults: the rate limit service, the inventory with demo records, the book catalog and manifests, each with its pages.",
		Example: `  ashlar
    	on free ports of this machine, with data in ashlar-data; it prints the address to open
  ashlar -limits limits/config -fresh
    	with rate limits of your own, whose changes take effect at once, and new data`,
	}
	host := c.Flags().String("host", "127.0.0.1", "`address` to listen on")
	allowed := c.Flags().String("allowed-hosts", "", "comma-separated `names` in the Host header besides those of the machine; * allows all")
	home := newHome(c.Flags())
	all := &systems{limits: newLimits(c.Flags()), network: newNetwork(c.Flags()), books: newBooks(c.Flags())}
	c.RunE = func(c *cobra.Command, _ []string) error {
		return home.run(c.Context(), env, all, c.Flags(), *host, *allowed)
	}
	return env.Execute(ctx, c)
}

// run opens and serves the landing page and all systems.
func (h *home) run(ctx context.Context, env cli.Env, all *systems, flags *pflag.FlagSet, host, allowed string) (err error) {
	limits, network, books := all.limits, all.network, all.books
	var names []string
	if allowed != "" {
		names = settings.Split(allowed)
	}
	log := newTerminal(env)
	defer log.flush()
	if err := limits.load(host, names, log.log("limits")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, books.close(), h.close(), limits.close(), network.close()) }()
	if err := network.claim(env.Stderr); err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	notes, err := openPorts(ctx, host, flags, h.port, network.port, books.port, limits.ports.http, limits.ports.grpc, limits.ports.debug)
	if err != nil {
		return err
	}
	network.lock.by.Address = localURL(h.port.listener.Addr()) + "/"
	if err := network.lock.write(); err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	if err := network.prepare(env.Stderr); err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	if err := limits.useSample(network.dir, network.fresh); err != nil {
		return err
	}
	if err := books.open(ctx, names, log.log("catalog")); err != nil {
		return err
	}
	if err := h.open(ctx, names, log.log("home")); err != nil {
		return err
	}
	network.links, limits.opts.ConsoleLinks = h.links(), h.links()
	if err := network.open(ctx, names, log.log("inventory")); err != nil {
		return err
	}
	return h.serveAll(ctx, env, all, notes)
}

// serveAll serves the systems and the landing page, and prints where. notes are about ports.
func (h *home) serveAll(ctx context.Context, env cli.Env, all *systems, notes []string) error {
	group, groupCtx := errgroup.WithContext(ctx)
	limits, network, books := all.limits, all.network, all.books
	err := limits.open(ctx, func(a server.Addresses) {
		h.systems = all
		at := &addresses{
			a, limits.from, books.port.listener.Addr(), network.port.listener.Addr(), h.port.listener.Addr(),
			network.password, filepath.Join(network.dir, passwordFile),
		}
		// The landing page links to all others, so it starts last.
		group.Go(func() error { return h.serve(groupCtx, at) })
		fmt.Fprint(env.Stdout, at.welcome(h.codes.Issue("", time.Now()), notes))
	})
	if err != nil {
		return err
	}
	group.Go(func() error { return books.serve(groupCtx) })
	group.Go(func() error { return network.serve(groupCtx) })
	group.Go(func() error { return limits.serve(groupCtx) })
	return group.Wait()
}

// addresses holds the addresses of all systems.
type addresses struct {
	server.Addresses        // of the rate limit service
	limits           string // origin of its limits
	books            net.Addr
	network          net.Addr
	home             net.Addr
	password         string // of the inventory's admin
	passwordFile     string
}

// welcomeText is the template of what the program prints when it runs.
//
//go:embed home/welcome.txt
var welcomeText string

// welcome returns the addresses and commands to try. code is that of a sign-in link, notes are about ports.
func (p *addresses) welcome(code string, notes []string) string {
	var b strings.Builder
	err := template.Must(template.New("welcome").Parse(welcomeText)).Execute(&b, map[string]any{
		"GRPC": p.GRPC, "HTTP": p.HTTP, "Limits": p.limits, "Books": p.books, "Debug": p.Debug, "Home": p.home, "Network": p.network,
		"PasswordFile": p.passwordFile, "Quoted": quoted(p.passwordFile), "SignIn": p.signInURL(code), "Lifetime": httpx.CodeLifetime, "Notes": notes,
	})
	if err != nil {
		panic(err) // a mistake in the template
	}
	return b.String()
}

// quoted quotes an argument for a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
