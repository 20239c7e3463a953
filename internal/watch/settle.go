package watch

import (
	"context"
	"time"
)

// settle waits until no signal has come for quiet, or until most has passed
// however many come. It reports false if ctx has ended, even if the wait is over
// as well: who ends the watch in a call of changed gets no further one.
func settle(ctx context.Context, signals <-chan struct{}, quiet, most time.Duration) bool {
	calm, enough := time.NewTimer(quiet), time.NewTimer(most)
	defer calm.Stop()
	defer enough.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-signals:
			calm.Reset(quiet)
		case <-calm.C:
			return ctx.Err() == nil
		case <-enough.C:
			return ctx.Err() == nil
		}
	}
}
