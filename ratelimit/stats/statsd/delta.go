package statsd

import (
	"maps"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// maxForgotten limits the counters that are retained although the registry has
// forgotten them, because a part of their counts was not sent.
const maxForgotten = 10_000

// number holds the state of a counter or a gauge in a sink.
type number struct {
	label  label
	last   uint64 // the total or value at the last reading
	unsent uint64 // of a counter
	round  uint64 // the last reading that contained it
	quiet  bool   // of a gauge: it need not be sent now
}

func (c *number) sent(n uint64) { c.unsent -= n }

// timer holds the state of a timer in a sink.
type timer struct {
	source *stats.Timer
	label  label
	done   map[uint64]uint64 // calls that were sent, by milliseconds

	// The calls of the present flush, in ascending order, and how many of them were sent.
	due         []stats.Milliseconds
	first, part uint64 // due[:first], and part of the calls of due[first]
}

// read collects the calls that were not sent and returns their number.
func (t *timer) read() (total uint64) {
	t.due, t.first, t.part = t.due[:0], 0, 0
	for _, ms := range t.source.Histogram().Milliseconds() {
		if ms.Count -= t.done[ms.Value]; ms.Count > 0 {
			t.due = append(t.due, ms)
			total += ms.Count
		}
	}
	return total
}

// sent records that the next n calls were sent.
func (t *timer) sent(n uint64) {
	for n > 0 {
		ms := t.due[t.first]
		step := min(n, ms.Count-t.part)
		t.done[ms.Value] += step
		n -= step
		if t.part += step; t.part == ms.Count {
			t.first, t.part = t.first+1, 0
		}
	}
}

// each calls line at most limit times, with values that represent all calls that were
// read: one for each call, or else values at even distances in the sorted calls. line
// receives the milliseconds, the number of calls that the line represents, and the
// fraction of all calls that have lines; false ends the loop.
func (t *timer) each(total, limit uint64, line func(ms, calls uint64, rate float64) bool) {
	n := min(total, limit)
	rate := float64(n) / float64(total)
	at, below := 0, uint64(0) // the index in due, and the calls before it
	for i := range n {
		from, to := i*total/n, (i+1)*total/n
		middle := from + (to-from)/2
		for below+t.due[at].Count <= middle {
			below += t.due[at].Count
			at++
		}
		if !line(t.due[at].Value, to-from, rate) {
			return
		}
	}
}

// deltas stores, for each statistic of a registry, what was not sent. It is a
// stats.Reader.
type deltas struct {
	registry *stats.Registry
	label    func(name string) label
	round    uint64
	counters map[string]*number
	gauges   map[string]*number
	timers   map[string]*timer
	lost     uint64 // counts dropped with forgotten names since flushes began to fail
}

// newDeltas starts with the timers' present calls, which are not sent.
func newDeltas(registry *stats.Registry, label func(string) label) *deltas {
	d := &deltas{
		registry: registry, label: label,
		counters: make(map[string]*number), gauges: make(map[string]*number), timers: make(map[string]*timer),
	}
	d.addTimers()
	for _, t := range d.timers {
		t.sent(t.read())
	}
	return d
}

func (d *deltas) addTimers() {
	for name, source := range d.registry.Timers() {
		if d.timers[name] == nil {
			d.timers[name] = &timer{source: source, label: d.label(name), done: make(map[uint64]uint64)}
		}
	}
}

// read updates all statistics.
func (d *deltas) read() {
	d.round++
	d.registry.ReadCounted(d)
	d.addTimers()
	d.forget()
}

// number finds or creates the state of a statistic.
func (d *deltas) number(all map[string]*number, name string) *number {
	n := all[name]
	if n == nil {
		n = &number{label: d.label(name)}
		all[name] = n
	}
	return n
}

// Counter adds what was counted since the last reading.
func (d *deltas) Counter(name string, total uint64) {
	c := d.number(d.counters, name)
	if c.round == d.round {
		return // the second time in one reading
	}
	c.round = d.round
	if total < c.last {
		c.last = 0 // the registry has forgotten and recreated it
	}
	c.unsent += total - c.last
	c.last = total
}

// limitRounds is the number of readings after which the gauge of a limit is sent although it has not changed: there may
// be thousands of them.
const limitRounds = 60

// Gauge replaces the value.
func (d *deltas) Gauge(name string, value uint64) {
	g := d.number(d.gauges, name)
	g.quiet = g.round > 0 && g.last == value && d.round%limitRounds != 0 && strings.HasPrefix(name, stats.LimitPrefix)
	g.round, g.last = d.round, value
}

// forget drops what the registry has forgotten. A counter that was not sent completely
// is retained until then.
func (d *deltas) forget() {
	retained := 0
	for name, c := range d.counters {
		switch {
		case c.round == d.round:
		case c.unsent == 0 || c.label.head == "":
			delete(d.counters, name)
		case retained == maxForgotten:
			d.lost += c.unsent
			delete(d.counters, name)
		default:
			retained++
			c.last = 0
		}
	}
	maps.DeleteFunc(d.gauges, func(_ string, g *number) bool { return g.round != d.round })
}

// unsent returns how many counts and calls were not sent.
func (d *deltas) unsent() (counts, calls uint64) {
	for _, c := range d.counters {
		if c.label.head != "" {
			counts += c.unsent
		}
	}
	for _, t := range d.timers {
		if t.label.head != "" {
			calls += t.read()
		}
	}
	return counts, calls
}
