package ratelimit

import (
	"strconv"
	"sync/atomic"
	"time"
)

// clock tells the second it is, and what follows from that for every unit. All of
// it is worked out once a second and then read by everybody: reading the system's
// clock can cost as much as all the rest of a decision.
type clock struct {
	now     func() time.Time // nil for the system's
	current atomic.Pointer[tick]
}

// tick is one second.
type tick struct {
	now   int64 // Unix seconds
	units [len(unitTable)]unitTick
}

// unitTick is where a second lies in the windows of one unit.
type unitTick struct {
	window int64  // start of the window
	reset  uint32 // seconds until its end
	text   string // an underscore and window in decimal: the end of a counter's key
}

// read returns the current second. With the system's clock, that is the one which
// a timer has not yet declared to be over; the timer may be late by as much as the
// scheduler is, some milliseconds on a busy machine, and by up to a second where
// somebody sets the clock. Windows then begin that much late and are whole all the
// same, since every hit carries its window.
func (c *clock) read() *tick {
	t := c.current.Load()
	if c.now == nil {
		if t == nil {
			t = c.refresh()
		}
		return t
	}
	if now := c.now().Unix(); t == nil || t.now != now {
		t = newTick(now)
		c.current.Store(t)
	}
	return t
}

// refresh reads the system's clock and sets the timer that ends the second. There
// is a timer only while decisions are asked for, and never more than one.
func (c *clock) refresh() *tick {
	t := newTick(time.Now().Unix())
	if c.current.CompareAndSwap(nil, t) {
		rest := min(time.Until(time.Unix(t.now+1, 0)), time.Second) // less if the clock is set back just now
		time.AfterFunc(rest, func() { c.current.Store(nil) })
	}
	return t
}

func newTick(now int64) *tick {
	t := &tick{now: now}
	for u := Second; u.Valid(); u++ {
		w := u.Window(now)
		t.units[u] = unitTick{
			window: w,
			reset:  uint32(u.Seconds() - (now - w)),
			text:   "_" + strconv.FormatInt(w, 10),
		}
	}
	return t
}
