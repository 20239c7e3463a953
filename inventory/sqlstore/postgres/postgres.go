package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
)

// Options are the choices of [Open]. Nil means the defaults.
type Options struct {
	// ReadURL is a replica of the database, for reading. What must be fresh
	// (sqlstore.Store.Fresh) is read from the database itself. Default: the same one.
	ReadURL string
	// MaxConns is how many connections there are at most, to each database. Default: 16.
	MaxConns int
	// Store are the choices of the store itself.
	Store *sqlstore.Options
}

// Open opens the database of a URL such as postgres://user:password@host:5432/inventory,
// with its schema up to date. The caller closes the store.
//
// The error is of kind inventory.Unavailable if the database does not answer. It has no
// password in it.
func Open(ctx context.Context, url string, opts *Options) (*sqlstore.Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	writer, err := handle(url, opts)
	if err != nil {
		return nil, fmt.Errorf("open the inventory: %w", err)
	}
	reader := writer
	if opts.ReadURL != "" {
		if reader, err = handle(opts.ReadURL, opts); err != nil {
			return nil, errors.Join(fmt.Errorf("open the inventory for reading: %w", err), writer.Close())
		}
	}
	dialect, err := dialectOf(ctx, writer)
	var store *sqlstore.Store
	if err == nil {
		store, err = sqlstore.New(ctx, writer, reader, dialect, opts.store())
	} else {
		err = failure(ctx, err)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the inventory: %w", err), reader.Close(), writer.Close())
	}
	return store, nil
}

// store is Store, and that the reader is a replica's where there is one.
func (o *Options) store() *sqlstore.Options {
	if o.ReadURL == "" {
		return o.Store
	}
	store := sqlstore.Options{}
	if o.Store != nil {
		store = *o.Store
	}
	store.Replica = true
	return &store
}

// failure is the error of a server that does not answer when it is opened, or not before the
// deadline. A caller who has gone learns that, and nothing about the server.
func failure(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("%w (%w)", ctx.Err(), err) // drivers have words of their own for it
	case fault(err).Kind != sqlstore.Down:
		return err
	}
	return &inventory.Error{Kind: inventory.Unavailable, Message: "The database is not available: try again later", Err: err}
}

// handle opens no connection yet.
func handle(url string, opts *Options) (*sql.DB, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		// The driver's error repeats the address, and not always without the password.
		return nil, errors.New("the address of the database can't be read: it must be like postgres://user:password@host:5432/inventory?sslmode=require")
	}
	db := stdlib.OpenDB(*config)
	conns := opts.MaxConns
	if conns <= 0 {
		conns = 16
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}
