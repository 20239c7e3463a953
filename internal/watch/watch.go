package watch

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"
)

// Dirs calls changed once, when the directories are under watch, and again each
// time something in them has changed, until ctx ends; then it returns nil. Calls
// follow each other on the goroutine of the caller. What happens during one leads
// to the next.
//
// A directory need not exist: that it comes into being is a change, and so is that
// it goes or that its path leads to another one. What is in the directories of a
// directory is not watched.
//
// An error means that the system gives no notices, and that changed was not called.
func Dirs(ctx context.Context, dirs []string, opts *Options, changed func()) error {
	return DirsFunc(ctx, func() []string { return dirs }, opts, changed)
}

// DirsFunc is Dirs for directories that change themselves. find says which they are;
// it is asked before each call of changed, until it gives the same answer twice
// since what is found may have changed while it was not watched yet. It is called on
// the goroutine of the caller as well. Each directory costs a look-up per Poll, so
// find should bound their number.
func DirsFunc(ctx context.Context, find func() []string, opts *Options, changed func()) error {
	w := &watcher{opts: opts.withDefaults(), find: find, dirty: make(chan struct{}, 1), said: map[string]string{}}
	if ctx.Err() != nil {
		return nil
	}
	defer func() {
		if w.session != nil { // also if there was one, and none for what was found next
			w.session.close()
		}
	}()
	if err := w.look(); err != nil {
		return err
	}
	changed()
	w.run(ctx, changed)
	return nil
}

// watcher is one call of DirsFunc.
type watcher struct {
	opts    Options
	find    func() []string
	session *session
	dirty   chan struct{}     // holds at most one signal: that something has changed
	behind  bool              // the last look failed
	said    map[string]string // what the log was told, by directory
}

func (w *watcher) run(ctx context.Context, changed func()) {
	poll := time.NewTicker(w.opts.Poll)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
			w.poll()
		case <-w.dirty:
			if !settle(ctx, w.dirty, w.opts.Quiet, w.opts.MaxWait) {
				return
			}
			w.catchUp()
			changed()
		}
	}
}

// mark notes that something has changed.
func (w *watcher) mark() {
	select {
	case w.dirty <- struct{}{}:
	default: // it has been noted and not yet been dealt with
	}
}

// maxLooks bounds how often find is asked in a row.
const maxLooks = 5

// look puts what find finds under watch. When it returns, find has said the same
// twice, with the watch set up in between, or a further change is marked.
func (w *watcher) look() error {
	for range maxLooks {
		dirs := tidy(w.find())
		if w.session == nil || !slices.Equal(dirs, w.session.dirs) || w.session.stale() {
			if err := w.renew(dirs); err != nil {
				return err
			}
		} else if !w.gain() {
			return nil
		}
	}
	w.mark()
	return nil
}

// poll finds what no event tells of: a directory that came into being, or a path
// that leads elsewhere because something above it changed.
func (w *watcher) poll() {
	switch {
	case w.behind || w.session.stale():
		if w.catchUp() {
			w.mark()
		}
	case w.gain():
		w.mark()
	}
}

// catchUp is look, for when there is something under watch already: that stays as it
// is if look fails, and poll tries again.
func (w *watcher) catchUp() bool {
	err := w.look()
	w.complain("", err)
	w.behind = err != nil
	return err == nil
}

// renew replaces the session, or leaves it if there can be no new one. What happens
// between the two is not missed, since changed is called after each renewal.
func (w *watcher) renew(dirs []string) error {
	next, err := newSession(dirs, w.opts.Only, w.mark)
	if err != nil {
		return err
	}
	if w.session != nil {
		w.session.close()
	}
	w.session = next
	w.gain()
	return nil
}

// gain puts those directories under watch that are not yet. It reports whether
// there were any.
func (w *watcher) gain() bool {
	gained := false
	for _, dir := range w.session.dirs {
		if w.session.has(dir) {
			continue
		}
		err := w.session.attach(dir)
		w.complain(dir, err)
		gained = gained || err == nil
	}
	return gained
}

// complain logs what is wrong with a directory, or with all if it is "", unless it
// has done so already.
func (w *watcher) complain(dir string, err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		delete(w.said, dir)
		return
	}
	if len(w.said) > 2*len(w.session.dirs)+1 {
		clear(w.said) // of directories that are no longer asked for
	}
	if text := err.Error(); w.said[dir] != text {
		w.said[dir] = text
		w.opts.Log.Warn("a directory can't be watched: changes in it will be missed", "err", err)
	}
}

func tidy(dirs []string) []string {
	clean := make([]string, len(dirs))
	for i, dir := range dirs {
		clean[i] = filepath.Clean(dir)
	}
	slices.Sort(clean)
	return slices.Compact(clean)
}
