package storetest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

var chargeCases = []Case{
	{"charge/order", "charges are applied in order, so the first of two descriptors with one key is the first to be let in", checkChargeOrder},
	{"charge/none", "an engine asks with no charges whether a store can hold the limits", func(p *probe) {
		for _, none := range []charges{nil, {}} {
			if err := p.charges(none); err != nil {
				p.fail("calling Charge without charges returned the error %q, want none", err)
			}
		}
	}},
	{"charge/keys", "keys are made of what clients send, and a client must not be able to count on the key of another", checkChargeKeys},
	{"charge/buffers", "the engine uses the memory of charges and keys again for the next request", checkChargeBuffers},
	{"charge/untouched", "the engine reads its charges again after the call; the store may write Allowed and State only", checkChargeUntouched},
	{"charge/fixed", "Fixed is about memory, not about which state a key names", func(p *probe) {
		m := p.limit(ratelimit.TokenBucket, 9)
		fixed := m.charge("fixed", 2)
		fixed.Fixed = true
		p.charge(fixed)
		p.charge(m.charge("fixed", 3))
		p.charge(fixed, m.charge("fixed", 0))
	}},
	{"charge/canceled", "a canceled call must return, and the store must keep working", func(p *probe) {
		m := p.limit(ratelimit.TokenBucket, 9)
		p.ended(func(ctx context.Context) {
			_ = p.store.(ratelimit.ChargeStore).Charge(ctx, charges{m.charge("canceled", 1)})
		})
		p.charge(m.charge("after", 1))
	}},
}

// algorithmCases returns the cases that are checked with every algorithm that charges.
func algorithmCases() (all []Case) {
	for _, c := range []struct {
		name, why string
		test      func(p *probe, a ratelimit.Algorithm)
	}{
		{"charge/apply", "every store must decide as Charge.Apply does, whatever comes in which order", checkApply},
		{"charge/read", "N = 0 reads how much is left, which must not count", func(p *probe, a ratelimit.Algorithm) {
			m := p.limit(a, 3)
			for _, n := range []uint64{0, 2, 0, 0, 1, 0, 1, 0} {
				p.charge(m.charge("read", n), m.charge("never", 0))
			}
		}},
		{"charge/refused", "hits over the limit must not use it up", func(p *probe, a ratelimit.Algorithm) {
			m := p.limit(a, 3)
			for i, n := range []uint64{4, 2, 2, 2, 1, 1, 1} {
				call := charges{m.charge("refused", n)}
				p.charge(call...)
				if want := i == 1 || i == 4; call[0].Allowed != want {
					p.fail("%d hits after %d calls were allowed: %t, want %t", n, i, call[0].Allowed, want)
				}
			}
		}},
		{"charge/back", "hits that are given back are available again, and never more than were charged", checkChargeBack},
		{"charge/many", "a request may have any number of descriptors, and the results must not be mixed up", func(p *probe, a ratelimit.Algorithm) {
			m := p.limit(a, 298)
			for range 2 {
				var call charges
				for i := range uint64(300) {
					call = append(call, m.charge(fmt.Sprint("many", i), i))
				}
				p.charge(call...)
			}
		}},
		{"charge/large", "limits go up to 2^32-1 hits and windows up to ten years", checkChargeLarge},
		{"charge/changed", "a rule may get another limit while its keys are in use", func(p *probe, a ratelimit.Algorithm) {
			for i, n := range []uint32{7, 3, 1_000, 0, 11, 4} {
				p.within("%s: after %d changes", a, i)
				m := p.limit(a, n)
				p.charge(m.charge("changed", uint64(max(n, 2)-1)), m.charge("changed", 0), m.charge("changed", 1))
				p.elapse(90 * 1_000_000)
			}
		}},
		{"charge/clocks", "the clocks of instances differ, and are set back", func(p *probe, a ratelimit.Algorithm) {
			m, base := p.limit(a, 5), p.micro
			for i, seconds := range []int64{0, 1, -1, 30, 10, 3600, 3599, 20, 7300, 3605, 7201, 90_000, 20, 90_010, 7_202, 40, -86_400, 90_020, 60, -86_390} {
				p.within("%s: with a clock set to %+d s", a, seconds)
				p.micro = base + seconds*1_000_000 + int64(i)
				p.charge(m.charge("clocks", 1), m.back("clocks", uint64(i%2), 0))
			}
			p.micro = base
		}},
		{"charge/race", "of concurrent requests, exactly as many as the limit allows may be within it", checkChargeRace},
		{"charge/race back", "hits that are given back at the same time must not be lost, nor lift the limit", checkChargeRaceBack},
		{"charge/kept", "a state lost before it expires lets more than the limit pass", checkChargeKept},
	} {
		all = append(all, Case{c.name, c.why, func(p *probe) {
			for a := ratelimit.SlidingWindow; a.Valid() && p.err == nil; a++ {
				p.within("%s", a)
				c.test(p, a)
			}
		}})
	}
	return all
}

