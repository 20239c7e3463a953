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

func chargeCases(o *Options) []Case {
	declared := Case{"charge/declared", "what a store can do is found out by its type; who reads its options must not be misled", checkChargeDeclared}
	if !o.Charges {
		return []Case{declared}
	}
	return []Case{
		declared,
		{"charge/apply", "every store must decide as Charge.Apply does, whatever comes in which order", checkApply},
		{"charge/order", "takes are applied in order, so the first of two descriptors with one key is the first to be let in", checkChargeOrder},
		{"charge/read", "N = 0 reads how much is left, which must not count", checkChargeRead},
		{"charge/refused", "hits over the limit must not use it up", checkChargeRefused},
		{"charge/back", "hits that are given back are available again, and never more than were taken", checkChargeBack},
		{"charge/none", "an engine asks with no charges whether a store can hold the limits", checkChargeNone},
		{"charge/many", "a request may have any number of descriptors, and the results must not be mixed up", checkChargeMany},
		{"charge/large", "limits go up to 2^32-1 hits and windows up to ten years", checkChargeLarge},
		{"charge/changed", "a rule may get another limit while its keys are in use", checkChargeChanged},
		{"charge/clocks", "the clocks of instances differ, and are set back", checkChargeClocks},
		{"charge/kept", "a state lost before it expires lets more than the limit pass", checkChargeKept},
		{"charge/keys", "keys are made of what clients send, and a client must not be able to count on the key of another", checkChargeKeys},
		{"charge/buffers", "the engine uses the memory of charges and keys again for the next request", checkChargeBuffers},
		{"charge/untouched", "the engine reads its takes again after the call; the store may write Allowed and State only", checkChargeUntouched},
		{"charge/fixed", "Fixed is about memory, not about which state a key names", checkChargeFixed},
		{"charge/canceled", "a canceled call must return, and the store must keep working", checkChargeCanceled},
		{"charge/race", "of concurrent requests, exactly as many as the limit allows may be within it", checkChargeRace},
		{"charge/race back", "hits that are given back at the same time must not be lost, nor lift the limit", checkChargeRaceBack},
	}
}

func checkChargeDeclared(p *probe) error {
	_, is := p.store.(ratelimit.ChargeStore)
	return declared("ChargeStore", is, "Charges", p.Charges)
}

// checkApply makes random charges at times that only grow.
func checkApply(p *probe) error {
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
		random := rand.New(rand.NewPCG(uint64(a), 7))
		l := newLedger(p)
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
			if err := l.charge(call...); err != nil {
				return err
			}
			slot = call[0].State[0]
		}
		return nil
	})
}

func checkChargeOrder(p *probe) error {
	l := newLedger(p)
	var call charges
	for a := ratelimit.SlidingWindow; a.Valid(); a++ {
		m := p.maker(p.limit(a, 4))
		call = append(call, m.charge("order", 3), m.charge("else", 1), m.charge("order", 2), m.charge("order", 1), m.charge("order", 0), m.charge("order", 1))
	}
	if err := l.charge(call...); err != nil {
		return err
	}
	for i, want := range []bool{true, true, false, true, true, false} {
		if call[i].Allowed != want {
			return fmt.Errorf("charge %d of %d was allowed: %t, want %t", i, len(call), call[i].Allowed, want)
		}
	}
	return nil
}

func checkChargeRead(p *probe) error {
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
		l, m := newLedger(p), p.maker(p.limit(a, 3))
		for _, n := range []uint64{0, 2, 0, 0, 1, 0, 1, 0} {
			if err := l.charge(m.charge("read", n), m.charge("never", 0)); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkChargeRefused(p *probe) error {
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
		l, m := newLedger(p), p.maker(p.limit(a, 3))
		for i, n := range []uint64{4, 2, 2, 2, 1, 1, 1} {
			call := charges{m.charge("refused", n)}
			if err := l.charge(call...); err != nil {
				return err
			}
			if want := i == 1 || i == 4; call[0].Allowed != want {
				return fmt.Errorf("%d hits after %d calls were taken: %t, want %t", n, i, call[0].Allowed, want)
			}
		}
		return nil
	})
}

func checkChargeBack(p *probe) error {
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
		l, m := newLedger(p), p.maker(p.limit(a, 4))
		taken := charges{m.charge("back", 4)}
		err := first(
			func() error { return l.charge(m.back("back", 3, 0), m.back("missing", 1, 0)) },
			func() error { return l.charge(taken...) },
			func() error {
				return l.charge(m.back("back", 1, taken[0].State[0]), m.charge("back", 2), m.charge("back", 1))
			},
			func() error { return l.charge(m.back("back", 9, 0), m.charge("back", 5), m.charge("back", 4)) },
			func() error {
				return l.charge(m.back("back", math.MaxUint64, 0), m.charge("back", 4), m.back("back", 0, 0))
			},
		)
		if err != nil {
			return err
		}
		// A unit and a half later the permits have expired already, and those of others have not.
		p.elapse(3 * 1800 * 1_000_000)
		return l.charge(m.charge("back", 2), m.back("back", 2, taken[0].State[0]), m.charge("back", 3), m.charge("back", 2))
	})
}

