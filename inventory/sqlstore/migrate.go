package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// migrations has a directory for each database that this module supports.
//
//go:embed migrations
var migrations embed.FS

// Migrations returns the migrations for a database that this module supports: sqlite,
// postgres.
func Migrations(database string) fs.FS {
	files, err := fs.Sub(migrations, "migrations/"+database)
	if err != nil {
		panic("sqlstore: invalid name of a database: " + database) // it has dots or slashes
	}
	return files
}

// migrate brings the schema up to date.
func (d *Dialect) migrate(ctx context.Context, db *sql.DB) error {
	switch {
	case d.Migrations == nil:
		return nil
	case d.Exclusive == nil:
		return d.up(ctx, db, goose.WithSessionLocker(locker{d}))
	}
	return d.Exclusive(ctx, db, func(db *sql.DB) error { return d.up(ctx, db) })
}

// up applies the migrations that the database lacks. It refuses a schema that is newer than
// the program, which would not store the fields that it does not know.
func (d *Dialect) up(ctx context.Context, db *sql.DB, options ...goose.ProviderOption) error {
	provider, err := goose.NewProvider(goose.Dialect(d.Name), db, d.Migrations, options...)
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

// locker holds the lock for migrations. The locker of goose polls every few seconds, which
// would delay the start of the second of two processes as long.
type locker struct{ *Dialect }

func (l locker) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, l.Lock)
	return err
}

func (l locker) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, l.Unlock)
	return err
}
