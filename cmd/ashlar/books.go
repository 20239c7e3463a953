package main

import (
	"context"
	"flag"
	"log/slog"
	"net"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/httpapi"
	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/apidocs"
)

// books is the book catalog, in memory and with a few samples.
type books struct {
	port     int
	store    *bookcatalog.MemStore
	log      *slog.Logger
	listener net.Listener
	hosts    *httpx.Hosts
}

func newBooks(flags *flag.FlagSet) *books {
	b := &books{store: bookcatalog.NewMemStore()}
	flags.IntVar(&b.port, "catalog-port", 8000, "`port` of the book catalog; 0 picks a free one")
	return b
}

func (b *books) open(ctx context.Context, p *ports, names []string, log *slog.Logger) (err error) {
	b.log = log
	if err := bookcatalog.New(b.store, nil).Seed(ctx); err != nil {
		return err
	}
	if b.listener, err = p.listen(ctx, b.port, "catalog-port", "the book catalog"); err != nil {
		return err
	}
	b.hosts, err = allowedHosts(b.listener, names)
	return err
}

func (b *books) serve(ctx context.Context) error {
	origins, err := httpx.NewOrigins(httpx.LocalOrigins())
	if err != nil {
		return err
	}
	handler := httpapi.NewHandler(b.store, &httpapi.Options{
		Docs:  apidocs.New(&apidocs.Options{Title: "Book catalog"}),
		Chain: &httpx.StandardOptions{Log: b.log, Origins: origins, Hosts: b.hosts},
	})
	return httpx.Serve(ctx, b.listener, handler, &httpx.ServeOptions{Log: b.log})
}

func (b *books) close() error { return closeListener(b.listener) }

// count returns the number of books.
func (b *books) count(ctx context.Context) int {
	_, total, err := b.store.List(ctx, &bookcatalog.Query{Limit: 1})
	if err != nil {
		return 0
	}
	return int(total)
}
