package watch

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"time"
)

// Options configure Dirs. Nil, like each duration that is not positive, means the default.
type Options struct {
	// Quiet is the time without events that ends a series of them; 0 means 100 ms.
	Quiet time.Duration
	// MaxWait bounds the wait for Quiet, counted from the first event; 0 means 1 s.
	MaxWait time.Duration
	// Poll is the interval at which each path is checked for a directory that is new, missing or
	// replaced; 0 means 1 s.
	Poll time.Duration

	// Only selects the events that count; nil means all. dir is one of the watched
	// directories, cleaned, and name the base name of the file in it, or "." for the
	// directory itself. A directory that is created, removed or replaced always
	// counts. Only runs on a goroutine of its own and must not block.
	Only func(dir, name string) bool

	// Log receives the reasons why a directory can't be watched, once each; nil means
	// slog.Default(). A missing directory is not logged.
	Log *slog.Logger
}

func (o *Options) withDefaults() Options {
	r := *cmp.Or(o, &Options{})
	r.Quiet = cmp.Or(max(r.Quiet, 0), 100*time.Millisecond)
	r.MaxWait = cmp.Or(max(r.MaxWait, 0), time.Second)
	r.Poll = cmp.Or(max(r.Poll, 0), time.Second)
	r.Log = cmp.Or(r.Log, slog.Default())
	return r
}

// Dirs calls changed once, when the directories that find returns are watched, and
// again after each change in them, until ctx ends; then it returns nil. Directories
// below them are not watched. Calls of find and changed run one after the other on the
// goroutine of the caller; a change during one call leads to another.
//
// A directory may be missing: creating, removing or replacing it counts as a change.
// Dirs calls find before each call of changed, until two results in a row are equal,
// because directories may change before they are watched.
//
// An error means that the system can't report events. Then changed was not called.
func Dirs(ctx context.Context, find func() []string, opts *Options, changed func()) error {
	w := &watcher{opts: opts.withDefaults(), find: find, dirty: make(chan struct{}, 1), logged: map[string]string{}}
	if ctx.Err() != nil {
		return nil
	}
	defer func() {
		if w.set != nil {
			w.set.close()
		}
	}()
	if err := w.update(); err != nil {
		return err
	}
	changed()
	poll := time.NewTicker(w.opts.Poll)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
			w.poll()
		case <-w.dirty:
			if !waitQuiet(ctx, w.dirty, w.opts.Quiet, w.opts.MaxWait) {
				return nil
			}
			w.retry()
			changed()
		}
	}
}

// watcher is one call of Dirs.
type watcher struct {
	opts   Options
	find   func() []string
	set    *set
	dirty  chan struct{}     // holds one signal after a change
	failed bool              // the last update failed
	logged map[string]string // last error by directory
}

func (w *watcher) signal() {
	select {
	case w.dirty <- struct{}{}:
	default:
	}
}

// update watches the directories that find returns, until it returns the same twice.
// After five attempts it signals a change instead.
func (w *watcher) update() error {
	for range 5 {
		dirs := slices.Clone(w.find())
		for i := range dirs {
			dirs[i] = filepath.Clean(dirs[i])
		}
		slices.Sort(dirs)
		dirs = slices.Compact(dirs)
		if w.set == nil || !slices.Equal(dirs, w.set.dirs) || w.set.stale() {
			next, err := newSet(dirs, w.opts.Only, w.signal)
			if err != nil {
				return err
			}
			if w.set != nil {
				w.set.close()
			}
			w.set = next
			w.add()
		} else if !w.add() {
			return nil
		}
	}
	w.signal()
	return nil
}

// retry updates the set, or leaves it as it is if that fails; then poll tries again.
func (w *watcher) retry() bool {
	err := w.update()
	w.logOnce("", err)
	w.failed = err != nil
	return err == nil
}

// poll detects what is not reported as an event: directories that were created, and
// paths that lead elsewhere because something above them changed.
func (w *watcher) poll() {
	changed := false
	if w.failed || w.set.stale() {
		changed = w.retry()
	} else {
		changed = w.add()
	}
	if changed {
		w.signal()
	}
}

// add watches the directories of the set that are not watched yet. It reports whether
// there were any.
func (w *watcher) add() (added bool) {
	for _, dir := range w.set.dirs {
		if w.set.watched[dir] == nil {
			err := w.set.add(dir)
			w.logOnce(dir, err)
			added = added || err == nil
		}
	}
	return added
}

func (w *watcher) logOnce(dir string, err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		delete(w.logged, dir)
		return
	}
	if len(w.logged) > 2*len(w.set.dirs)+1 {
		clear(w.logged) // drop directories that find no longer returns
	}
	if text := err.Error(); w.logged[dir] != text {
		w.logged[dir] = text
		w.opts.Log.Warn("a directory can't be watched: changes in it are not noticed", "err", err)
	}
}

// waitQuiet waits until there was no signal for quiet, or until most has passed. It
// returns false if ctx has ended.
func waitQuiet(ctx context.Context, signals <-chan struct{}, quiet, most time.Duration) bool {
	end, last := time.NewTimer(quiet), time.NewTimer(most)
	defer end.Stop()
	defer last.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-signals:
			end.Reset(quiet)
		case <-end.C:
			return ctx.Err() == nil
		case <-last.C:
			return ctx.Err() == nil
		}
	}
}
