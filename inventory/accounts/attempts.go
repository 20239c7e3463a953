package accounts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/ratelimit"
)

const (
	maxPrunedAttempts = 10 // counters that are deleted with each new one
	attemptTries      = 20 // of a count, while other processes change the same counter
)

// attempts counts in the database of the inventory (ratelimit.Store), so that all processes that share it count
// together, and a restart forgets nothing.
type attempts struct{ engine *records.Engine }

// Add implements ratelimit.Store.
func (a attempts) Add(ctx context.Context, hits []ratelimit.Hit) error {
	for i := range hits {
		hit := &hits[i]
		sum := sha256.Sum256(hit.Key) // keys may be long
		key := hex.EncodeToString(sum[:])
		var err error
		if hit.N == 0 {
			var found *inventory.Attempts
			found, err = records.First[inventory.Attempts](ctx, records.Fresh(a.engine.Store()), "key", key)
			if hit.Count = 0; found != nil {
				hit.Count = uint64(max(found.Number, 0))
			}
		} else {
			err = a.add(ctx, key, hit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds a hit in a transaction of its own, and deletes some old counters.
func (a attempts) add(ctx context.Context, key string, hit *ratelimit.Hit) (err error) {
	for range attemptTries {
		err = a.engine.Store().Change(ctx, func(tx records.Tx) error {
			found, err := records.First[inventory.Attempts](ctx, tx, "key", key)
			if err != nil {
				return err
			}
			if found == nil {
				ends := time.Unix(hit.End(), 0).UTC()
				found = &inventory.Attempts{Key: key, Number: int64(hit.N), EndsAt: &ends}
				hit.Count = hit.N
				return a.create(ctx, tx, found)
			}
			found.Number += int64(hit.N)
			hit.Count = uint64(found.Number)
			before := found.Version
			found.Version++
			return tx.Update(ctx, found, before)
		})
		if kind := records.KindOf(err); kind != records.Conflict && kind != records.Stale && kind != records.NotFound {
			break
		}
	}
	return err
}

func (a attempts) create(ctx context.Context, tx records.Tx, counter *inventory.Attempts) error {
	r := records.Of[inventory.Attempts](tx.Schema())
	old, err := tx.List(ctx, &records.Query{Resource: r, Limit: maxPrunedAttempts})
	if err != nil {
		return err
	}
	for _, rec := range old.Records { // the oldest
		if ends := rec.(*inventory.Attempts).EndsAt; ends == nil || ends.Before(a.engine.Now()) {
			if err := tx.Delete(ctx, r, rec.Meta().ID, rec.Meta().Version, nil); err != nil {
				return err
			}
		}
	}
	if err := a.engine.Init(counter); err != nil {
		return err
	}
	return tx.Create(ctx, counter)
}
