package watch_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/watch"
)

// Each operation in a directory is reported as an event, without polling.
func TestEveryOperation(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"create": func(file string) error { return os.WriteFile(file+".new", nil, 0o600) },
		"write":  func(file string) error { return os.WriteFile(file, []byte("more"), 0o600) },
		"cut":    func(file string) error { return os.Truncate(file, 0) },
		"chmod":  func(file string) error { return os.Chmod(file, 0o400) },
		"remove": os.Remove,
		"rename": func(file string) error { return os.Rename(file, file+".old") },
		"away":   func(file string) error { return os.Rename(file, filepath.Dir(file)+".away") },
		"mkdir":  func(file string) error { return os.Mkdir(file+".d", 0o700) },
		"link":   func(file string) error { return os.Symlink("nowhere", file+".link") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "file")
			write(t, file, "text")
			r := start(t, withoutPolling(), dir)
			r.changes(func() { require.NoError(t, change(file)) })
		})
	}
}

func TestReadingIsNoChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "text")
	r := start(t, fast(), dir)
	r.ignores(func() {
		_, err := os.ReadFile(filepath.Join(dir, "file"))
		require.NoError(t, err)
	})
}

func TestDirectoriesBelowAreNotWatched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	below := mkdir(t, filepath.Join(dir, "below"))
	r := start(t, fast(), dir)
	r.ignores(func() { write(t, filepath.Join(below, "file"), "text") })
}

func TestSeveralDirectories(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	r := start(t, withoutPolling(), a, b, a+"/", filepath.Join(a, "missing"))
	r.changes(func() { write(t, filepath.Join(a, "file"), "") })
	r.changes(func() { write(t, filepath.Join(b, "file"), "") })
}

// filter is a function for Options.Only that records its arguments.
type filter struct {
	mu   sync.Mutex
	seen map[[2]string]bool
	only func(name string) bool
}

func (f *filter) accept(dir, name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.seen = map[[2]string]bool{}
	}
	f.seen[[2]string{dir, name}] = true
	return f.only(name)
}

func (f *filter) has(dir, name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[[2]string{dir, name}]
}

func TestOnlySelectsEvents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := &filter{only: func(name string) bool { return name == "picked" }}
	opts := withoutPolling()
	opts.Only = f.accept
	r := start(t, opts, dir+"/.")
	other, picked := filepath.Join(dir, "other"), filepath.Join(dir, "picked")

	r.ignores(func() {
		write(t, other, "text")
		require.NoError(t, os.Chmod(other, 0o400))
		require.NoError(t, os.Rename(other, other+"2"))
		require.NoError(t, os.Chmod(dir, 0o500))
		require.NoError(t, os.Chmod(dir, 0o700))
	})
	r.changes(func() { write(t, picked, "text") })
	r.changes(func() { require.NoError(t, os.Remove(picked)) })

	assert.True(t, f.has(dir, "other"))
	assert.True(t, f.has(dir, "other2"))
	assert.True(t, f.has(dir, "."), "the directory itself has the name .")
}

// A removed and created directory is reported even if Only rejects all events.
func TestOnlyDoesNotHideReplacedDirectories(t *testing.T) {
	dir := mkdir(t, filepath.Join(t.TempDir(), "dir"))
	opts := fast()
	opts.Only = func(string, string) bool { return false }
	r := start(t, opts, dir)
	r.changes(func() { require.NoError(t, os.Remove(dir)) })
	r.changes(func() { mkdir(t, dir) })
}

func TestADirectoryThatComesGoesAndComesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "dir")
	r := start(t, fast(), dir)
	for range 3 {
		r.changes(func() { mkdir(t, dir) })
		r.changes(func() { write(t, filepath.Join(dir, "file"), "text") })
		r.changes(func() { require.NoError(t, os.RemoveAll(filepath.Dir(dir))) })
	}
}

func TestADirectoryThatIsReplaced(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir, next, last := filepath.Join(parent, "dir"), filepath.Join(parent, "next"), filepath.Join(parent, "last")
	mkdir(t, dir)
	mkdir(t, next)
	r := start(t, fast(), dir)
	r.changes(func() {
		require.NoError(t, os.Rename(dir, last))
		require.NoError(t, os.Rename(next, dir))
	})
	r.ignores(func() { write(t, filepath.Join(last, "file"), "text") })
	r.changes(func() { write(t, filepath.Join(dir, "file"), "text") })
}

func TestALinkThatIsSwapped(t *testing.T) {
	t.Parallel()
	for name, below := range map[string]string{"to the directory": "", "above it": "config"} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			v1, v2 := mkdir(t, filepath.Join(parent, "v1", below)), mkdir(t, filepath.Join(parent, "v2", below))
			current := filepath.Join(parent, "current")
			relink(t, "v1", current)
			r := start(t, fast(), filepath.Join(current, below))
			r.changes(func() { write(t, filepath.Join(v1, "file"), "text") })
			r.changes(func() { relink(t, "v2", current) })
			r.ignores(func() { write(t, filepath.Join(v1, "file"), "more") })
			r.changes(func() { write(t, filepath.Join(v2, "file"), "text") })
			r.changes(func() { require.NoError(t, os.Remove(current)) })
			r.changes(func() { relink(t, "v1", current) })
			r.changes(func() { write(t, filepath.Join(v1, "file"), "text") })
		})
	}
}

