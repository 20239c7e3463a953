package main

import (
	"context"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/httpapi"
	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/apidocs"
)

// books is the book catalog, in memory and with a few samples.
type books struct {
	port  *port
	store *bookcatalog.MemStore
	log   *slog.Logger
	hosts *httpx.Hosts
}

func newBooks(flags *pflag.FlagSet) *books {
	return &books{port: newPort(flags, "catalog-port", 8000, "the book catalog"), store: bookcatalog.NewMemStore()}
}

func (b *books) open(ctx context.Context, names []string, log *slog.Logger) (err error) {
	b.log = log
	if err := bookcatalog.New(b.store, nil).Seed(ctx); err != nil {
		return err
	}
	b.hosts, err = allowedHosts(b.port.listener, names)
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
	return httpx.Serve(ctx, b.port.listener, handler, &httpx.ServeOptions{Log: b.log})
}

func (b *books) close() error { return b.port.close() }

// count returns the number of books.
func (b *books) count(ctx context.Context) int {
	_, total, err := b.store.List(ctx, &bookcatalog.Query{Limit: 1})
	if err != nil {
		return 0
	}
	return int(total)
}
