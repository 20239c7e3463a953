package redisstore_test

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

func TestMain(m *testing.M) {
	// Parallel tests wait for servers most of the time.
	_ = flag.Set("test.parallel", "4")
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m)
}

// open returns a store that is closed when the test ends.
func open(t testing.TB, addr string, opts *redisstore.Options) *redisstore.Store {
	t.Helper()
	store, err := redisstore.New(addr, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// uniqueName returns a name that no other test uses.
func uniqueName() string { return rand.Text() }

// started is the time at which the tests began. All hits are of that hour, so that the counter does not
// change when an hour ends during a test.
var started = time.Now()

// hit returns n hits on a counter that outlives the tests, whenever its hour ends.
func hit(name string, n uint64) ratelimit.Hit {
	window := ratelimit.Hour.Window(started.Unix())
	return ratelimit.Hit{
		Key: fmt.Appendf(nil, "domain_key_%s_%d", name, window), N: n, Limit: 100,
		Unit: ratelimit.Hour, Window: window, Jitter: 3600,
	}
}

// add adds the hit and returns the count.
func add(t testing.TB, store ratelimit.Store, h ratelimit.Hit) uint64 {
	t.Helper()
	hits := []ratelimit.Hit{h}
	require.NoError(t, store.Add(t.Context(), hits))
	return hits[0].Count
}

// loadTest has callers that count one hit per call on one counter until they are stopped.
type loadTest struct {
	t                       *testing.T
	hit                     ratelimit.Hit
	sent, succeeded, failed atomic.Int64
	admitted                atomic.Int64 // counts within the limit
	twice                   atomic.Int64 // counts that another caller got too
	slowest                 atomic.Int64 // in nanoseconds
	counts                  sync.Map     // that were returned

	stopped atomic.Bool
	all     sync.WaitGroup
}

func startLoad(t *testing.T, store ratelimit.Store, h ratelimit.Hit) *loadTest {
	t.Helper()
	l := &loadTest{t: t, hit: h}
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

func (l *loadTest) call(store ratelimit.Store) {
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
	l.succeeded.Add(1)
}

// progress waits for successful calls that begin from now on.
func (l *loadTest) progress() { l.wait(&l.succeeded, "calls succeed") }

// failures waits for calls that fail from now on.
func (l *loadTest) failures() { l.wait(&l.failed, "calls fail") }

func (l *loadTest) wait(number *atomic.Int64, what string) {
	l.t.Helper()
	const some = 50 // more than the number of callers
	before := number.Load()
	require.Eventually(l.t, func() bool { return number.Load() > before+some }, testTimeout, time.Millisecond, what)
}

// end stops the callers.
func (l *loadTest) end() {
	l.stopped.Store(true)
	l.all.Wait()
}

// atMost checks what holds even if the server has lost counts that it has returned.
func (l *loadTest) atMost(counter int64, why string) {
	l.t.Helper()
	require.Positive(l.t, counter, why)
	require.LessOrEqual(l.t, counter, l.sent.Load(), "no hit is counted twice")
}

// exact checks what holds if the server has lost nothing.
func (l *loadTest) exact(counter int64) {
	l.t.Helper()
	l.atMost(counter, "the counter is positive")
	require.GreaterOrEqual(l.t, counter, l.succeeded.Load(), "each successful hit is counted")
	require.Zero(l.t, l.twice.Load(), "counts that two callers got")
	require.LessOrEqual(l.t, l.admitted.Load(), int64(l.hit.Limit), "no more than the limit is admitted")
}

// within fails the test if a call took longer.
func (l *loadTest) within(d time.Duration) {
	l.t.Helper()
	require.LessOrEqual(l.t, time.Duration(l.slowest.Load()), d, "the duration of the slowest call")
}

// counterValue returns the counter on the server.
func counterValue(t *testing.T, server *redistest.Server, h ratelimit.Hit) int64 {
	t.Helper()
	n, err := server.Client().Get(t.Context(), string(h.Key)).Int64()
	require.NoError(t, err)
	return n
}