// checkApply makes random charges at times that only grow.
func checkApply(p *probe, a ratelimit.Algorithm) {
	random := rand.New(rand.NewPCG(uint64(a), 7))
	limits := []*maker{
		p.maker(ratelimit.Limit{RequestsPerUnit: 5, Unit: ratelimit.Hour, Algorithm: a}),
		p.maker(ratelimit.Limit{RequestsPerUnit: 7, Unit: ratelimit.Minute, UnitMultiplier: 11, Algorithm: a}),
		p.maker(ratelimit.Limit{RequestsPerUnit: 3, Unit: ratelimit.Hour, UnitMultiplier: 5, Align: ratelimit.AlignCalendar, Algorithm: ratelimit.SlidingWindow}),
	}
	slot := int64(0)
	for range p.randomCalls {
		steps := []int64{0, 1, random.Int64N(1_000_000), random.Int64N(600 * 1_000_000), random.Int64N(2 * 3600 * 1_000_000)}
		p.elapse(steps[random.IntN(len(steps))])
		var call charges
		for range 1 + random.IntN(3) {
			i := random.IntN(len(limits))
			name := fmt.Sprintf("%s_%d", a, i)
			t := limits[i].charge(name, random.Uint64N(limits[i].most+2))
			if random.IntN(4) == 0 {
				t = limits[i].back(name, random.Uint64N(4), max(slot-random.Int64N(10), 0)*random.Int64N(2))
			}
			call = append(call, t)
		}
		p.charge(call...)
		slot = call[0].State[0]
	}
}

func checkChargeOrder(p *probe) {
	var call charges
	for a := ratelimit.SlidingWindow; a.Valid(); a++ {
		m := p.limit(a, 4)
		call = append(call, m.charge("order", 3), m.charge("else", 1), m.charge("order", 2), m.charge("order", 1), m.charge("order", 0), m.charge("order", 1))
	}
	p.charge(call...)
	for i, want := range []bool{true, true, false, true, true, false} {
		if call[i].Allowed != want {
			p.fail("charge %d of %d was allowed: %t, want %t", i, len(call), call[i].Allowed, want)
		}
	}
}

func checkChargeBack(p *probe, a ratelimit.Algorithm) {
	m := p.limit(a, 4)
	full := charges{m.charge("back", 4)}
	p.charge(m.back("back", 3, 0), m.back("missing", 1, 0))
	p.charge(full...)
	slot := full[0].State[0]
	p.charge(m.back("back", 1, slot), m.charge("back", 2), m.charge("back", 1))
	p.charge(m.back("back", 9, 0), m.charge("back", 5), m.charge("back", 4))
	p.charge(m.back("back", math.MaxUint64, 0), m.charge("back", 4), m.back("back", 0, 0))
	// A unit and a half later the permits have expired already, and those of others have not.
	p.elapse(3 * 1800 * 1_000_000)
	p.charge(m.charge("back", 2), m.back("back", 2, slot), m.charge("back", 3), m.charge("back", 2))
}

