package redisstore_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// load is callers that count one hit a call on one counter, until they are told to stop.
type load struct {
	t                      *testing.T
	hit                    ratelimit.Hit
	sent, answered, failed atomic.Int64
	admitted               atomic.Int64 // answers that are within the limit
	twice                  atomic.Int64 // answers that somebody else has had
	slowest                atomic.Int64 // in nanoseconds
	counts                 sync.Map     // that were answered

	stopped atomic.Bool
	all     sync.WaitGroup
}

func begin(t *testing.T, store ratelimit.Store, h ratelimit.Hit) *load {
	t.Helper()
	l := &load{t: t, hit: h}
	for range 8 {
		l.all.Go(func() {
			for !l.stopped.Load() {
				l.call(store)
			}
		})
	}
	t.Cleanup(l.end)
	return l
}

func (l *load) call(store ratelimit.Store) {
	hits := []ratelimit.Hit{l.hit}
	l.sent.Add(1)
	start := time.Now()
	err := store.Add(context.Background(), hits)
	took := int64(time.Since(start))
	for was := l.slowest.Load(); took > was && !l.slowest.CompareAndSwap(was, took); {
		was = l.slowest.Load()
	}
	if err != nil {
		l.failed.Add(1)
		return
	}
	if _, had := l.counts.LoadOrStore(hits[0].Count, true); had {
		l.twice.Add(1)
	}
	if hits[0].Count <= uint64(l.hit.Limit) {
		l.admitted.Add(1)
	}
	l.answered.Add(1)
}

// progress waits for answers to calls that begin from now on.
func (l *load) progress() { l.wait(&l.answered, "calls get through") }

// failures waits for calls that fail from now on.
func (l *load) failures() { l.wait(&l.failed, "calls fail") }

func (l *load) wait(number *atomic.Int64, what string) {
	l.t.Helper()
	const some = 50 // more than there are callers
	before := number.Load()
	require.Eventually(l.t, func() bool { return number.Load() > before+some }, forever, time.Millisecond, what)
}

// end stops the callers.
func (l *load) end() {
	l.stopped.Store(true)
	l.all.Wait()
}

// atMost is what holds even if the server has lost some of what it has answered.
func (l *load) atMost(counter int64, why string) {
	l.t.Helper()
	require.Positive(l.t, counter, why)
	require.LessOrEqual(l.t, counter, l.sent.Load(), "no hit is counted twice")
}

// exact is what holds if the server has lost nothing.
func (l *load) exact(counter int64) {
	l.t.Helper()
	l.atMost(counter, "something was counted")
	require.GreaterOrEqual(l.t, counter, l.answered.Load(), "each hit that was answered is counted")
	require.Zero(l.t, l.twice.Load(), "answers with a count that another caller has had")
	require.LessOrEqual(l.t, l.admitted.Load(), int64(l.hit.Limit), "no more than the limit is admitted")
}

// within fails if a call has lasted longer.
func (l *load) within(d time.Duration) {
	l.t.Helper()
	require.LessOrEqual(l.t, time.Duration(l.slowest.Load()), d, "how long a call has lasted")
}

// value is the counter that the server has.
func value(t *testing.T, server *redistest.Server, h ratelimit.Hit) int64 {
	t.Helper()
	n, err := server.Client().Get(t.Context(), string(h.Key)).Int64()
	require.NoError(t, err)
	return n
}
