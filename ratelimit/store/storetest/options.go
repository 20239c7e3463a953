package storetest

import (
	"cmp"
	"math"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Options declare limitations of a store, and give the suite access to its clock. nil and the
// zero value claim the whole contract.
type Options struct {
	// Clock is the clock of the stores. nil means that they have none or their own, and
	// excludes the cases that set the time. Counting in windows that have ended is tested
	// anyway, and repeated if it fails so slowly that the store may have dropped them.
	Clock *Clock
	// MaxCount is the value at which counters stop instead of wrapping round.
	// Default, when 0: math.MaxUint64.
	MaxCount uint64
	// Refuses reports whether the store returns an error for the key, every time.
	// Default, when nil: it accepts all keys.
	Refuses func(key []byte) bool
	// Flush declares that additions are made after Add has returned, so that Count may be too
	// low. It returns when the store has made all additions. The suite then tests the final
	// counts, and not that each Count is returned once.
	Flush func(store ratelimit.Store)
	// NotConditional declares that the store is not a ratelimit.ConditionalStore.
	NotConditional bool
	// Subtracts declares that the store is a ratelimit.SubtractStore.
	Subtracts bool
	// Charges declares that the store is a ratelimit.ChargeStore.
	Charges bool
	// Ledgers declares that the store is a ratelimit.LedgerStore.
	Ledgers bool
	// Timeout is the time after which a call in a case counts as hanging. It must suit slow
	// machines. Default, when 0: two minutes.
	Timeout time.Duration

	short bool // fewer calls at once, and no case that waits
}

func (o *Options) orDefault() Options {
	opts := *cmp.Or(o, &Options{})
	opts.MaxCount = cmp.Or(opts.MaxCount, math.MaxUint64)
	opts.Timeout = cmp.Or(opts.Timeout, 2*time.Minute)
	if opts.Refuses == nil {
		opts.Refuses = func([]byte) bool { return false }
	}
	return opts
}

// Clock is a clock that changes only when the suite sets it.
type Clock struct{ nanos atomic.Int64 }

// NewClock returns a Clock set to the current time.
func NewClock() *Clock {
	c := new(Clock)
	c.Set(time.Now())
	return c
}

// Now returns the time of the clock: pass this method to the store.
func (c *Clock) Now() time.Time { return time.Unix(0, c.nanos.Load()) }

// Set sets the clock to t, which may be earlier than before.
func (c *Clock) Set(t time.Time) { c.nanos.Store(t.UnixNano()) }
