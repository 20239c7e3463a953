package metrics

import (
	"context"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
)

const (
	rollupInterval = 15 * time.Second      // between looking for new metrics
	rollupPause    = 10 * time.Millisecond // between two batches, for other writers
)

// rollUp summarizes metrics and deletes old ones until ctx ends.
func rollUp(ctx context.Context, b *feature.Background) error {
	roller, err := inventory.NewRoller(b.Engine.Store(), inventory.Retention{
		Raw: b.Keep["metrics-raw"].MaxAge, FiveMinutes: b.Keep["metrics-5m"].MaxAge, OneHour: b.Keep["metrics-1h"].MaxAge,
	}, nil)
	if err != nil {
		return err
	}
	wait := rollupInterval
	for backoff.Sleep(ctx, wait) == nil {
		more, err := roller.Step(ctx)
		if err != nil && ctx.Err() == nil {
			b.Log.Warn("metrics are not summarized, which is tried again", "error", err)
		}
		wait = rollupInterval
		if more && err == nil {
			wait = rollupPause
		}
	}
	return nil
}
