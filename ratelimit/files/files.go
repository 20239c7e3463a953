package files

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/ashlar-go/ashlar/internal/watch"
	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// Options are the choices of Watch. The zero value, like nil, is fit for use.
type Options struct {
	// WatchContents makes changes in the directory of the files a trigger, instead
	// of a swap of the root (RUNTIME_WATCH_ROOT=false).
	WatchContents bool
	// Config is how the files are read; nil for the defaults.
	Config *config.Options

	// Quiet, MaxWait and Poll are those of watch.Options: what belongs together leads
	// to one load, which is put off by no more than MaxWait. By default 100 ms, 1 s
	// and 1 s.
	Quiet, MaxWait, Poll time.Duration
	// MaxDirs bounds how many directories are watched: that of the files, those in
	// it, those in these and so on. Files of all others are loaded too, but changes
	// there are not seen; the log says so. Default: 256.
	MaxDirs int

	// Log takes what keeps directories from being watched. Default:
	// slog.Default().
	Log *slog.Logger
}

// Watch loads the files at once, and again after each trigger, until ctx ends; then
// it returns nil. Each time it calls loaded with what the files say, or failed with
// why they can't be used: config.Faults, or an error that names the directory and
// the settings if it is missing. The calls follow each other on the caller's
// goroutine.
//
// An error means that the system gives no notices of changes. Neither function was
// called then, and Source.Load still works. opts may be nil.
func Watch(ctx context.Context, source Source, opts *Options, loaded func(*config.Config), failed func(error)) error {
	w, err := newWatcher(source, opts)
	if err != nil {
		return fmt.Errorf("configuration files: %w", err)
	}
	err = watch.DirsFunc(ctx, w.find, w.watchOptions(), func() {
		if c, err := source.Load(w.opts.Config); err != nil {
			failed(err)
		} else {
			loaded(c)
		}
	})
	if err != nil {
		return fmt.Errorf("configuration files: %w", err)
	}
	return nil
}

// watcher is one call of Watch.
type watcher struct {
	opts Options
	dir  string // of the files
	// parent and name are the root, split. They are absolute, since a root of "." has
	// a parent as well.
	parent, name string

	// inPlace says that the directory was missing, so what comes to be there counts
	// until the next swap. without is the root as it was then, nil for none.
	inPlace bool
	without fs.FileInfo
	tooMany bool // said that there are more than MaxDirs
}

func newWatcher(source Source, opts *Options) (*watcher, error) {
	root, err := filepath.Abs(source.Root)
	if err != nil {
		return nil, err
	}
	w := &watcher{dir: source.Dir(), parent: filepath.Dir(root), name: filepath.Base(root)}
	if opts != nil {
		w.opts = *opts
	}
	w.opts.MaxDirs = cmp.Or(max(w.opts.MaxDirs, 0), 256)
	if w.opts.Config == nil {
		w.opts.Config = &config.Options{}
	}
	if w.opts.Log == nil {
		w.opts.Log = slog.Default()
	}
	return w, nil
}

func (w *watcher) watchOptions() *watch.Options {
	o := &watch.Options{Quiet: w.opts.Quiet, MaxWait: w.opts.MaxWait, Poll: w.opts.Poll, Log: w.opts.Log}
	if !w.opts.WatchContents {
		o.Only = w.only
	}
	return o
}

// only picks the swaps of the root. Directories other than its parent are watched
// only while all that is in them counts.
func (w *watcher) only(dir, name string, _ watch.Op) bool {
	return dir != w.parent || name == w.name || name == "..data"
}

// find says which directories to watch.
func (w *watcher) find() []string {
	if w.opts.WatchContents {
		return w.tree()
	}
	root, _ := os.Lstat(filepath.Join(w.parent, w.name))
	if info, err := os.Stat(w.dir); err != nil || !info.IsDir() {
		w.inPlace, w.without = true, root
	} else if w.inPlace && swapped(w.without, root) {
		w.inPlace = false
	}
	if w.inPlace {
		return append(w.tree(), w.parent)
	}
	return []string{w.parent}
}

// swapped compares what a root is with what it was; nil is none. A directory where
// there was none is no swap: it may be being filled.
func swapped(before, now fs.FileInfo) bool {
	if now == nil {
		return false
	}
	link := now.Mode()&fs.ModeSymlink != 0
	if before == nil {
		return link
	}
	// The number of a link that was removed may be that of the next one.
	return !os.SameFile(before, now) || link && !before.ModTime().Equal(now.ModTime())
}
