package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

// TestConnectionThatIsReset resets it at each moment of a call that brings a new
// counter, of one on a counter that is there, and of one that a script does. Whoever has
// no answer has an error, and at once; and every hit is counted once or not at all.
func TestConnectionThatIsReset(t *testing.T) {
	server := redistest.Start(t, nil)
	add := (*redisstore.Store).Add
	for how, c := range map[string]struct {
		call  func(*redisstore.Store, context.Context, []ratelimit.Hit) error
		first bool
	}{
		"new counter":   {add, true},
		"known counter": {add, false},
		"script":        {(*redisstore.Store).AddUnlessOver, false},
	} {
		for at, counted := range map[moment]uint64{
			beforeQuestion: 0, withinQuestion: 0, beforeAnswer: 1, withinAnswer: 1, afterAnswer: 1,
		} {
			t.Run(how+", "+at.String(), func(t *testing.T) {
				p := newProxy(t, server.Addr)
				store, h := open(t, p.addr, &redisstore.Options{Timeout: forLong}), hit(name(), 1)
				call := func() (count uint64, err error) {
					hits := []ratelimit.Hit{h}
					err = bounded(t, func(ctx context.Context) error { return c.call(store, ctx, hits) })
					return hits[0].Count, err
				}
				rest(t, store)
				want := uint64(0)
				if !c.first {
					_, err := call()
					require.NoError(t, err)
					want++
				}
				p.reset(at)
				count, err := call()
				want += counted
				if at == afterAnswer {
					require.NoError(t, err)
					require.Equal(t, want, count)
				} else {
					require.ErrorContains(t, err, p.addr)
				}
				require.Eventually(t, func() bool { return p.resets.Load() == 1 }, forever, time.Millisecond)
				count, err = call()
				require.NoError(t, err, "the next call is made on a new connection")
				require.Equal(t, want+1, count)
				mortal(t, server.Client())
			})
		}
	}
}

func TestConnectionsThatAreResetUnderLoad(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, nil)
	p := newProxy(t, server.Addr)
	store := open(t, p.addr, &redisstore.Options{Timeout: forLong})
	h := hit(name(), 1)
	h.Limit = 300
	l := begin(t, store, h)
	for i := range int32(100) {
		l.progress() // or resets would meet nothing but handshakes
		p.reset(moment(1 + i%int32(afterAnswer)))
		require.Eventually(t, func() bool { return p.resets.Load() > i }, forever, time.Millisecond)
	}
	l.progress()
	l.end()
	l.within(forever)
	l.exact(value(t, server, h))
	require.Positive(t, l.failed.Load())
	require.Greater(t, l.answered.Load(), int64(h.Limit), "the limit was reached")
	mortal(t, server.Client())
}
