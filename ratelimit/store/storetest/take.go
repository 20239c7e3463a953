package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

func takeCases(o *Options) []Case {
	declared := Case{"take/declared", "what a store can do is found out by its type; who reads its options must not be misled", checkTakeDeclared}
	if !o.Takes {
		return []Case{declared}
	}
	return []Case{
		declared,
		{"take/apply", "every store must decide as Take.Apply does, whatever comes in which order", checkApply},
		{"take/order", "takes are applied in order, so the first of two descriptors with one key is the first to be let in", checkTakeOrder},
		{"take/read", "N = 0 reads how much is left, which must not count", checkTakeRead},
		{"take/refused", "hits over the limit must not use it up", checkTakeRefused},
		{"take/back", "hits that are given back are available again, and never more than were taken", checkTakeBack},
		{"take/none", "an engine asks with no takes whether a store can hold the limits", checkTakeNone},
		{"take/many", "a request may have any number of descriptors, and the results must not be mixed up", checkTakeMany},
		{"take/large", "limits go up to 2^32-1 hits and windows up to ten years", checkTakeLarge},
		{"take/changed", "a rule may get another limit while its keys are in use", checkTakeChanged},
		{"take/clocks", "the clocks of instances differ, and are set back", checkTakeClocks},
		{"take/kept", "a state lost before it expires lets more than the limit pass", checkTakeKept},
		{"take/keys", "keys are made of what clients send, and a client must not be able to count on the key of another", checkTakeKeys},
		{"take/buffers", "the engine uses the memory of takes and keys again for the next request", checkTakeBuffers},
		{"take/untouched", "the engine reads its takes again after the call; the store may write Taken and State only", checkTakeUntouched},
		{"take/fixed", "Fixed is about memory, not about which state a key names", checkTakeFixed},
		{"take/canceled", "a canceled call must return, and the store must keep working", checkTakeCanceled},
		{"take/race", "of concurrent requests, exactly as many as the limit allows may be within it", checkTakeRace},
		{"take/race back", "hits that are given back at the same time must not be lost, nor lift the limit", checkTakeRaceBack},
	}
}

func checkTakeDeclared(p *probe) error {
	_, is := p.store.(ratelimit.TakeStore)
	switch {
	case is && !p.Takes:
		return errors.New("the store is a ratelimit.TakeStore: set Options.Takes")
	case !is && p.Takes:
		return errors.New("the store is no ratelimit.TakeStore, but Options.Takes is set")
	}
	return nil
}

// checkApply makes random takes at times that only grow.
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
		for range 250 {
			steps := []int64{0, 1, random.Int64N(1_000_000), random.Int64N(600 * 1_000_000), random.Int64N(2 * 3600 * 1_000_000)}
			p.elapse(steps[random.IntN(len(steps))])
			var call takes
			for range 1 + random.IntN(3) {
				i := random.IntN(len(limits))
				name := fmt.Sprintf("%s_%d", a, i)
				t := limits[i].take(name, random.Uint64N(limits[i].most+2))
				if random.IntN(4) == 0 {
					t = limits[i].back(name, random.Uint64N(4), max(slot-random.Int64N(10), 0)*random.Int64N(2))
				}
				call = append(call, t)
			}
			if err := l.take(call...); err != nil {
				return err
			}
			slot = call[0].State[0]
		}
		return nil
	})
}

func checkTakeOrder(p *probe) error {
	l := newLedger(p)
	var call takes
	for a := ratelimit.SlidingWindow; a.Valid(); a++ {
		m := p.maker(p.limit(a, 4))
		call = append(call, m.take("order", 3), m.take("else", 1), m.take("order", 2), m.take("order", 1), m.take("order", 0), m.take("order", 1))
	}
	if err := l.take(call...); err != nil {
		return err
	}
	for i, want := range []bool{true, true, false, true, true, false} {
		if call[i].Taken != want {
			return fmt.Errorf("take %d of %d was taken: %t, want %t", i, len(call), call[i].Taken, want)
		}
	}
	return nil
}

