package main

import (
	"context"
	"time"
)

// errorPause is how long a worker of the closed loop rests after an error, so
// that a service that is gone is not answered by a busy loop.
const errorPause = time.Millisecond

// closed sends one call after another, each when the one before has ended: the
// target sets the pace. The clock is read once per call.
func (w *worker) closed(ctx, inFlight context.Context) {
	for from := time.Now(); !w.over(ctx, from); {
		ticket, more := w.ticket()
		if !more {
			return
		}
		end, ok := w.call(inFlight, ticket, from)
		if !ok {
			end = pause(ctx, errorPause)
		}
		from = end
	}
}

// pause waits for d or until ctx ends, and returns the time it is then.
func pause(ctx context.Context, d time.Duration) time.Time {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return time.Now()
}
