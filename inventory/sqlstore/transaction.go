package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/dialect"
)

// Change runs f in a transaction.
//
// It runs f again if the database asks for that (a deadlock, a serialization failure), up to
// Options.Attempts times; if another transaction of this store is changing several records, after
// that one has ended; and if records of a CreateFast violate a constraint.
func (s *Store) Change(ctx context.Context, f func(tx records.Tx) error) error {
	trial, err := s.admit(ctx)
	if err != nil {
		return err
	}
	// Callers that wait for the lock of SQLite do not wait in turn, and not until their deadlines.
	exclusive, careful, until := s.dialect.TakeLock != "", false, time.Now().Add(records.ChangeTimeout(ctx, s.opts.Timeout))
	for attempt := 1; ; {
		t := &transaction{
			executor: executor{shared: s.shared, schema: s.Schema(), db: s.writer, until: until, owned: map[string]*sql.Stmt{}, changing: true},
			rows:     map[rowKey][]any{}, counts: counts{}, changedTexts: map[*table]map[string]bool{}, latest: map[*table]*latestChanges{}, careful: careful,
		}
		err := t.run(ctx, exclusive, f)
		switch {
		case t.outcome == finished && err == nil:
			s.analyze(ctx, t)
			err = s.settle(ctx, t)
			s.see(ctx)
			if trial {
				s.reserve.full.Store(false)
			}
			return err
		case t.outcome == finished && records.KindOf(t.ended) == records.Full:
			if !s.noSpace(ctx) || attempt == s.opts.Attempts {
				return err
			}
		case t.outcome == finished:
			return err
		case t.outcome == retryExclusive:
			exclusive = true
			continue // the database has not failed
		case t.outcome == retryCareful:
			careful = true
			continue
		case t.outcome == retrySchema:
			if err := s.refresh(ctx); err != nil || attempt == s.opts.Attempts {
				return cmp.Or(err, unavailable("change the inventory", errSchema))
			}
			attempt++
			continue
		case attempt == s.opts.Attempts || time.Now().After(until):
			return unavailable("change the inventory", err)
		}
		pause := backoff.Backoff{Initial: time.Millisecond, Max: 128 * time.Millisecond, Jitter: 1}
		if err := backoff.Sleep(ctx, pause.Wait(attempt)); err != nil {
			return s.failure(ctx, "wait to change the inventory again", err)
		}
		attempt++
	}
}

// manyCreated is how many new records of a table make its statistics wrong.
const manyCreated = 10_000

// analyze renews the statistics of tables to which a transaction has added many records: PostgreSQL does it a minute
// later, and reads a new table as if it had few rows until then. Without them all works, only slower.
func (s *Store) analyze(ctx context.Context, t *transaction) {
	for key, n := range t.counts {
		if key.field == "" && n >= manyCreated && s.dialect.Analyze != "" {
			_, _ = s.writer.ExecContext(ctx, fmt.Sprintf(s.dialect.Analyze, key.resource))
		}
	}
}

// outcome selects the end of a transaction by Change.
type outcome uint8

const (
	finished       outcome = iota // return
	retry                         // run it again
	retryExclusive                // run it again when no other transaction changes several records
	retryCareful                  // run it again with savepoints
	retrySchema                   // run it again with the schema that the database has now
)

// transaction is an records.Tx.
type transaction struct {
	executor
	outcome   outcome
	ended     error // why the transaction can't continue; nil while it can
	savepoint bool  // there is a savepoint
	guarded   bool  // it belongs to the current call
	careful   bool  // CreateFast sets savepoints
	bare      bool  // the current call is a CreateFast without one
	exclusive bool  // the transaction may change several records
	changed   int   // how many records it has updated or deleted

	rows       map[rowKey][]any // rows that were read, for updates
	prefetched map[rowKey][]any // rows for the next Get of each
	counts     counts

	changedTexts map[*table]map[string]bool // ids of records whose texts changed

	audited []auditLink // new entries of the audit log

	chainLocked bool                      // the transaction has the lock of the chain
	chained     records.AuditPosition     // the last of its entries, or the last that it could read
	async       bool                      // chained may not be on disk after the commit
	latest      map[*table]*latestChanges // of the tables with latest records

	declaring bool            // it has changed records that declare parts of the schema
	next      *records.Schema // the schema after the commit; nil if it stays
}

// rowKey identifies a record.
type rowKey struct {
	*table
	id string
}

// maxRemembered bounds the rows that are remembered: those of the largest call, twice.
const maxRemembered = 2 * records.MaxItems

