package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// openStore opens the database of DATABASE_URL, unless the options have a store.
func (s *Server) openStore(ctx context.Context) error {
	if s.store != nil {
		return nil
	}
	options := &sqlstore.Options{Timeout: s.settings.DatabaseTimeout, Log: s.log}
	if s.tracing != nil {
		options.Span = s.tracing.StartChild
	}
	store, err := open(ctx, s.settings, s.schema, options)
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	s.store = store
	s.closers = append(s.closers, store.Close)
	return nil
}

func open(ctx context.Context, s *Settings, schema *records.Schema, options *sqlstore.Options) (*sqlstore.Store, error) {
	var parts []records.Part
	if s.UniqueHostnames {
		parts = append(parts, inventory.GloballyUniqueHostnames())
	}
	if s.CaseSensitiveHostnames {
		parts = append(parts, inventory.CaseSensitiveHostnames())
	}
	schema, err := schema.With(parts...)
	if err != nil {
		return nil, err
	}
	if isPostgres(s.DatabaseURL) {
		return postgres.Open(ctx, s.DatabaseURL, schema, &postgres.Options{ReadURL: s.DatabaseReadURL, MaxConns: s.DatabaseMaxConnections, Store: options})
	}
	return sqlite.Open(ctx, s.DatabaseURL, schema, &sqlite.Options{Log: options.Log, Store: options})
}

// Database describes where the records are stored, without a password.
func (s *Settings) Database() string {
	if !isPostgres(s.DatabaseURL) {
		return s.DatabaseURL
	}
	u, err := url.Parse(s.DatabaseURL)
	if err != nil {
		return "PostgreSQL"
	}
	return "PostgreSQL at " + u.Host + u.Path
}

// VerifyAudit checks the audit log of the database in the settings (records.VerifyAudit). It may
// run beside a server. A nil log means slog.Default().
func VerifyAudit(ctx context.Context, s *Settings, log *slog.Logger, opts *records.VerifyOptions) (r *records.AuditReport, err error) {
	err = withStore(ctx, s, log, "read", func(store records.Store) (err error) {
		r, err = records.VerifyAudit(ctx, store, opts)
		return err
	})
	return r, err
}

// withStore calls f with the database of the settings, which servers may use at the same time. verb says what f
// does with it: read or change. A nil log means slog.Default().
func withStore(ctx context.Context, s *Settings, log *slog.Logger, verb string, f func(store records.Store) error) (err error) {
	if s == nil {
		return errNoSettings
	}
	if s.DatabaseURL == ":memory:" {
		return fmt.Errorf("DATABASE_URL is :memory:, which only the running process can %s: use a file", verb)
	}
	store, err := open(ctx, s, inventory.Schema(), &sqlstore.Options{Timeout: s.DatabaseTimeout, Log: cmp.Or(log, slog.Default())})
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return f(store)
}

// mustExist refuses a SQLite file that does not exist: opening would create it.
func mustExist(s *Settings) error {
	if s == nil {
		return errNoSettings
	}
	if isPostgres(s.DatabaseURL) || s.DatabaseURL == ":memory:" {
		return nil
	}
	if _, err := os.Stat(s.DatabaseURL); err != nil {
		return fmt.Errorf("DATABASE_URL: %w: name the database of the server", err)
	}
	return nil
}
