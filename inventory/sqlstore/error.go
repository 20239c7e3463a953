package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/dialect"
)

// classify returns what an error means.
func (s *shared) classify(err error) dialect.Error {
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone) {
		return dialect.Error{Kind: dialect.Unavailable} // a transaction is also done when its time has passed
	}
	return s.dialect.Classify(err)
}

const messageFull = "The database has no space left: nothing was changed, try again later"

// failure turns an error of the database into one of this package. It returns nil and errors
// of the inventory unchanged.
func (s *shared) failure(ctx context.Context, what string, err error) error {
	switch {
	case err == nil, records.KindOf(err) != 0:
		return err
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		// Drivers have errors of their own for a canceled call.
		return fmt.Errorf("%s: %w (%w)", what, ctx.Err(), err)
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", what, err)
	case errors.Is(err, context.DeadlineExceeded): // of Options.Timeout
		return failed(records.Unavailable, "The database did not respond in time: try again later", what, err)
	}
	switch s.classify(err).Kind {
	case dialect.Unavailable, dialect.Locked:
		return unavailable(what, err)
	case dialect.SchemaChanged:
		select {
		case s.declarations.changed <- struct{}{}:
		default:
		}
		return failed(records.Unavailable, "The fields have just been changed: try again", what, err)
	case dialect.Full:
		return failed(records.Full, messageFull, what, err)
	case dialect.NoMemory:
		s.freeMemory()
		return failed(records.Unavailable, "The database has no memory left: try again later", what, err)
	case dialect.Damaged:
		s.damage.Store(&damage{err, s.opts.Now()})
		return damaged(what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// failed returns an error with a message for users, and what has failed for the log.
func failed(kind records.ErrorKind, message, what string, err error) error {
	return &records.Error{Kind: kind, Message: message, Err: fmt.Errorf("%s: %w", what, err)}
}

func unavailable(what string, err error) error {
	return failed(records.Unavailable, "The database is not available: try again later", what, err)
}

func damaged(what string, err error) error {
	return failed(records.Unavailable, "The database is damaged: its operator has to restore a backup", what, err)
}

// freeMemory closes the idle connections, whose caches have most of the memory of a database within the process. Each call
// that still fails does it again, with those that have become idle. A single handle is that of a program, or of a database that
// would end with its connection.
func (s *shared) freeMemory() {
	for db := range s.caches {
		if open := db.Stats().MaxOpenConnections; len(s.caches) > 1 {
			db.SetMaxIdleConns(-1) // closes them
			db.SetMaxIdleConns(open)
		}
	}
	debug.FreeOSMemory()
}

// damage is an error of a damaged database.
type damage struct {
	err error
	at  time.Time
}

// forgetDamage is the time for which a database counts as damaged after an error, if it is so large that
// dialect.Spec.Check does not end within the time of a ping.
const forgetDamage = time.Minute

// checkDamage returns the last error of a damaged database until dialect.Spec.Check succeeds.
func (s *shared) checkDamage(ctx context.Context, db *sql.DB) error {
	found := s.damage.Load()
	if found == nil || s.dialect.Check == "" {
		return nil
	}
	var result string
	err := db.QueryRowContext(ctx, s.dialect.Check).Scan(&result)
	if err == nil && result == "ok" || ctx.Err() != nil && s.opts.Now().Sub(found.at) > forgetDamage {
		s.damage.CompareAndSwap(found, nil)
		return nil
	}
	return damaged("check the database", errors.Join(found.err, err))
}

// violation returns the inventory's error for records of one table that violate a constraint,
// or else the failure.
func (e *executor) violation(ctx context.Context, t *table, what string, err error, recs []records.Record) error {
	reported := e.classify(err)
	if reported.Kind == dialect.ForeignKeyViolation {
		found, err2 := e.dangling(ctx, t, reported.Constraint, recs)
		if err2 != nil || found == nil {
			return e.failure(ctx, what, errors.Join(err, err2))
		}
		return found
	}
	for _, key := range t.uniques {
		if reported.Constraint == local(uniqueName(t.Resource, key)) || slices.Equal(reported.Columns, columnsOf(t.Resource, key)) {
			return records.Duplicate(t.Resource, key)
		}
	}
	return records.DuplicateID(t.Resource)
}

// dangling returns the error for a reference to a record that does not exist. It looks for the
// reference if the database does not name the constraint.
func (e *executor) dangling(ctx context.Context, t *table, constraint string, recs []records.Record) (*records.Error, error) {
	for _, c := range t.columns {
		switch {
		case c.Ref == nil:
			continue
		case constraint == ReferenceName(t.Resource, c.Field):
			return records.Dangling(t.Resource, c.Field), nil
		case constraint != "":
			continue
		}
		for _, rec := range recs {
			id := c.Value(rec)
			if id == nil {
				continue
			}
			exists := false
			if err := e.each(ctx, 1, func([]any) error { exists = true; return nil }, e.table(c.Ref.Resource()).version, id); !exists || err != nil {
				return records.Dangling(t.Resource, c.Field), err
			}
		}
	}
	return nil, nil
}
