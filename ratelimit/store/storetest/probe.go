package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// probe is a store under test, with helpers for cases. After the first failure they do nothing.
type probe struct {
	Options
	store ratelimit.Store
	ctx   context.Context
	err   error  // the first failure
	where string // begins failures from now on
	run   string // makes keys unlike those of all other cases and runs
	now   int64  // the windows are those of this moment, in Unix seconds
	micro int64  // the charges are made at this moment, in Unix microseconds
	// unit is the unit of hits for which it does not matter.
	unit        ratelimit.Unit
	callsEach   int // of each concurrent caller
	randomCalls int // of cases that make random calls one after the other
	// states holds, by key, the states that the store may hold after the charges so far: it may drop what has
	// expired, and need not write what charged nothing.
	states map[string][]entry
}

func newProbe(store ratelimit.Store, opts Options) *probe {
	now := time.Now()
	p := &probe{
		Options: opts, store: store, ctx: context.Background(), run: rand.Text(), now: now.Unix(), micro: now.UnixMicro(),
		states: make(map[string][]entry),
	}
	if p.Clock != nil {
		// Aligned to all units but the week, so that every window has just begun.
		p.at(ratelimit.Year.Window(p.now))
	}
	p.unit = lasting(p.now, p.Timeout)
	if p.callsEach, p.randomCalls = 400, 250; p.short {
		p.callsEach, p.randomCalls = 60, 60
	}
	return p
}

// lasting returns the hour, or the shortest longer unit whose window does not end within twice
// that time: a store with its own clock drops the counters at the end of the window.
func lasting(now int64, d time.Duration) ratelimit.Unit {
	for unit := ratelimit.Hour; unit < ratelimit.Year; unit++ {
		if unit.Window(now)+unit.Seconds()-now > 2*int64(d/time.Second) {
			return unit
		}
	}
	return ratelimit.Year
}

// check fails with an error, if there is one.
func (p *probe) check(err error) {
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("%s%w", p.where, err)
	}
}

func (p *probe) fail(format string, args ...any) { p.check(fmt.Errorf(format, args...)) }

// within says where the next failure is.
func (p *probe) within(format string, args ...any) { p.where = fmt.Sprintf(format+": ", args...) }

// at sets the clock of the store, in Unix seconds.
func (p *probe) at(now int64) {
	p.now, p.micro = now, now*1_000_000
	p.Clock.Set(time.Unix(now, 0))
}

// hit returns n hits on a counter that outlives the case, nowhere near a limit.
func (p *probe) hit(name string, n uint64) ratelimit.Hit {
	return p.hitIn(p.unit, name, n)
}

// hitIn returns n hits on a counter of the current window of the unit.
func (p *probe) hitIn(unit ratelimit.Unit, name string, n uint64) ratelimit.Hit {
	return p.hitAt(unit, unit.Window(p.now), name, n)
}

func (p *probe) hitAt(unit ratelimit.Unit, window int64, name string, n uint64) ratelimit.Hit {
	key := []byte(name + "_" + p.run + "_" + unit.String() + "_")
	return ratelimit.Hit{
		Key: strconv.AppendInt(key, window, 10), N: n, Limit: 1 << 31, Unit: unit, Window: window,
	}
}

// add makes one call and compares the counts after it.
func (p *probe) add(hits []ratelimit.Hit, want ...uint64) {
	p.call("Add", p.store.Add, hits, want)
}

// call makes one call of an adding method. If the store counts later, it compares the counts
// of a second call that only reads.
func (p *probe) call(method string, add func(context.Context, []ratelimit.Hit) error, hits []ratelimit.Hit, want []uint64) {
	if p.err != nil {
		return
	}
	asked := describe(hits)
	if err := add(p.ctx, hits); err != nil {
		p.fail("%s(%s) returned the error %q, want none", method, asked, err)
	} else if p.Flush != nil {
		p.Flush(p.store)
		hits, want, err = p.read(hits, want)
		if method = "reading after " + method; err != nil {
			p.fail("%s(%s) returned the error %q, want none", method, asked, err)
		}
	}
	got := make([]uint64, len(hits))
	for i := range hits {
		got[i] = hits[i].Count
	}
	if !slices.Equal(got, want) {
		p.fail("%s(%s) made the counts %d, want %d", method, asked, got, want)
	}
}

// read reads the counters of hits, and returns the expected values after the last hit on each.
func (p *probe) read(hits []ratelimit.Hit, want []uint64) (reads []ratelimit.Hit, wants []uint64, err error) {
	last := make(map[string]uint64, len(hits))
	for i, h := range hits {
		last[string(h.Key)] = want[i]
	}
	reads = slices.Clone(hits)
	wants = make([]uint64, len(hits))
	for i := range reads {
		reads[i].N = 0
		wants[i] = last[string(reads[i].Key)]
	}
	return reads, wants, p.store.Add(p.ctx, reads)
}

// describe formats the hits of a call: shortened keys, and the numbers added.
func describe(hits []ratelimit.Hit) string {
	var b []byte
	for i, h := range hits {
		if i == 8 {
			return string(fmt.Appendf(b, " and %d more", len(hits)-i))
		}
		b = fmt.Appendf(b, "%q+%d ", h.Key[:min(len(h.Key), 80)], h.N)
	}
	return string(b)
}

// final compares one counter with the sum of all additions.
func (p *probe) final(h ratelimit.Hit, want uint64) {
	if p.Flush != nil {
		p.Flush(p.store)
	}
	h.N = 0
	p.add([]ratelimit.Hit{h}, want)
}

var errHangs = errors.New("the store did not return")

// bounded calls f, and returns errHangs if it does not return in time; f then continues.
func (p *probe) bounded(f func()) error {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	tooLong := time.NewTimer(p.Timeout)
	defer tooLong.Stop()
	select {
	case <-done:
		return nil
	case <-tooLong.C:
		return fmt.Errorf("%w within %v", errHangs, p.Timeout)
	}
}
