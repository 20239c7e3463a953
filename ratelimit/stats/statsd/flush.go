package statsd

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"github.com/ashlar-go/ashlar/ratelimit/stats"
)

// batchBytes is how much is written before it is sent.
const batchBytes = 32 << 10

// flusher sends what the registry holds, in any dialect, by any carrier.
type flusher struct {
	registry *stats.Registry
	ledger   *ledger
	dialect  dialect
	carrier  carrier
	most     uint64 // lines for a timer and flush
	off      atomic.Bool

	mu     sync.Mutex
	timers []*timer

	// The batch that is being written: lines, their ends, and what they settle.
	lines []byte
	ends  []int
	dues  []due
}

// due is what a line settles when it has been taken: n of a counter, n calls of a
// timer, or nothing.
type due struct {
	counter *counter
	timer   *timer
	n       uint64
}

func (d *due) settle() {
	switch {
	case d.counter != nil:
		d.counter.owed -= d.n
	case d.timer != nil:
		d.timer.advance(d.n)
	}
}

// observe starts counting the durations of a timer.
func (f *flusher) observe(name string) *timer {
	t := newTimer(name, &f.off)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.timers = append(f.timers, t)
	return t
}

func (f *flusher) allTimers() []*timer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.timers[:len(f.timers):len(f.timers)]
}

// flush sends all there is to send. What could not be sent stays owed.
func (f *flusher) flush(ctx context.Context) error {
	if err := f.carrier.open(ctx); err != nil {
		return err
	}
	f.dialect.begin()
	err := f.sendAll()
	f.clear()
	if err != nil {
		f.carrier.close()
	}
	return err
}

func (f *flusher) sendAll() error {
	for _, c := range f.ledger.counters {
		if err := f.counter(c); err != nil {
			return err
		}
	}
	for _, g := range f.ledger.gauges {
		if err := f.add(sample{label: g.label, kind: gaugeKind, value: g.value}, due{}); err != nil {
			return err
		}
	}
	for _, t := range f.allTimers() {
		if err := f.timer(t); err != nil {
			return err
		}
	}
	f.end()
	return f.send()
}

// end writes what closes a flush.
func (f *flusher) end() {
	before := len(f.lines)
	if f.lines = f.dialect.end(f.lines); len(f.lines) > before {
		f.ends, f.dues = append(f.ends, len(f.lines)), append(f.dues, due{})
	}
}

func (f *flusher) counter(c *counter) error {
	if c.owed == 0 {
		return nil
	}
	n := min(c.owed, math.MaxInt64) // the agent's numbers are signed
	return f.add(sample{label: c.label, kind: counterKind, value: n}, due{counter: c, n: n})
}

func (f *flusher) timer(t *timer) (err error) {
	if !t.ready {
		t.label, t.ready = f.ledger.label(t.name), true
	}
	t.each(t.collect(), f.most, func(ms, calls uint64, rate float64) bool {
		err = f.add(sample{label: t.label, kind: timerKind, value: ms, rate: rate}, due{timer: t, n: calls})
		return err == nil
	})
	return err
}

// add writes a line, and sends the batch if that makes it full.
func (f *flusher) add(s sample, d due) error {
	if s.label.head == "" {
		return nil
	}
	f.lines = f.dialect.line(f.lines, s)
	f.ends = append(f.ends, len(f.lines))
	f.dues = append(f.dues, d)
	if len(f.lines) < batchBytes {
		return nil
	}
	return f.send()
}

// send sends the batch and settles what was taken of it.
func (f *flusher) send() error {
	if len(f.ends) == 0 {
		return nil
	}
	n, err := f.carrier.send(f.lines, f.ends)
	for i := range f.dues[:n] {
		f.dues[i].settle()
	}
	f.clear()
	return err
}

func (f *flusher) clear() {
	clear(f.dues) // or they would keep what has been forgotten
	f.lines, f.ends, f.dues = f.lines[:0], f.ends[:0], f.dues[:0]
}
