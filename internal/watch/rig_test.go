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
	patience = 30 * time.Second
	tick     = 2 * time.Millisecond
	// calm is for how long nothing must happen to pass for never. A test that
	// passes wrongly on a slow machine is found out on a fast one.
	calm = 100 * time.Millisecond
	// looks is how often the same must be seen, a tick apart, to pass for the last
	// word. It is no time, since a process that is kept waiting sees none of what it
	// has still to do in it.
	looks = 50
)

// rig is a watch under way.
type rig struct {
	t     *testing.T
	calls atomic.Int64
	end   context.CancelFunc
	done  chan error
}

// fast are options with short times.
func fast() *watch.Options {
	return &watch.Options{Quiet: time.Millisecond, MaxWait: 50 * time.Millisecond, Poll: 5 * time.Millisecond}
}

// deaf are options that leave all to notices: nothing is ever looked up again.
func deaf() *watch.Options {
	opts := fast()
	opts.Poll = time.Hour
	return opts
}

func start(t *testing.T, opts *watch.Options, dirs ...string) *rig {
	t.Helper()
	return startFunc(t, opts, func() []string { return dirs })
}

// startFunc returns when changed has been called for the first time.
func startFunc(t *testing.T, opts *watch.Options, find func() []string) *rig {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &rig{t: t, end: cancel, done: make(chan error, 1)}
	go func() {
		r.done <- watch.DirsFunc(ctx, find, opts, func() { r.calls.Add(1) })
	}()
	t.Cleanup(r.stop)
	r.wait(1)
	return r
}

func (r *rig) stop() {
	if r.end == nil {
		return
	}
	r.end()
	r.end = nil
	select {
	case err := <-r.done:
		require.NoError(r.t, err)
	case <-time.After(patience):
		require.Fail(r.t, "the watch does not end with its context")
	}
}

// wait waits until changed has been called n times, or more.
func (r *rig) wait(n int64) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return r.calls.Load() >= n }, patience, tick, "changed was not called %d times", n)
}

// changes runs something that changed has to be called for.
func (r *rig) changes(what func()) {
	r.t.Helper()
	r.rest()
	before := r.calls.Load()
	what()
	r.wait(before + 1)
}

// rest waits until no more calls come.
func (r *rig) rest() {
	r.t.Helper()
	r.restFor(looks / 5)
}

func (r *rig) restFor(looks int) {
	r.t.Helper()
	last, same := r.calls.Load(), 0
	require.Eventually(r.t, func() bool {
		same++
		if now := r.calls.Load(); now != last {
			last, same = now, 0
		}
		return same > looks
	}, patience, tick, "calls never end")
}

// ignores runs something that changed must not be called for.
func (r *rig) ignores(what func()) {
	r.t.Helper()
	r.restFor(looks) // what was told before must not be taken for it
	before := r.calls.Load()
	what()
	require.Never(r.t, func() bool { return r.calls.Load() > before }, calm, tick, "changed was called")
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

// relink makes path a link to target in one step.
func relink(t *testing.T, target, path string) {
	t.Helper()
	next := filepath.Join(filepath.Dir(path), "..relink")
	require.NoError(t, os.Symlink(target, next))
	require.NoError(t, os.Rename(next, path))
}
