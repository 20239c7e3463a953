//go:build linux

package watch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/internal/watch"
)

// The system drops events when its queue is full. That counts as a change even if all
// delivered events are rejected by Only.
func TestDroppedEventsAreAChange(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	require.NoError(t, err)
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	if limit > 200_000 {
		t.Skipf("the event queue holds %d entries: too many to fill it", limit)
	}
	dir := mkdir(t, filepath.Join(t.TempDir(), "dir"))
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write(t, a, "")
	write(t, b, "")
	full := make(chan struct{})
	opts := withoutPolling()
	opts.Only = func(_, name string) bool { <-full; return name == "c" }
	r := start(t, opts, dir)
	r.changes(func() {
		// Alternating, because equal consecutive events are merged.
		for range limit {
			require.NoError(t, os.Chmod(a, 0o600))
			require.NoError(t, os.Chmod(b, 0o600))
		}
		// This is not reported any more, and the new directory may have the same inode.
		require.NoError(t, os.RemoveAll(dir))
		mkdir(t, dir)
		close(full)
	})
	r.changes(func() { write(t, filepath.Join(dir, "c"), "text") })
}

func TestFileInsteadOfDirectoryIsLoggedOnce(t *testing.T) {
	parent := t.TempDir()
	path := filepath.Join(parent, "dir")
	write(t, path, "text")
	var lines logtest.Log
	opts := fast()
	opts.Log = lines.Logger()
	r := start(t, opts, parent, path, filepath.Join(parent, "missing"))
	for range 3 {
		r.changes(func() { write(t, filepath.Join(parent, "file"), "text") })
	}
	assert.Equal(t, 1, lines.Count("\n"), lines.String())
	assert.Contains(t, lines.String(), path+": not a directory")

	r.changes(func() {
		require.NoError(t, os.Remove(path))
		mkdir(t, path)
	})
	r.changes(func() { write(t, filepath.Join(path, "file"), "text") })
	assert.Equal(t, 1, lines.Count("\n"), lines.String())
}

// openFiles counts the file descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	// The first pollable file makes the runtime open some of its own.
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	require.NoError(t, writer.Close())
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// Replacing the set many times does not leak files or goroutines, and neither does the
// end of the watch.
func TestNoLeaks(t *testing.T) {
	parent := t.TempDir()
	for _, version := range []string{"v0", "v1"} {
		mkdir(t, filepath.Join(parent, version))
	}
	current := filepath.Join(parent, "current")
	relink(t, "v0", current)
	none := openFiles(t)
	var dirs atomic.Int64
	r := startFunc(t, withoutPolling(), func() []string {
		return []string{parent, current, filepath.Join(parent, fmt.Sprint("dir", dirs.Add(1)/8))}
	})
	r.rest()
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	for i := range 30 {
		calls := r.calls.Load()
		relink(t, fmt.Sprint("v", i%2), current)
		r.wait(calls + 1)
	}
	noMoreThan(t, files, goroutines)
	r.stop()
	noMoreThan(t, none, goroutines)
}

// noMoreThan waits for the numbers of open files and goroutines to fall to earlier
// values: while a set is being replaced there are two.
func noMoreThan(t *testing.T, files, goroutines int) {
	t.Helper()
	for deadline := time.Now().Add(timeout / 3); time.Now().Before(deadline); <-time.After(interval) {
		if openFiles(t) <= files && runtime.NumGoroutine() <= goroutines {
			return
		}
	}
	t.Errorf("%d files and %d goroutines, want at most %d and %d", openFiles(t), runtime.NumGoroutine(), files, goroutines)
}

// forbidFiles prevents this process from opening files until allow is called.
func forbidFiles(t *testing.T) (allow func()) {
	t.Helper()
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	none := limit
	none.Cur = 0
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none))
	return func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) }
}

// withoutFiles runs a function while this process can't open files.
func withoutFiles(t *testing.T, what func()) {
	t.Helper()
	defer forbidFiles(t)()
	what()
}

// Without a free file descriptor there is no watch, and the error names the limits.
func TestNoWatcher(t *testing.T) {
	var err error
	withoutFiles(t, func() {
		err = watch.Dirs(t.Context(), func() []string { return []string{"."} }, nil, func() { t.Error("changed was called") })
	})
	require.ErrorIs(t, err, syscall.EMFILE)
	assert.ErrorContains(t, err, "watching")
	assert.ErrorContains(t, err, "fs.inotify.max_user_instances")
}

// An error of a second set leaves nothing of the first.
func TestNoSecondWatcher(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	calls, allow := 0, func() {}
	find := func() []string {
		if calls++; calls == 1 {
			return []string{dir}
		}
		if calls == 2 {
			allow = forbidFiles(t)
		}
		return []string{dir, other}
	}
	err := watch.Dirs(t.Context(), find, nil, func() { t.Error("changed was called") })
	allow()
	require.ErrorIs(t, err, syscall.EMFILE)
	noMoreThan(t, files, goroutines)
}

// While a new set can't be made, the old one stays in use; the new one follows as soon
// as possible.
func TestNoWatcherForAWhile(t *testing.T) {
	parent := t.TempDir()
	below := filepath.Join(parent, "below")
	var lines logtest.Log
	opts := fast()
	opts.Log = lines.Logger()
	r := startFunc(t, opts, func() []string {
		if _, err := os.Stat(below); err != nil {
			return []string{parent}
		}
		return []string{parent, below}
	})
	withoutFiles(t, func() {
		for range 3 {
			r.changes(func() { require.NoError(t, os.MkdirAll(below, 0o700)); require.NoError(t, os.Chmod(parent, 0o700)) })
		}
	})
	r.changes(func() { write(t, filepath.Join(below, "file"), "text") })
	assert.Equal(t, 1, lines.Count("\n"), lines.String())
	assert.Contains(t, lines.String(), "too many open files")
}
