package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// Dialect describes how one database differs from others. All fields are required, unless
// they say otherwise.
type Dialect struct {
	// Name is the dialect's name in goose: sqlite3, postgres.
	Name string
	// Migrations are goose's files, in their order, that create the schema.
	Migrations fs.FS
	// Exclusive calls migrate with a handle to the database while no other process can migrate
	// it. Optional: nil calls migrate without a lock.
	Exclusive func(ctx context.Context, db *sql.DB, migrate func(db *sql.DB) error) error
	// Placeholder returns the nth parameter of a statement, counted from 1: "?" or "$1".
	Placeholder func(n int) string
	// Contains is a condition that holds if the first string contains the second one, byte by
	// byte, with %s for each: "instr(%s, %s) > 0".
	Contains string
	// NoLimit is the operand of LIMIT that returns all rows: "-1" or "ALL".
	NoLimit string
	// Duplicate reports whether an error is the violation of a unique key, and returns the
	// names of its columns or its index.
	Duplicate func(err error) (of string, ok bool)
}

// migrations has a directory for each database that this module supports.
//
//go:embed migrations
var migrations embed.FS

// Migrations returns the migrations for a database that this module supports: sqlite.
func Migrations(database string) fs.FS {
	files, err := fs.Sub(migrations, "migrations/"+database)
	if err != nil {
		panic("sqlstore: invalid name of a database: " + database) // it has dots or slashes
	}
	return files
}

// migrate brings the schema up to date.
func (d *Dialect) migrate(ctx context.Context, db *sql.DB) error {
	var err error
	if d.Exclusive == nil {
		err = d.up(ctx, db)
	} else {
		err = d.Exclusive(ctx, db, func(db *sql.DB) error { return d.up(ctx, db) })
	}
	if err != nil {
		return fmt.Errorf("migrate the book catalog: %w", err)
	}
	return nil
}

// up applies the migrations that the database lacks. It refuses a schema that is newer than
// the program, which would not store the fields that it does not know.
func (d *Dialect) up(ctx context.Context, db *sql.DB) error {
	provider, err := goose.NewProvider(goose.Dialect(d.Name), db, d.Migrations)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return err
	}
	have, known, err := provider.GetVersions(ctx)
	if err == nil && have > known {
		err = fmt.Errorf("the database has version %d of the schema, and this program supports up to %d: use a newer program or another database",
			have, known)
	}
	return err
}
