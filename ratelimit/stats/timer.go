package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"
)

// Timer takes durations. Record may be called by any number of goroutines.
type Timer struct {
	lanes     []timerLane
	observers atomic.Pointer[[]func(time.Duration)]
}

// Durations are counted in buckets of an eighth of a power of two, from 8
// nanoseconds on; the first eight are a nanosecond wide.
const (
	subBits    = 3
	maxOctave  = 40 // 2^43 ns: two hours and a half
	bucketsLen = (maxOctave + 1) << subBits
)

// timerLane is the share of the goroutines that drew its number.
type timerLane struct {
	sum     atomic.Uint64 // nanoseconds
	max     atomic.Uint64
	buckets [bucketsLen]atomic.Uint64
}

func newTimer() *Timer {
	n := 1 << bits.Len(uint(runtime.GOMAXPROCS(0)-1))
	return &Timer{lanes: make([]timerLane, min(n, 16))}
}

// Record takes one duration. A negative one counts as 0.
func (t *Timer) Record(d time.Duration) {
	d = max(d, 0)
	lane := &t.lanes[int(rand.Uint32())&(len(t.lanes)-1)]
	lane.sum.Add(uint64(d))
	lane.buckets[bucketOf(uint64(d))].Add(1)
	for m := lane.max.Load(); uint64(d) > m && !lane.max.CompareAndSwap(m, uint64(d)); {
		m = lane.max.Load()
	}
	if observers := t.observers.Load(); observers != nil {
		for _, observe := range *observers {
			observe(d)
		}
	}
}

// bucketOf is the number of the bucket that n nanoseconds fall into.
func bucketOf(n uint64) int {
	if n < 1<<subBits {
		return int(n)
	}
	octave := bits.Len64(n) - subBits // 1 for 8 to 15
	if octave > maxOctave {
		return bucketsLen - 1
	}
	return octave<<subBits | int(n>>(octave-1))&(1<<subBits-1)
}

// upperOf is the largest number of nanoseconds in a bucket. The last one has all that
// is longer than the others hold.
func upperOf(bucket int) uint64 {
	octave, sub := bucket>>subBits, uint64(bucket&(1<<subBits-1))
	switch {
	case octave == 0:
		return sub
	case bucket == bucketsLen-1:
		return math.MaxInt64
	}
	return (1<<subBits+sub+1)<<(octave-1) - 1
}

// Summary is what a Timer has taken so far.
type Summary struct {
	Count uint64
	Sum   time.Duration
	Max   time.Duration
	// P50, P90 and P99 are durations that half, nine in ten and 99 in 100 did not
	// exceed, at most an eighth too long; of more than two hours and a quarter, Max.
	P50, P90, P99 time.Duration
}

// Mean is the average; 0 without durations.
func (s Summary) Mean() time.Duration {
	if s.Count == 0 {
		return 0
	}
	return s.Sum / time.Duration(s.Count)
}

// Summary reads the timer. While it is recorded in, some of a duration's traces may
// be in it and others not yet.
func (t *Timer) Summary() Summary {
	var s Summary
	var all [bucketsLen]uint64
	for i := range t.lanes {
		lane := &t.lanes[i]
		s.Sum += time.Duration(lane.sum.Load())
		s.Max = max(s.Max, time.Duration(lane.max.Load()))
		for b := range all {
			n := lane.buckets[b].Load()
			all[b] += n
			s.Count += n
		}
	}
	for _, q := range []struct {
		out     *time.Duration
		percent uint64
	}{{&s.P50, 50}, {&s.P90, 90}, {&s.P99, 99}} {
		*q.out = min(quantile(&all, s.Count, q.percent), s.Max)
	}
	return s
}

func quantile(buckets *[bucketsLen]uint64, count, percent uint64) time.Duration {
	rank, seen := (count*percent+99)/100, uint64(0)
	for b, n := range buckets {
		if seen += n; seen >= rank && n > 0 {
			return time.Duration(upperOf(b))
		}
	}
	return 0
}

// watcher is a caller of Observe.
type watcher struct {
	start func(name string) func(time.Duration)
}

func (w *watcher) observe(name string, t *Timer) {
	observe := w.start(name)
	if observe == nil {
		return
	}
	var all []func(time.Duration)
	if now := t.observers.Load(); now != nil {
		all = append(all, *now...)
	}
	all = append(all, observe)
	t.observers.Store(&all)
}

// Observe has start called with the name of each timer, now or when it comes into
// being, and what start returns with each duration that is recorded from then on;
// nil for a timer that is not wanted. start must not use the registry. What it returns
// is called on the path of a decision: it must be quick, must not block, and must be
// safe for use by several goroutines. There is no end to it: a sink that has been closed
// should do nothing.
func (r *Registry) Observe(start func(name string) func(time.Duration)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := &watcher{start}
	r.watchers = append(r.watchers, w)
	for name, t := range r.timers {
		w.observe(name, t)
	}
}
