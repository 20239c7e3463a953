package server

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// openStore opens what DATABASE_URL names.
func (s *Server) openStore(ctx context.Context) error {
	if s.store != nil {
		return nil
	}
	store, err := open(ctx, s.settings)
	if err != nil {
		return fmt.Errorf("DATABASE_URL: %w", err)
	}
	s.store = store
	s.closers = append(s.closers, store.Close)
	return nil
}

func open(ctx context.Context, s *Settings) (*sqlstore.Store, error) {
	if isPostgres(s.DatabaseURL) {
		return postgres.Open(ctx, s.DatabaseURL, &postgres.Options{ReadURL: s.DatabaseReadURL})
	}
	return sqlite.Open(ctx, s.DatabaseURL, nil)
}

// Database says where the records are, for people: it shows no password.
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

// Backup copies the SQLite database of the settings to a file that must not be there yet,
// also while a server uses it. It changes nothing, the schema neither.
func Backup(ctx context.Context, s *Settings, file string) error {
	switch {
	case isPostgres(s.DatabaseURL):
		return errors.New("DATABASE_URL is a PostgreSQL, which pg_dump copies")
	case s.DatabaseURL == ":memory:":
		return errors.New("DATABASE_URL is :memory:, and ends with the process it is in: name a file")
	}
	return sqlite.Backup(ctx, s.DatabaseURL, file)
}
