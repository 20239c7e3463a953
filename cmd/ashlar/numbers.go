package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// systems are the systems whose numbers the landing page shows.
type systems struct {
	limits  *limits
	network *network
	books   *books

	mu           sync.Mutex
	before, last reading
}

// reading is the number of limits decided until a time.
type reading struct {
	at      time.Time
	decided uint64
}

// numbers describe the content and the work of the systems.
type numbers struct {
	Devices          int64
	Books            int
	Decided, Refused uint64
	Rate             string // decisions a second
}

// minInterval is the minimum time between two readings: pages may ask more often.
const minInterval = time.Second

// numbers reads the numbers. Those that can't be read are 0.
func (s *systems) numbers(ctx context.Context, now time.Time) *numbers {
	n := &numbers{Books: s.books.count(ctx)}
	n.Devices, _ = s.network.count(ctx) // ignore the error: the inventory reports it
	n.Decided, n.Refused = s.limits.decided()
	n.Rate = s.rate(now, n.Decided)
	return n
}

// rate returns the decisions a second between the last two readings.
func (s *systems) rate(now time.Time, decided uint64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.last.at) >= minInterval {
		s.before, s.last = s.last, reading{now, decided}
	}
	if s.before.at.IsZero() {
		return "0"
	}
	rate := float64(s.last.decided-s.before.decided) / s.last.at.Sub(s.before.at).Seconds()
	if rate > 0 && rate < 10 {
		return fmt.Sprintf("%.1f", rate)
	}
	return fmt.Sprintf("%.0f", rate)
}
