package sqlstore

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

// column is a column of the table.
type column struct {
	name  string
	value func(r *row) any // returns the value to store
	into  func(r *row) any // returns where to scan it to; nil for a key
}

// row is a row of the table.
type row struct {
	book                      bookcatalog.Book
	keys                      bookcatalog.Keys
	author, authors, subjects string
	created, updated          int64
}

// columns returns all columns of the table. INSERT, UPDATE and SELECT are made from the same
// list, so that none of them can miss one.
func columns() []column {
	return []column{
		{"id", func(r *row) any { return r.book.ID }, func(r *row) any { return &r.book.ID }},
		{"isbn", func(r *row) any { return r.book.ISBN }, func(r *row) any { return &r.book.ISBN }},
		{"isbn13", func(r *row) any { return r.book.ISBN13 }, func(r *row) any { return &r.book.ISBN13 }},
		{"title", func(r *row) any { return r.book.Title }, func(r *row) any { return &r.book.Title }},
		{"author", func(r *row) any { return r.author }, func(r *row) any { return &r.author }},
		{"authors", func(r *row) any { return r.authors }, func(r *row) any { return &r.authors }},
		{"publisher", func(r *row) any { return r.book.Publisher }, func(r *row) any { return &r.book.Publisher }},
		{"published_year", func(r *row) any { return r.book.PublishedYear }, func(r *row) any { return &r.book.PublishedYear }},
		{"language", func(r *row) any { return r.book.Language }, func(r *row) any { return &r.book.Language }},
		{"pages", func(r *row) any { return r.book.Pages }, func(r *row) any { return &r.book.Pages }},
		{"subjects", func(r *row) any { return r.subjects }, func(r *row) any { return &r.subjects }},
		{"price_minor", func(r *row) any { return r.book.PriceMinor }, func(r *row) any { return &r.book.PriceMinor }},
		{"currency", func(r *row) any { return r.book.Currency }, func(r *row) any { return &r.book.Currency }},
		{"created_at", func(r *row) any { return r.created }, func(r *row) any { return &r.created }},
		{"updated_at", func(r *row) any { return r.updated }, func(r *row) any { return &r.updated }},
		{"version", func(r *row) any { return r.book.Version }, func(r *row) any { return &r.book.Version }},
		{"title_key", func(r *row) any { return r.keys.Title }, nil},
		{"author_key", func(r *row) any { return r.keys.Author }, nil},
		{"authors_key", func(r *row) any { return r.keys.Authors }, nil},
		{"text_key", func(r *row) any { return r.keys.Text }, nil},
		{"subjects_key", func(r *row) any { return r.keys.Subjects }, nil},
	}
}

// rowOf returns the row of a book.
func rowOf(b *bookcatalog.Book) (*row, error) {
	r := &row{book: *b, keys: bookcatalog.KeysOf(b), created: b.CreatedAt.UnixMicro(), updated: b.UpdatedAt.UnixMicro()}
	for _, part := range []struct {
		into *string
		from any
	}{{&r.author, b.Author}, {&r.authors, b.Authors}, {&r.subjects, b.Subjects}} {
		doc, err := json.Marshal(part.from)
		if err != nil {
			return nil, fmt.Errorf("book %s: %w", b.ID, err)
		}
		*part.into = string(doc)
	}
	return r, nil
}

// scanner is a *sql.Row or *sql.Rows.
type scanner interface{ Scan(into ...any) error }

// read scans the book of a row with the columns of selected.
func (s *Store) read(from scanner) (*bookcatalog.Book, error) {
	r := &row{}
	into := make([]any, 0, len(s.columns))
	for _, c := range s.columns {
		if c.into != nil {
			into = append(into, c.into(r))
		}
	}
	if err := from.Scan(into...); err != nil {
		return nil, err
	}
	b := &r.book
	b.CreatedAt, b.UpdatedAt = time.UnixMicro(r.created).UTC(), time.UnixMicro(r.updated).UTC()
	for doc, part := range map[*string]any{&r.author: &b.Author, &r.authors: &b.Authors, &r.subjects: &b.Subjects} {
		if err := json.Unmarshal([]byte(*doc), part); err != nil {
			return nil, fmt.Errorf("book %s in the database has invalid JSON: %w", b.ID, err)
		}
	}
	return b, nil
}

// selected returns the names of the columns that make a book.
func selected(columns []column) string {
	var names []string
	for _, c := range columns {
		if c.into != nil {
			names = append(names, c.name)
		}
	}
	return strings.Join(names, ", ")
}
