package storetest

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Options declare what a store can't do, and let the suite drive what it needs.
// The zero value, like nil, claims the whole contract.
type Options struct {
	// Clock is the clock the stores were opened with. Nil means that the stores
	// have none or keep their own, and leaves out the cases that move time; that the
	// store counts in windows that are over is tested all the same, and again if it fails
	// so slowly that the store may have let go of them.
	Clock *Clock
	// MaxCount is where counters stop instead of wrapping round.
	// Default, when 0: math.MaxUint64.
	MaxCount uint64
	// Refuses reports that the store can't count the key and returns an error for
	// it, every time. Default, when nil: it takes all keys.
	Refuses func(key []byte) bool
	// Settle declares that additions are made after Add has returned, so that Count
	// may lag behind. It returns when all of the store's are done. The suite then
	// tests the counts that are reached in the end, and the ranks not at all.
	Settle func(store ratelimit.Store)
	// NotConditional declares that the store is no ratelimit.ConditionalStore.
	NotConditional bool
	// Subtracts declares that the store is a ratelimit.SubtractStore.
	Subtracts bool
	// Patience is how long a case may take before a call of it is held to hang: a slow
	// machine must not be taken for a store that hangs. Default, when 0: two minutes.
	Patience time.Duration
}

func (o *Options) orDefault() Options {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.MaxCount == 0 {
		opts.MaxCount = math.MaxUint64
	}
	if opts.Refuses == nil {
		opts.Refuses = func([]byte) bool { return false }
	}
	if opts.Patience == 0 {
		opts.Patience = 2 * time.Minute
	}
	return opts
}

// Clock is a clock that the suite drives. It stands still in between.
type Clock struct{ nanos atomic.Int64 }

// NewClock returns a Clock that shows the present.
func NewClock() *Clock {
	c := new(Clock)
	c.Set(time.Now())
	return c
}

// Now is what the clock shows: hand this method to the store.
func (c *Clock) Now() time.Time { return time.Unix(0, c.nanos.Load()) }

// Set makes the clock show t, be it earlier or later than before.
func (c *Clock) Set(t time.Time) { c.nanos.Store(t.UnixNano()) }