func checkChargeLarge(p *probe, a ratelimit.Algorithm) {
	const most = math.MaxUint32
	for i, limit := range []ratelimit.Limit{
		{RequestsPerUnit: most, Unit: ratelimit.Year, UnitMultiplier: 10},
		{RequestsPerUnit: most - 1, Unit: ratelimit.Day},
		{RequestsPerUnit: most, Unit: ratelimit.Second},
		{RequestsPerUnit: 1, Unit: ratelimit.Year, UnitMultiplier: 10},
		{RequestsPerUnit: 0, Unit: ratelimit.Hour},
		{RequestsPerUnit: 1, Unit: ratelimit.Year, Burst: 10},
		{RequestsPerUnit: 999_983, Unit: ratelimit.Week, Burst: 1_000_003},
	} {
		if limit.Algorithm = a; limit.Burst > 0 && !a.HasBursts() {
			continue
		}
		name, m := fmt.Sprint("large", i), p.maker(limit)
		for _, n := range []uint64{1, 1 << 31, 999_979, 1<<31 - 999_981, 1 << 31, 1 << 32, 1 << 33, math.MaxUint64} {
			p.charge(m.charge(name, n), m.charge(name, 1))
			p.elapse(limit.Unit.Seconds() * 1_000_000 / 5)
		}
		p.charge(m.back(name, 1<<30, 0), m.charge(name, 1<<31), m.back(name, math.MaxUint64, 0), m.charge(name, 3))
	}
}

// checkChargeKept reads states until they expire.
func checkChargeKept(p *probe, a ratelimit.Algorithm) {
	if p.Clock == nil { // all algorithms at once, because that lasts some seconds
		if a == ratelimit.SlidingWindow && !p.short {
			p.keptForSeconds()
		}
		return
	}
	for i, limit := range []ratelimit.Limit{
		{Unit: ratelimit.Second},
		{Unit: ratelimit.Minute, UnitMultiplier: 13},
		{Unit: ratelimit.Day},
		{Unit: ratelimit.Year},
		{Unit: ratelimit.Month, Align: ratelimit.AlignCalendar},
		{Unit: ratelimit.Hour, UnitMultiplier: 15, Align: ratelimit.AlignCalendar},
	} {
		limit.RequestsPerUnit, limit.Algorithm = 5, a
		if limit.Align != "" {
			limit.Algorithm = ratelimit.SlidingWindow
		}
		name, m := fmt.Sprint("kept", i), p.maker(limit)
		full := charges{m.charge(name, 5)}
		p.charge(full...)
		left := full[0].Expires() - p.micro
		for _, step := range []int64{left / 2, left - left/2 - 2, 1, 1, 1} {
			p.elapse(step)
			p.within("%s: %d µs before the state expires", a, full[0].Expires()-p.micro)
			p.charge(m.charge(name, 0))
		}
	}
}

func (p *probe) keptForSeconds() {
	var makers []*maker
	var call charges
	for a := ratelimit.SlidingWindow; a.Valid(); a++ {
		m := p.maker(ratelimit.Limit{RequestsPerUnit: 5, Unit: ratelimit.Second, Algorithm: a})
		makers, call = append(makers, m), append(call, m.charge("kept", 5))
	}
	p.charge(call...)
	last := int64(0)
	for i := range call {
		last = max(last, call[i].Expires())
	}
	for p.micro < last && p.err == nil {
		time.Sleep(20 * time.Millisecond) // no need to ask more often
		p.micro = time.Now().UnixMicro()
		for i, m := range makers {
			call[i] = m.charge("kept", 0)
		}
		p.charge(call...)
	}
}

