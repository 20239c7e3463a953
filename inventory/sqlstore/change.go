package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

// Change runs f in a transaction.
//
// It runs f again where the database asks for that (a deadlock, a failure to serialize), up
// to Options.Attempts times; and where another transaction of this store is changing several
// records, when that has ended.
func (s *Store) Change(ctx context.Context, f func(tx inventory.Tx) error) error {
	turn := false
	for attempt := 1; ; {
		t := s.newTx()
		err := t.run(ctx, turn, f)
		switch {
		case t.verdict == settled:
			return err
		case t.verdict == inTurn:
			turn = true
			continue // this is no failure of the database
		case attempt == s.opts.Attempts:
			return unavailable("change the inventory", err)
		}
		if err := pause(ctx, attempt); err != nil {
			return s.failure(ctx, "wait to change the inventory again", err)
		}
		attempt++
	}
}

// pause waits before another attempt, longer each time and never the same.
func pause(ctx context.Context, attempt int) error {
	timer := time.NewTimer(rand.N(time.Millisecond << min(attempt, 7)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// verdict is what is to be done after a transaction.
type verdict uint8

const (
	settled verdict = iota // nothing
	again                  // run it again
	inTurn                 // run it again when no other one changes several records
)

// transaction is an inventory.Tx.
type transaction struct {
	session
	verdict   verdict
	ended     error // why no more can be done, nil as long as it can
	savepoint bool  // there is one
	guarded   bool  // it is that of the call under way
	turn      bool  // it may change several records
	changed   int   // how many records it has changed or deleted

	seen  map[seenKey][]any // rows as they were read, for what is to be updated
	ahead map[seenKey][]any // rows that were read for the next Get of each
	count tallies
}

// seenKey names a record.
type seenKey struct {
	*table
	id string
}

// maxSeen is how many rows are remembered: those of the largest call, and others as many.
const maxSeen = 2 * inventory.MaxItems

func (s *Store) newTx() *transaction {
	return &transaction{
		session: session{shared: s.shared, db: s.writer, owned: map[string]*sql.Stmt{}},
		seen:    map[seenKey][]any{}, count: tallies{},
	}
}

// run runs f from begin to end.
func (t *transaction) run(ctx context.Context, turn bool, f func(tx inventory.Tx) error) (err error) {
	if turn {
		if err := t.await(ctx); err != nil {
			return t.failure(ctx, "wait to change the inventory", err)
		}
	}
	defer t.yield()
	if t.tx, err = t.db.BeginTx(ctx, nil); err != nil {
		return t.end(ctx, "begin to change the inventory", err)
	}
	open := true
	defer func() {
		if open { // an error, or a panic
			err = t.rollback(ctx, err)
		}
		t.keep(ctx)
	}()
	if err = f(t); err == nil {
		err = t.ended // f has passed over it
	}
	if err == nil {
		err = t.flush(ctx)
	}
	if err != nil {
		return err
	}
	open = false
	return t.end(ctx, "commit a change", t.tx.Commit())
}

// rollback takes a transaction back that ended with an error.
func (t *transaction) rollback(ctx context.Context, err error) error {
	back := t.tx.Rollback()
	if back == nil || errors.Is(back, sql.ErrTxDone) || t.ended != nil {
		return err // where the database was lost, that has been told
	}
	return errors.Join(err, t.failure(ctx, "take back a change", back))
}

// end notes that the transaction can't go on, and returns why. It is nil for nil.
func (t *transaction) end(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() == nil && t.fault(err).Kind == Again {
		t.verdict = again
	}
	t.ended = t.failure(ctx, what, err)
	return t.ended
}

var errNotAlone = errors.New("another transaction changes several records: this one begins again after it")

// several is called before each change of a record that is there. Two transactions that
// each change several may wait for each other. The database notices after a second or so;
// so within this store there is only one at a time. One that finds another under way
// makes way for it.
func (t *transaction) several() error {
	t.changed++
	if t.changed == 1 || t.turn || t.dialect.ForUpdate == "" {
		return nil
	}
	select {
	case t.turns <- struct{}{}:
		t.turn = true
		return nil
	default:
	}
	t.verdict, t.ended = inTurn, errNotAlone
	return errNotAlone
}

// await waits until no other transaction changes several records.
func (t *transaction) await(ctx context.Context) error {
	select {
	case t.turns <- struct{}{}:
		t.turn = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *transaction) yield() {
	if t.turn {
		<-t.turns
	}
}

// guard is called before statements that may break a constraint, if the transaction could
// not go on after that, or the call has more of them.
func (t *transaction) guard(ctx context.Context) error {
	if t.savepoint {
		if _, err := t.exec(ctx, "RELEASE SAVEPOINT item"); err != nil {
			return t.end(ctx, "end a savepoint", err)
		}
	}
	t.savepoint, t.guarded = true, true
	_, err := t.exec(ctx, "SAVEPOINT item")
	return t.end(ctx, "make a savepoint", err)
}

// refused is the error for records that broke a constraint, and undoes what was done since
// the guard; or it is a failure, which ends the transaction.
func (t *transaction) refused(ctx context.Context, of *table, what string, err error, created bool, records []inventory.Record) error {
	if kind := t.fault(err).Kind; kind != Unique && kind != ForeignKey {
		return t.end(ctx, what, err)
	}
	why := t.broken(ctx, of, what, err, created, records)
	if inventory.KindOf(why) == 0 || inventory.KindOf(why) == inventory.Unavailable {
		t.ended = why
		return why
	}
	if t.guarded {
		if _, err := t.exec(ctx, "ROLLBACK TO SAVEPOINT item"); err != nil {
			return t.end(ctx, "go back to a savepoint", err)
		}
	}
	return why
}

func (t *transaction) Get(ctx context.Context, r *inventory.Resource, id string) (inventory.Record, error) {
	if t.ended != nil {
		return nil, t.ended
	}
	rec, row, err := t.next(ctx, r, id)
	if err == nil {
		t.see(t.tables[r], id, row)
	} else if inventory.KindOf(err) != inventory.NotFound {
		return nil, t.end(ctx, "read", err)
	}
	return rec, err
}

// next is a record that was read ahead, or else as it is.
func (t *transaction) next(ctx context.Context, r *inventory.Resource, id string) (inventory.Record, []any, error) {
	of := t.tables[r]
	row, ok := t.ahead[seenKey{of, id}]
	if !ok {
		return t.get(ctx, r, id)
	}
	delete(t.ahead, seenKey{of, id})
	rec, err := of.record(row)
	return rec, row, err
}

// Prefetch reads rows for the next Get of each (inventory.Prefetcher).
func (t *transaction) Prefetch(ctx context.Context, r *inventory.Resource, ids []string) error {
	if t.ended != nil {
		return t.ended
	}
	of := t.tables[r]
	at := of.position["id"]
	t.ahead = make(map[seenKey][]any, len(ids))
	for chunk := range slices.Chunk(ids, maxIDs) {
		b := &builder{shared: t.shared}
		values := make([]any, len(chunk))
		for i, id := range chunk {
			values[i] = id
		}
		text := "SELECT " + of.selected + " FROM " + of.name + " WHERE " + b.anyOf("id", values)
		err := t.each(ctx, len(of.columns), func(cells []any) error {
			id, _ := cells[at].(string)
			t.ahead[seenKey{of, id}] = slices.Clone(cells)
			return nil
		}, text, b.args...)
		if err != nil {
			return t.end(ctx, "read some of "+of.Name(), err)
		}
	}
	return nil
}

// see remembers a row.
func (t *transaction) see(of *table, id string, row []any) {
	if len(t.seen) >= maxSeen {
		clear(t.seen)
	}
	t.seen[seenKey{of, id}] = row
}

func (t *transaction) List(ctx context.Context, q *inventory.Query) (*inventory.Page, error) {
	if t.ended != nil {
		return nil, t.ended
	}
	page, err := t.list(ctx, q)
	if err != nil {
		return nil, t.end(ctx, "list "+q.Resource.Name(), err)
	}
	// The total of a first page without records is 0, and not one of those that are stored.
	stored := len(page.Records) > 0 || q.After != nil || q.Offset > 0
	if r, ok := t.tables[q.Resource].tallyOf(q); ok && q.Count && stored {
		for key, n := range t.count {
			if r.has(key) {
				page.Total += n
			}
		}
	}
	return page, nil
}
