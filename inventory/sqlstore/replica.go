package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/dialect"
)

// forgetReplica is how long reads go to the database itself after its replica has failed, before one of them tries
// the replica again.
const forgetReplica = 2 * time.Second

// replica is the reader of a store if it is a handle to a replica (Options.Replica).
type replica struct {
	reader, writer *sql.DB
	turns          chan struct{} // full if as many reads as may go to the writer instead
	down           atomic.Int64  // when it is tried again, in Unix nanoseconds; 0 while it works
	fallbacks      atomic.Int64  // reads that went to the writer
	reached, asked atomic.Int64  // a position that it has replayed, and when it was asked, in Unix nanoseconds
}

// askReplica is how often a replica that lags behind its callers is asked for its position.
const askReplica = 20 * time.Millisecond

// behind reports whether the replica lacks changes that the caller has seen (records.Seen). An error is one of the
// replica.
func (r *replica) behind(ctx context.Context, e *executor) (bool, error) {
	seen := records.SeenBy(ctx)
	if seen == nil || seen.Position() <= r.reached.Load() || e.dialect.Replayed == "" {
		return false, nil
	}
	now, asked := time.Now().UnixNano(), r.asked.Load()
	if now-asked < int64(askReplica) || !r.asked.CompareAndSwap(asked, now) {
		return true, nil
	}
	within, cancel := context.WithTimeout(ctx, e.opts.Timeout/2)
	defer cancel()
	var at int64
	if err := r.reader.QueryRowContext(within, e.dialect.Replayed).Scan(&at); err != nil {
		if fails, _ := e.fails(ctx, err); !fails && ctx.Err() == nil {
			err = nil // it cannot tell
		}
		return true, err
	}
	r.reached.Store(at)
	return seen.Position() > at, nil
}

// lost notes that the replica does not respond.
func (r *replica) lost(ctx context.Context, e *executor, err error) {
	if r.down.Swap(time.Now().Add(forgetReplica).UnixNano()) == 0 {
		e.opts.Log.WarnContext(ctx, "the replica of the database does not respond: reads go to the database itself", "err", err)
	}
}

// handle returns the handle for a transaction that reads.
func (r *replica) handle(ctx context.Context, e *executor) *sql.DB {
	if r == nil || e.db != r.reader {
		return e.db
	}
	if r.away() {
		return r.writer
	}
	behind, err := r.behind(ctx, e)
	if _, away := e.fails(ctx, err); away {
		r.lost(ctx, e, err)
	}
	if behind {
		r.fallbacks.Add(1)
		return r.writer
	}
	return e.db
}

// see notes for the caller that it has changed the database.
func (s *Store) see(ctx context.Context) {
	seen := records.SeenBy(ctx)
	if s.replica == nil || seen == nil || s.dialect.Position == "" {
		return
	}
	var at int64
	if err := s.writer.QueryRowContext(ctx, s.dialect.Position).Scan(&at); err != nil {
		s.opts.Log.WarnContext(ctx, "the position of a change is unknown: the caller may read older records from the replica", "err", err)
		return
	}
	seen.Advance(at)
}

// away reports whether reads go to the writer.
func (r *replica) away() bool { return r != nil && r.down.Load() != 0 }

// fails reports whether an error is one of the replica and not of the statement, and whether the replica is away.
// Another kind is that it lacks what it has not yet replayed, or that its replay has ended a read.
func (e *executor) fails(ctx context.Context, err error) (fails, away bool) {
	if err == nil || ctx.Err() != nil {
		return false, false
	}
	kind := e.classify(err).Kind
	away = kind == dialect.Unavailable || errors.Is(err, context.DeadlineExceeded)
	return away || kind == dialect.Retryable || kind == dialect.SchemaChanged, away
}

// each runs a statement on the replica, within half of the time of the call, and on the writer if the replica fails.
func (r *replica) each(ctx context.Context, e *executor, columns int, f func(values []any) error, text string, args ...any) error {
	if down, now := r.down.Load(), time.Now().UnixNano(); down == 0 || down < now && r.down.CompareAndSwap(down, now+int64(forgetReplica)) {
		within, cancel := context.WithTimeout(ctx, e.opts.Timeout/2)
		defer cancel()
		read := false
		behind, err := r.behind(within, e)
		if err == nil && !behind {
			err = e.eachOn(within, e.db, columns, func(values []any) error { read = true; return f(values) }, text, args...)
		}
		fails, away := e.fails(ctx, err)
		switch {
		case err == nil && down != 0:
			r.down.Store(0)
			e.opts.Log.InfoContext(ctx, "the replica of the database responds again")
			if !behind {
				return nil
			}
		case !fails && !behind:
			return err
		case away:
			r.lost(ctx, e, err)
		}
		if read {
			return err // f has had some of the rows
		}
	}
	r.fallbacks.Add(1)
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return e.eachOn(ctx, r.writer, columns, f, text, args...)
}

// replicaOf returns the replica of a store, with as many reads of the writer as half of its connections.
func replicaOf(writer, reader *sql.DB) *replica {
	return &replica{reader: reader, writer: writer, turns: make(chan struct{}, max(1, cmp.Or(writer.Stats().MaxOpenConnections, 16)/2))}
}

// Replica returns whether reads go to the replica of the store, if it has one, and how many have gone to the database
// itself because the replica did not respond or lagged.
func (s *Store) Replica() (up bool, fallbacks int64) {
	if s.replica == nil {
		return true, 0
	}
	return !s.replica.away(), s.replica.fallbacks.Load()
}
