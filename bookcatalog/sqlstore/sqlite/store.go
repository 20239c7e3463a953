package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // registers the driver

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/internal/sqlitefile"
)

// Store is a bookcatalog.Store in a file. Make it with [Open]. It is safe for concurrent use.
type Store struct{ db *sqlitefile.Handles }

// Open opens the database in a file and brings its schema up to date. It creates the file,
// readable by its owner only, if there is none. The caller closes the store. Several
// processes may have the same file open, and may create it at the same time.
func Open(ctx context.Context, path string) (*Store, error) {
	if path == "" || path == sqlitefile.Memory {
		return nil, errors.New("open a book catalog: name a file; use bookcatalog.MemStore to keep books in memory")
	}
	db, err := sqlitefile.Open(ctx, "sqlite", path, nil)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	err = sqlitefile.Migrate(ctx, db.Writer, func(db *sql.DB) error { return migrate(ctx, db) })
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: migrate the book catalog: %w", path, err), db.Close())
	}
	return &Store{db}, nil
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

//go:embed migrations
var migrations embed.FS

// migrate applies the migrations that the database lacks. It refuses a schema that is newer than
// the program, which would not store the fields that it does not know.
func migrate(ctx context.Context, db *sql.DB) error {
	files, _ := fs.Sub(migrations, "migrations") // fails for invalid paths only
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files)
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

// Create adds a book.
func (s *Store) Create(ctx context.Context, b *bookcatalog.Book) error {
	all, parameters := values(b)
	_, err := s.db.Writer.ExecContext(ctx, "INSERT INTO books ("+columns+", "+keyColumns+") VALUES ("+parameters+")", all...) // #nosec G202 -- constants
	return failure("add a book", b, err)
}

// Get returns a book.
func (s *Store) Get(ctx context.Context, id string) (*bookcatalog.Book, error) {
	b := &bookcatalog.Book{}
	err := s.db.Reader.QueryRowContext(ctx, "SELECT "+columns+" FROM books WHERE id = ?", id).Scan(fields(b)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, bookcatalog.ErrNotFound
	}
	return b, failure("read a book", nil, err)
}

// Replace replaces a version of the book with the same id.
func (s *Store) Replace(ctx context.Context, b *bookcatalog.Book, version int64) error {
	all, parameters := values(b)
	text := "UPDATE books SET (" + columns + ", " + keyColumns + ") = (" + parameters + ") WHERE id = ? AND version = ?" // #nosec G202 -- constants
	result, err := s.db.Writer.ExecContext(ctx, text, append(all, b.ID, version)...)
	return s.changed(ctx, b.ID, result, failure("replace a book", b, err))
}

// Delete deletes a version of a book.
func (s *Store) Delete(ctx context.Context, id string, version int64) error {
	result, err := s.db.Writer.ExecContext(ctx, "DELETE FROM books WHERE id = ? AND version = ?", id, version)
	return s.changed(ctx, id, result, failure("delete a book", nil, err))
}

// changed returns the error of a statement that changes a book, or if it has changed no row,
// bookcatalog.ErrNotFound or bookcatalog.ErrStale.
func (s *Store) changed(ctx context.Context, id string, result sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return failure("count the changed books", nil, err)
	}
	if _, err := s.Get(ctx, id); err != nil {
		return err
	}
	return bookcatalog.ErrStale
}

// failure turns an error of the database into one of the catalog, and nil into nil. b is the
// book that was to be written, or nil.
func failure(what string, b *bookcatalog.Book, err error) error {
	if err == nil {
		return nil
	}
	of, duplicate := sqlitefile.Duplicate(err)
	switch {
	case !duplicate || b == nil:
		return fmt.Errorf("%s: %w", what, err)
	case strings.Contains(strings.Join(of, " "), "isbn13"):
		return bookcatalog.Duplicate("isbn", b.ISBN13)
	}
	return bookcatalog.Duplicate("id", b.ID)
}
