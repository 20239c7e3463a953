package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"strings"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

// List returns the books of a query.
func (s *Store) List(ctx context.Context, q *bookcatalog.Query) (books []bookcatalog.Book, total int64, err error) {
	defer func() { err = failure("list books", nil, err) }()
	tx, err := s.db.Reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = tx.Rollback() }() // it only reads, so there is nothing to commit
	c := filters(q)
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM books"+c.text, c.args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	orderBy, after, args := order(q)
	c.add(q.After != nil, after, args...)
	// A limit of -1 means all.
	limit := cmp.Or(max(q.Limit, 0), -1)
	text := "SELECT " + columns + " FROM books" + c.text + " ORDER BY " + orderBy + " LIMIT ? OFFSET ?" // #nosec G202 -- constants of this package and parameters
	rows, err := tx.QueryContext(ctx, text, append(c.args, limit, max(q.Offset, 0))...)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var b bookcatalog.Book
		if err := rows.Scan(fields(&b)...); err != nil {
			return nil, 0, err
		}
		books = append(books, b)
	}
	return books, total, rows.Err()
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

// order returns the columns that a query sorts by, and the condition that a book comes after
// q.After: by the first column, or equal in the first and by the second, and so on. The id is the
// last column, so that no two books are equal. A comparison of rows would not do, since columns may
// have different directions.
func order(q *bookcatalog.Query) (columns, condition string, args []any) {
	after := cmp.Or(q.After, &bookcatalog.Book{})
	k := bookcatalog.KeysOf(after)
	type field struct {
		column string
		after  any
	}
	fields := map[bookcatalog.SortField]field{
		bookcatalog.SortTitle:   {"title_key", k.Title},
		bookcatalog.SortAuthor:  {"author_key", k.Author},
		bookcatalog.SortISBN:    {"isbn13", after.ISBN13},
		bookcatalog.SortYear:    {"published_year", after.PublishedYear},
		bookcatalog.SortCreated: {"created_at", after.CreatedAt.UnixMicro()},
		bookcatalog.SortUpdated: {"updated_at", after.UpdatedAt.UnixMicro()},
	}
	add := func(column string, value any, desc bool) {
		direction, operator := "", " > ? OR "
		if desc {
			direction, operator = " DESC", " < ? OR "
		}
		columns += column + direction + ", "
		condition += "(" + column + operator + column + " = ? AND "
		args = append(args, value, value)
	}
	for _, s := range q.Sort {
		if f, ok := fields[s.Field]; ok {
			add(f.column, f.after, s.Desc)
		}
	}
	add("id", after.ID, false)
	return strings.TrimSuffix(columns, ", "), condition + "FALSE" + strings.Repeat(")", len(args)/2), args
}
