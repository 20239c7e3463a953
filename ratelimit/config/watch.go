package config

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
)

// WatchOptions configure [Watch]. Nil, like each number that is not positive, means the
// default.
type WatchOptions struct {
	// WatchContents loads the files after changes in their directory, not after a swap
	// of the root (RUNTIME_WATCH_ROOT=false).
	WatchContents bool
	// Load configures how the files are read.
	Load *Options

	// Quiet is the time without changes that ends a series of them, so that it leads
	// to one load; 0 means 100 ms. MaxWait bounds the wait for that; 0 means 1 s.
	Quiet, MaxWait time.Duration
	// Poll is the interval at which paths are checked for directories that are new, missing or
	// replaced; 0 means 1 s.
	Poll time.Duration
	// MaxDirs bounds the number of watched directories; 0 means 256. Files in other
	// directories are loaded, but changes there are not noticed, which is logged.
	MaxDirs int

	// Log receives the reasons why directories can't be watched; nil means
	// slog.Default().
	Log *slog.Logger
}

// Watch loads the files of a directory at once and after each trigger, until ctx ends;
// then it returns nil. Each load calls loaded with the configuration, or failed with
// the error of [LoadDir]. The calls run one after the other on the goroutine of the
// caller.
//
// An error means that the system can't report changes. Then neither function has been
// called, and LoadDir still works.
func Watch(ctx context.Context, dir Dir, opts *WatchOptions, loaded func(*Config), failed func(error)) error {
	root, err := filepath.Abs(dir.Root)
	if err != nil {
		return fmt.Errorf("configuration files: %w", err)
	}
	w := &watcher{opts: *cmp.Or(opts, &WatchOptions{}), dir: dir.Path(), parent: filepath.Dir(root), name: filepath.Base(root)}
	w.opts.MaxDirs = cmp.Or(max(w.opts.MaxDirs, 0), 256)
	w.opts.Log = cmp.Or(w.opts.Log, slog.Default())
	o := &watch.Options{Quiet: w.opts.Quiet, MaxWait: w.opts.MaxWait, Poll: w.opts.Poll, Log: w.opts.Log}
	if !w.opts.WatchContents {
		// Directories other than the root's parent are watched only while everything in them counts.
		o.Only = func(dir, name string) bool { return dir != w.parent || name == w.name || name == "..data" }
	}
	load := w.opts.Load.withDefaults()
	err = watch.Dirs(ctx, w.find, o, func() {
		c, err := LoadDir(dir, &load)
		if err != nil {
			failed(err)
			return
		}
		load.Previous = c
		loaded(c)
	})
	if err != nil {
		return fmt.Errorf("configuration files: %w", err)
	}
	return nil
}

// watcher is one call of Watch.
type watcher struct {
	opts         WatchOptions
	dir          string // of the files
	parent, name string // the absolute path of the root, split

	// inPlace is set when the directory of the files was missing: until the next swap
	// of the root, changes in it trigger loads too. previous is the root at that time,
	// nil for none.
	inPlace  bool
	previous fs.FileInfo
	tooMany  bool // MaxDirs has been logged
}

// find returns the directories to watch.
func (w *watcher) find() []string {
	if w.opts.WatchContents {
		return w.tree()
	}
	root, _ := os.Lstat(filepath.Join(w.parent, w.name))
	if info, err := os.Stat(w.dir); err != nil || !info.IsDir() {
		w.inPlace, w.previous = true, root
	} else if w.inPlace && swapped(w.previous, root) {
		w.inPlace = false
	}
	if w.inPlace {
		return append(w.tree(), w.parent)
	}
	return []string{w.parent}
}

// swapped compares the root with what it was before; nil is none. A new directory is
// not a swap, because its files may be written one after the other.
func swapped(before, now fs.FileInfo) bool {
	if now == nil {
		return false
	}
	link := now.Mode()&fs.ModeSymlink != 0
	if before == nil {
		return link
	}
	// A new link may have the inode number of the one that it replaced.
	return !os.SameFile(before, now) || link && !before.ModTime().Equal(now.ModTime())
}

// tree returns the directory of the files, also if it is missing, and the directories
// below whose files are loaded: upper ones first, at most MaxDirs.
func (w *watcher) tree() []string {
	below := &walker{fsys: os.DirFS(w.dir), opts: w.opts.Load.withDefaults()}
	below.walk(false) // loading reports the faults
	paths := []string{w.dir}
	for i, d := range below.dirs {
		if i > 0 {
			paths = append(paths, filepath.Join(w.dir, d.path))
		}
	}
	if len(paths) > w.opts.MaxDirs {
		paths = paths[:w.opts.MaxDirs]
		if !w.tooMany {
			w.tooMany = true
			w.opts.Log.Warn("too many directories of configuration files: changes in some are not noticed",
				"dir", w.dir, "watched", w.opts.MaxDirs)
		}
	}
	return paths
}