func checkChargeNone(p *probe) error {
	store := p.store.(ratelimit.ChargeStore)
	for _, none := range []charges{nil, {}} {
		if err := store.Charge(p.ctx, none); err != nil {
			return fmt.Errorf("calling Charge without charges returned the error %q, want none", err)
		}
	}
	return nil
}

func checkChargeMany(p *probe) error {
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
		const n = 300
		l, m := newLedger(p), p.maker(p.limit(a, n-2))
		for range 2 {
			var call charges
			for i := range uint64(n) {
				call = append(call, m.charge(fmt.Sprint("many", i), i))
			}
			if err := l.charge(call...); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkChargeLarge(p *probe) error {
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
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
			name := fmt.Sprint("large", i)
			l, m := newLedger(p), p.maker(limit)
			for _, n := range []uint64{1, 1 << 31, 999_979, 1<<31 - 999_981, 1 << 31, 1 << 32, 1 << 33, math.MaxUint64} {
				if err := l.charge(m.charge(name, n), m.charge(name, 1)); err != nil {
					return err
				}
				p.elapse(limit.Unit.Seconds() * 1_000_000 / 5)
			}
			if err := l.charge(m.back(name, 1<<30, 0), m.charge(name, 1<<31), m.back(name, math.MaxUint64, 0), m.charge(name, 3)); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkChargeChanged(p *probe) error {
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
		l := newLedger(p)
		for i, n := range []uint32{7, 3, 1_000, 0, 11, 4} {
			m := p.maker(p.limit(a, n))
			if err := l.charge(m.charge("changed", uint64(max(n, 2)-1)), m.charge("changed", 0), m.charge("changed", 1)); err != nil {
				return fmt.Errorf("after %d changes: %w", i, err)
			}
			p.elapse(90 * 1_000_000)
		}
		return nil
	})
}

// checkChargeClocks has some charges come with earlier times than those before.
func checkChargeClocks(p *probe) error {
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
		l, m := newLedger(p), p.maker(p.limit(a, 5))
		base := p.micro
		for i, seconds := range []int64{0, 1, -1, 30, 10, 3600, 3599, 20, 7300, 3605, 7201} {
			p.micro = base + seconds*1_000_000 + int64(i)
			if err := l.charge(m.charge("clocks", 1), m.back("clocks", uint64(i%2), 0)); err != nil {
				return fmt.Errorf("with a clock set to %+d s: %w", seconds, err)
			}
		}
		p.micro = base
		return nil
	})
}

// checkChargeKept reads states until they expire. Without a Clock it takes some seconds.
func checkChargeKept(p *probe) error {
	if p.Clock == nil {
		return p.keptForSeconds()
	}
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
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
			name := fmt.Sprint("kept", i)
			l, m := newLedger(p), p.maker(limit)
			taken := charges{m.charge(name, 5)}
			if err := l.charge(taken...); err != nil {
				return err
			}
			left := taken[0].Expires() - p.micro
			for _, step := range []int64{left / 2, left - left/2 - 2, 1, 1, 1} {
				p.elapse(step)
				if err := l.charge(m.charge(name, 0)); err != nil {
					return fmt.Errorf("%d µs before the state expires: %w", taken[0].Expires()-p.micro, err)
				}
			}
		}
		return nil
	})
}

func (p *probe) keptForSeconds() error {
	if p.short {
		return nil
	}
	l := newLedger(p)
	var makers []*maker
	var call charges
	for a := ratelimit.SlidingWindow; a.Valid(); a++ {
		m := p.maker(ratelimit.Limit{RequestsPerUnit: 5, Unit: ratelimit.Second, Algorithm: a})
		makers, call = append(makers, m), append(call, m.charge("kept", 5))
	}
	if err := l.charge(call...); err != nil {
		return err
	}
	last := int64(0)
	for i := range call {
		last = max(last, call[i].Expires())
	}
	for p.micro < last {
		time.Sleep(20 * time.Millisecond) // no need to ask more often
		p.micro = time.Now().UnixMicro()
		call = call[:0]
		for _, m := range makers {
			call = append(call, m.charge("kept", 0))
		}
		if err := l.charge(call...); err != nil {
			return err
		}
	}
	return nil
}

func checkChargeKeys(p *probe) error {
	l, m := newLedger(p), p.maker(p.limit(ratelimit.TokenBucket, 1000))
	var call charges
	for i, odd := range oddKeys() {
		t := m.charge("", uint64(i+1))
		t.Key = append([]byte(odd), t.Key...)
		if !p.Refuses(t.Key) {
			call = append(call, t)
			continue
		}
		if p.store.(ratelimit.ChargeStore).Charge(p.ctx, charges{t}) == nil {
			return fmt.Errorf("Charge(%s) returned no error, though Options.Refuses declares one", describeCharge(&t))
		}
	}
	if err := l.charge(call...); err != nil {
		return err
	}
	for i := range call {
		call[i].N = 0
	}
	return l.charge(call...)
}