// A directory may be watched under two names; removing one must not end the watch of
// the other.
func TestTwoNamesOfOneDirectory(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir, alias := mkdir(t, filepath.Join(parent, "dir")), filepath.Join(parent, "alias")
	relink(t, "dir", alias)
	r := start(t, fast(), dir, alias)
	r.changes(func() { write(t, filepath.Join(dir, "file"), "text") })
	r.changes(func() { require.NoError(t, os.Remove(alias)) })
	r.changes(func() { write(t, filepath.Join(dir, "file"), "more") })
	r.changes(func() { require.NoError(t, os.RemoveAll(dir)) })
	r.changes(func() { mkdir(t, dir) })
	r.changes(func() { relink(t, "dir", alias) })
	r.changes(func() { write(t, filepath.Join(dir, "file"), "text") })
}

// fsnotify reports the removal of a directory through its watched parent only. If the
// parent has just a link to it, there is no event, and the inode number may be reused.
func TestALinkedDirectoryIsMadeAnew(t *testing.T) {
	t.Parallel()
	parent, elsewhere := t.TempDir(), t.TempDir()
	dir := mkdir(t, filepath.Join(elsewhere, "dir"))
	relink(t, dir, filepath.Join(parent, "link"))
	r := start(t, fast(), parent, filepath.Join(parent, "link"))
	for range 5 {
		r.changes(func() {
			require.NoError(t, os.RemoveAll(dir))
			mkdir(t, dir)
		})
		r.changes(func() { write(t, filepath.Join(dir, "file"), "text") })
	}
}

func TestDirsFollowsFind(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	var dirs atomic.Pointer[[]string]
	a, b := mkdir(t, filepath.Join(parent, "a")), mkdir(t, filepath.Join(parent, "b"))
	dirs.Store(&[]string{parent, a})
	r := startFunc(t, withoutPolling(), func() []string { return *dirs.Load() })
	r.changes(func() { write(t, filepath.Join(a, "file"), "text") })
	r.ignores(func() { write(t, filepath.Join(b, "file"), "text") })

	dirs.Store(&[]string{parent, b})
	r.changes(func() { write(t, filepath.Join(parent, "file"), "text") })
	r.changes(func() { write(t, filepath.Join(b, "file"), "more") })
	r.ignores(func() { write(t, filepath.Join(a, "file"), "more") })
}

// Directories may be created between the result of find and the watch of it. No event
// reports those, so find must be called again.
func TestFindIsRepeatedUntilNothingIsNew(t *testing.T) {
	parent := t.TempDir()
	deep := filepath.Join(parent, "a", "b")
	calls := 0
	find := func() (dirs []string) {
		defer func() {
			calls++
			if calls == 1 {
				mkdir(t, deep)
			}
		}()
		for _, dir := range []string{parent, filepath.Dir(deep), deep} {
			if _, err := os.Stat(dir); err == nil {
				dirs = append(dirs, dir)
			}
		}
		return dirs
	}
	r := startFunc(t, withoutPolling(), find)
	r.changes(func() { write(t, filepath.Join(deep, "file"), "text") })
}

// A find that returns something else each time must not prevent calls of changed.
func TestFindThatNeverReturnsTheSame(t *testing.T) {
	dir := t.TempDir()
	n := 0
	find := func() []string {
		n++
		return []string{dir, filepath.Join(dir, string(rune('a'+n%26)))}
	}
	r := startFunc(t, withoutPolling(), find)
	r.wait(3)
}

// A steady stream of events must not delay the call forever.
func TestASteadyStream(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opts := withoutPolling()
	opts.Quiet, opts.MaxWait = time.Hour, 50*time.Millisecond
	r := start(t, opts, dir)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600)
			}
		}
	}()
	r.wait(4)
	close(stop)
	<-stopped
}

// A change during a call leads to another call, after the first has ended.
func TestCallsFollowEachOther(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	var running, overlaps, calls atomic.Int64
	release, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- watch.Dirs(ctx, func() []string { return []string{dir} }, fast(), func() {
			if running.Add(1) > 1 {
				overlaps.Add(1)
			}
			calls.Add(1)
			<-release
			running.Add(-1)
		})
	}()
	for n := range int64(5) {
		require.Eventually(t, func() bool { return calls.Load() > n }, timeout, interval)
		write(t, filepath.Join(dir, "file"), "text")
		release <- struct{}{}
	}
	close(release)
	cancel()
	require.NoError(t, <-done)
	assert.Zero(t, overlaps.Load())
}

func TestAContextThatHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, watch.Dirs(ctx, func() []string { return []string{t.TempDir()} }, nil, func() { t.Error("changed was called") }))
}

func TestTheContextEndsTheWatchAtOnce(t *testing.T) {
	dir := t.TempDir()
	opts := withoutPolling()
	opts.Quiet, opts.MaxWait = time.Hour, time.Hour
	f := &filter{only: func(string) bool { return true }}
	opts.Only = f.accept
	r := start(t, opts, dir)
	write(t, filepath.Join(dir, "file"), "text")
	require.Eventually(t, func() bool { return f.has(dir, "file") }, timeout, interval)
	r.stop() // while the change is pending
	assert.EqualValues(t, 1, r.calls.Load())
}