func checkChargeKeys(p *probe) {
	m := p.limit(ratelimit.TokenBucket, 1000)
	var call charges
	for i, odd := range oddKeys() {
		t := m.charge("", uint64(i+1))
		t.Key = append([]byte(odd), t.Key...)
		if !p.Refuses(t.Key) {
			call = append(call, t)
		} else if p.charges(charges{t}) == nil {
			p.fail("Charge(%s) returned no error, though Options.Refuses declares one", describeCharge(&t))
		}
	}
	p.charge(call...)
	for i := range call {
		call[i].N = 0
	}
	p.charge(call...)
}

func checkChargeBuffers(p *probe) {
	m := p.limit(ratelimit.SlidingWindow, 9)
	var key []byte
	for range 3 {
		call := charges{m.charge("buffers", 1)}
		key = append(key[:0], call[0].Key...)
		call[0].Key = key
		p.charge(call...)
		copy(key, bytes.Repeat([]byte("z"), len(key)))
		call[0] = ratelimit.Charge{}
	}
	overwritten := m.charge("buffers", 0)
	overwritten.Key = key
	p.charge(overwritten, m.charge("buffers", 0))
}

func checkChargeUntouched(p *probe) {
	m := p.limit(ratelimit.TokenBucket, 3)
	call := charges{m.charge("one", 3), m.charge("two", 0), m.back("one", 1, 0), m.charge("one", 2)}
	before := make([]string, len(call))
	for i := range call {
		before[i] = describeWhole(call[i])
	}
	p.check(p.charges(call))
	for i := range call {
		if after := describeWhole(call[i]); after != before[i] {
			p.fail("calling Charge made of the charge %s the charge %s", before[i], after)
		}
	}
}

// describeWhole formats all that a store must not write.
func describeWhole(t ratelimit.Charge) string {
	t.Allowed, t.State = false, ratelimit.State{}
	return fmt.Sprintf("%q %+v", t.Key, t)
}

// checkChargeRace has all callers charge one key at one time, so that each hit that passes
// leaves a state that no other one does.
func checkChargeRace(p *probe, a ratelimit.Algorithm) {
	all := callers * p.callsEach
	limit := all / 3
	m := p.limit(a, uint32(limit))
	left := make(map[ratelimit.State]bool, limit)
	var full ratelimit.State
	for range limit {
		t := m.charge("race", 1)
		t.Apply(&full)
		left[full] = true
	}
	var mu sync.Mutex
	passed := 0
	p.togetherEach(func(int, int) error {
		mu.Lock()
		call := charges{m.charge("race", 1)}
		mu.Unlock()
		if err := p.charges(call); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		switch c := &call[0]; {
		case c.Allowed && !left[c.State], !c.Allowed && c.State != full:
			return fmt.Errorf("one of %d charges of 1 at once from a limit of %d has a state that no order of them leads to", all, limit)
		case c.Allowed:
			delete(left, c.State)
			passed++
		}
		return nil
	})
	if passed != limit {
		p.fail("%d of %d charges of 1 at once were within a limit of %d, want %d", passed, all, limit, limit)
	}
}

// checkChargeRaceBack has all callers give back what they get.
func checkChargeRaceBack(p *probe, a ratelimit.Algorithm) {
	const limit = 2
	m := p.limit(a, limit)
	one, back := m.charge("race_back", 1), m.back("race_back", 1, 0)
	var held atomic.Int64
	p.togetherEach(func(int, int) error {
		call := charges{one}
		if err := p.charges(call); err != nil || !call[0].Allowed {
			return err
		}
		if n := held.Add(1); n > limit {
			return fmt.Errorf("%d hits at once were within a limit of %d", n, limit)
		}
		runtime.Gosched()
		held.Add(-1)
		return p.charges(charges{back})
	})
	read := m.charge("race_back", 0)
	call := charges{read}
	p.check(p.charges(call))
	var none ratelimit.State
	if read.Apply(&none); call[0].State != none {
		p.fail("after all callers gave back what they had the state is %d, want %d", call[0].State, none)
	}
}
