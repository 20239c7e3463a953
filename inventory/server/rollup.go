package server

import (
	"context"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

const (
	rollupInterval = 15 * time.Second      // between looking for new metrics
	rollupPause    = 10 * time.Millisecond // between two batches, for other writers
)

// rollUp summarizes metrics and deletes old ones until ctx ends.
func (s *Server) rollUp(ctx context.Context) error {
	roller := inventory.NewRoller(s.store, inventory.Retention{
		Raw: s.settings.MetricsRetention, FiveMinutes: s.settings.Metrics5mRetention, OneHour: s.settings.Metrics1hRetention,
	}, nil)
	timer := time.NewTimer(rollupInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		more, err := roller.Step(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Warn("metrics are not summarized, which is tried again", "error", err)
		}
		if more && err == nil {
			timer.Reset(rollupPause)
		} else {
			timer.Reset(rollupInterval)
		}
	}
}
