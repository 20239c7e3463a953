package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

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
		_, _ = s.writer.ExecContext(ctx, "DROP TABLE IF EXISTS "+s.own.reserve) // the next attempt fails too if this does
	}
	return again
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

// Compact gives the space of deleted records back if the disk is full (records.Compactor).
func (s *Store) Compact(ctx context.Context, r *records.Resource) error {
	if !s.reserve.full.Load() {
		return nil
	}
	tables := []string{r.Table()}
	if r == records.Of[records.AuditLog](s.Schema()) {
		tables = append(tables, s.own.chain)
	}
	for _, table := range tables {
		within, cancel := context.WithTimeout(ctx, s.opts.Timeout)
		_, err := s.writer.ExecContext(within, "VACUUM (FULL) "+table) // which needs space for a copy
		cancel()
		if err != nil {
			_, err = s.writer.ExecContext(ctx, "VACUUM "+table)
		}
		if err != nil {
			return s.failure(ctx, "give the space of deleted records back", err)
		}
	}
	if err := s.keepReserve(ctx); err != nil {
		s.opts.Log.WarnContext(ctx, "the disk of the database has no space to keep some for administrators", "error", err)
	}
	s.reserve.full.Store(false)
	return nil
}
