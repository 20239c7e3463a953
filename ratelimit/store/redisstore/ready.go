package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Backoff says how long WaitReady waits between two attempts. The zero value, like nil,
// is that of the reference service.
type Backoff struct {
	// Initial is the first wait, about. Each is about twice the one before, up to
	// Max. Defaults, when 0 or less: one second and 30 seconds.
	Initial, Max time.Duration
	// MaxElapsed is when to give up. Default, when 0 or less: never.
	MaxElapsed time.Duration
}

// WaitReady returns when the server answers. Until then it tries again and again, and
// logs why it has to. It fails when ctx is done or the time of the backoff, which may be
// nil, has run out; the error has the last reason.
func (s *Store) WaitReady(ctx context.Context, backoff *Backoff) error {
	return s.waitReady(ctx, backoff, s.Ping)
}

func (c *client) waitReady(ctx context.Context, backoff *Backoff, ping func(context.Context) error) error {
	var b Backoff
	if backoff != nil {
		b = *backoff
	}
	longest := cmp.Or(max(b.Max, 0), 30*time.Second)
	wait := min(cmp.Or(max(b.Initial, 0), time.Second), longest)
	if b.MaxElapsed > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, b.MaxElapsed, fmt.Errorf("redisstore: the store has not answered for %v", b.MaxElapsed))
		defer cancel()
	}
	var last error
	for {
		err := ping(ctx)
		if err == nil {
			return nil
		}
		if errors.Is(err, ErrClosed) {
			return err
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		c.opts.Log.Warn("redis: waiting for the store", "err", err, "retry_in", wait)
		if !sleep(ctx, jittered(wait)) {
			return fmt.Errorf("%w: %w", context.Cause(ctx), last)
		}
		wait = min(2*wait, longest)
	}
}

// jittered is the wait, or up to a fourth less, so that instances do not all come at
// once.
func jittered(wait time.Duration) time.Duration {
	return wait - rand.N(wait/4+1) // not a secret
}

// sleep reports whether the time has passed; if not, ctx is done.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
