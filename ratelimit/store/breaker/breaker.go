package breaker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/internal/backoff"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// ErrOpen is returned while the breaker is open. The store was not called.
var ErrOpen = errors.New("the counter store is failing; calls to it are suspended for a moment")

// State is the state of a Breaker.
type State uint32

// The states. Their numbers are the values of a gauge.
const (
	Closed   State = 0 // calls reach the store
	Open     State = 1 // calls fail
	HalfOpen State = 2 // one call probes the store, the others fail
)

// String returns "closed", "open" or "half-open".
func (s State) String() string {
	return [...]string{"closed", "open", "half-open"}[min(s, HalfOpen)]
}

// Evidence is for how long calls must fail before a breaker opens.
const Evidence = 250 * time.Millisecond

// Options configures a Breaker. The zero value, like nil, means the documented defaults.
type Options struct {
	// Failures is how many calls must have failed at least to open the breaker. Default: 3.
	Failures int
	// Wait is how long the breaker is open before the first probe. After each probe that
	// fails the wait is doubled, up to MaxWait, and up to a quarter of it is removed at
	// random. Defaults: 10 milliseconds and one second.
	Wait, MaxWait time.Duration
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Log receives a record when the breaker opens and closes. Default: slog.Default().
	Log *slog.Logger
}

// Breaker stops calls to a store that is failing. It is safe for concurrent use.
type Breaker struct {
	opts  Options
	store ratelimit.Store // the store behind the breaker

	state     atomic.Uint32
	suspected atomic.Bool // calls have failed
	refused   atomic.Uint64
	opened    atomic.Uint64

	mu              sync.Mutex // held to open and to close
	calls, failures int        // since then, while suspected
	since           time.Time
	probes          int       // that have failed
	until           time.Time // while open
}

// New returns a closed Breaker for a store; see Breaker.Store. opts may be nil.
func New(store ratelimit.Store, opts *Options) *Breaker {
	b := &Breaker{}
	if opts != nil {
		b.opts = *opts
	}
	o := &b.opts
	o.Failures = cmp.Or(max(o.Failures, 0), 3)
	o.Wait = cmp.Or(max(o.Wait, 0), 10*time.Millisecond)
	o.MaxWait = max(cmp.Or(max(o.MaxWait, 0), time.Second), o.Wait)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	b.store = &guardedStore{store, b}
	if c, ok := store.(ratelimit.ConditionalStore); ok {
		b.store = &guardedConditionalStore{guardedStore{store, b}, c}
	}
	return b
}

// Store returns the store with the breaker in front. It is a ratelimit.ConditionalStore
// if the store given to New is one.
func (b *Breaker) Store() ratelimit.Store { return b.store }

// State returns the current state.
func (b *Breaker) State() State { return State(b.state.Load()) }

// Refused returns how many calls have failed with ErrOpen.
func (b *Breaker) Refused() uint64 { return b.refused.Load() }

// Opened returns how often the breaker has changed from closed to open.
func (b *Breaker) Opened() uint64 { return b.opened.Load() }

// allow returns nil if a call may be made, and whether it is a probe.
func (b *Breaker) allow() (probe bool, err error) {
	if b.State() == Closed {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.State() {
	case Closed:
		return false, nil
	case Open:
		if !b.opts.Now().Before(b.until) {
			b.state.Store(uint32(HalfOpen))
			return true, nil
		}
	}
	b.refused.Add(1)
	return false, ErrOpen
}

// record counts the result of a call.
func (b *Breaker) record(ctx context.Context, probe bool, err error) {
	switch {
	case err == nil && !probe:
		if b.suspected.Load() {
			b.succeeded()
		}
	case err == nil:
		b.close()
	case !storeFailure(ctx, err):
		if probe {
			b.state.Store(uint32(Open)) // the wait is over: the next call probes again
		}
	case probe:
		b.reopen(err)
	default:
		b.failed(err)
	}
}

// storeFailure reports whether an error is evidence of a failing store. It is not if the
// caller gave up (a store may return the cause that the caller gave), if the request is
// invalid, and if the store was not asked because of too many local calls.
func storeFailure(ctx context.Context, err error) bool {
	return !errors.Is(err, context.Canceled) && !errors.Is(ctx.Err(), context.Canceled) &&
		ratelimit.KindOf(err) != ratelimit.Invalid &&
		!errors.Is(err, ratelimit.ErrOverloaded) && !errors.Is(err, errors.ErrUnsupported)
}

// succeeded counts a call beside others that fail.
func (b *Breaker) succeeded() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls++; 2*b.failures < b.calls && b.opts.Now().Sub(b.since) >= Evidence {
		b.clear()
	}
}

