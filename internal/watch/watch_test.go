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

// Each way to change what is in a directory is told, by a notice and not by looking.
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
			r := start(t, deaf(), dir)
			r.changes(func() { require.NoError(t, change(file)) })
		})
	}
}

func TestReadingIsNoChange(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "text")
	r := start(t, fast(), dir)
	r.ignores(func() {
		_, err := os.ReadFile(filepath.Join(dir, "file"))
		require.NoError(t, err)
	})
}

func TestDirectoriesBelowAreNotWatched(t *testing.T) {
	dir := t.TempDir()
	below := mkdir(t, filepath.Join(dir, "below"))
	r := start(t, fast(), dir)
	r.ignores(func() { write(t, filepath.Join(below, "file"), "text") })
}

func TestSeveralDirectories(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	r := start(t, deaf(), a, b, a+"/", filepath.Join(a, "missing"))
	r.changes(func() { write(t, filepath.Join(a, "file"), "") })
	r.changes(func() { write(t, filepath.Join(b, "file"), "") })
}

// notice is what Only is asked about.
type notice struct {
	dir, name string
	op        watch.Op
}

// notices are a filter that remembers what it was asked about.
type notices struct {
	mu   sync.Mutex
	seen []notice
	only func(notice) bool
}

func (n *notices) filter(dir, name string, op watch.Op) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	seen := notice{dir, name, op}
	n.seen = append(n.seen, seen)
	return n.only(seen)
}

func (n *notices) has(dir, name string, op watch.Op) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.seen {
		if s.dir == dir && s.name == name && s.op&op != 0 {
			return true
		}
	}
	return false
}

func TestOnlyPicks(t *testing.T) {
	dir := t.TempDir()
	n := &notices{only: func(n notice) bool { return n.name == "picked" && n.op&watch.Remove == 0 }}
	opts := deaf()
	opts.Only = n.filter
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
	r.ignores(func() { require.NoError(t, os.Remove(picked)) })

	assert.True(t, n.has(dir, "other", watch.Create))
	assert.True(t, n.has(dir, "other", watch.Write))
	assert.True(t, n.has(dir, "other", watch.Chmod))
	assert.True(t, n.has(dir, "other", watch.Rename))
	assert.True(t, n.has(dir, "other2", watch.Create))
	assert.True(t, n.has(dir, ".", watch.Chmod), "the directory itself goes by the name of .")
	require.Eventually(t, func() bool { return n.has(dir, "picked", watch.Remove) }, patience, tick)
}

// What is not picked can't hide that the directory itself is gone and back.
func TestOnlyIsNotAskedWhetherADirectoryIsThere(t *testing.T) {
	dir := mkdir(t, filepath.Join(t.TempDir(), "dir"))
	opts := fast()
	opts.Only = func(string, string, watch.Op) bool { return false }
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

// A directory may be watched under two names; one going must not take the other
// with it.
func TestTwoNamesOfOneDirectory(t *testing.T) {
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

// A directory whose parent is watched as well is reported by the parent alone. If the
// name there is but a link, nobody reports it, and its number may be used again.
func TestALinkedDirectoryIsMadeAnew(t *testing.T) {
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

func TestDirsFuncFollowsWhatIsFound(t *testing.T) {
	parent := t.TempDir()
	var dirs atomic.Pointer[[]string]
	a, b := mkdir(t, filepath.Join(parent, "a")), mkdir(t, filepath.Join(parent, "b"))
	dirs.Store(&[]string{parent, a})
	r := startFunc(t, deaf(), func() []string { return *dirs.Load() })
	r.changes(func() { write(t, filepath.Join(a, "file"), "text") })
	r.ignores(func() { write(t, filepath.Join(b, "file"), "text") })

	dirs.Store(&[]string{parent, b})
	r.changes(func() { write(t, filepath.Join(parent, "file"), "text") })
	r.changes(func() { write(t, filepath.Join(b, "file"), "more") })
	r.ignores(func() { write(t, filepath.Join(a, "file"), "more") })
}

// What find finds may change between its answer and the watch of it. Here it does so
// twice: nobody tells of the new directories, so find has to be asked again.
func TestDirsFuncAsksUntilNothingIsNew(t *testing.T) {
	parent := t.TempDir()
	deep := filepath.Join(parent, "a", "b")
	asked := 0
	find := func() (dirs []string) {
		defer func() {
			asked++
			if asked == 1 {
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
	r := startFunc(t, deaf(), find)
	r.changes(func() { write(t, filepath.Join(deep, "file"), "text") })
}

// An answer that is never the same twice must not keep changed from being called.
func TestDirsFuncThatNeverFindsTheSame(t *testing.T) {
	dir := t.TempDir()
	n := 0
	find := func() []string {
		n++
		return []string{dir, filepath.Join(dir, string(rune('a'+n%26)))}
	}
	r := startFunc(t, deaf(), find)
	r.wait(3)
}

// A steady stream of events must not put the call off for ever.
func TestASteadyStream(t *testing.T) {
	dir := t.TempDir()
	opts := deaf()
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

// What happens during a call leads to another one, and not at the same time.
func TestCallsFollowEachOther(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	var running, overlaps, calls atomic.Int64
	release, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- watch.Dirs(ctx, []string{dir}, fast(), func() {
			if running.Add(1) > 1 {
				overlaps.Add(1)
			}
			calls.Add(1)
			<-release
			running.Add(-1)
		})
	}()
	for n := range int64(5) {
		require.Eventually(t, func() bool { return calls.Load() > n }, patience, tick)
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
	require.NoError(t, watch.Dirs(ctx, []string{t.TempDir()}, nil, func() { t.Error("changed was called") }))
}

func TestTheContextEndsTheWatchAtOnce(t *testing.T) {
	dir := t.TempDir()
	opts := deaf()
	opts.Quiet, opts.MaxWait = time.Hour, time.Hour
	n := &notices{only: func(notice) bool { return true }}
	opts.Only = n.filter
	r := start(t, opts, dir)
	write(t, filepath.Join(dir, "file"), "text")
	require.Eventually(t, func() bool { return n.has(dir, "file", watch.Create) }, patience, tick)
	r.stop() // while the change waits to be told
	assert.EqualValues(t, 1, r.calls.Load())
}
