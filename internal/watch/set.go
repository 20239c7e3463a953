package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// set watches a set of directories, some of which may be added later. A set that has
// lost a directory is stale and is replaced as a whole.
type set struct {
	dirs    []string               // sorted
	watched map[string]fs.FileInfo // those that exist and were added
	listed  int                    // entries of the watch list of notify
	lost    atomic.Bool
	notify  *fsnotify.Watcher
	done    chan struct{} // closed when receive ends
}

// newSet returns a set without watched directories. It calls signal, on a goroutine of
// its own, when an event counts.
func newSet(dirs []string, only func(dir, name string) bool, signal func()) (*set, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching directories: %w (if the system is out of watchers, raise the limit fs.inotify.max_user_instances)", err)
	}
	s := &set{dirs: dirs, notify: notify, watched: map[string]fs.FileInfo{}, done: make(chan struct{})}
	go s.receive(only, signal)
	return s, nil
}

// close ends the set. signal is not called afterwards.
func (s *set) close() {
	_ = s.notify.Close()
	<-s.done
}

func (s *set) receive(only func(dir, name string) bool, signal func()) {
	defer close(s.done)
	for events, errs := s.notify.Events, s.notify.Errors; events != nil; {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if s.counts(e, only) {
				signal()
			}
		case _, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			s.lost.Store(true) // events or directories may have been lost
			signal()
		}
	}
}

func (s *set) counts(e fsnotify.Event, only func(dir, name string) bool) bool {
	path := filepath.Clean(e.Name)
	if s.has(path) && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) {
		s.lost.Store(true)
		return true
	}
	dir, name := filepath.Dir(path), filepath.Base(path)
	if !s.has(dir) {
		dir, name = path, "."
	}
	return only == nil || only(dir, name)
}

func (s *set) has(dir string) bool {
	_, found := slices.BinarySearch(s.dirs, dir)
	return found
}

// add watches a directory.
func (s *set) add(dir string) error {
	before, err := statDir(dir)
	if err != nil {
		return err
	}
	switch err := s.notify.Add(dir); {
	case errors.Is(err, syscall.ENOSPC): // the error itself speaks of disk space
		return fmt.Errorf("%s: out of watches, raise the limit fs.inotify.max_user_watches: %w", dir, err)
	case err != nil:
		return fmt.Errorf("%s: %w", dir, err)
	}
	s.watched[dir] = before
	s.listed = len(s.notify.WatchList())
	if after, err := statDir(dir); err != nil || !os.SameFile(before, after) {
		s.lost.Store(true) // it was replaced meanwhile
	}
	return nil
}

func statDir(dir string) (fs.FileInfo, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: not a directory", dir)
	}
	return info, err
}

// stale reports whether a watched directory was removed or replaced.
func (s *set) stale() bool {
	if s.lost.Load() || len(s.notify.WatchList()) < s.listed {
		return true
	}
	for dir, before := range s.watched {
		if now, err := statDir(dir); err != nil || !os.SameFile(before, now) {
			return true
		}
	}
	return false
}
