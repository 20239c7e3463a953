package statsd

import (
	"context"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// Flush flushes once, at once, without Run.
func (s *Sink) Flush() { s.flush(context.Background(), true) }

// Remembered is how many counters and gauges a sink remembers.
func (s *Sink) Remembered() int { return len(s.flusher.ledger.counters) + len(s.flusher.ledger.gauges) }

// MaxOrphans is how many forgotten counters it remembers at most.
const MaxOrphans = maxOrphans

// Close lets go of the connection that Flush has made.
func (s *Sink) Close() { s.flusher.carrier.close() }

// Settled is what comes of waiting on a port that has been refused by then.
func Settled(wait time.Duration) error {
	p := &packet{gone: make(chan struct{})}
	close(p.gone)
	return p.settled(wait)
}

// PlainLine and AgentLine are the lines of a counter at 7, or nothing if they are too
// long.
func PlainLine(name string, tags []stats.Tag) string { return counterLine(plain{tags}, name) }

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

func counterLine(d dialect, name string) string {
	l, ok := fitting(d, name)
	if !ok {
		return ""
	}
	return string(d.line(nil, sample{label: l, kind: counterKind, value: 7, rate: 1}))
}
