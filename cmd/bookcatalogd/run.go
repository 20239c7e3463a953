package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/httpapi"
	"github.com/ashlar-go/ashlar/bookcatalog/sqlstore/sqlite"
	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/apidocs"
	"github.com/ashlar-go/ashlar/internal/settings"
)

// config contains the settings.
type config struct {
	port        int
	addr        string
	db          string
	seed        bool
	lenient     bool
	hosts       []string
	origins     []string
	proxies     []netip.Prefix
	connections int
	perAddress  int
	memory      int64
}

// table returns the settings that are environment variables and flags.
func (c *config) table() []settings.Setting {
	positive := settings.From(1, math.MaxInt)
	return []settings.Setting{
		{Name: "PORT", Flag: "p", Default: "8000", Doc: "`port` to listen on, on all addresses; 0 picks a free one", Value: settings.Int(&c.port, settings.From(0, 65535))},
		{Name: "ADDR", Flag: "addr", Doc: "`address` to listen on, such as localhost:8000; replaces -p", Value: settings.Text(&c.addr, settings.CheckListen)},
		{Name: "DATABASE", Flag: "db", Default: "memory", Doc: "SQLite `file` that stores the books, created if it does not exist; memory: books are lost at exit", Value: settings.Text(&c.db)},
		{Name: "ALLOWED_HOSTS", Flag: "allowed-hosts", Doc: "comma-separated `names` in the Host header besides those of the machine, such as books.example.com; * allows all", Value: settings.List(&c.hosts)},
		{Name: "ALLOWED_ORIGINS", Flag: "allowed-origins", Default: strings.Join(httpx.LocalOrigins(), ","), Doc: "comma-separated web `origins` whose pages may use the API", Value: settings.List(&c.origins)},
		{Name: "TRUSTED_PROXIES", Flag: "trusted-proxies", Doc: "comma-separated `networks` of the proxies whose X-Forwarded-For is trusted, such as 10.0.0.0/8", Value: settings.Networks(&c.proxies)},
		{Name: "MAX_CONNECTIONS", Flag: "max-connections", Default: "1024", Doc: "maximum `number` of open connections", Value: settings.Int(&c.connections, positive)},
		{Name: "MAX_CONNECTIONS_PER_ADDRESS", Flag: "max-connections-per-address", Default: "128", Doc: "maximum `number` of open connections of one client address; proxies may have more", Value: settings.Int(&c.perAddress, positive)},
		{Name: "MAX_REQUEST_MEMORY", Flag: "max-request-memory", Default: "67108864", Doc: "`bytes` of memory for requests in progress, half of them for one client", Value: settings.Int(&c.memory, settings.AtLeast[int64](1<<20))},
	}
}

func run(ctx context.Context, env cli.Env) error {
	c := &config{}
	command := &cobra.Command{
		Use: "bookcatalogd [flags]", Args: cli.Args(0, 0, "no arguments"),
		Long: "bookcatalogd serves the book catalog, the smallest of the four systems, over HTTP.",
		Example: `  bookcatalogd -seed
    	serves a few sample books, kept in memory, on port 8000
  bookcatalogd -db books.db -addr localhost:8000
    	keeps the books in a file, for this machine only`,
	}
	flags := flag.NewFlagSet("bookcatalogd", flag.ContinueOnError)
	settings.Flags(flags, c.table())
	given := cli.GoFlags(command.Flags(), flags)
	command.Flags().BoolVar(&c.seed, "seed", false, "add a few sample books if the catalog is empty")
	command.Flags().BoolVar(&c.lenient, "lenient-isbn", false, "accept any string as an ISBN")
	command.RunE = func(command *cobra.Command, _ []string) error {
		if err := c.read(env, given()); err != nil {
			return err
		}
		return c.serve(command.Context(), env)
	}
	return env.Execute(ctx, command)
}

// serve serves the catalog until ctx ends.
func (c *config) serve(ctx context.Context, env cli.Env) (err error) {
	origins, err := httpx.NewOrigins(c.origins)
	if err != nil {
		return cli.Usagef("-allowed-origins: %w", err)
	}
	log := slog.New(slog.NewTextHandler(env.Stderr, nil))
	store, closeStore, err := open(ctx, c.db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	if c.seed {
		if err := bookcatalog.New(store, nil).Seed(ctx); err != nil {
			return fmt.Errorf("-seed: add the sample books: %w", err)
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.addr)
	if err != nil {
		return fmt.Errorf("%w: choose another port with -p; 0 picks a free one", err)
	}
	hosts, err := httpx.NewHosts(listener.Addr(), &httpx.HostsOptions{Names: c.hosts, Setting: "ALLOWED_HOSTS"})
	if err != nil {
		return errors.Join(cli.Usagef("-allowed-hosts: %w", err), listener.Close())
	}
	printAddress(env.Stderr, listener.Addr(), c.db)
	return httpx.Serve(ctx, listener, httpapi.NewHandler(store, &httpapi.Options{
		LenientISBN: c.lenient,
		Docs:        apidocs.New(&apidocs.Options{Title: "Book catalog"}),
		Chain: &httpx.StandardOptions{
			Log: log, Origins: origins, Hosts: hosts, Clients: httpx.BehindProxies(c.proxies...),
			Budget: httpx.NewBudget(&httpx.BudgetOptions{Bytes: c.memory}),
		},
	}), &httpx.ServeOptions{
		Log: log, MaxConnections: c.connections, MaxConnectionsPerAddress: c.perAddress, TrustedProxies: c.proxies,
	})
}

// read reads the settings from the environment and the given flags.
func (c *config) read(env cli.Env, given map[string]string) error {
	_, port := given["p"]
	_, addr := given["addr"]
	if port && addr {
		return cli.Usagef("-p and -addr are mutually exclusive: use one of them")
	}
	r := settings.Read(c.table(), env.Environ, given)
	r.Require(c.db != "", "DATABASE", "is empty: specify a file, or memory")
	if err := r.Err(); err != nil {
		return cli.Usagef("settings:\n%w", err)
	}
	if c.addr == "" || port {
		c.addr = net.JoinHostPort("", strconv.Itoa(c.port))
	}
	return nil
}

// open opens the store that -db names.
func open(ctx context.Context, db string) (bookcatalog.Store, func() error, error) {
	if db == "memory" {
		return bookcatalog.NewMemStore(), func() error { return nil }, nil
	}
	store, err := sqlite.Open(ctx, db)
	if err != nil {
		return nil, nil, fmt.Errorf("-db: %w", err)
	}
	return store, store.Close, nil
}

// printAddress prints the URL of the catalog and where the books are stored.
func printAddress(w io.Writer, addr net.Addr, db string) {
	host, port, _ := net.SplitHostPort(addr.String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	fmt.Fprintf(w, "bookcatalogd: http://%s/api/books, books in %s; Ctrl-C stops it\n", net.JoinHostPort(host, port), db)
}
