package statsd

import "github.com/ashlar-go/ashlar/ratelimit/stats"

// maxOrphans is how many counters are kept that the registry has forgotten, because
// they were not sent up to their end.
const maxOrphans = 10_000

// counter is what a sink knows of a counter.
type counter struct {
	label label
	last  uint64 // the total at the last reading
	owed  uint64 // counted and not yet sent
	round uint64 // the last reading it was in
}

// gauge is what a sink knows of a gauge.
type gauge struct {
	label label
	value uint64
	round uint64
}

// ledger keeps, for each statistic of a registry, what is still to be sent of it.
// It is a stats.Reader.
type ledger struct {
	label    func(name string) label
	round    uint64
	counters map[string]*counter
	gauges   map[string]*gauge
	lost     uint64 // counts that were dropped with their names since the last outage
}

func newLedger(name func(string) label) *ledger {
	return &ledger{label: name, counters: make(map[string]*counter), gauges: make(map[string]*gauge)}
}

// read brings the ledger up to date.
func (l *ledger) read(from *stats.Registry) {
	l.round++
	from.Read(l)
	l.sweep()
}

// Counter adds what was counted since the last reading to what is owed.
func (l *ledger) Counter(name string, total uint64) {
	c := l.counters[name]
	if c == nil {
		c = &counter{label: l.label(name)}
		l.counters[name] = c
	}
	if c.round == l.round {
		return // told twice in one reading
	}
	c.round = l.round
	if total < c.last {
		c.last = 0 // the registry forgot the name and has begun it anew
	}
	c.owed += total - c.last
	c.last = total
}

// Gauge replaces the value.
func (l *ledger) Gauge(name string, value uint64) {
	g := l.gauges[name]
	if g == nil {
		g = &gauge{label: l.label(name)}
		l.gauges[name] = g
	}
	g.round, g.value = l.round, value
}

// sweep forgets what the registry has forgotten. A counter that is still owed stays
// until it has been sent.
func (l *ledger) sweep() {
	orphans := 0
	for name, c := range l.counters {
		switch {
		case c.round == l.round:
		case c.owed == 0 || c.label.head == "":
			delete(l.counters, name)
		case orphans == maxOrphans:
			l.lost += c.owed
			delete(l.counters, name)
		default:
			orphans++
			c.last = 0
		}
	}
	for name, g := range l.gauges {
		if g.round != l.round {
			delete(l.gauges, name)
		}
	}
}
