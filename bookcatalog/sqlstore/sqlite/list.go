package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

// List returns the books of a query.
func (s *Store) List(ctx context.Context, q *bookcatalog.Query) (books []bookcatalog.Book, total int64, err error) {
	tx, err := s.db.Reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, 0, failure("list books", nil, err)
	}
	defer func() { // the transaction only reads, so there is nothing to commit
		if rollback := tx.Rollback(); !errors.Is(rollback, sql.ErrTxDone) { // its context has ended it
			err = errors.Join(err, rollback)
		}
	}()
	if books, err = page(ctx, tx, q); err != nil {
		return nil, 0, failure("list books", nil, err)
	}
	if q.After == nil && q.Offset <= 0 && q.Limit <= 0 {
		return books, int64(len(books)), nil
	}
	c := filters(q)
	err = tx.QueryRowContext(ctx, "SELECT count(*) FROM books"+c.where(), c.args...).Scan(&total)
	return books, total, failure("count books", nil, err)
}

func page(ctx context.Context, tx *sql.Tx, q *bookcatalog.Query) (books []bookcatalog.Book, err error) {
	c, keys := filters(q), sortKeys(q)
	if q.After != nil {
		c.after(keys)
	}
	order := make([]string, len(keys))
	for i, key := range keys {
		order[i] = key.column + key.direction
	}
	limit := int64(-1) // all
	if q.Limit > 0 {
		limit = q.Limit
	}
	text := "SELECT " + columns + " FROM books" + c.where() + " ORDER BY " + strings.Join(order, ", ") + " LIMIT ? OFFSET ?" // #nosec G202 -- constants of this package and parameters
	rows, err := tx.QueryContext(ctx, text, append(c.args, limit, max(q.Offset, 0))...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var b bookcatalog.Book
		if err := rows.Scan(fields(&b)...); err != nil {
			return nil, err
		}
		books = append(books, b)
	}
	return books, rows.Err()
}

// conditions are what rows must match, with parameters.
type conditions struct {
	all  []string
	args []any
}

func (c *conditions) add(condition string, args ...any) {
	c.all, c.args = append(c.all, condition), append(c.args, args...)
}

func (c *conditions) where() string {
	if len(c.all) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.all, " AND ")
}

// filters returns the conditions of a query, one for each field that is set.
func filters(q *bookcatalog.Query) *conditions {
	c, folded := &conditions{}, q.Folded()
	for _, f := range []struct{ column, part string }{
		{"text_key", folded.Text}, {"title_key", folded.Title}, {"authors_key", folded.Author}, {"subjects_key", folded.Subject},
	} {
		if f.part != "" {
			c.add("instr("+f.column+", ?) > 0", f.part)
		}
	}
	if folded.ISBN != "" {
		c.add("(isbn = ? OR isbn13 = ?)", folded.ISBN, folded.ISBN)
	}
	for _, f := range []struct {
		condition string
		year      *int
	}{
		{"published_year = ?", q.Year},
		{"published_year <> 0 AND published_year >= ?", q.YearMin},
		{"published_year <> 0 AND published_year <= ?", q.YearMax},
	} {
		if f.year != nil {
			c.add(f.condition, *f.year)
		}
	}
	return c
}

// sortKey is a column to sort by, and its value for the book that a page starts after.
type sortKey struct {
	column    string
	after     any
	direction string // " DESC" or ""
}

// sortKeys returns the columns that a query sorts by. The id is the last, so that no two books are
// equal.
func sortKeys(q *bookcatalog.Query) (all []sortKey) {
	after := &bookcatalog.Book{}
	if q.After != nil {
		after = q.After
	}
	k := bookcatalog.KeysOf(after)
	known := map[bookcatalog.SortField]sortKey{
		bookcatalog.SortTitle:   {column: "title_key", after: k.Title},
		bookcatalog.SortAuthor:  {column: "author_key", after: k.Author},
		bookcatalog.SortISBN:    {column: "isbn13", after: after.ISBN13},
		bookcatalog.SortYear:    {column: "published_year", after: after.PublishedYear},
		bookcatalog.SortCreated: {column: "created_at", after: after.CreatedAt.UnixMicro()},
		bookcatalog.SortUpdated: {column: "updated_at", after: after.UpdatedAt.UnixMicro()},
	}
	for _, s := range q.Sort {
		if key, ok := known[s.Field]; ok {
			if s.Desc {
				key.direction = " DESC"
			}
			all = append(all, key)
		}
	}
	return append(all, sortKey{column: "id", after: after.ID})
}

// after adds the condition that a book comes after another one: by the first key, or equal in the
// first and by the second, and so on. A comparison of rows would not do, since keys may have
// different directions.
func (c *conditions) after(keys []sortKey) {
	condition, args := "FALSE", []any{}
	for _, key := range slices.Backward(keys) {
		operator := " > ?"
		if key.direction != "" {
			operator = " < ?"
		}
		condition = "(" + key.column + operator + " OR " + key.column + " = ? AND " + condition + ")"
		args = append([]any{key.after, key.after}, args...)
	}
	c.add(condition, args...)
}
