package sqlite

import (
	"cmp"
	"context"
	"database/sql"
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
	defer func() { _ = tx.Rollback() }() // it only reads, so there is nothing to commit
	if books, err = page(ctx, tx, q); err != nil {
		return nil, 0, failure("list books", nil, err)
	}
	c := filters(q)
	err = tx.QueryRowContext(ctx, "SELECT count(*) FROM books"+c.text, c.args...).Scan(&total)
	return books, total, failure("count books", nil, err)
}

func page(ctx context.Context, tx *sql.Tx, q *bookcatalog.Query) (books []bookcatalog.Book, err error) {
	c, keys := filters(q), sortKeys(q)
	condition, args := after(keys)
	c.add(q.After != nil, condition, args...)
	order := make([]string, len(keys))
	for i, key := range keys {
		order[i] = key.column + key.direction
	}
	limit := cmp.Or(max(q.Limit, 0), -1)                                                                                  // -1 for all
	text := "SELECT " + columns + " FROM books" + c.text + " ORDER BY " + strings.Join(order, ", ") + " LIMIT ? OFFSET ?" // #nosec G202 -- constants of this package and parameters
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

// conditions restrict the rows of a statement, with parameters.
type conditions struct {
	text string
	args []any
}

// add adds a condition if the query contains it.
func (c *conditions) add(contained bool, condition string, args ...any) {
	if contained {
		c.text, c.args = c.text+" AND "+condition, append(c.args, args...)
	}
}

// filters returns the conditions of a query, one for each field that is set.
func filters(q *bookcatalog.Query) *conditions {
	c, f := &conditions{text: " WHERE TRUE"}, q.Folded()
	c.add(f.Text != "", "instr(text_key, ?) > 0", f.Text)
	c.add(f.Title != "", "instr(title_key, ?) > 0", f.Title)
	c.add(f.Author != "", "instr(authors_key, ?) > 0", f.Author)
	c.add(f.Subject != "", "instr(subjects_key, ?) > 0", f.Subject)
	c.add(f.ISBN != "", "(isbn = ? OR isbn13 = ?)", f.ISBN, f.ISBN)
	c.add(f.Year != nil, "published_year = ?", f.Year)
	c.add(f.YearMin != nil, "published_year <> 0 AND published_year >= ?", f.YearMin)
	c.add(f.YearMax != nil, "published_year <> 0 AND published_year <= ?", f.YearMax)
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
	after := cmp.Or(q.After, &bookcatalog.Book{})
	k := bookcatalog.KeysOf(after)
	known := map[bookcatalog.SortField]sortKey{
		bookcatalog.SortTitle:   {"title_key", k.Title, ""},
		bookcatalog.SortAuthor:  {"author_key", k.Author, ""},
		bookcatalog.SortISBN:    {"isbn13", after.ISBN13, ""},
		bookcatalog.SortYear:    {"published_year", after.PublishedYear, ""},
		bookcatalog.SortCreated: {"created_at", after.CreatedAt.UnixMicro(), ""},
		bookcatalog.SortUpdated: {"updated_at", after.UpdatedAt.UnixMicro(), ""},
	}
	for _, s := range q.Sort {
		key, ok := known[s.Field]
		if s.Desc {
			key.direction = " DESC"
		}
		if ok {
			all = append(all, key)
		}
	}
	return append(all, sortKey{"id", after.ID, ""})
}

// after returns the condition that a book comes after another one: by the first key, or equal in
// the first and by the second, and so on. A comparison of rows would not do, since keys may have
// different directions.
func after(keys []sortKey) (condition string, args []any) {
	condition = "FALSE"
	for _, key := range slices.Backward(keys) {
		operator := map[string]string{"": " > ?", " DESC": " < ?"}[key.direction]
		condition = "(" + key.column + operator + " OR " + key.column + " = ? AND " + condition + ")"
		args = append([]any{key.after, key.after}, args...)
	}
	return condition, args
}
