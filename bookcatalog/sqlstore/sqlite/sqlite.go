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

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/ashlar-go/ashlar/bookcatalog/sqlstore"
)

// Open opens the file, which is made if it is not there, with its schema up to date. The
// caller closes the store. Two processes may have the same file open.
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
	store, err := sqlstore.New(ctx, write, read, Dialect())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), read.Close(), write.Close())
	}
	return store, nil
}

// dsn is the path as a URI, in which any character may stand in a file's name.
func dsn(path string, options ...string) string {
	options = append([]string{
		"_pragma=busy_timeout(5000)", "_pragma=journal_mode(WAL)", "_pragma=synchronous(NORMAL)", "_pragma=foreign_keys(1)",
	}, options...)
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + strings.Join(options, "&")
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
