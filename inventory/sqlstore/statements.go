package sqlstore

import (
	"container/list"
	"context"
	"database/sql"
	"sync"
)

// statements are the prepared statements of a handle that were used last, up to a bound.
type statements struct {
	db    *sql.DB
	bound int

	mu     sync.Mutex
	byText map[string]*list.Element // of *statement
	order  *list.List               // the one that was used last comes first
}

// statement is one of them. It is closed when it is out of the list and nobody uses it.
type statement struct {
	text  string
	stmt  *sql.Stmt
	users int
	gone  bool
}

func newStatements(db *sql.DB, bound int) *statements {
	return &statements{db: db, bound: bound, byText: map[string]*list.Element{}, order: list.New()}
}

// get returns a statement, and what is to be called when it has been run.
func (s *statements) get(ctx context.Context, text string) (stmt *sql.Stmt, done func(), err error) {
	if kept := s.take(text); kept != nil {
		return kept.stmt, func() { s.done(kept) }, nil
	}
	// Not under the lock: it waits for a connection.
	stmt, err = s.db.PrepareContext(ctx, text)
	if err != nil {
		return nil, nil, err
	}
	kept := s.add(&statement{text: text, stmt: stmt})
	return kept.stmt, func() { s.done(kept) }, nil
}

func (s *statements) take(text string) *statement {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.byText[text]
	if !ok {
		return nil
	}
	s.order.MoveToFront(e)
	kept := e.Value.(*statement)
	kept.users++
	return kept
}

// add keeps a statement, and leaves the oldest for it. If somebody else was quicker,
// theirs is kept as well as this one, until that is done.
func (s *statements) add(made *statement) *statement {
	s.mu.Lock()
	defer s.mu.Unlock()
	made.users = 1
	if _, ok := s.byText[made.text]; ok {
		made.gone = true
		return made
	}
	s.byText[made.text] = s.order.PushFront(made)
	if s.order.Len() > s.bound {
		oldest := s.order.Remove(s.order.Back()).(*statement)
		delete(s.byText, oldest.text)
		oldest.gone = true
		oldest.closeIfUnused()
	}
	return made
}

func (s *statements) done(kept *statement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept.users--
	kept.closeIfUnused()
}

// closeIfUnused closes a statement that is no longer kept. Its error is that of a
// connection, which the next one to use that gets too.
func (st *statement) closeIfUnused() {
	if st.gone && st.users == 0 {
		_ = st.stmt.Close()
	}
}
