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

// probe is a store under test and what a case needs to put questions to it.
type probe struct {
	Options
	store ratelimit.Store
	ctx   context.Context
	run   string // makes keys unlike those of all other cases and runs
	now   int64  // the windows are those of this moment, in Unix seconds
	// unit is that of hits for which any will do.
	unit ratelimit.Unit
}

func newProbe(store ratelimit.Store, opts Options) *probe {
	p := &probe{Options: opts, store: store, ctx: context.Background(), run: rand.Text(), now: time.Now().Unix()}
	if p.Clock != nil {
		// Aligned to all units but the week, so that every window has just begun.
		p.at(ratelimit.Year.Window(p.now))
	}
	p.unit = lasting(p.now, p.Patience)
	return p
}

// lasting is the hour, or the shortest unit above it whose window does not end within
// twice that time: a store that keeps its own time lets go of the counters then.
func lasting(now int64, d time.Duration) ratelimit.Unit {
	for unit := ratelimit.Hour; unit < ratelimit.Year; unit++ {
		if unit.Window(now)+unit.Seconds()-now > 2*int64(d/time.Second) {
			return unit
		}
	}
	return ratelimit.Year
}

// at sets the store's clock, in Unix seconds.
func (p *probe) at(now int64) {
	p.now = now
	p.Clock.Set(time.Unix(now, 0))
}

// hit adds n to a counter that is there for longer than the case, far from any limit.
func (p *probe) hit(name string, n uint64) ratelimit.Hit {
	return p.hitIn(p.unit, name, n)
}

// hitIn adds n to a counter of the unit's current window.
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
func (p *probe) add(hits []ratelimit.Hit, want ...uint64) error {
	return p.call("Add", p.store.Add, hits, want)
}

// call makes one call of an adding method. Of a store whose counts lag behind it
// expects the counts of a second call that only reads.
func (p *probe) call(method string, add func(context.Context, []ratelimit.Hit) error, hits []ratelimit.Hit, want []uint64) error {
	asked := describe(hits)
	if err := add(p.ctx, hits); err != nil {
		return fmt.Errorf("%s(%s) returned the error %q, want none", method, asked, err)
	}
	if p.Settle != nil {
		p.Settle(p.store)
		return p.reads(hits, want)
	}
	return compare(method, asked, hits, want)
}

// reads compares the counters of the hits with what is wanted of each after the
// last hit on it.
func (p *probe) reads(hits []ratelimit.Hit, want []uint64) error {
	last := make(map[string]uint64, len(hits))
	for i, h := range hits {
		last[string(h.Key)] = want[i]
	}
	reads := slices.Clone(hits)
	wants := make([]uint64, len(hits))
	for i := range reads {
		reads[i].N = 0
		wants[i] = last[string(reads[i].Key)]
	}
	if err := p.store.Add(p.ctx, reads); err != nil {
		return fmt.Errorf("reading after %s returned the error %q, want none", describe(hits), err)
	}
	return compare("reading after Add", describe(hits), reads, wants)
}

func compare(method, asked string, hits []ratelimit.Hit, want []uint64) error {
	got := make([]uint64, len(hits))
	for i := range hits {
		got[i] = hits[i].Count
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s(%s) made the counts %d, want %d", method, asked, got, want)
	}
	return nil
}

// describe shows a call: the hits' keys, shortened, and what is added.
func describe(hits []ratelimit.Hit) string {
	var b []byte
	for i, h := range hits {
		if i == 8 {
			return string(fmt.Appendf(b, " and %d more", len(hits)-i))
		}
		key := h.Key
		if len(key) > 80 {
			key = key[:80]
		}
		b = fmt.Appendf(b, "%q+%d ", key, h.N)
	}
	return string(b)
}

// final compares one counter with what all additions so far come to.
func (p *probe) final(h ratelimit.Hit, want uint64) error {
	if p.Settle != nil {
		p.Settle(p.store)
	}
	h.N = 0
	return p.add([]ratelimit.Hit{h}, want)
}

var errHangs = errors.New("the store did not answer")

// patiently runs f and gives up when the store hangs; f is then left behind.
func (p *probe) patiently(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	tooLong := time.NewTimer(p.Patience)
	defer tooLong.Stop()
	select {
	case err := <-done:
		return err
	case <-tooLong.C:
		return fmt.Errorf("%w within %v", errHangs, p.Patience)
	}
}

// first runs the steps until one fails.
func first(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
