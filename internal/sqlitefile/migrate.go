package sqlitefile

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"
)

// Migrate calls migrate with a handle to the database inside one transaction that holds the
// write lock, so that only one of several processes that start together migrates a file.
// The transaction is committed unless migrate returns an error. A transaction that migrate
// begins is a savepoint of it. Migrate waits for other processes for up to a minute, because they
// may be migrating too, or for the busy timeout if that is longer.
//
// A file that replaces this one later needs the tables and columns that it has now.
func Migrate(ctx context.Context, db *sql.DB, migrate func(db *sql.DB) error) error {
	only, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer only.Close()
	if err := beginMigration(ctx, only); err != nil {
		return err
	}
	err = only.Raw(func(c any) error {
		inner := sql.OpenDB(connection{c.(rawConn)})
		inner.SetMaxOpenConns(1)
		defer inner.Close()
		return migrate(inner)
	})
	if err == nil {
		_, err = only.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		_, undone := only.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		if code(undone) == generic {
			undone = nil // there is no transaction: SQLite has rolled it back after an error, as of a full disk
		}
		return errors.Join(err, undone)
	}
	return only.Raw(func(c any) (err error) {
		if c, ok := c.(*conn); ok { // else it is in memory
			c.file.mu.Lock()
			defer c.file.mu.Unlock()
			c.file.schema, err = schemaOf(ctx, c.rawConn)
		}
		return err
	})
}

// migrateWait is the time that Migrate waits for other processes.
const migrateWait = time.Minute

// beginMigration begins a transaction with the write lock, for which each attempt waits as long as any
// statement does.
func beginMigration(ctx context.Context, only *sql.Conn) (err error) {
	for end := time.Now().Add(migrateWait); ; {
		_, err = only.ExecContext(ctx, "BEGIN IMMEDIATE")
		if code(err)&primary != busy || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
	}
}

// connection is a driver.Connector for a connection that is open and in a transaction.
type connection struct{ rawConn }

func (c connection) Connect(context.Context) (driver.Conn, error) { return c, nil }
func (c connection) Driver() driver.Driver                        { return noDriver{} }
func (c connection) Close() error                                 { return nil }

func (c connection) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	_, err := c.ExecContext(ctx, "SAVEPOINT migration", nil)
	return savepoint{c}, err
}

// savepoint is a transaction inside another one.
type savepoint struct{ connection }

func (s savepoint) Commit() error {
	_, err := s.ExecContext(context.Background(), "RELEASE migration", nil)
	return err
}

func (s savepoint) Rollback() error {
	_, err := s.ExecContext(context.Background(), "ROLLBACK TO migration", nil)
	return errors.Join(err, s.Commit())
}

// noDriver is the driver of a connection that is open already.
type noDriver struct{}

func (noDriver) Open(string) (driver.Conn, error) {
	return nil, errors.New("the migration has one connection only")
}
