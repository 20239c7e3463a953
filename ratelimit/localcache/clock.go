package localcache

import (
	"sync/atomic"
	"time"
)

// clock is the time as the cache wants it.
type clock struct {
	nano func() int64 // since 1970
	// last is the second that was read last. Every look-up reads the time, so
	// it is good enough to stamp entries with, and saves reading the time again.
	last atomic.Int64
}

// newClock reads the time through opts.Now. Without one it counts from the start:
// that takes half the time of reading the wall clock, and is not thrown when that
// is set.
func newClock(opts *Options) *clock {
	start := time.Now()
	c := &clock{nano: func() int64 { return start.UnixNano() + int64(time.Since(start)) }}
	if opts != nil && opts.Now != nil {
		now := opts.Now
		c.nano = func() int64 { return now().UnixNano() }
	}
	c.NowNano()
	return c
}

// NowNano is the time in nanoseconds since 1970.
func (c *clock) NowNano() int64 {
	n := c.nano()
	// Stored only when it changes, so that cores do not fight over the line.
	if s := n / int64(time.Second); s != c.last.Load() {
		c.last.Store(s)
	}
	return n
}

// Tick returns nil: no ticks, and so no goroutine that waits for them.
func (c *clock) Tick(time.Duration) <-chan time.Time { return nil }

// second is the Unix second that was read last.
func (c *clock) second() int64 { return c.last.Load() }
