package retention

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/records"
)

const (
	pruneInterval = 15 * time.Minute // between prunings of all processes with one database
	pruneTime     = 10 * time.Minute // of a pruning of one resource; the next one continues
	pruneRecord   = "retention"      // the name of the secret with the time of the last pruning
)

// keep deletes old records of logs every 15 minutes, until ctx ends.
func keep(ctx context.Context, b *feature.Background) error {
	kept := maps.Clone(b.Keep)
	maps.DeleteFunc(kept, func(name string, of records.Retention) bool {
		r, ok := b.Engine.Store().Schema().Named(name)
		return !ok || !r.Prunable || of.MaxAge == 0 && of.MaxRecords == 0
	})
	if len(kept) == 0 {
		return nil
	}
	jitter := backoff.Backoff{Initial: pruneInterval / 5, Max: pruneInterval / 5, Jitter: 1}
	for {
		pruned, err := pruneOnce(ctx, b, kept)
		if err != nil && ctx.Err() == nil {
			b.Log.Warn("old records are not deleted, which is tried again", "error", err)
		}
		if (pruned || err != nil) && ctx.Err() == nil && b.Ran != nil {
			b.Ran("prune", err)
		}
		if backoff.Sleep(ctx, pruneInterval+jitter.Wait(1)) != nil {
			return nil
		}
	}
}

// pruneOnce deletes old records, and reports whether it did: another process may have done so a short time ago.
func pruneOnce(ctx context.Context, b *feature.Background, kept map[string]records.Retention) (pruned bool, failed error) {
	if claimed, err := claimPruning(ctx, b.Engine, b.Engine.Now()); err != nil || !claimed {
		return false, err
	}
	for name, of := range kept {
		r, _ := b.Engine.Store().Schema().Named(name)
		of.Within = pruneTime
		done, err := b.Engine.Prune(ctx, records.Caller{Name: pruneRecord}, r, of)
		failed = errors.Join(failed, err)
		if done != nil && done.Deleted > 0 {
			b.Log.Info("old records are deleted", "resource", name, "records", done.Deleted, "more", done.More)
		}
	}
	return true, failed
}

// claimPruning reports whether this process is the first of those with the same database to prune
// within the interval. Its record is a secret, which clients do not see.
func claimPruning(ctx context.Context, v *records.Engine, now time.Time) (bool, error) {
	err := v.Store().Change(ctx, func(tx records.Tx) error {
		last, err := records.First[inventory.Secret](ctx, tx, "name", pruneRecord)
		if err != nil {
			return err
		}
		if last == nil {
			secret := &inventory.Secret{Name: pruneRecord, Value: now.UTC().Format(time.RFC3339)}
			return v.Insert(ctx, tx, secret)
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
