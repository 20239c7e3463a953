package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

// Store is a bookcatalog.Store in a database. Make it with [New]. It is safe for concurrent
// use.
type Store struct {
	writer, reader *sql.DB
	dialect        Dialect
	columns        []column
	selected       string
}

// New brings the schema up to date and returns a store that writes through one handle and
// reads through the other. They may be the same. The store closes both; if New fails, the
// caller does.
func New(ctx context.Context, write, read *sql.DB, d Dialect) (*Store, error) {
	if err := d.migrate(ctx, write); err != nil {
		return nil, err
	}
	all := columns()
	return &Store{writer: write, reader: read, dialect: d, columns: all, selected: selected(all)}, nil
}

// Close closes both handles.
func (s *Store) Close() error {
	err := s.reader.Close()
	if s.writer != s.reader {
		err = errors.Join(err, s.writer.Close())
	}
	return err
}

// statement collects the parameters of a statement.
type statement struct {
	dialect *Dialect
	args    []any
}

// arg adds a parameter and returns its placeholder.
func (st *statement) arg(v any) string {
	st.args = append(st.args, v)
	return st.dialect.Placeholder(len(st.args))
}

// Create adds a book.
func (s *Store) Create(ctx context.Context, b *bookcatalog.Book) error {
	r, err := rowOf(b)
	if err != nil {
		return err
	}
	st := statement{dialect: &s.dialect}
	names, values := make([]string, len(s.columns)), make([]string, len(s.columns))
	for i, c := range s.columns {
		names[i], values[i] = c.name, st.arg(c.value(r))
	}
	_, err = s.writer.ExecContext(ctx, fmt.Sprintf("INSERT INTO books (%s) VALUES (%s)",
		strings.Join(names, ", "), strings.Join(values, ", ")), st.args...)
	return s.failure("add a book", b, err)
}

// Get returns a book.
func (s *Store) Get(ctx context.Context, id string) (*bookcatalog.Book, error) {
	st := statement{dialect: &s.dialect}
	found := s.reader.QueryRowContext(ctx, "SELECT "+s.selected+" FROM books WHERE id = "+st.arg(id), st.args...) // #nosec G202 -- a constant and a placeholder
	b, err := s.read(found)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, bookcatalog.ErrNotFound
	}
	return b, s.failure("read a book", b, err)
}

// Replace replaces a version of the book with the same id.
func (s *Store) Replace(ctx context.Context, b *bookcatalog.Book, version int64) error {
	r, err := rowOf(b)
	if err != nil {
		return err
	}
	st := statement{dialect: &s.dialect}
	sets := make([]string, len(s.columns))
	for i, c := range s.columns {
		sets[i] = c.name + " = " + st.arg(c.value(r))
	}
	result, err := s.writer.ExecContext(ctx, fmt.Sprintf("UPDATE books SET %s WHERE id = %s AND version = %s",
		strings.Join(sets, ", "), st.arg(b.ID), st.arg(version)), st.args...)
	if err != nil {
		return s.failure("replace a book", b, err)
	}
	return s.changed(ctx, result, b.ID)
}

// Delete deletes a version of a book.
func (s *Store) Delete(ctx context.Context, id string, version int64) error {
	st := statement{dialect: &s.dialect}
	result, err := s.writer.ExecContext(ctx,
		fmt.Sprintf("DELETE FROM books WHERE id = %s AND version = %s", st.arg(id), st.arg(version)), st.args...)
	if err != nil {
		return s.failure("delete a book", nil, err)
	}
	return s.changed(ctx, result, id)
}

// changed returns nil if a statement has changed a row, else why it has not:
// bookcatalog.ErrNotFound or bookcatalog.ErrStale.
func (s *Store) changed(ctx context.Context, result sql.Result, id string) error {
	n, err := result.RowsAffected()
	if err != nil {
		return s.failure("count the changed books", nil, err)
	}
	if n > 0 {
		return nil
	}
	if _, err := s.Get(ctx, id); err != nil {
		return err
	}
	return bookcatalog.ErrStale
}

// failure turns an error of the database into one of the catalog, and nil into nil. b is the
// book that was to be written, or nil.
func (s *Store) failure(what string, b *bookcatalog.Book, err error) error {
	if err == nil {
		return nil
	}
	of, duplicate := s.dialect.Duplicate(err)
	switch {
	case !duplicate || b == nil:
		return fmt.Errorf("%s: %w", what, err)
	case strings.Contains(of, "isbn13"):
		return bookcatalog.DuplicateISBN(b.ISBN13)
	}
	return bookcatalog.DuplicateID(b.ID)
}