// run begins the transaction, calls f, and commits or rolls back.
func (t *transaction) run(ctx context.Context, exclusive bool, f func(tx records.Tx) error) (err error) {
	ctx, end := t.opts.Span(ctx, "transaction", nil)
	defer func() { end(err) }()
	within, cancel := t.within(ctx)
	defer cancel()
	if exclusive {
		select {
		case t.shared.exclusive <- struct{}{}:
			t.exclusive = true
		case <-within.Done():
			return t.failure(ctx, "wait to change the inventory", within.Err())
		}
	}
	defer func() {
		if t.exclusive {
			<-t.shared.exclusive
		}
	}()
	t.durability.writing.Add(1)
	defer t.durability.writing.Add(-1)
	if t.tx, err = t.db.BeginTx(within, nil); err != nil {
		return t.end(ctx, "begin to change the inventory", err)
	}
	if t.dialect.TakeLock != "" {
		if _, err := t.tx.ExecContext(within, fmt.Sprintf(t.dialect.TakeLock, t.own.head)); err != nil {
			return errors.Join(t.end(ctx, "begin to change the inventory", err), t.tx.Rollback())
		}
	}
	open := true
	defer func() { t.unlockChain(err == nil) }()
	defer func() {
		if open { // an error, or a panic
			err = t.rollback(ctx, err)
		}
		t.cacheOwned(within)
	}()
	if err = f(t); err == nil {
		err = t.ended // which f has ignored
	}
	for _, step := range []func(context.Context) error{t.flushLatest, t.updateSearch, t.checkSchema, t.declare, t.flush, t.extendChain} {
		if err == nil {
			err = step(ctx)
		}
	}
	if err != nil {
		return err
	}
	open = false
	return t.end(ctx, "commit a change", t.commit(ctx))
}

// rollback rolls a transaction back that ended with an error.
func (t *transaction) rollback(ctx context.Context, err error) error {
	undone := t.tx.Rollback()
	if undone == nil || errors.Is(undone, sql.ErrTxDone) || t.ended != nil {
		return err // if the database was lost, err says so
	}
	return errors.Join(err, t.failure(ctx, "roll back a change", undone))
}

// end notes that the transaction can't continue, and returns why. It returns nil for nil.
func (t *transaction) end(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	switch kind := t.classify(err).Kind; {
	case ctx.Err() != nil:
	case kind == dialect.Retryable, kind == dialect.Locked:
		t.outcome = retry
	case kind == dialect.SchemaChanged && t.dialect.DDL.Columns != "":
		t.outcome = retrySchema
	}
	t.ended = t.failure(ctx, what, err)
	return t.ended
}

var errExclusive = errors.New("another transaction changes several records: this one runs again after it")

// claimExclusive is called before each update or deletion. Two transactions that each change
// several records can deadlock, which the database detects after a second or so. So within a
// store one at a time may change more than one record, and another one runs again after it.
func (t *transaction) claimExclusive() error {
	t.changed++
	if t.changed == 1 || t.exclusive || t.dialect.ForUpdate == "" {
		return nil
	}
	select {
	case t.shared.exclusive <- struct{}{}:
		t.exclusive = true
		return nil
	default:
	}
	t.outcome, t.ended = retryExclusive, errExclusive
	return errExclusive
}

var errBare = errors.New("one of the records violates a constraint: the transaction runs again, with savepoints")

// setSavepoint is called before statements that may violate a constraint, if the transaction
// could not continue after that or the call has several of them.
func (t *transaction) setSavepoint(ctx context.Context) error {
	if t.savepoint {
		if _, err := t.exec(ctx, "RELEASE SAVEPOINT item"); err != nil {
			return t.end(ctx, "release a savepoint", err)
		}
	}
	t.savepoint, t.guarded = true, true
	_, err := t.exec(ctx, "SAVEPOINT item")
	return t.end(ctx, "set a savepoint", err)
}

// violated returns the error for records that violate a constraint, and rolls back to the
// savepoint of the call. Any other error ends the transaction.
func (t *transaction) violated(ctx context.Context, of *table, what string, err error, created bool, recs []records.Record) error {
	if kind := t.classify(err).Kind; kind != dialect.UniqueViolation && kind != dialect.ForeignKeyViolation {
		return t.end(ctx, what, err)
	}
	if created && t.bare {
		t.outcome, t.ended = retryCareful, errBare
		return errBare
	}
	why := t.violation(ctx, of, what, err, recs)
	switch records.KindOf(why) {
	case 0, records.Unavailable, records.Full:
		t.ended = why
		return why
	}
	if t.guarded {
		if _, err := t.exec(ctx, "ROLLBACK TO SAVEPOINT item"); err != nil {
			return t.end(ctx, "roll back to a savepoint", err)
		}
	}
	return why
}