func checkTakeRead(p *probe) error {
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
		l, m := newLedger(p), p.maker(p.limit(a, 3))
		for _, n := range []uint64{0, 2, 0, 0, 1, 0, 1, 0} {
			if err := l.take(m.take("read", n), m.take("never", 0)); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkTakeRefused(p *probe) error {
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
		l, m := newLedger(p), p.maker(p.limit(a, 3))
		for i, n := range []uint64{4, 2, 2, 2, 1, 1, 1} {
			call := takes{m.take("refused", n)}
			if err := l.take(call...); err != nil {
				return err
			}
			if want := i == 1 || i == 4; call[0].Taken != want {
				return fmt.Errorf("%d hits after %d calls were taken: %t, want %t", n, i, call[0].Taken, want)
			}
		}
		return nil
	})
}

func checkTakeBack(p *probe) error {
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
		l, m := newLedger(p), p.maker(p.limit(a, 4))
		taken := takes{m.take("back", 4)}
		err := first(
			func() error { return l.take(m.back("back", 3, 0), m.back("missing", 1, 0)) },
			func() error { return l.take(taken...) },
			func() error {
				return l.take(m.back("back", 1, taken[0].State[0]), m.take("back", 2), m.take("back", 1))
			},
			func() error { return l.take(m.back("back", 9, 0), m.take("back", 5), m.take("back", 4)) },
			func() error {
				return l.take(m.back("back", math.MaxUint64, 0), m.take("back", 4), m.back("back", 0, 0))
			},
		)
		if err != nil {
			return err
		}
		// A unit and a half later the places are free already, and those of others are not.
		p.elapse(3 * 1800 * 1_000_000)
		return l.take(m.take("back", 2), m.back("back", 2, taken[0].State[0]), m.take("back", 3), m.take("back", 2))
	})
}

func checkTakeNone(p *probe) error {
	store := p.store.(ratelimit.TakeStore)
	for _, none := range []takes{nil, {}} {
		if err := store.Take(p.ctx, none); err != nil {
			return fmt.Errorf("Take without takes returned the error %q, want none", err)
		}
	}
	return nil
}

func checkTakeMany(p *probe) error {
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
		const n = 300
		l, m := newLedger(p), p.maker(p.limit(a, n-2))
		for range 2 {
			var call takes
			for i := range uint64(n) {
				call = append(call, m.take(fmt.Sprint("many", i), i))
			}
			if err := l.take(call...); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkTakeLarge(p *probe) error {
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
			if limit.Algorithm = a; limit.Burst > 0 && a != ratelimit.TokenBucket {
				continue
			}
			name := fmt.Sprint("large", i)
			l, m := newLedger(p), p.maker(limit)
			for _, n := range []uint64{1, 1 << 31, 999_979, 1<<31 - 999_981, 1 << 31, 1 << 32, 1 << 33, math.MaxUint64} {
				if err := l.take(m.take(name, n), m.take(name, 1)); err != nil {
					return err
				}
				p.elapse(limit.Unit.Seconds() * 1_000_000 / 5)
			}
			if err := l.take(m.back(name, 1<<30, 0), m.take(name, 1<<31), m.back(name, math.MaxUint64, 0), m.take(name, 3)); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkTakeChanged(p *probe) error {
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
		l := newLedger(p)
		for i, n := range []uint32{7, 3, 1_000, 0, 11, 4} {
			m := p.maker(p.limit(a, n))
			if err := l.take(m.take("changed", uint64(max(n, 2)-1)), m.take("changed", 0), m.take("changed", 1)); err != nil {
				return fmt.Errorf("after %d changes: %w", i, err)
			}
			p.elapse(90 * 1_000_000)
		}
		return nil
	})
}

// checkTakeClocks has some takes come with earlier times than those before.
func checkTakeClocks(p *probe) error {
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
		l, m := newLedger(p), p.maker(p.limit(a, 5))
		base := p.micro
		for i, seconds := range []int64{0, 1, -1, 30, 10, 3600, 3599, 20, 7300, 3605, 7201} {
			p.micro = base + seconds*1_000_000 + int64(i)
			if err := l.take(m.take("clocks", 1), m.back("clocks", uint64(i%2), 0)); err != nil {
				return fmt.Errorf("with a clock set to %+d s: %w", seconds, err)
			}
		}
		p.micro = base
		return nil
	})
}

