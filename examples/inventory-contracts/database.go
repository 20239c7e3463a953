package main

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// open opens the database of the program, and applies its own migrations.
func open(ctx context.Context, file string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", file+"?_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)")
	if err != nil {
		return nil, err
	}
	if file == ":memory:" {
		db.SetMaxOpenConns(1) // another connection would have a database of its own
	}
	files, err := fs.Sub(migrations, "migrations")
	if err == nil {
		var own *goose.Provider
		if own, err = goose.NewProvider(goose.DialectSQLite3, db, files); err == nil {
			_, err = own.Up(ctx)
		}
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}
