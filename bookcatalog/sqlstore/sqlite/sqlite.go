// Package sqlite opens a book catalog in an SQLite file, with a driver in pure Go.
//
//	store, err := sqlite.Open(ctx, "books.db")
//
// A change that has returned without an error survives a crash of the process.
//
// # Design notes
//
// The write-ahead log, the writing and the reading handle, and the lock for migrations are
// those of internal/sqlitefile.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	_ "modernc.org/sqlite" // registers the driver

	"github.com/ashlar-go/ashlar/bookcatalog/sqlstore"
	"github.com/ashlar-go/ashlar/internal/sqlitefile"
)

// Open opens the database in a file and brings its schema up to date. It creates the file,
// readable by its owner only, if there is none. The caller closes the store. Several
// processes may have the same file open, and may create it at the same time.
func Open(ctx context.Context, path string) (*sqlstore.Store, error) {
	if path == "" || path == sqlitefile.Memory {
		return nil, errors.New("open a book catalog: name a file; use bookcatalog.MemStore to keep books in memory")
	}
	db, err := sqlitefile.Open(ctx, "sqlite", path, nil)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	store, err := sqlstore.New(ctx, db.Writer, db.Reader, Dialect())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	return store, nil
}

// Dialect returns the dialect of SQLite.
func Dialect() sqlstore.Dialect {
	return sqlstore.Dialect{
		Name:        "sqlite3",
		Migrations:  sqlstore.Migrations("sqlite"),
		Exclusive:   sqlitefile.Migrate,
		Placeholder: func(int) string { return "?" },
		Contains:    "instr(%s, %s) > 0",
		NoLimit:     "-1",
		Duplicate: func(err error) (of string, ok bool) {
			columns, ok := sqlitefile.Duplicate(err)
			return strings.Join(columns, ", "), ok
		},
	}
}
