package sqlstore

import (
	"context"
	"database/sql"

	"github.com/ashlar-go/ashlar/inventory"
)

// session is where statements are run: a handle, or a transaction on it.
type session struct {
	*shared
	db *sql.DB
	tx *sql.Tx // nil outside of a transaction

	owned map[string]*sql.Stmt // of the transaction, by their texts
	only  string               // of the builders of lists
}

// shared is what all sessions of a store have.
type shared struct {
	dialect Dialect
	opts    Options
	tables  map[*inventory.Resource]*table
	kept    map[*sql.DB]*statements // nil where the driver keeps statements itself
	turns   chan struct{}           // is full while a transaction changes several records
}

// query runs a statement that returns rows.
func (s *session) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	stmt, done, err := s.prepared(ctx, text)
	switch {
	case err != nil:
		return nil, err
	case stmt != nil:
		defer done()
		return stmt.QueryContext(ctx, args...)
	case s.tx != nil:
		return s.tx.QueryContext(ctx, text, args...)
	}
	return s.db.QueryContext(ctx, text, args...)
}

// exec runs a statement that returns nothing.
func (s *session) exec(ctx context.Context, text string, args ...any) (changed int64, err error) {
	stmt, done, err := s.prepared(ctx, text)
	if err != nil {
		return 0, err
	}
	var result sql.Result
	switch {
	case stmt != nil:
		defer done()
		result, err = stmt.ExecContext(ctx, args...)
	case s.tx != nil:
		result, err = s.tx.ExecContext(ctx, text, args...)
	default:
		result, err = s.db.ExecContext(ctx, text, args...)
	}
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// prepared is a statement that is kept; nil where the driver does that, or where there are
// too many.
func (s *session) prepared(ctx context.Context, text string) (stmt *sql.Stmt, done func(), err error) {
	kept := s.kept[s.db]
	switch {
	case kept == nil:
		return nil, nil, nil
	case s.tx == nil:
		return kept.get(ctx, text)
	}
	if of := kept.take(text); of != nil {
		return s.tx.StmtContext(ctx, of.stmt), func() { kept.done(of) }, nil
	}
	stmt, err = s.own(ctx, text)
	return stmt, func() {}, err
}

// own prepares a statement for the transaction only, whose connection may be the only one
// of its handle: a statement of the handle would wait for it. keep makes one later.
func (s *session) own(ctx context.Context, text string) (*sql.Stmt, error) {
	stmt, ok := s.owned[text]
	if ok || len(s.owned) >= s.opts.Statements {
		return stmt, nil
	}
	stmt, err := s.tx.PrepareContext(ctx, text)
	if err == nil {
		s.owned[text] = stmt
	}
	return stmt, err
}

// keep prepares what an ended transaction had to prepare for itself, for the next one.
func (s *session) keep(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	for text := range s.owned {
		// An error will come up again, for somebody whom it concerns.
		if _, done, err := s.kept[s.db].get(ctx, text); err == nil {
			done()
		}
	}
}

// each runs a statement and calls f with the cells of each row, which are those of the next
// one after that.
func (s *session) each(ctx context.Context, columns int, f func(cells []any) error, text string, args ...any) error {
	rows, err := s.query(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	cells, into := make([]any, columns), make([]any, columns)
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := f(cells); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return rows.Close()
}
