// Package unenforced logs why a transport does not apply its limits.
package unenforced

import (
	"log/slog"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// fixes say what to do about an error.
var fixes = map[ratelimit.ErrorKind]string{
	ratelimit.StoreFailure: "restore the counter store; Options.FailClosed refuses requests while it fails, Options.OnError replaces this warning",
	ratelimit.NotReady:     "activate rules with Engine.Use; Options.FailClosed refuses requests until then",
	ratelimit.Invalid:      "correct the key or the descriptors of requests",
	0:                      "correct the arguments or the options",
}

// Log writes warnings to slog.Default: one a minute for each effect and kind of error. The zero
// value is ready for use, concurrently too.
type Log struct {
	mu     sync.Mutex
	logged map[string]time.Time
}

// Warn logs the effect of an error on requests, the error, and what to do about it.
func (l *Log) Warn(effect string, err error) {
	if fix := fixes[ratelimit.KindOf(err)]; l.due(effect + fix) {
		slog.Warn(effect, "error", err, "fix", fix)
	}
}

func (l *Log) due(cause string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.logged[cause]) < time.Minute {
		return false
	}
	if l.logged == nil {
		l.logged = make(map[string]time.Time)
	}
	l.logged[cause] = time.Now()
	return true
}
