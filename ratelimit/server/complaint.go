package server

import (
	"sync"
	"time"
)

// complaint keeps a flood of failures from becoming a flood of lines: one a second is
// logged, with how many were not.
type complaint struct {
	mu   sync.Mutex
	next time.Time
	held int
}

// due reports whether a failure at this time is to be logged, and how many were held
// back since the last that was.
func (c *complaint) due(now time.Time) (held int, due bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Before(c.next) {
		c.held++
		return 0, false
	}
	held, c.held = c.held, 0
	c.next = now.Add(time.Second)
	return held, true
}
