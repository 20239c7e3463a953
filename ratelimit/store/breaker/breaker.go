package breaker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// ErrOpen is a call that was not made.
var ErrOpen = errors.New("the counter store does not answer; calls to it are held off for a moment")

// State is what a breaker does with calls.
type State uint32

// The states. The numbers are those of a gauge.
const (
	Closed   State = 0 // calls are made
	Open     State = 1 // calls fail
	HalfOpen State = 2 // one call is being made, the others fail
)

// String is the state's name.
func (s State) String() string {
	return [...]string{"closed", "open", "half-open"}[min(s, HalfOpen)]
}

// Options are the choices of a Breaker. A nil *Options is the zero one.
type Options struct {
	// Failures is how many in a row open the breaker. Default, when 0: 10.
	Failures int
	// Wait is how long the breaker is open before the first probe, and MaxWait bounds
	// the waits that follow, each twice as long as the one before. Defaults, when 0: one
	// second and ten.
	Wait, MaxWait time.Duration
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Log is told when the breaker opens and closes. Default: slog.Default().
	Log *slog.Logger
}

// Breaker holds calls off a store that does not answer. Any number of goroutines may
// use it.
type Breaker struct {
	opts Options

	state    atomic.Uint32
	failures atomic.Uint32 // in a row, while closed
	refused  atomic.Uint64
	opened   atomic.Uint64

	mu    sync.Mutex // held to leave a state
	wait  time.Duration
	until time.Time // while open
}

// New puts a Breaker before inner. The store returned is a ratelimit.ConditionalStore
// just if inner is one. opts may be nil.
func New(inner ratelimit.Store, opts *Options) (ratelimit.Store, *Breaker) {
	b := &Breaker{}
	if opts != nil {
		b.opts = *opts
	}
	o := &b.opts
	o.Failures = min(cmp.Or(max(o.Failures, 0), 10), math.MaxInt32) // what is compared fits
	o.Wait = cmp.Or(max(o.Wait, 0), time.Second)
	o.MaxWait = max(cmp.Or(max(o.MaxWait, 0), 10*time.Second), o.Wait)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if c, ok := inner.(ratelimit.ConditionalStore); ok {
		return &conditional{guarded{inner, b}, c}, b
	}
	return &guarded{inner, b}, b
}

// State is what the breaker does with calls at present.
func (b *Breaker) State() State { return State(b.state.Load()) }

// Refused is how many calls have failed with ErrOpen.
func (b *Breaker) Refused() uint64 { return b.refused.Load() }

// Opened is how often the breaker has opened, without the probes that failed.
func (b *Breaker) Opened() uint64 { return b.opened.Load() }

// enter reports whether a call may be made, and whether it is a probe.
func (b *Breaker) enter() (probe bool, err error) {
	if State(b.state.Load()) == Closed {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch State(b.state.Load()) {
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

// leave takes the outcome of a call that was made.
func (b *Breaker) leave(ctx context.Context, probe bool, err error) {
	switch {
	case err != nil && !tells(ctx, err):
		if probe { // which has told nothing: the next call is one again
			b.again()
		}
	case err == nil && !probe:
		if b.failures.Load() != 0 {
			b.failures.Store(0)
		}
	case err == nil:
		b.closeNow()
	case probe:
		b.openFor(min(2*b.wait, b.opts.MaxWait), err)
	default:
		if b.failures.Add(1) >= uint32(b.opts.Failures) {
			b.openFirst(err)
		}
	}
}

// tells reports whether an error says something about the store. A caller that has given
// up may have named a cause, and then the error may be that.
func tells(ctx context.Context, err error) bool {
	givenUp := errors.Is(err, context.Canceled) || errors.Is(ctx.Err(), context.Canceled)
	return !givenUp && ratelimit.KindOf(err) != ratelimit.Invalid
}

func (b *Breaker) again() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.Store(uint32(Open)) // until has passed
}

func (b *Breaker) closeNow() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures.Store(0)
	b.state.Store(uint32(Closed))
	b.opts.Log.Info("the counter store answers again")
}

// openFirst opens a closed breaker. Of many calls that fail at the same time one does.
func (b *Breaker) openFirst(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if State(b.state.Load()) == Closed && b.failures.Load() >= uint32(b.opts.Failures) {
		b.opened.Add(1)
		b.opts.Log.Warn("the counter store does not answer; calls to it are held off", "err", err)
		b.open(b.opts.Wait)
	}
}

func (b *Breaker) openFor(wait time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opts.Log.Debug("the counter store still does not answer", "err", err, "next_probe_in", wait)
	b.open(wait)
}

func (b *Breaker) open(wait time.Duration) {
	b.wait = wait
	b.until = b.opts.Now().Add(wait)
	b.state.Store(uint32(Open))
}

// guarded is a store behind a breaker.
type guarded struct {
	inner ratelimit.Store
	b     *Breaker
}

// Add is inner's, or fails with ErrOpen.
func (g *guarded) Add(ctx context.Context, hits []ratelimit.Hit) error {
	return g.call(ctx, func() error { return g.inner.Add(ctx, hits) })
}

// call makes a call if the breaker lets it. A panic counts as a failure.
func (g *guarded) call(ctx context.Context, add func() error) (err error) {
	probe, err := g.b.enter()
	if err != nil {
		return err
	}
	err = errPanicked
	defer func() { g.b.leave(ctx, probe, err) }()
	err = add()
	return err
}

var errPanicked = errors.New("the store panicked")

// conditional is a guarded store that can decide for all hits of a request.
type conditional struct {
	guarded
	inner ratelimit.ConditionalStore
}

// AddUnlessOver is inner's, or fails with ErrOpen.
func (c *conditional) AddUnlessOver(ctx context.Context, hits []ratelimit.Hit) error {
	return c.call(ctx, func() error { return c.inner.AddUnlessOver(ctx, hits) })
}
