package sqlstore

import (
	"context"
	"database/sql"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// shared is the part of a store that its readers and transactions share.
type shared struct {
	dialect   Dialect
	own       ownTables
	opts      Options
	current   atomic.Pointer[records.Schema]
	tables    sync.Map                      // *records.Resource to *table
	caches    map[*sql.DB]*statementCache   // empty if the driver caches statements
	exclusive chan struct{}                 // full while a transaction changes several records
	damage    atomic.Pointer[damage]        // what was found last, nil if it is repaired
	outdated  atomic.Pointer[records.Error] // why this program can't work with the database, nil if it can
	chainLock chan struct{}                 // full while a transaction extends the chain of the audit log
	chainHead records.AuditPosition         // the end of the chain that this process wrote last; guarded by chainLock

	declarations declarations

	replica    *replica // nil for none
	durability durability
	flushers   []*sql.DB // of durability, one in place of the other
	totals     knownTotals
	reserve    reserve
}

// executor runs statements on a handle or in a transaction.
type executor struct {
	*shared
	schema *records.Schema // that was the current one when the executor began
	db     *sql.DB
	tx     *sql.Tx // nil outside a transaction

	until time.Time // when the call fails; zero means never

	owned    map[string]*sql.Stmt // statements of the transaction that the cache lacks
	latest   bool                 // whether lists are of the latest records
	changing bool                 // in a transaction that changes records
}

// within returns the context until the call fails.
func (e *executor) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if e.until.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, e.until)
}

// span begins the span of a statement.
func (s *shared) span(ctx context.Context, text string) (within context.Context, end func(error)) {
	name, _, _ := strings.Cut(text, " ")
	return s.opts.Span(ctx, name, func() []slog.Attr { return []slog.Attr{slog.String("db.query.text", text)} })
}

// query runs a statement that returns rows.
func (e *executor) query(ctx context.Context, db *sql.DB, text string, args []any) (*sql.Rows, error) {
	stmt, release, err := e.prepare(ctx, text)
	switch {
	case err != nil:
		return nil, err
	case stmt != nil:
		defer release()
		return stmt.QueryContext(ctx, args...)
	case e.tx != nil:
		return e.tx.QueryContext(ctx, text, args...)
	}
	return db.QueryContext(ctx, text, args...)
}

// exec runs a statement of a transaction and returns how many rows it has changed.
func (e *executor) exec(ctx context.Context, text string, args ...any) (changed int64, err error) {
	ctx, cancel := e.within(ctx)
	defer cancel()
	ctx, end := e.span(ctx, text)
	defer func() { end(err) }()
	stmt, release, err := e.prepare(ctx, text)
	if err != nil {
		return 0, err
	}
	var result sql.Result
	if stmt != nil {
		defer release()
		result, err = stmt.ExecContext(ctx, args...)
	} else {
		result, err = e.tx.ExecContext(ctx, text, args...)
	}
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// prepare returns a prepared statement, or nil if the driver caches statements or the
// transaction has too many.
func (e *executor) prepare(ctx context.Context, text string) (stmt *sql.Stmt, release func(), err error) {
	cache := e.caches[e.db]
	if outdated := e.outdated.Load(); outdated != nil {
		return nil, nil, outdated
	}
	switch {
	case cache == nil:
		return nil, nil, nil
	case e.tx == nil:
		return cache.get(ctx, text)
	}
	if cached := cache.acquire(text); cached != nil {
		return e.tx.StmtContext(ctx, cached.stmt), func() { cache.release(cached) }, nil
	}
	// The transaction may have the only connection of the handle, which the cache would wait
	// for. cacheOwned prepares the statement for the handle later.
	stmt, ok := e.owned[text]
	if !ok && len(e.owned) < e.opts.Statements {
		if stmt, err = e.tx.PrepareContext(ctx, text); err == nil {
			e.owned[text] = stmt
		}
	}
	return stmt, func() {}, err
}

// cacheOwned prepares the statements of an ended transaction for the next ones.
func (e *executor) cacheOwned(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	for text := range e.owned {
		// The next user of the statement gets the error, if it lasts.
		if _, release, err := e.caches[e.db].get(ctx, text); err == nil {
			release()
		}
	}
}

// each runs a statement and calls f with the values of each row. The next row overwrites them.
func (e *executor) each(ctx context.Context, columns int, f func(values []any) error, text string, args ...any) error {
	ctx, cancel := e.within(ctx)
	defer cancel()
	if r := e.replica; r != nil && e.db == r.reader && e.tx == nil {
		return r.each(ctx, e, columns, f, text, args...)
	}
	return e.eachOn(ctx, e.db, columns, f, text, args...)
}

// eachOn is each with a handle, which a transaction ignores.
func (e *executor) eachOn(ctx context.Context, db *sql.DB, columns int, f func(values []any) error, text string, args ...any) (err error) {
	ctx, end := e.span(ctx, text)
	defer func() { end(err) }()
	rows, err := e.query(ctx, db, text, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	values, into := make([]any, columns), make([]any, columns)
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := f(values); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return rows.Close()
}

// get returns a record and its row.
func (e *executor) get(ctx context.Context, r *records.Resource, id string) (rec records.Record, row []any, err error) {
	t := e.table(r)
	err = e.each(ctx, len(t.columns), func(values []any) error {
		row = values
		rec, err = t.record(values)
		return err
	}, t.get, id)
	switch {
	case err != nil:
		return nil, nil, e.failure(ctx, "read one of "+r.Name, err)
	case rec == nil:
		return nil, nil, records.Absent(r)
	}
	return rec, row, nil
}

// statementCache has prepared statements of a handle, up to a bound.
type statementCache struct {
	db    *sql.DB
	bound int

	mu     sync.Mutex
	byText map[string]*cachedStatement
}

// cachedStatement is closed when it is evicted and has no users.
type cachedStatement struct {
	stmt    *sql.Stmt
	users   int
	evicted bool
}

// get returns a statement and the function to call after running it.
func (c *statementCache) get(ctx context.Context, text string) (stmt *sql.Stmt, release func(), err error) {
	cached := c.acquire(text)
	if cached == nil {
		// Without the lock: it waits for a connection.
		if stmt, err = c.db.PrepareContext(ctx, text); err != nil {
			return nil, nil, err
		}
		cached = &cachedStatement{stmt: stmt, users: 1}
		c.add(text, cached)
	}
	return cached.stmt, func() { c.release(cached) }, nil
}

// acquire returns a statement of the cache, or nil.
func (c *statementCache) acquire(text string) *cachedStatement {
	c.mu.Lock()
	defer c.mu.Unlock()
	cached := c.byText[text]
	if cached != nil {
		cached.users++
	}
	return cached
}

// add adds a statement and evicts any other one of too many. If another caller has added the same
// statement in the meantime, the new one is used once.
func (c *statementCache) add(text string, s *cachedStatement) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byText[text] != nil {
		s.evicted = true
		return
	}
	if len(c.byText) >= c.bound {
		for other, evicted := range c.byText {
			delete(c.byText, other)
			evicted.evicted = true
			evicted.closeUnused()
			break
		}
	}
	c.byText[text] = s
}

// evictAll closes the statements.
func (c *statementCache) evictAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.byText {
		s.evicted = true
		s.closeUnused()
	}
	clear(c.byText)
}

func (c *statementCache) release(s *cachedStatement) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.users--
	s.closeUnused()
}

// closeUnused drops the error of Close: it is one of the connection, whose next user gets it
// too.
func (s *cachedStatement) closeUnused() {
	if s.evicted && s.users == 0 {
		_ = s.stmt.Close()
	}
}
