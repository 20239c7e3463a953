package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

// List returns the books of a query.
func (s *Store) List(ctx context.Context, q *bookcatalog.Query) (books []bookcatalog.Book, total int64, err error) {
	tx, err := s.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, 0, s.failure("list books", nil, err)
	}
	// The transaction only reads, so there is nothing to commit.
	defer func() { err = errors.Join(err, ignoreDone(tx.Rollback())) }()
	if books, err = s.page(ctx, tx, q); err != nil {
		return nil, 0, s.failure("list books", nil, err)
	}
	if q.After == nil && q.Offset <= 0 && q.Limit <= 0 {
		return books, int64(len(books)), nil
	}
	if total, err = s.count(ctx, tx, q); err != nil {
		return nil, 0, s.failure("count books", nil, err)
	}
	return books, total, nil
}

// ignoreDone drops the error of a transaction that its context has ended already.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

func (s *Store) page(ctx context.Context, tx *sql.Tx, q *bookcatalog.Query) ([]bookcatalog.Book, error) {
	st := statement{dialect: &s.dialect}
	conditions := st.filters(q)
	if q.After != nil {
		conditions = append(conditions, st.after(q))
	}
	text := "SELECT " + s.selected + " FROM books" + where(conditions) + " ORDER BY " + order(q) // #nosec G202 -- constants of this package and placeholders
	limit := s.dialect.NoLimit
	if q.Limit > 0 {
		limit = st.arg(q.Limit)
	}
	text += " LIMIT " + limit + " OFFSET " + st.arg(max(q.Offset, 0))
	rows, err := tx.QueryContext(ctx, text, st.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var books []bookcatalog.Book
	for rows.Next() {
		b, err := s.read(rows)
		if err != nil {
			return nil, err
		}
		books = append(books, *b)
	}
	return books, rows.Err()
}

func (s *Store) count(ctx context.Context, tx *sql.Tx, q *bookcatalog.Query) (total int64, err error) {
	st := statement{dialect: &s.dialect}
	text := "SELECT count(*) FROM books" + where(st.filters(q))
	err = tx.QueryRowContext(ctx, text, st.args...).Scan(&total)
	return total, err
}

func where(conditions []string) string {
	if len(conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conditions, " AND ")
}

// filters returns the conditions of a query, one for each field that is set.
func (st *statement) filters(q *bookcatalog.Query) []string {
	var conditions []string
	folded := q.Folded()
	for _, f := range []struct{ column, part string }{
		{"text_key", folded.Text},
		{"title_key", folded.Title},
		{"authors_key", folded.Author},
		{"subjects_key", folded.Subject},
	} {
		if f.part != "" {
			conditions = append(conditions, fmt.Sprintf(st.dialect.Contains, f.column, st.arg(f.part)))
		}
	}
	if folded.ISBN != "" {
		conditions = append(conditions, "(isbn = "+st.arg(folded.ISBN)+" OR isbn13 = "+st.arg(folded.ISBN)+")")
	}
	return append(conditions, st.years(q)...)
}

func (st *statement) years(q *bookcatalog.Query) []string {
	var conditions []string
	for _, f := range []struct {
		condition string
		year      *int
	}{
		{"published_year = ", q.Year},
		{"published_year <> 0 AND published_year >= ", q.YearMin},
		{"published_year <> 0 AND published_year <= ", q.YearMax},
	} {
		if f.year != nil {
			conditions = append(conditions, f.condition+st.arg(*f.year))
		}
	}
	return conditions
}

// sortColumn is a column that lists can be sorted by.
type sortColumn struct {
	name  string
	value func(b *bookcatalog.Book) any // returns the value of the column for a book
}

// sortColumns returns a column for each of bookcatalog.SortFields. Queries sort by no other
// columns.
func sortColumns() map[bookcatalog.SortField]sortColumn {
	return map[bookcatalog.SortField]sortColumn{
		bookcatalog.SortTitle:   {"title_key", func(b *bookcatalog.Book) any { return bookcatalog.KeysOf(b).Title }},
		bookcatalog.SortAuthor:  {"author_key", func(b *bookcatalog.Book) any { return bookcatalog.KeysOf(b).Author }},
		bookcatalog.SortISBN:    {"isbn13", func(b *bookcatalog.Book) any { return b.ISBN13 }},
		bookcatalog.SortYear:    {"published_year", func(b *bookcatalog.Book) any { return b.PublishedYear }},
		bookcatalog.SortCreated: {"created_at", func(b *bookcatalog.Book) any { return b.CreatedAt.UnixMicro() }},
		bookcatalog.SortUpdated: {"updated_at", func(b *bookcatalog.Book) any { return b.UpdatedAt.UnixMicro() }},
	}
}

// sortKey is a column and its direction.
type sortKey struct {
	sortColumn
	desc bool
}

// sortKeys returns the columns a query sorts by. The id is the last, so that no two books are
// equal.
func sortKeys(q *bookcatalog.Query) []sortKey {
	known := sortColumns()
	var keys []sortKey
	for _, key := range q.Sort {
		if column, ok := known[key.Field]; ok {
			keys = append(keys, sortKey{column, key.Desc})
		}
	}
	return append(keys, sortKey{sortColumn{"id", func(b *bookcatalog.Book) any { return b.ID }}, false})
}

func order(q *bookcatalog.Query) string {
	var parts []string
	for _, key := range sortKeys(q) {
		parts = append(parts, key.name+key.direction())
	}
	return strings.Join(parts, ", ")
}

func (k sortKey) direction() string {
	if k.desc {
		return " DESC"
	}
	return ""
}

// behind returns the operator between the value of a later book and that of an earlier one.
func (k sortKey) behind() string {
	if k.desc {
		return " < "
	}
	return " > "
}

// after returns the condition that a book comes after another one: by the first key, or
// equal in the first and by the second, and so on. A comparison of rows would not do, since
// keys may have different directions.
func (st *statement) after(q *bookcatalog.Query) string {
	var either []string
	keys := sortKeys(q)
	for i, key := range keys {
		var all []string
		for _, before := range keys[:i] {
			all = append(all, before.name+" = "+st.arg(before.value(q.After)))
		}
		all = append(all, key.name+key.behind()+st.arg(key.value(q.After)))
		either = append(either, "("+strings.Join(all, " AND ")+")")
	}
	return "(" + strings.Join(either, " OR ") + ")"
}