// checkTakeKept reads states until they expire. Without a Clock it takes some seconds.
func checkTakeKept(p *probe) error {
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
			taken := takes{m.take(name, 5)}
			if err := l.take(taken...); err != nil {
				return err
			}
			left := taken[0].Expires() - p.micro
			for _, step := range []int64{left / 2, left - left/2 - 2, 1, 1, 1} {
				p.elapse(step)
				if err := l.take(m.take(name, 0)); err != nil {
					return fmt.Errorf("%d µs before the state expires: %w", taken[0].Expires()-p.micro, err)
				}
			}
		}
		return nil
	})
}

func (p *probe) keptForSeconds() error {
	l := newLedger(p)
	var makers []*maker
	var call takes
	for a := ratelimit.SlidingWindow; a.Valid(); a++ {
		m := p.maker(ratelimit.Limit{RequestsPerUnit: 5, Unit: ratelimit.Second, Algorithm: a})
		makers, call = append(makers, m), append(call, m.take("kept", 5))
	}
	if err := l.take(call...); err != nil {
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
			call = append(call, m.take("kept", 0))
		}
		if err := l.take(call...); err != nil {
			return err
		}
	}
	return nil
}

func checkTakeKeys(p *probe) error {
	l, m := newLedger(p), p.maker(p.limit(ratelimit.TokenBucket, 1000))
	var call takes
	for i, odd := range oddKeys() {
		t := m.take("", uint64(i+1))
		t.Key = append([]byte(odd), t.Key...)
		if !p.Refuses(t.Key) {
			call = append(call, t)
			continue
		}
		if p.store.(ratelimit.TakeStore).Take(p.ctx, takes{t}) == nil {
			return fmt.Errorf("Take(%s) returned no error, though Options.Refuses declares one", describeTake(&t))
		}
	}
	if err := l.take(call...); err != nil {
		return err
	}
	for i := range call {
		call[i].N = 0
	}
	return l.take(call...)
}

func checkTakeBuffers(p *probe) error {
	l, m := newLedger(p), p.maker(p.limit(ratelimit.SlidingWindow, 9))
	var key []byte
	for range 3 {
		call := takes{m.take("buffers", 1)}
		key = append(key[:0], call[0].Key...)
		call[0].Key = key
		if err := l.take(call...); err != nil {
			return err
		}
		for i := range key {
			key[i] = 'z'
		}
		call[0] = ratelimit.Take{}
	}
	overwritten := m.take("buffers", 0)
	overwritten.Key = bytes.Repeat([]byte("z"), len(key))
	return l.take(overwritten, m.take("buffers", 0))
}

func checkTakeUntouched(p *probe) error {
	m := p.maker(p.limit(ratelimit.TokenBucket, 3))
	call := takes{m.take("one", 3), m.take("two", 0), m.back("one", 1, 0), m.take("one", 2)}
	before := make([]string, len(call))
	for i := range call {
		before[i] = describeWhole(call[i])
	}
	if err := p.store.(ratelimit.TakeStore).Take(p.ctx, call); err != nil {
		return err
	}
	for i := range call {
		if after := describeWhole(call[i]); after != before[i] {
			return fmt.Errorf("Take made of the take %s the take %s", before[i], after)
		}
	}
	return nil
}

