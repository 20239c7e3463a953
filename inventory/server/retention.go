package server

import (
	"context"
	"errors"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

const (
	pruneInterval = 15 * time.Minute // between prunings of all processes with one database
	pruneBound    = 10 * time.Minute // of a pruning of one resource; the next one continues
	pruneRecord   = "retention"      // the name of the secret with the time of the last pruning
)

// retentions returns what the settings keep, by the name of the resource.
func (s *Settings) retentions() map[string]records.Retention {
	return map[string]records.Retention{
		"audit-logs": {MaxAge: s.AuditRetention, MaxRecords: s.AuditMaxEntries, Within: pruneBound},
		"events":     {MaxAge: s.EventRetention, MaxRecords: s.EventMax, Within: pruneBound},
	}
}

// prune deletes old records as the settings say, every 15 minutes, until ctx ends.
func (s *Server) prune(ctx context.Context) error {
	needed := false
	for _, keep := range s.settings.retentions() {
		needed = needed || keep.MaxAge > 0 || keep.MaxRecords > 0
	}
	if !needed {
		return nil
	}
	jitter := backoff.Backoff{Initial: pruneInterval / 5, Max: pruneInterval / 5, Jitter: 1}
	for {
		if err := s.pruneOnce(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("old records are not deleted, which is tried again", "error", err)
		}
		if backoff.Sleep(ctx, pruneInterval+jitter.Wait(1)) != nil {
			return nil
		}
	}
}

// pruneOnce deletes old records, unless another process has done so a short time ago.
func (s *Server) pruneOnce(ctx context.Context) error {
	if claimed, err := claimPruning(ctx, s.store, time.Now()); err != nil || !claimed {
		return err
	}
	var failed error
	for name, keep := range s.settings.retentions() {
		r, ok := s.store.Schema().Named(name)
		if !ok || keep.MaxAge == 0 && keep.MaxRecords == 0 {
			continue
		}
		done, err := records.New(s.store, nil).Prune(ctx, records.Caller{Name: pruneRecord}, r, keep)
		failed = errors.Join(failed, err)
		if done != nil && done.Deleted > 0 {
			s.log.Info("old records are deleted", "resource", name, "records", done.Deleted, "more", done.More)
		}
	}
	return failed
}

// claimPruning reports whether this process is the first of those with the same database to prune
// within the interval. Its record is a secret, which clients do not see.
func claimPruning(ctx context.Context, store records.Store, now time.Time) (bool, error) {
	err := store.Change(ctx, func(tx records.Tx) error {
		last, err := records.First[inventory.Secret](ctx, tx, "name", pruneRecord)
		if err != nil {
			return err
		}
		if last == nil {
			secret := &inventory.Secret{Name: pruneRecord, Value: now.UTC().Format(time.RFC3339)}
			return records.New(store, nil).Insert(ctx, tx, secret)
		}
		if at, err := time.Parse(time.RFC3339, last.Value); err == nil && !at.After(now) && now.Sub(at) < pruneInterval-time.Second {
			return errClaimed
		}
		last.Value, last.UpdatedAt = now.UTC().Format(time.RFC3339), now.UTC().Truncate(time.Microsecond)
		last.Version++
		return tx.Update(ctx, last, last.Version-1)
	})
	switch kind := records.KindOf(err); {
	case errors.Is(err, errClaimed), kind == records.Conflict, kind == records.Stale:
		return false, nil // another process is or was first
	}
	return err == nil, err
}

var errClaimed = errors.New("another process has deleted old records")
