// Package unenforced logs why a transport does not apply its limits.
package unenforced

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// interval is the time between two warnings about the same.
const interval = time.Minute

// fixes say what to do about an error.
var fixes = map[ratelimit.ErrorKind]string{
	ratelimit.StoreFailure: "restore the counter store; Options.FailClosed refuses requests while it fails, Options.OnError replaces this warning",
	ratelimit.NotReady:     "pass rules that have the domain to Engine.Use; Options.FailClosed refuses requests until then",
	ratelimit.Invalid:      "correct the key or the descriptors of requests",
	0:                      "correct the arguments or the options",
}

// Log writes warnings to slog.Default: one a minute for each effect and kind of error. The zero
// value is ready for use, concurrently too.
type Log struct {
	mu     sync.Mutex
	logged map[string]time.Time
}

// errDomain is an unknown domain, which the engine logs.
var errDomain = errors.New("unknown domain")

// Warn logs the effect of an error on requests, the error, and what to do about it.
func (l *Log) Warn(effect string, err error) {
	if errors.Is(err, errDomain) {
		return
	}
	if fix := fixes[ratelimit.KindOf(err)]; l.due(effect + fix) {
		slog.Warn(effect, "error", err, "fix", fix)
	}
}

func (l *Log) due(cause string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.logged[cause]; ok && time.Since(at) < interval {
		return false
	}
	if l.logged == nil {
		l.logged = make(map[string]time.Time)
	}
	l.logged[cause] = time.Now()
	return true
}

// CheckDomain returns an *ratelimit.Error of kind NotReady if the engine's rules do not have the
// domain: the engine allows such requests. Call it when no limit was applied.
func CheckDomain(engine *ratelimit.Engine, domain string) error {
	if rules := engine.Rules(); rules == nil || rules.Has(domain) {
		return nil
	}
	return &ratelimit.Error{Kind: ratelimit.NotReady, Message: fmt.Sprintf("the rate limit rules have no domain %q", domain), Err: errDomain}
}
