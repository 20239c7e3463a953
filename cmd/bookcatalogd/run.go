package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/httpapi"
	"github.com/ashlar-go/ashlar/bookcatalog/sqlstore/sqlite"
	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/httpx"
)

// config contains the flags.
type config struct {
	port    int
	addr    string
	db      string
	seed    bool
	lenient bool
}

func run(ctx context.Context, env cli.Env) (err error) {
	c, err := parse(env)
	if err != nil {
		return err
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
	origins, err := httpx.NewOrigins(httpx.LocalOrigins())
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.addr)
	if err != nil {
		return fmt.Errorf("%w: choose another port with -p; 0 picks a free one", err)
	}
	printAddress(env.Stderr, listener.Addr(), c.db)
	return httpx.Serve(ctx, listener, httpapi.NewHandler(store, &httpapi.Options{
		LenientISBN: c.lenient,
		Chain:       &httpx.StandardOptions{Log: log, Origins: origins},
	}), &httpx.ServeOptions{Log: log})
}

func parse(env cli.Env) (config, error) {
	var c config
	flags := flag.NewFlagSet("bookcatalogd", flag.ContinueOnError)
	flags.IntVar(&c.port, "p", 8000, "`port` to listen on, on all addresses; 0 picks a free one")
	flags.StringVar(&c.addr, "addr", "", "`address` to listen on, such as localhost:8000; replaces -p")
	flags.StringVar(&c.db, "db", "memory", "SQLite `file` that stores the books, created if it does not exist; memory: books are lost at exit")
	flags.BoolVar(&c.seed, "seed", false, "add a few sample books if the catalog is empty")
	flags.BoolVar(&c.lenient, "lenient-isbn", false, "accept any string as an ISBN")
	if err := env.Parse(flags); err != nil {
		return c, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case flags.NArg() > 0:
		return c, cli.Usagef("unexpected argument %q: see -help", flags.Arg(0))
	case given["p"] && given["addr"]:
		return c, cli.Usagef("-p and -addr are mutually exclusive: use one of them")
	case c.port < 0 || c.port > 65535:
		return c, cli.Usagef("invalid port -p %d: use a number from 0 to 65535", c.port)
	case c.db == "":
		return c, cli.Usagef("-db is empty: specify a file, or memory")
	}
	if !given["addr"] {
		c.addr = net.JoinHostPort("", strconv.Itoa(c.port))
	}
	return c, nil
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
