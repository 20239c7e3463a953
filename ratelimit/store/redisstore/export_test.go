package redisstore

import (
	"context"
	"log/slog"
	"time"
)

// Waiting returns how many calls wait for a pipeline.
func (s *Store) Waiting() int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return len(s.queue.calls)
}

// Idle reports whether there is nothing to do.
func (s *Store) Idle() bool {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.queue.workers == 0
}

// OneRunning reports whether one pipeline is running and no call waits for another.
func (s *Store) OneRunning() bool {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.queue.workers == 1 && len(s.queue.calls) == 0
}

// LibraryLog is what SetLogger gives to the library.
func LibraryLog(log *slog.Logger) interface {
	Printf(ctx context.Context, format string, args ...any)
} {
	return libraryLog{log}
}

// WrongBy makes the clock of the machine wrong.
func (s *shared) WrongBy(d time.Duration) {
	s.clock.local = func() time.Time { return time.Now().Add(d) }
}