// describeWhole formats all that a store must not write.
func describeWhole(t ratelimit.Take) string {
	t.Taken, t.State = false, ratelimit.State{}
	return fmt.Sprintf("%q %+v", t.Key, t)
}

func checkTakeFixed(p *probe) error {
	l, m := newLedger(p), p.maker(p.limit(ratelimit.TokenBucket, 9))
	fixed := m.take("fixed", 2)
	fixed.Fixed = true
	return first(
		func() error { return l.take(fixed) },
		func() error { return l.take(m.take("fixed", 3)) },
		func() error { return l.take(fixed, m.take("fixed", 0)) },
	)
}

func checkTakeCanceled(p *probe) error {
	store, m := p.store.(ratelimit.TakeStore), p.maker(p.limit(ratelimit.TokenBucket, 9))
	canceled, cancel := context.WithCancel(p.ctx)
	cancel()
	late, stop := context.WithDeadline(p.ctx, time.Unix(1, 0))
	defer stop()
	for _, ctx := range []context.Context{canceled, late} {
		if err := p.bounded(func() error {
			_ = store.Take(ctx, takes{m.take("canceled", 1)}) // may or may not count
			return nil
		}); err != nil {
			return fmt.Errorf("calling Take with a context whose error is %q: %w", ctx.Err(), err)
		}
	}
	return newLedger(p).take(m.take("after", 1))
}

// checkTakeRace has all callers take from one key at one time, so that each hit that passes
// leaves a state that no other one does.
func checkTakeRace(p *probe) error {
	const limit = callers * callsEach / 3
	store := p.store.(ratelimit.TakeStore)
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
		m := p.maker(p.limit(a, limit))
		left := make(map[ratelimit.State]bool, limit)
		var full ratelimit.State
		for range limit {
			t := m.take("race", 1)
			t.Apply(&full)
			left[full] = true
		}
		var mu sync.Mutex
		passed := 0
		err := together(func(int) error {
			for range callsEach {
				mu.Lock()
				call := takes{m.take("race", 1)}
				mu.Unlock()
				if err := store.Take(p.ctx, call); err != nil {
					return err
				}
				mu.Lock()
				switch t := &call[0]; {
				case t.Taken && !left[t.State]:
					passed = math.MinInt
				case t.Taken:
					delete(left, t.State)
					passed++
				case t.State != full:
					passed = math.MinInt
				}
				mu.Unlock()
			}
			return nil
		})
		switch {
		case err != nil:
			return err
		case passed < 0:
			return fmt.Errorf("one of %d takes of 1 at once from a limit of %d has a state that no order of them leads to", callers*callsEach, limit)
		case passed != limit:
			return fmt.Errorf("%d of %d takes of 1 at once were within a limit of %d, want %d", passed, callers*callsEach, limit, limit)
		}
		return nil
	})
}

// checkTakeRaceBack has all callers give back what they get.
func checkTakeRaceBack(p *probe) error {
	const limit = 2
	store := p.store.(ratelimit.TakeStore)
	return p.eachAlgorithm(func(a ratelimit.Algorithm) error {
		m := p.maker(p.limit(a, limit))
		one, back := m.take("race_back", 1), m.back("race_back", 1, 0)
		var held atomic.Int64
		err := together(func(int) error {
			for range callsEach {
				call := takes{one}
				if err := store.Take(p.ctx, call); err != nil {
					return err
				}
				if !call[0].Taken {
					continue
				}
				if n := held.Add(1); n > limit {
					return fmt.Errorf("%d hits at once were within a limit of %d", n, limit)
				}
				runtime.Gosched()
				held.Add(-1)
				if err := store.Take(p.ctx, takes{back}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		read := m.take("race_back", 0)
		call := takes{read}
		if err := store.Take(p.ctx, call); err != nil {
			return err
		}
		var none ratelimit.State
		if read.Apply(&none); call[0].State != none {
			return fmt.Errorf("after all callers gave back what they had the state is %d, want %d", call[0].State, none)
		}
		return nil
	})
}