// failed counts a call, and opens a closed breaker if that is enough evidence.
func (b *Breaker) failed(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.State() != Closed {
		return
	}
	now := b.opts.Now()
	if b.failures == 0 {
		b.since = now
		b.suspected.Store(true)
	}
	b.calls++
	b.failures++
	if now.Sub(b.since) < Evidence || b.failures < b.opts.Failures {
		return
	}
	calls, failures := b.calls, b.failures
	b.clear()
	if 2*failures < calls {
		return
	}
	b.opened.Add(1)
	b.opts.Log.Warn("the counter store is failing; calls to it are suspended", "err", err)
	b.probes = 0
	b.suspend()
}

// clear discards the evidence. The mutex is held.
func (b *Breaker) clear() {
	b.calls, b.failures = 0, 0
	b.suspected.Store(false)
}

func (b *Breaker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Store(uint32(Closed))
	b.opts.Log.Info("the counter store responds again")
}

func (b *Breaker) reopen(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probes++
	wait := b.suspend()
	b.opts.Log.Debug("the counter store is still failing", "err", err, "next_probe_in", wait)
}

// suspend opens the breaker until the next probe. The mutex is held.
func (b *Breaker) suspend() (wait time.Duration) {
	wait = backoff.Backoff{Initial: b.opts.Wait, Max: b.opts.MaxWait, Jitter: 0.25}.Wait(b.probes)
	b.until = b.opts.Now().Add(wait)
	b.state.Store(uint32(Open))
	return wait
}

// guardedStore is a store behind a breaker.
type guardedStore struct {
	inner ratelimit.Store
	b     *Breaker
}

// Add implements ratelimit.Store. It may return ErrOpen.
func (g *guardedStore) Add(ctx context.Context, hits []ratelimit.Hit) error {
	return call(ctx, g.b, hits, g.inner.Add)
}

// Subtract implements ratelimit.SubtractStore. It may return ErrOpen, and returns
// errors.ErrUnsupported if the inner store is no SubtractStore.
func (g *guardedStore) Subtract(ctx context.Context, hits []ratelimit.Hit) error {
	inner, ok := g.inner.(ratelimit.SubtractStore)
	if !ok {
		return errors.ErrUnsupported
	}
	return call(ctx, g.b, hits, inner.Subtract)
}

// Take implements ratelimit.TakeStore. It may return ErrOpen, and returns
// errors.ErrUnsupported if the inner store is no TakeStore. Without takes the breaker does not
// matter: the state of a store says nothing of what it can do.
func (g *guardedStore) Take(ctx context.Context, takes []ratelimit.Take) error {
	inner, ok := g.inner.(ratelimit.TakeStore)
	switch {
	case !ok:
		return errors.ErrUnsupported
	case len(takes) == 0:
		return inner.Take(ctx, nil)
	}
	return call(ctx, g.b, takes, inner.Take)
}

// guardedConditionalStore is a conditional store behind a breaker.
type guardedConditionalStore struct {
	guardedStore
	inner ratelimit.ConditionalStore
}

// AddUnlessOver implements ratelimit.ConditionalStore. It may return ErrOpen.
func (g *guardedConditionalStore) AddUnlessOver(ctx context.Context, hits []ratelimit.Hit) error {
	return call(ctx, g.b, hits, g.inner.AddUnlessOver)
}

var errPanicked = errors.New("the store panicked")

// call calls a method of the store if the breaker allows it. A panic counts as a failure.
func call[T any](ctx context.Context, b *Breaker, list []T, method func(context.Context, []T) error) (err error) {
	probe, err := b.allow()
	if err != nil {
		return err
	}
	err = errPanicked
	defer func() { b.record(ctx, probe, err) }()
	err = method(ctx, list)
	return err
}
