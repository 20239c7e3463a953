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
)

// Dialect describes how one database differs from others, as data: the package has no
// branches on the name of a database.
type Dialect struct {
	// Name is the dialect's name in goose: sqlite3, postgres.
	Name string
	// Migrations is the directory of the database among the migrations of a schema: "sqlite".
	// Empty expects that the tables exist.
	Migrations string
	// DDL generates what the migrations do not create. The zero value generates nothing.
	DDL DDL
	// Exclusive calls migrate with a handle to the database while no other process can migrate
	// it. Nil runs each migration in a transaction of its own, between Lock and Unlock.
	Exclusive func(ctx context.Context, db *sql.DB, migrate func(db *sql.DB) error) error
	// Lock and Unlock are statements with which a connection waits for and releases a lock
	// that is for migrations only.
	Lock, Unlock string
	// Parameter is the prefix of a numbered parameter: "?" or "$".
	Parameter string
	// Next is a parameter of statements that use each parameter once, in order: "?". Empty
	// uses numbered parameters.
	Next string
	// Rows is the most records, up to 128, that one INSERT adds, if that is faster than one by
	// one. 0 is the same as 1.
	Rows int
	// Fold converts the ASCII letters of a string to lower case, with %s for the string.
	Fold string
	// Contains and StartsWith hold if the first string contains, or begins with, the second,
	// byte by byte, with %[1]s and %[2]s for them.
	Contains, StartsWith string
	// Elements are the strings in a JSON array, with %s for it, as one string, in which the character
	// U+001F stands between them.
	Elements string
	// Element holds if a JSON array has an element, with %[1]s and %[2]s for them.
	Element string
	// NullsFirst and NullsLast follow ASC and DESC of a nullable column, so that null sorts
	// before all values. Both are empty if the database does that by default.
	NullsFirst, NullsLast string
	// ForUpdate follows a SELECT to lock its rows until the transaction ends. Empty for a
	// database with one writer at a time.
	ForUpdate string
	// ForShare follows the condition of a SELECT to keep other transactions from changing its rows
	// until this one ends, while they may read and lock them too. It has a name as its second
	// parameter, and waits for Serialize with that name. Empty for a database with one writer at a
	// time.
	ForShare string
	// Serialize is a statement that waits until no other transaction runs that has executed it, or
	// ForShare, with the same name, its only parameter. Those wait in the order of arrival. Empty
	// for a database with one writer at a time.
	Serialize string
	// ChainRow is a row of VALUES with a position, an id and a hash, with %s for each, for a
	// database whose WITH can contain an UPDATE. Empty for others.
	ChainRow string
	// CommitAsync is an expression after which the commit of the transaction does not wait until
	// it is on disk, or wherever else the settings of the database require it. Empty for a database
	// with one writer at a time.
	//
	// Flush is a SELECT in a transaction of its own, whose commit waits for all earlier ones as the
	// settings require. Its parameter is a JSON array of objects with the seq and the hash, in
	// hexadecimal digits, of entries of the table audit_chain, or the end in audit_head; it returns
	// how many of them exist.
	CommitAsync, Flush string
	// Aborts says that a transaction can't continue after a failed statement, unless it rolls
	// back to a savepoint.
	Aborts bool
	// NoLimit is the operand of LIMIT that returns all rows: "-1" or "ALL".
	NoLimit string
	// IndexedBy follows the name of a table to use an index, with %s for it. Empty leaves the
	// choice to the database.
	IndexedBy string
	// Unindexed precedes a column in a condition for which no index is to be used: "+". Empty
	// leaves the choice to a database that keeps statistics.
	Unindexed string
	// JoinEach follows FROM and finds the rows of a table for each row of a SELECT, by an index: with %[1]s for
	// the SELECT and its alias, %[2]s for the table, and %[3]s for the condition.
	JoinEach string
	// OneByOne ends the SELECT of an EXISTS that is to be executed for each row, by an index, instead of a join
	// with all rows. Empty for a database that never joins them.
	OneByOne string
	// Complete makes a SELECT with a limit find all its rows before it returns the first, with
	// %s for the statement. It is for drivers that stop a statement when its context ends until
	// its first row only. Empty for others.
	Complete string
	// Backup copies the database to the file in its only parameter. Empty if the database has
	// its own tools for that.
	Backup string
	// Check checks the database and returns one string, "ok" if it is not damaged. Empty if it
	// has its own tools for that.
	Check string
	// Size returns the size of the database in bytes. Empty if it can't be known cheaply.
	Size string
	// Slots is the number of rows that share a count, so that writers seldom wait for each
	// other: 1 for a database with one writer at a time. 0 is the same as 1.
	Slots int
	// Replan is an argument before those of a list with conditions that makes the database plan it for their
	// values, instead of once for all. Nil if it always does, or never.
	Replan any
	// Prepare says that the driver does not cache prepared statements, so that the store does.
	Prepare bool
	// Time converts a time for the driver.
	Time func(t time.Time) any
	// Classify returns what an error of the driver means.
	Classify func(err error) DriverError
}

// DriverError is the meaning of an error of a driver.
type DriverError struct {
	Kind DriverErrorKind
	// Constraint is the name of the violated constraint, if the database reports it.
	Constraint string
	// Columns are the columns of the violated unique key, if the database reports them instead.
	Columns []string
}

// DriverErrorKind is a kind of errors of a driver.
type DriverErrorKind uint8

const (
	OtherError          DriverErrorKind = iota // any other error
	UniqueViolation                            // of a unique key or the primary key
	ForeignKeyViolation                        // a reference to a record that does not exist
	Retryable                                  // the transaction must be run again: a deadlock, a serialization failure
	Unavailable                                // the database can't be reached, or can't work at the moment
	Full                                       // there is no space for the change
	Damaged                                    // the files of the database are damaged
	SchemaChanged                              // there is no such table or column
)

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
