package replay

import (
	"context"
	"slices"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// state is the state of a limit that is no fixed window.
type state struct {
	ratelimit.State
	expires int64 // Unix microseconds
}

// minSweep is the least number of states with which those that have expired are dropped.
const minSweep = 1000

// Take implements ratelimit.TakeStore. It lets pass all hits under limits of concurrency: a log does
// not tell when requests end. The error is always nil.
func (c *counters) Take(_ context.Context, takes []ratelimit.Take) error {
	for i := range takes {
		t := &takes[i]
		if t.Algorithm == ratelimit.Concurrency {
			t.Taken, t.State = true, ratelimit.State{}
			continue
		}
		k := c.id(t.Key)
		s, known := c.states[k]
		if t.Apply(&s.State); !known && (t.N == 0 || !t.Taken) {
			continue
		}
		s.expires = t.Expires()
		c.states[k] = s
		if known {
			continue
		}
		c.n += stateCost
		if len(c.states) > c.sweep {
			c.dropExpired()
		}
		if c.n > c.max {
			c.shrink()
		}
	}
	return nil
}

// dropExpired drops the states that are as good as none, also for lines that are late. Their
// number must double before it is called again, so that it costs little.
func (c *counters) dropExpired() {
	for k, s := range c.states {
		if s.expires/1e6+keepEnded < c.newest {
			delete(c.states, k)
			c.n -= stateCost
		}
	}
	c.sweep = max(2*len(c.states), minSweep)
}

// shrinkStates drops the half of the states that expire first, if there are too many counters.
func (c *counters) shrinkStates() {
	if c.n <= c.max/2 || len(c.states) == 0 {
		return
	}
	c.dropExpired()
	all := make([]int64, 0, len(c.states))
	for _, s := range c.states {
		all = append(all, s.expires)
	}
	slices.Sort(all)
	for k, s := range c.states {
		if c.n > c.max/2 && s.expires <= all[len(all)/2] {
			delete(c.states, k)
			c.n -= stateCost
			c.dropped++
		}
	}
	c.sweep = max(2*len(c.states), minSweep)
}
