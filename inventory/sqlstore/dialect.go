package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/dialect"
)

// Dialect describes SQLite or PostgreSQL to a store: make it with sqlite.Dialect or postgres.Dialect. A program that
// applies migrations itself gets the statements from it.
type Dialect struct {
	dialect.Spec
}

// indexedBy follows the name of a table to use an index, if it is not empty.
func (d *Dialect) indexedBy(index string) string {
	if d.IndexedBy == "" || index == "" {
		return ""
	}
	return fmt.Sprintf(d.IndexedBy, index)
}

// placeholder returns the nth parameter of a statement that uses each parameter once.
func (d *Dialect) placeholder(n int) string {
	if d.Next != "" {
		return d.Next
	}
	return d.Parameter + strconv.Itoa(n)
}

// argument converts a value for the driver.
func (d *Dialect) argument(v any) any {
	if t, ok := v.(time.Time); ok {
		return d.Time(t.UTC())
	}
	return v
}

// migrate brings the schema up to date: it applies the migrations, and generates what they do not
// create, and fills the keys of existing records. While it takes long, it logs what it does.
func (d *Dialect) migrate(ctx context.Context, db *sql.DB, schema *records.Schema, log *slog.Logger) error {
	if d.Migrations == "" {
		return nil
	}
	p := newProgress(log)
	defer p.end()
	files := schema.MigrationFiles()
	if files != nil {
		var err error
		if files, err = fs.Sub(files, d.Migrations); err != nil {
			return err
		}
	}
	if d.Exclusive == nil {
		if err := d.up(ctx, db, files, goose.WithSessionLocker(locker{d})); err != nil {
			return err
		}
		return d.complete(ctx, db, p, func(wait bool) ([]*records.Resource, error) { return d.generateLocked(ctx, db, schema, wait, p) })
	}
	return d.complete(ctx, db, p, func(wait bool) (unfilled []*records.Resource, err error) {
		err = d.Exclusive(ctx, db, func(only *sql.DB) (err error) {
			if err = d.up(ctx, only, files); err == nil {
				unfilled, err = d.generateLocked(ctx, only, schema, wait, p)
			}
			p.run(0, 0, "COMMIT")
			return err
		})
		return unfilled, err
	})
}

// up applies the migrations that the database lacks; nil is none. It refuses a schema that is
// newer than the program, which would not store the fields that it does not know.
func (d *Dialect) up(ctx context.Context, db *sql.DB, files fs.FS, options ...goose.ProviderOption) error {
	if files == nil {
		return nil
	}
	provider, err := goose.NewProvider(goose.Dialect(d.Name), db, files, options...)
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
