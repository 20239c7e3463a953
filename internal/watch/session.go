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

// session is one set of directories and the notices about them. A directory of the
// set may come under watch later. Once one has been lost the session is stale, and
// is to be replaced: what the library keeps of a watch that ended is not relied on.
type session struct {
	dirs    []string               // as asked for: sorted
	under   map[string]fs.FileInfo // those under watch
	listed  map[string]bool        // those that the library lists; one of two names of a directory is not
	lost    atomic.Bool
	notices *fsnotify.Watcher
	only    func(dir, name string, op Op) bool
	ended   chan struct{} // the goroutine has
}

// newSession starts a session that calls mark when something counts. No directory is
// under watch yet.
func newSession(dirs []string, only func(dir, name string, op Op) bool, mark func()) (*session, error) {
	notices, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching directories: the system gives no notices of changes: %w (if it is out of them, raise the limit fs.inotify.max_user_instances)", err)
	}
	s := &session{
		dirs: dirs, only: only, notices: notices,
		under: map[string]fs.FileInfo{}, listed: map[string]bool{}, ended: make(chan struct{}),
	}
	go s.receive(mark)
	return s, nil
}

// close ends the session. mark is not called any more when it returns.
func (s *session) close() {
	_ = s.notices.Close()
	<-s.ended
}

// receive has a goroutine of its own, because the library holds its lock while an
// error waits to be received: whoever called into it then would wait for ever.
func (s *session) receive(mark func()) {
	defer close(s.ended)
	events, errs := s.notices.Events, s.notices.Errors
	for events != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if s.counts(e) {
				mark()
			}
		case _, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			// Notices were dropped, or a watch was: anything may have happened.
			s.lost.Store(true)
			mark()
		}
	}
}

func (s *session) counts(e fsnotify.Event) bool {
	path := filepath.Clean(e.Name)
	if s.asked(path) && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) {
		s.lost.Store(true)
		return true
	}
	dir, name := filepath.Dir(path), filepath.Base(path)
	if !s.asked(dir) {
		dir, name = path, "."
	}
	return s.only == nil || s.only(dir, name, Op(e.Op))
}

func (s *session) asked(dir string) bool {
	_, found := slices.BinarySearch(s.dirs, dir)
	return found
}

func (s *session) has(dir string) bool { return s.under[dir] != nil }

// attach puts a directory under watch that is not yet. The error names it.
func (s *session) attach(dir string) error {
	before, err := lookUp(dir)
	if err != nil {
		return err
	}
	if err := s.notices.Add(dir); err != nil {
		return fmt.Errorf("%s: %w%s", dir, err, hint(err))
	}
	s.under[dir] = before
	s.listed[dir] = slices.Contains(s.notices.WatchList(), dir)
	if after, err := lookUp(dir); err != nil || !os.SameFile(before, after) {
		s.lost.Store(true) // it was swapped in between: who knows which is watched
	}
	return nil
}

func lookUp(dir string) (fs.FileInfo, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: it is not a directory", dir)
	}
	return info, err
}

// hint says what to do about the one error whose text misleads.
func hint(err error) string {
	if errors.Is(err, syscall.ENOSPC) {
		return " (out of watches, not of disk space: raise the limit fs.inotify.max_user_watches)"
	}
	return ""
}

// stale reports whether a directory under watch is there no more, is another one
// now, or is not watched any more.
func (s *session) stale() bool {
	if s.lost.Load() {
		return true
	}
	listed := map[string]bool{}
	for _, dir := range s.notices.WatchList() {
		listed[dir] = true
	}
	for dir, before := range s.under {
		now, err := lookUp(dir)
		if err != nil || !os.SameFile(before, now) || s.listed[dir] && !listed[dir] {
			return true
		}
	}
	return false
}