func checkChargeBuffers(p *probe) error {
	l, m := newLedger(p), p.maker(p.limit(ratelimit.SlidingWindow, 9))
	var key []byte
	for range 3 {
		call := charges{m.charge("buffers", 1)}
		key = append(key[:0], call[0].Key...)
		call[0].Key = key
		if err := l.charge(call...); err != nil {
			return err
		}
		for i := range key {
			key[i] = 'z'
		}
		call[0] = ratelimit.Charge{}
	}
	overwritten := m.charge("buffers", 0)
	overwritten.Key = bytes.Repeat([]byte("z"), len(key))
	return l.charge(overwritten, m.charge("buffers", 0))
}

func checkChargeUntouched(p *probe) error {
	m := p.maker(p.limit(ratelimit.TokenBucket, 3))
	call := charges{m.charge("one", 3), m.charge("two", 0), m.back("one", 1, 0), m.charge("one", 2)}
	before := make([]string, len(call))
	for i := range call {
		before[i] = describeWhole(call[i])
	}
	if err := p.store.(ratelimit.ChargeStore).Charge(p.ctx, call); err != nil {
		return err
	}
	for i := range call {
		if after := describeWhole(call[i]); after != before[i] {
			return fmt.Errorf("calling Charge made of the charge %s the charge %s", before[i], after)
		}
	}
	return nil
}

// describeWhole formats all that a store must not write.
func describeWhole(t ratelimit.Charge) string {
	t.Allowed, t.State = false, ratelimit.State{}
	return fmt.Sprintf("%q %+v", t.Key, t)
}

func checkChargeFixed(p *probe) error {
	l, m := newLedger(p), p.maker(p.limit(ratelimit.TokenBucket, 9))
	fixed := m.charge("fixed", 2)
	fixed.Fixed = true
	return first(
		func() error { return l.charge(fixed) },
		func() error { return l.charge(m.charge("fixed", 3)) },
		func() error { return l.charge(fixed, m.charge("fixed", 0)) },
	)
}

func checkChargeCanceled(p *probe) error {
	store, m := p.store.(ratelimit.ChargeStore), p.maker(p.limit(ratelimit.TokenBucket, 9))
	if err := p.ended(func(ctx context.Context) { _ = store.Charge(ctx, charges{m.charge("canceled", 1)}) }); err != nil {
		return err
	}
	return newLedger(p).charge(m.charge("after", 1))
}

// checkChargeRace has all callers charge one key at one time, so that each hit that passes
// leaves a state that no other one does.
func checkChargeRace(p *probe) error {
	all := callers * p.callsEach
	limit := all / 3
	store := p.store.(ratelimit.ChargeStore)
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
		m := p.maker(p.limit(a, uint32(limit)))
		left := make(map[ratelimit.State]bool, limit)
		var full ratelimit.State
		for range limit {
			t := m.charge("race", 1)
			t.Apply(&full)
			left[full] = true
		}
		var mu sync.Mutex
		passed := 0
		err := p.togetherEach(func(int, int) error {
			mu.Lock()
			call := charges{m.charge("race", 1)}
			mu.Unlock()
			if err := store.Charge(p.ctx, call); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			switch c := &call[0]; {
			case c.Allowed && !left[c.State], !c.Allowed && c.State != full:
				passed = math.MinInt
			case c.Allowed:
				delete(left, c.State)
				passed++
			}
			return nil
		})
		switch {
		case err != nil:
			return err
		case passed < 0:
			return fmt.Errorf("one of %d charges of 1 at once from a limit of %d has a state that no order of them leads to", all, limit)
		case passed != limit:
			return fmt.Errorf("%d of %d charges of 1 at once were within a limit of %d, want %d", passed, all, limit, limit)
		}
		return nil
	})
}

// checkChargeRaceBack has all callers give back what they get.
func checkChargeRaceBack(p *probe) error {
	const limit = 2
	store := p.store.(ratelimit.ChargeStore)
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
		m := p.maker(p.limit(a, limit))
		one, back := m.charge("race_back", 1), m.back("race_back", 1, 0)
		var held atomic.Int64
		err := p.togetherEach(func(int, int) error {
			call := charges{one}
			if err := store.Charge(p.ctx, call); err != nil || !call[0].Allowed {
				return err
			}
			if n := held.Add(1); n > limit {
				return fmt.Errorf("%d hits at once were within a limit of %d", n, limit)
			}
			runtime.Gosched()
			held.Add(-1)
			return store.Charge(p.ctx, charges{back})
		})
		if err != nil {
			return err
		}
		read := m.charge("race_back", 0)
		call := charges{read}
		if err := store.Charge(p.ctx, call); err != nil {
			return err
		}
		var none ratelimit.State
		if read.Apply(&none); call[0].State != none {
			return fmt.Errorf("after all callers gave back what they had the state is %d, want %d", call[0].State, none)
		}
		return nil
	})
}
