package watch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/ashlar-go/ashlar/internal/watch"
)

const (
	quiet = 100 * time.Millisecond
	most  = time.Second
)

// waited returns how long WaitQuiet waits if a signal follows each of the pauses.
func waited(t *testing.T, pauses ...time.Duration) time.Duration {
	t.Helper()
	signals := make(chan struct{}, 1)
	go func() {
		for _, pause := range pauses {
			time.Sleep(pause) // of the bubble: takes no time
			select {
			case signals <- struct{}{}:
			default:
			}
		}
	}()
	start := time.Now()
	assert.True(t, watch.WaitQuiet(t.Context(), signals, quiet, most))
	return time.Since(start)
}

func repeat(pause time.Duration, n int) []time.Duration {
	pauses := make([]time.Duration, n)
	for i := range pauses {
		pauses[i] = pause
	}
	return pauses
}

func TestWaitQuiet(t *testing.T) {
	for name, c := range map[string]struct {
		pauses []time.Duration
		want   time.Duration
	}{
		"nothing more":        {nil, quiet},
		"one more":            {repeat(60*time.Millisecond, 1), 60*time.Millisecond + quiet},
		"some more":           {repeat(60*time.Millisecond, 5), 300*time.Millisecond + quiet},
		"one after the quiet": {repeat(150*time.Millisecond, 1), quiet},
		"a steady stream":     {repeat(60*time.Millisecond, 1000), most},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				assert.Equal(t, c.want, waited(t, c.pauses...))
				time.Sleep(2 * time.Minute) // until the last signal has been sent
			})
		})
	}
}

func TestWaitQuietEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), quiet/2)
		defer cancel()
		start := time.Now()
		assert.False(t, watch.WaitQuiet(ctx, nil, quiet, most))
		assert.Equal(t, quiet/2, time.Since(start))
	})
}

// Ending the context during a call of changed prevents further calls, even if the wait
// is over by the time it is checked.
func TestWaitQuietPrefersItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		assert.False(t, watch.WaitQuiet(ctx, nil, 0, 0))
	}
}
