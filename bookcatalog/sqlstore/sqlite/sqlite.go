// Package sqlite opens a book catalog in a file of SQLite, with a driver in pure Go.
//
//	store, err := sqlite.Open(ctx, "books.db")
//
// What was answered with success is in the file when the process is killed at any time.
//
// # Design notes
//
// The file has a write-ahead log, so that readers do not wait for the writer. It is
// synchronised at checkpoints and not with each change (synchronous=NORMAL): a crash of the
// process loses nothing, a loss of power may lose the last changes but never the file.
//
// Writes begin with the lock (_txlock=immediate). One that first reads and then finds
// somebody else writing can't wait for them, and fails.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"time"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/ashlar-go/ashlar/bookcatalog/sqlstore"
)

// Open opens the file, which is made if it is not there, with its schema up to date. The
// caller closes the store. Several processes may have the same file open, and may open it at
// the same time when it is new.
func Open(ctx context.Context, path string) (*sqlstore.Store, error) {
	if path == "" || path == ":memory:" {
		return nil, errors.New("open a book catalog: name a file; in memory there is bookcatalog.MemStore")
	}
	write, err := sql.Open("sqlite", dsn(path, "_txlock=immediate"))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	write.SetMaxOpenConns(1)
	read, err := sql.Open("sqlite", dsn(path, "_pragma=query_only(1)"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), write.Close())
	}
	read.SetMaxOpenConns(max(4, runtime.GOMAXPROCS(0)))
	var store *sqlstore.Store
	if err = settle(ctx, write); err == nil {
		store, err = sqlstore.New(ctx, write, read, Dialect())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), read.Close(), write.Close())
	}
	return store, nil
}

// patience is how long to wait for what another process has locked.
const patience = 5 * time.Second

// settle makes the first connection, which gives a new file its write-ahead log. SQLite does
// not wait for a lock there: of several that open a new file together some are turned away
// at once. What else is wrong is told by who comes next.
func settle(ctx context.Context, db *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for busy(db.PingContext(ctx)) {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("another process has locked it: %w", ctx.Err())
		}
	}
	return nil
}

// busy tells that somebody else has the lock.
func busy(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && e.Code()&0xff == codes.SQLITE_BUSY
}

// dsn is the path as a URI, in which any character may stand in a file's name.
func dsn(path string, options ...string) string {
	options = append([]string{
		fmt.Sprintf("_pragma=busy_timeout(%d)", patience.Milliseconds()),
		"_pragma=journal_mode(WAL)", "_pragma=synchronous(NORMAL)", "_pragma=foreign_keys(1)",
	}, options...)
	name := (&url.URL{Path: path}).EscapedPath()
	if strings.HasPrefix(path, "//") {
		name = "//" + name // or what is behind the slashes would be a host
	}
	return "file:" + name + "?" + strings.Join(options, "&")
}

// Dialect is what is SQLite's own.
func Dialect() sqlstore.Dialect {
	return sqlstore.Dialect{
		Name:        "sqlite3",
		Migrations:  sqlstore.Migrations("sqlite"),
		Placeholder: func(int) string { return "?" },
		Contains:    "instr(%s, %s) > 0",
		NoLimit:     "-1",
		Duplicate:   duplicate,
	}
}

// duplicate knows the two codes that SQLite has for it. Only the text names the column.
func duplicate(err error) (of string, ok bool) {
	e, ok := errors.AsType[*driver.Error](err)
	if !ok || e.Code() != codes.SQLITE_CONSTRAINT_UNIQUE && e.Code() != codes.SQLITE_CONSTRAINT_PRIMARYKEY {
		return "", false
	}
	return e.Error(), true
}
