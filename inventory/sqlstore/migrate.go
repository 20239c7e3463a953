package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// migrations has a directory for each database that this module knows.
//
//go:embed migrations
var migrations embed.FS

// Migrations are those for one of the databases that this module knows: sqlite, postgres.
func Migrations(database string) fs.FS {
	files, err := fs.Sub(migrations, "migrations/"+database)
	if err != nil {
		panic("sqlstore: no migrations for " + database) // a name with dots or slashes
	}
	return files
}

// migrate brings the schema up to date.
func (s *Store) migrate(ctx context.Context) error {
	d := &s.dialect
	switch {
	case d.Migrations == nil:
		return nil
	case d.Exclusive == "":
		return d.up(ctx, s.writer, goose.WithSessionLocker(locker{d}))
	}
	return d.upAlone(ctx, s.writer)
}

// up runs the migrations that the database does not have yet.
func (d *Dialect) up(ctx context.Context, db *sql.DB, options ...goose.ProviderOption) error {
	provider, err := goose.NewProvider(goose.Dialect(d.Name), db, d.Migrations, options...)
	if err != nil {
		return fmt.Errorf("migrations for %s: %w", d.Name, err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return err
	}
	have, known, err := provider.GetVersions(ctx)
	if err == nil && have > known {
		err = fmt.Errorf("the database has version %d of the schema, and this program knows %d: use a newer program, or another database",
			have, known)
	}
	return err
}

// locker holds the lock for migrations. The one of goose asks again every few seconds,
// which is how much later the second of two processes would start.
type locker struct{ *Dialect }

func (l locker) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, l.Lock)
	return err
}

func (l locker) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, l.Unlock)
	return err
}

// upAlone runs the migrations in one transaction that nobody else can write beside.
func (d *Dialect) upAlone(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, d.Exclusive); err != nil {
		return err
	}
	err = conn.Raw(func(c any) error {
		inner := sql.OpenDB(oneConn{c.(driver.Conn)})
		inner.SetMaxOpenConns(1)
		defer inner.Close()
		return d.up(ctx, inner)
	})
	if err != nil {
		_, undone := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, undone)
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// oneConn opens nothing: all that it has is a connection of somebody else's, in the middle
// of a transaction. What asks for a transaction there gets a savepoint.
type oneConn struct{ driver.Conn }

func (c oneConn) Connect(context.Context) (driver.Conn, error) { return c, nil }
func (c oneConn) Driver() driver.Driver                        { return noDriver{} }
func (c oneConn) Close() error                                 { return nil }

func (c oneConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, text, args)
}

func (c oneConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, text, args)
}

func (c oneConn) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	_, err := c.ExecContext(ctx, "SAVEPOINT migration", nil)
	return savepoint{c}, err
}

// savepoint is a transaction within another.
type savepoint struct{ conn oneConn }

func (s savepoint) Commit() error {
	_, err := s.conn.ExecContext(context.Background(), "RELEASE migration", nil)
	return err
}

func (s savepoint) Rollback() error {
	_, err := s.conn.ExecContext(context.Background(), "ROLLBACK TO migration", nil)
	return errors.Join(err, s.Commit())
}

// noDriver is that of a oneConn, which has its connection.
type noDriver struct{}

func (noDriver) Open(string) (driver.Conn, error) {
	return nil, errors.New("there is one connection only")
}
