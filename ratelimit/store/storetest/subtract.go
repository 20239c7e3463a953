package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ashlar-go/ashlar/ratelimit"
)

func subtractCases(o *Options) []Case {
	declared := Case{"subtract/declared", "what a store can do is found out by its type; who reads its options must not be misled", checkSubtractDeclared}
	if !o.Subtracts {
		return []Case{declared}
	}
	return []Case{
		declared,
		{"subtract/hits", "hits that are refunded are available again", checkSubtract},
		{"subtract/zero", "a refund must not allow more than the limit", checkSubtractStopsAtZero},
		{"subtract/missing", "a refund of hits that were never counted changes nothing", checkSubtractMissing},
		{"subtract/many", "a request may give back any number of hits, and the counts must not be mixed up", checkSubtractMany},
		{"subtract/keys", "hits are given back to the counter that they were added to, whatever its key is", checkSubtractKeys},
		{"subtract/large", "a counter that was raised by mistake can be lowered again", checkSubtractLarge},
		{"subtract/race", "a refund must not lose hits that others count at the same time", checkSubtractRace},
	}
}

func checkSubtractDeclared(p *probe) error {
	_, is := p.store.(ratelimit.SubtractStore)
	return declared("SubtractStore", is, "Subtracts", p.Subtracts)
}

// subtract makes one call and compares the counts after it.
func (p *probe) subtract(hits []ratelimit.Hit, want ...uint64) error {
	store, is := p.store.(ratelimit.SubtractStore)
	if !is {
		return errors.New("the store has no method Subtract")
	}
	return p.call("Subtract", store.Subtract, hits, want)
}

func checkSubtract(p *probe) error {
	return first(
		func() error { return p.add(hits{p.hit("a", 5), p.hit("b", 7)}, 5, 7) },
		func() error { return p.subtract(hits{p.hit("a", 2)}, 3) },
		func() error { return p.subtract(hits{p.hit("b", 1), p.hit("a", 0), p.hit("b", 2)}, 6, 3, 4) },
		func() error { return p.subtract(nil) },
		func() error { return p.add(hits{p.hit("a", 1), p.hit("b", 1)}, 4, 5) },
	)
}

func checkSubtractStopsAtZero(p *probe) error {
	return first(
		func() error { return p.add(hits{p.hit("a", 5)}, 5) },
		func() error { return p.subtract(hits{p.hit("a", 6)}, 0) },
		func() error { return p.add(hits{p.hit("a", 3)}, 3) },
		func() error { return p.subtract(hits{p.hit("a", 1<<64-1)}, 0) },
		func() error { return p.add(hits{p.hit("a", 1)}, 1) },
	)
}

func checkSubtractMissing(p *probe) error {
	return first(
		func() error { return p.subtract(hits{p.hit("a", 6)}, 0) },
		func() error { return p.add(hits{p.hit("a", 3)}, 3) },
	)
}

func checkSubtractMany(p *probe) error {
	const n = 300
	call, want := make(hits, n), make([]uint64, n)
	for i := range call {
		call[i] = p.hit(fmt.Sprint("many", i), uint64(i))
		want[i] = uint64(i)
	}
	if err := p.add(call, want...); err != nil {
		return err
	}
	for i := range call {
		call[i].N = 5
		want[i] -= min(want[i], 5)
	}
	return p.subtract(call, want...)
}

func checkSubtractKeys(p *probe) error {
	var call hits
	var before, after []uint64
	for i, odd := range oddKeys() {
		h := p.hit("", uint64(i+2))
		h.Key = append([]byte(odd), h.Key...)
		if !p.Refuses(h.Key) {
			call, before, after = append(call, h), append(before, h.N), append(after, h.N-1)
		}
	}
	if err := p.add(call, before...); err != nil {
		return err
	}
	for i := range call {
		call[i].N = 1
	}
	return p.subtract(call, after...)
}

func checkSubtractLarge(p *probe) error {
	most := p.MaxCount
	return first(
		func() error { return p.add(hits{p.hit("a", most)}, most) },
		func() error { return p.subtract(hits{p.hit("a", 1)}, most-1) },
		func() error { return p.subtract(hits{p.hit("a", 1<<40), p.hit("a", 0)}, most-1-1<<40, most-1-1<<40) },
		func() error { return p.subtract(hits{p.hit("a", most-2-1<<40)}, 1) },
	)
}

// checkSubtractRace has half of the callers add 2 for each 1 that the others subtract.
func checkSubtractRace(p *probe) error {
	store, is := p.store.(ratelimit.SubtractStore)
	if !is {
		return checkSubtractDeclared(p)
	}
	all := uint64(callers * p.callsEach)
	if err := p.add(hits{p.hit("a", all)}, all); err != nil {
		return err
	}
	var want atomic.Int64
	want.Store(int64(all))
	err := p.togetherEach(func(caller, _ int) error {
		// More than all subtractions, so that lost additions and lost subtractions don't cancel out.
		method, n, change := store.Add, all, int64(all)
		if caller%2 == 1 {
			method, n, change = store.Subtract, 1, -1
		}
		want.Add(change)
		return method(p.ctx, hits{p.hit("a", n)})
	})
	if err != nil {
		return err
	}
	return p.final(p.hit("a", 0), uint64(want.Load()))
}
