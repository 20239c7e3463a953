package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// Dialect is what a database does in a way of its own. All fields are required.
type Dialect struct {
	// Name is that of the database in goose: sqlite3, postgres.
	Name string
	// Migrations are the files of goose, in their order, that make the schema.
	Migrations fs.FS
	// Placeholder is the nth parameter of a statement, counted from 1: "?" or "$1".
	Placeholder func(n int) string
	// Contains is a condition that is true when the first text holds the second, byte by
	// byte, with %s for each: "instr(%s, %s) > 0".
	Contains string
	// NoLimit is what LIMIT takes for all rows: "-1" or "ALL".
	NoLimit string
	// Duplicate tells of an error that it is a violation of a unique constraint, and of
	// which column or index.
	Duplicate func(err error) (of string, ok bool)
}

// migrations has a directory for each database that this module knows.
//
//go:embed migrations
var migrations embed.FS

// Migrations are those for one of the databases that this module knows: sqlite.
func Migrations(database string) fs.FS {
	files, err := fs.Sub(migrations, "migrations/"+database)
	if err != nil {
		panic("sqlstore: no migrations for " + database) // a name with dots or slashes
	}
	return files
}

// migrate brings the schema up to date. One that a newer program has made is refused: this
// one does not know what it would leave out.
func (d *Dialect) migrate(ctx context.Context, db *sql.DB) error {
	provider, err := goose.NewProvider(goose.Dialect(d.Name), db, d.Migrations)
	if err != nil {
		return fmt.Errorf("migrations of the book catalog for %s: %w", d.Name, err)
	}
	// Another process may do the same at the same time. Of the steps, which are the table of
	// versions and the migrations, an attempt fails at one that the other has done in between,
	// and the next attempt finds that done.
	for range 2 + len(provider.ListSources()) {
		if _, err = provider.Up(ctx); err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("migrate the book catalog: %w", err)
	}
	have, known, err := provider.GetVersions(ctx)
	if err == nil && have > known {
		err = fmt.Errorf("the database has version %d of the schema, and this program knows %d: use a newer program, or another database",
			have, known)
	}
	return err
}
