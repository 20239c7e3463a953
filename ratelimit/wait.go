package ratelimit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// maxAhead is how long before its time a hit of a token bucket is charged, so that callers of several processes
// pass in the order in which they came. Stores keep states for longer, and none takes them for those of
// a clock that is ahead.
const maxAhead = time.Second

// Wait counts one hit on key as soon as the limit lets it pass, and returns nil then. See [Limiter.WaitN].
func (l *Limiter) Wait(ctx context.Context, key string) error { return l.WaitN(ctx, key, 1) }

// WaitN counts n hits at once as soon as the limit lets them pass, and returns nil then. Callers of one Limiter pass in
// the order in which they came, for each key. Those of several processes, whose token bucket is in a shared store,
// do so too where hits are at most a second apart, and take turns otherwise.
//
// It returns an error if ctx ends first, and at once if its deadline is before the hits would pass, which wraps
// context.DeadlineExceeded: nothing is counted then. The error is an *Error of kind Invalid if n is more than the
// limit ever lets pass, or the Algorithm is Concurrency, whose permits [Limiter.AllowInto] hands out. Other errors
// are those of [Limiter.Allow]. Statistics count hits that had to wait as over the limit too.
func (l *Limiter) WaitN(ctx context.Context, key string, n uint64) error {
	if _, err := l.canWait(n); err != nil {
		return err
	}
	if err := l.line.enter(ctx, key); err != nil {
		return waitError(key, err)
	}
	rest, err := l.pass(ctx, key, n)
	l.line.leave(key) // the hits are counted, though their time may not have come
	if err != nil || rest <= 0 {
		return err
	}
	if err := sleep(ctx, rest); err != nil {
		_ = l.Refund(context.WithoutCancel(ctx), key, n)
		return waitError(key, err)
	}
	return nil
}

// pass waits until the hits pass, or are charged for a time that is the returned duration ahead.
func (l *Limiter) pass(ctx context.Context, key string, n uint64) (time.Duration, error) {
	for ahead := time.Duration(0); ; {
		inAdvance, err := l.canWait(n) // the limit may have been replaced
		if err != nil {
			return 0, err
		}
		s, err := l.allow(ctx, key, n, ahead)
		if err != nil || s.Code != OverLimit {
			return ahead, err
		}
		wait := ahead + max(s.RetryAfter(), time.Millisecond)
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return 0, waitError(key, errLate(wait))
		}
		ahead = 0
		switch {
		case !inAdvance:
		case wait <= maxAhead:
			ahead = wait
			continue
		default:
			wait -= maxAhead
		}
		l.line.extend(key, time.Now().Add(wait))
		if err := sleep(ctx, wait); err != nil {
			return 0, waitError(key, err)
		}
	}
}

// canWait returns an error if n hits never pass, and reports whether they can be charged before their time.
func (l *Limiter) canWait(n uint64) (inAdvance bool, err error) {
	rule := l.active.Load().rule
	most, algorithm := uint64(rule.requests), FixedWindow
	if rule.charging {
		most, algorithm = uint64(rule.limit.charge.capacity), rule.limit.charge.algorithm
	}
	switch {
	case algorithm.HasPermits():
		err = &Error{Kind: Invalid, Message: "a limit of concurrency can't be waited for: use AllowInto and Release"}
	case n > most && !rule.unlimited:
		err = &Error{Kind: Invalid, Message: fmt.Sprintf("%d hits never pass a limit that lets %d pass at once", n, most)}
	}
	return algorithm == TokenBucket && !rule.limit.charge.reserves, err
}

func waitError(key string, err error) error {
	return fmt.Errorf("ratelimit: waiting for hits on %.100q: %w", key, err)
}

func errLate(wait time.Duration) error {
	return fmt.Errorf("they pass in %v, which is after the deadline: %w", wait, context.DeadlineExceeded)
}

// sleep returns the error of ctx if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// line has those that wait for a turn, for each key. The zero value is ready for use.
type line struct {
	mu   sync.Mutex
	keys map[string]*turns
}

// turns are those of one key.
type turns struct {
	behind []chan struct{} // the callers behind the one whose turn it is
	until  time.Time       // when the turn ends, if that is known
}

// enter waits for the turn of the caller, who ends it with leave.
func (l *line) enter(ctx context.Context, key string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.mu.Lock()
	t := l.keys[key]
	if t == nil {
		if l.keys == nil {
			l.keys = make(map[string]*turns)
		}
		l.keys[key] = new(turns)
		l.mu.Unlock()
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(t.until) {
		l.mu.Unlock()
		return errLate(time.Until(t.until))
	}
	turn := make(chan struct{})
	t.behind = append(t.behind, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	i := slices.Index(t.behind, turn)
	if i >= 0 {
		t.behind = slices.Delete(t.behind, i, i+1)
	}
	l.mu.Unlock()
	if i < 0 { // its turn has come nevertheless
		l.leave(key)
	}
	return context.Cause(ctx)
}

// extend notes when the turn ends.
func (l *line) extend(key string, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys[key].until = until
}

// leave gives the turn to the next in line.
func (l *line) leave(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.keys[key]
	if len(t.behind) == 0 {
		delete(l.keys, key)
		return
	}
	close(t.behind[0])
	t.behind = slices.Delete(t.behind, 0, 1)
}
