// Package logtest records the log of what a test runs.
package logtest

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
)

// Log records lines. The zero value is empty. Its methods may be called concurrently: a test can
// read the log while it grows.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Logger returns a logger that writes its records to the log, each a line of key=value pairs.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// Write appends to the log, such as the output of a process.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns what has been logged so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Count returns the number of times that a text has been logged so far.
func (l *Log) Count(text string) int { return strings.Count(l.String(), text) }