// SQLTx is the part of an [sql.Tx] that hooks may use: the store commits or rolls back.
type SQLTx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// SQL returns the transaction of the database that a transaction of a [Store] is, so that a hook (records.OnChange)
// writes rows of the tables of its program that are committed together with the change of the inventory, or not at
// all. It is valid until the hook returns. A hook may run more than once, each time in a new transaction. After an error of a
// statement, the hook has to return an error. The error is for a transaction of another store, such as
// records.MemStore.
func SQL(tx records.Tx) (SQLTx, error) {
	t, ok := tx.(*transaction)
	if !ok {
		return nil, fmt.Errorf("%T is no transaction of a database: open the store with sqlite or postgres", tx)
	}
	return t.tx, nil
}

// Schema returns the schema of the store.
func (t *transaction) Schema() *records.Schema { return t.schema }

func (t *transaction) Get(ctx context.Context, r *records.Resource, id string) (records.Record, error) {
	if t.ended != nil {
		return nil, t.ended
	}
	of := t.table(r)
	key := rowKey{of, id}
	var rec records.Record
	var err error
	row, ok := t.prefetched[key]
	if ok {
		delete(t.prefetched, key)
		rec, err = of.record(row)
	} else {
		rec, row, err = t.get(ctx, r, id)
	}
	switch {
	case err == nil:
		t.remember(of, id, row)
	case records.KindOf(err) != records.NotFound:
		return nil, t.end(ctx, "read one of "+r.Name, err)
	}
	return rec, err
}

// Prefetch reads rows for the next Get of each (records.Prefetcher).
func (t *transaction) Prefetch(ctx context.Context, r *records.Resource, ids []string) error {
	if t.ended != nil {
		return t.ended
	}
	of := t.table(r)
	at := of.position["id"]
	t.prefetched = make(map[rowKey][]any, len(ids))
	for chunk := range slices.Chunk(anys(ids), maxIDs) {
		b := &builder{shared: t.shared}
		text := "SELECT " + of.selected + " FROM " + of.name + " WHERE " + b.anyOf("id", chunk)
		err := t.each(ctx, len(of.columns), func(row []any) error {
			id, _ := row[at].(string)
			t.prefetched[rowKey{of, id}] = slices.Clone(row)
			return nil
		}, text, b.args...)
		if err != nil {
			return t.end(ctx, "read some of "+of.Name, err)
		}
	}
	return nil
}

// remember stores a row for an update.
func (t *transaction) remember(of *table, id string, row []any) {
	if len(t.rows) >= maxRemembered {
		clear(t.rows)
	}
	t.rows[rowKey{of, id}] = row
}

func (t *transaction) List(ctx context.Context, q *records.Query) (*records.Page, error) {
	if t.ended != nil {
		return nil, t.ended
	}
	page, err := t.list(ctx, q)
	if err != nil {
		return nil, t.end(ctx, "list "+q.Resource.Name, err)
	}
	// The counts are written at the end. The total of an empty first page is 0 and not a count.
	counted := q.Count && (len(page.Records) > 0 || q.After != nil || q.Offset > 0)
	if r, ok := t.table(q.Resource).countsOf(q); ok && counted {
		for key, n := range t.counts {
			if r.has(key) {
				page.Total += n
			}
		}
	}
	return page, nil
}

// Lock reads a record that no other transaction changes until this one ends (records.Locker).
func (t *transaction) Lock(ctx context.Context, r *records.Resource, id string) (records.Record, error) {
	if t.dialect.ForShare == "" || t.ended != nil {
		return t.Get(ctx, r, id)
	}
	of := t.table(r)
	var rec records.Record
	err := t.each(ctx, len(of.columns), func(row []any) (err error) {
		rec, err = of.record(row)
		return err
	}, of.get+t.dialect.ForShare, id, t.Schema().TablePrefix()+lockName(of, id))
	switch {
	case err != nil:
		return nil, t.end(ctx, "lock one of "+r.Name, err)
	case rec == nil:
		return nil, records.Absent(r)
	}
	return rec, nil
}

// awaitLocks waits for the transactions that have locked a record that is to be changed.
func (t *transaction) awaitLocks(ctx context.Context, of *table, id string) error {
	if !of.Lockable {
		return nil
	}
	return t.Serialize(ctx, lockName(of, id))
}

func lockName(of *table, id string) string { return of.Name + "/" + id }

// Serialize waits for other transactions of the same name (records.Locker). Locks belong to the whole database, so their names
// begin with the namespace.
func (t *transaction) Serialize(ctx context.Context, name string) error {
	if t.dialect.Serialize == "" || t.ended != nil {
		return t.ended
	}
	err := t.each(ctx, 1, func([]any) error { return nil }, t.dialect.Serialize, t.Schema().TablePrefix()+name)
	return t.end(ctx, "wait for other changes of "+name, err)
}
