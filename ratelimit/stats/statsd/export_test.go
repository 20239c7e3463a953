package statsd

import (
	"context"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// Flush flushes once, without waiting after a failure.
func (s *Sink) Flush() {
	s.retryAt = time.Time{}
	s.flush(context.Background(), false)
}

// Retained returns how many counters and gauges a sink stores.
func (s *Sink) Retained() int { return len(s.deltas.counters) + len(s.deltas.gauges) }

// MaxForgotten is the number of forgotten counters that a sink stores at most.
const MaxForgotten = maxForgotten

// Close closes the connection of Flush.
func (s *Sink) Close() { s.transport.close() }

// AwaitRefusal waits on a port that was refused before.
func AwaitRefusal(wait time.Duration) error {
	c := &conn{ended: make(chan struct{})}
	close(c.ended)
	return c.awaitRefusal(wait)
}

// PlainLine and AgentLine return the line of a counter at 7, or nothing if it is too
// long.
func PlainLine(name string, tags []stats.Tag) string { return counterLine(plain{tags: tags}, name) }

func AgentLine(name string, tags []stats.Tag, mogrifiers []Mogrifier) string {
	a := &agent{tags: tags}
	for i := range mogrifiers {
		m, err := mogrifiers[i].compile()
		if err != nil {
			panic(err)
		}
		a.mogrifiers = append(a.mogrifiers, m)
	}
	return counterLine(a, name)
}

func counterLine(f format, name string) string {
	l, ok := labelOf(f, name)
	if !ok {
		return ""
	}
	return string(f.line(nil, sample{label: l, kind: counterKind, value: 7, rate: 1}))
}

// SetWriteTimeout limits how long a flush waits for a daemon that does not read.
func (s *Sink) SetWriteTimeout(d time.Duration) *Sink {
	s.transport.(*conn).timeout = d
	return s
}
