package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// reserve is space on the disk of the database (dialect.Spec.Reserve) that is given up, when the disk is full, for changes
// that help (records.Essential). Until it is kept again, others are refused.
type reserve struct {
	full  atomic.Bool
	mu    sync.Mutex
	found time.Time // when the disk was found to be full last
	next  time.Time // when another change is tried
}

const (
	fullPause = time.Second // between changes that are tried while the disk is full
	// fullTime is how long changes are refused without a reserve: there may be space within the files, but none for it.
	fullTime = 5 * time.Minute
)

var errFull = errors.New("there was no space a short time ago")

// admit refuses a change while the disk is full, but for one a second: a trial.
func (s *Store) admit(ctx context.Context) (trial bool, err error) {
	r := &s.reserve
	if !r.full.Load() || records.IsEssential(ctx) {
		return false, nil
	}
	r.mu.Lock()
	now, found := time.Now(), r.found
	early := now.Before(r.next)
	if !early {
		r.next = now.Add(fullPause)
	}
	r.mu.Unlock()
	if early || s.keepReserve(ctx) != nil && now.Sub(found) < fullTime {
		return false, failed(records.Full, messageFull, "change the inventory", errFull)
	}
	return true, nil
}

// noSpace notes that a change found no space. For one that helps it gives up the reserve, and returns true: try again.
func (s *Store) noSpace(ctx context.Context) (again bool) {
	r := &s.reserve
	if s.dialect.Reserve == "" {
		return false
	}
	r.mu.Lock()
	r.found = time.Now()
	r.mu.Unlock()
	if !r.full.Swap(true) {
		s.opts.Log.WarnContext(ctx, "the disk of the database is full: changes are refused, administrators can log in and delete old records")
	}
	if again = records.IsEssential(ctx); again {
		s.pauseTrials(fullPause)
		s.giveReserve(ctx)
	}
	return again
}

// pauseTrials lets no trial begin for some time: it would keep the reserve again.
func (s *Store) pauseTrials(pause time.Duration) {
	s.reserve.mu.Lock()
	s.reserve.next = time.Now().Add(pause)
	s.reserve.mu.Unlock()
}

// giveReserve gives the reserve up. What needs its space fails if it can't.
func (s *Store) giveReserve(ctx context.Context) {
	_, _ = s.writer.ExecContext(ctx, "DROP TABLE IF EXISTS "+s.own.reserve)
}

// keepReserve makes the reserve, unless there is one.
func (s *Store) keepReserve(ctx context.Context) error {
	if s.dialect.Reserve == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	_, err := s.writer.ExecContext(ctx, fmt.Sprintf(s.dialect.Reserve, s.own.reserve))
	return err
}

// Compact gives the space of deleted records back if the disk is full (records.Compactor). Changes are refused until there
// is a reserve again, so that what is left is for the next call.
func (s *Store) Compact(ctx context.Context, r *records.Resource) {
	if !s.reserve.full.Load() {
		return
	}
	s.pauseTrials(time.Minute)
	defer s.pauseTrials(0)
	s.awaitOthers(ctx) // also a trial, which fills the disk for as long as it makes the reserve
	s.giveReserve(ctx)
	tables := []string{r.Table()}
	if r == records.Of[records.AuditLog](s.Schema()) {
		tables = append(tables, s.own.chain)
	}
	var err error
	for _, table := range tables {
		within, cancel := context.WithTimeout(ctx, s.opts.Timeout)
		_, full := s.writer.ExecContext(within, "VACUUM (FULL) "+table) // which needs space for a copy
		cancel()
		if full != nil {
			_, full = s.writer.ExecContext(ctx, "VACUUM "+table)
		}
		err = errors.Join(err, full)
	}
	if err = errors.Join(err, s.keepReserve(ctx)); err != nil {
		s.opts.Log.WarnContext(ctx, "the disk of the database is still full: delete more records", "error", err)
		return
	}
	s.reserve.full.Store(false)
}

// awaitOthers waits until transactions that have begun before have ended, for up to Options.Timeout: they may see deleted
// records, whose space is not given back until then.
func (s *Store) awaitOthers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	var now time.Time
	err := s.writer.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&now)
	for run := true; run && err == nil; {
		err = s.writer.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start < $1)`, now).Scan(&run)
		if run && err == nil {
			err = backoff.Sleep(ctx, fullPause/10)
		}
	}
	if err != nil {
		s.opts.Log.WarnContext(ctx, "others still use the database: the space of deleted records may not be given back before they end", "error", err)
	}
}
