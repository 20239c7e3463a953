//go:build linux

package watch_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/watch"
)

// When more happens than the system keeps notices of, it drops some. That counts as
// a change even if all that was seen does not.
func TestDroppedNoticesAreAChange(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	require.NoError(t, err)
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	if limit > 200_000 {
		t.Skipf("this system keeps %d notices: too many to have some dropped", limit)
	}
	dir := mkdir(t, filepath.Join(t.TempDir(), "dir"))
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write(t, a, "")
	write(t, b, "")
	full := make(chan struct{})
	opts := deaf()
	opts.Only = func(_, name string, _ watch.Op) bool { <-full; return name == "c" }
	r := start(t, opts, dir)
	r.changes(func() {
		// One after the other, since notices that are alike are kept as one.
		for range limit {
			require.NoError(t, os.Chmod(a, 0o600))
			require.NoError(t, os.Chmod(b, 0o600))
		}
		// Nor is this told any more, and the new directory may look like the old.
		require.NoError(t, os.RemoveAll(dir))
		mkdir(t, dir)
		close(full)
	})
	r.changes(func() { write(t, filepath.Join(dir, "c"), "text") })
}

// log is a place for a log that tests may read while it is written to.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func TestWhatIsNoDirectoryIsLoggedOnce(t *testing.T) {
	parent := t.TempDir()
	path := filepath.Join(parent, "dir")
	write(t, path, "text")
	var lines log
	opts := fast()
	opts.Log = slog.New(slog.NewTextHandler(&lines, nil))
	r := start(t, opts, parent, path, filepath.Join(parent, "missing"))
	for range 3 {
		r.changes(func() { write(t, filepath.Join(parent, "file"), "text") })
	}
	assert.Equal(t, 1, strings.Count(lines.String(), "\n"), lines.String())
	assert.Contains(t, lines.String(), path+": it is not a directory")

	r.changes(func() {
		require.NoError(t, os.Remove(path))
		mkdir(t, path)
	})
	r.changes(func() { write(t, filepath.Join(path, "file"), "text") })
	assert.Equal(t, 1, strings.Count(lines.String(), "\n"), lines.String())
}

// openFiles counts the file descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	// The first file that can be waited for makes the runtime open some for itself.
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	require.NoError(t, writer.Close())
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// A watch that has been renewed many times holds no more than a new one, and one
// that has ended holds nothing.
func TestNothingPilesUp(t *testing.T) {
	parent := t.TempDir()
	for _, version := range []string{"v0", "v1"} {
		mkdir(t, filepath.Join(parent, version))
	}
	current := filepath.Join(parent, "current")
	relink(t, "v0", current)
	none := openFiles(t)
	var dirs atomic.Int64
	r := startFunc(t, deaf(), func() []string {
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

// noMoreThan waits for what is held to come down to what it was: the watch may just
// be renewed, and hold both. What piles up does not come down.
func noMoreThan(t *testing.T, files, goroutines int) {
	t.Helper()
	for deadline := time.Now().Add(patience / 3); time.Now().Before(deadline); <-time.After(tick) {
		if openFiles(t) <= files && runtime.NumGoroutine() <= goroutines {
			return
		}
	}
	t.Errorf("%d files and %d goroutines are held, were %d and %d", openFiles(t), runtime.NumGoroutine(), files, goroutines)
}

// forbidFiles has this process open no file until allow is called.
func forbidFiles(t *testing.T) (allow func()) {
	t.Helper()
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	none := limit
	none.Cur = 0
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none))
	return func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) }
}

// withoutFiles runs something while this process can open no file.
func withoutFiles(t *testing.T, what func()) {
	t.Helper()
	defer forbidFiles(t)()
	what()
}

// Without a free file descriptor there is no watch, and the error says so.
func TestNoNotices(t *testing.T) {
	var err error
	withoutFiles(t, func() {
		err = watch.Dirs(t.Context(), []string{"."}, nil, func() { t.Error("changed was called") })
	})
	require.ErrorIs(t, err, syscall.EMFILE)
	assert.ErrorContains(t, err, "watching directories: the system gives no notices of changes: ")
	assert.ErrorContains(t, err, "raise the limit fs.inotify.max_user_instances")
}

// An error leaves nothing behind, even if there were notices at first and none for the
// directories that are found next.
func TestNoNoticesForAllOfThem(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	asked, allow := 0, func() {}
	find := func() []string {
		if asked++; asked == 1 {
			return []string{dir}
		}
		if asked == 2 {
			allow = forbidFiles(t)
		}
		return []string{dir, other}
	}
	err := watch.DirsFunc(t.Context(), find, nil, func() { t.Error("changed was called") })
	allow()
	require.ErrorIs(t, err, syscall.EMFILE)
	noMoreThan(t, files, goroutines)
}

// If there is none later on, what is watched stays so, and what is not is watched as
// soon as there is one again.
func TestNoNoticesForAWhile(t *testing.T) {
	parent := t.TempDir()
	below := filepath.Join(parent, "below")
	var lines log
	opts := fast()
	opts.Log = slog.New(slog.NewTextHandler(&lines, nil))
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
	assert.Equal(t, 1, strings.Count(lines.String(), "\n"), lines.String())
	assert.Contains(t, lines.String(), "too many open files")
}
