package watch_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/internal/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	timeout  = 30 * time.Second
	interval = 2 * time.Millisecond
	// never is the wait for a call that must not come. A slow machine may miss
	// one that a fast machine detects.
	never = 100 * time.Millisecond
	// idleTicks is the number of ticks without a call after which none is pending. It is
	// not a duration, because a process that gets no CPU time makes no progress in it.
	idleTicks = 50
)

// harness runs one call of Dirs.
type harness struct {
	t     *testing.T
	calls atomic.Int64
	end   context.CancelFunc
	done  chan error
}

// fast returns options with short times.
func fast() *watch.Options {
	return &watch.Options{Quiet: time.Millisecond, MaxWait: 50 * time.Millisecond, Poll: 5 * time.Millisecond}
}

// withoutPolling returns options with which only events report changes.
func withoutPolling() *watch.Options {
	opts := fast()
	opts.Poll = time.Hour
	return opts
}

func start(t *testing.T, opts *watch.Options, dirs ...string) *harness {
	t.Helper()
	return startFunc(t, opts, func() []string { return dirs })
}

// startFunc calls Dirs and waits for the first call of changed.
func startFunc(t *testing.T, opts *watch.Options, find func() []string) *harness {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &harness{t: t, end: cancel, done: make(chan error, 1)}
	go func() {
		r.done <- watch.Dirs(ctx, find, opts, func() { r.calls.Add(1) })
	}()
	t.Cleanup(r.stop)
	r.wait(1)
	return r
}

func (r *harness) stop() {
	if r.end == nil {
		return
	}
	r.end()
	r.end = nil
	select {
	case err := <-r.done:
		require.NoError(r.t, err)
	case <-time.After(timeout):
		require.Fail(r.t, "the watch does not end with its context")
	}
}

// wait waits until changed has been called n times, or more.
func (r *harness) wait(n int64) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return r.calls.Load() >= n }, timeout, interval, "changed was not called %d times", n)
}

// changes runs a function that must lead to a call of changed.
func (r *harness) changes(what func()) {
	r.t.Helper()
	r.rest()
	before := r.calls.Load()
	what()
	r.wait(before + 1)
}

// rest waits until no more calls come.
func (r *harness) rest() {
	r.t.Helper()
	r.restFor(idleTicks / 5)
}

func (r *harness) restFor(ticks int) {
	r.t.Helper()
	last, same := r.calls.Load(), 0
	require.Eventually(r.t, func() bool {
		same++
		if now := r.calls.Load(); now != last {
			last, same = now, 0
		}
		return same > ticks
	}, timeout, interval, "calls never end")
}

// ignores runs a function that must not lead to a call of changed.
func (r *harness) ignores(what func()) {
	r.t.Helper()
	r.restFor(idleTicks) // earlier changes must not be mistaken for this one
	before := r.calls.Load()
	what()
	require.Never(r.t, func() bool { return r.calls.Load() > before }, never, interval, "changed was called")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func mkdir(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(path, 0o700))
	return path
}

// relink atomically makes path a link to target.
func relink(t *testing.T, target, path string) {
	t.Helper()
	next := filepath.Join(filepath.Dir(path), "..relink")
	require.NoError(t, os.Symlink(target, next))
	require.NoError(t, os.Rename(next, path))
}
