package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/ashlar-go/ashlar/ratelimit"
)

func conditionalCases(o *Options) []Case {
	declared := Case{"conditional/declared", "the engine detects the abilities of a store by its type, and the options must agree with it", checkDeclared}
	if o.NotConditional {
		return []Case{declared}
	}
	return []Case{
		declared,
		{"conditional/none over", "a request that is within all its limits counts on all of them", checkNoneOver},
		{"conditional/some over", "a denied request must not use up the limits that would have allowed it", checkSomeOver},
		{"conditional/all over", "a counter over its limit counts the denied hits too", checkAllOver},
		{"conditional/boundary", "the last hit that a limit allows is within it", checkBoundary},
		{"conditional/twice", "a request may ask for the same counter twice", checkConditionalTwice},
		{"conditional/read", "N = 0 adds nothing, whatever is decided", checkConditionalRead},
		{"conditional/many", "a request may have any number of descriptors", checkConditionalMany},
		{"conditional/same counters", "Add and AddUnlessOver count on the same counters", checkSameCounters},
		{"conditional/race", "between the comparison and the addition nobody else may add, or more than the limit get through", checkConditionalRace},
		{"conditional/opposite orders", "two requests may name the same counters in opposite orders, at once", checkOppositeOrders},
	}
}

func checkDeclared(p *probe) error {
	_, is := p.store.(ratelimit.ConditionalStore)
	return declared("ConditionalStore", is, "NotConditional", !p.NotConditional)
}

// declared compares what a store is with what its options claim.
func declared(name string, is bool, option string, claimed bool) error {
	if is == claimed {
		return nil
	}
	return fmt.Errorf("the store is a ratelimit.%s: %t, but Options.%s claims %t", name, is, option, claimed)
}

// ask makes one conditional call and compares its counts.
func (p *probe) ask(hits []ratelimit.Hit, want ...uint64) error {
	store, is := p.store.(ratelimit.ConditionalStore)
	if !is {
		return errors.New("the store has no method AddUnlessOver")
	}
	return p.call("AddUnlessOver", store.AddUnlessOver, hits, want)
}

// limited returns n hits on a counter with a limit.
func (p *probe) limited(name string, n uint64, limit uint32) ratelimit.Hit {
	h := p.hit(name, n)
	h.Limit = limit
	return h
}

func checkNoneOver(p *probe) error {
	call := func() hits { return hits{p.limited("a", 1, 9), p.limited("b", 2, 9)} }
	return first(
		func() error { return p.ask(call(), 1, 2) },
		func() error { return p.ask(call(), 2, 4) },
		func() error { return p.ask(nil) },
	)
}

func checkSomeOver(p *probe) error {
	call := func() hits { return hits{p.limited("a", 2, 9), p.limited("b", 2, 3), p.limited("c", 2, 9)} }
	return first(
		func() error { return p.ask(call(), 2, 2, 2) },
		func() error { return p.ask(call(), 2, 4, 2) },
		func() error { return p.ask(call(), 2, 6, 2) },
		func() error { return p.ask(hits{p.limited("new", 1, 9), p.limited("b", 1, 3)}, 0, 7) },
		func() error { return p.final(p.hit("a", 0), 2) },
		func() error { return p.final(p.hit("new", 0), 0) },
	)
}

func checkAllOver(p *probe) error {
	call := func() hits { return hits{p.limited("a", 1, 0), p.limited("b", 5, 4)} }
	return first(
		func() error { return p.ask(call(), 1, 5) },
		func() error { return p.ask(call(), 2, 10) },
		func() error { return p.ask(hits{p.limited("a", p.MaxCount, 1<<32-1)}, p.MaxCount) },
		func() error { return p.ask(hits{p.limited("a", p.MaxCount, 1<<32-1)}, p.MaxCount) },
	)
}

func checkBoundary(p *probe) error {
	return first(
		func() error { return p.ask(hits{p.limited("a", 3, 3)}, 3) },
		func() error { return p.ask(hits{p.limited("b", 1, 9), p.limited("a", 0, 3)}, 1, 3) },
		func() error { return p.ask(hits{p.limited("b", 1, 9), p.limited("a", 1, 3)}, 1, 4) },
		func() error { return p.ask(hits{p.limited("c", 1<<32-1, 1<<32-1), p.limited("b", 8, 9)}, 1<<32-1, 9) },
		func() error { return p.ask(hits{p.limited("d", 1<<40, 1<<32-1), p.limited("b", 0, 9)}, 1<<40, 9) },
	)
}

// checkConditionalTwice does not specify whether the second of two hits on a counter is compared
// with the count after the first.
func checkConditionalTwice(p *probe) error {
	call := func() hits { return hits{p.limited("a", 1, 5), p.limited("b", 1, 9), p.limited("a", 1, 5)} }
	return first(
		func() error { return p.ask(call(), 1, 1, 2) },
		func() error { return p.ask(call(), 3, 2, 4) },
		func() error { return p.ask(hits{p.limited("a", 1, 5)}, 5) },
		func() error { return p.ask(call(), 6, 2, 7) },
	)
}

func checkConditionalRead(p *probe) error {
	return first(
		func() error { return p.ask(hits{p.limited("a", 0, 5), p.limited("b", 1, 5)}, 0, 1) },
		func() error { return p.add(hits{p.hit("a", 5)}, 5) },
		func() error { return p.ask(hits{p.limited("a", 0, 5), p.limited("b", 1, 5)}, 5, 2) },
		func() error { return p.ask(hits{p.limited("a", 0, 5), p.limited("b", 9, 5)}, 5, 11) },
	)
}

func checkConditionalMany(p *probe) error {
	const n = 60
	call, want := make(hits, n), make([]uint64, n)
	build := func() {
		for i := range call {
			call[i] = p.limited(fmt.Sprint("many", i), uint64(i), n-2)
		}
	}
	build() // all but the last are within their limits
	want[n-1] = n - 1
	if err := p.ask(call, want...); err != nil {
		return err
	}
	build()
	for i := range n - 1 {
		want[i] = uint64(i)
	}
	return first(
		func() error { return p.ask(call[:n-1], want[:n-1]...) },
		func() error { return p.final(p.hit("many7", 0), 7) },
	)
}

func checkSameCounters(p *probe) error {
	return first(
		func() error { return p.add(hits{p.hit("a", 2)}, 2) },
		func() error { return p.ask(hits{p.limited("a", 1, 3)}, 3) },
		func() error { return p.add(hits{p.hit("a", 1)}, 4) },
		func() error { return p.ask(hits{p.limited("a", 1, 3), p.limited("b", 1, 3)}, 5, 0) },
	)
}

// checkConditionalRace makes concurrent requests on two counters: one allows a tenth of them,
// the other counts those allowed.
func checkConditionalRace(p *probe) error {
	store, is := p.store.(ratelimit.ConditionalStore)
	if !is {
		return checkDeclared(p)
	}
	all := uint64(callers * p.callsEach)
	limit := all / 10
	var passed atomic.Uint64
	err := p.togetherEach(func(int, int) error {
		call := hits{p.limited("passed", 1, uint32(all)), p.limited("scarce", 1, uint32(limit))}
		err := store.AddUnlessOver(p.ctx, call)
		if err == nil && call[1].Count <= limit {
			passed.Add(1)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case passed.Load() != limit:
		return fmt.Errorf("%d of %d requests at once found themselves within a limit of %d, want %d", passed.Load(), all, limit, limit)
	}
	return first(
		func() error { return p.final(p.hit("scarce", 0), all) },
		func() error { return p.final(p.hit("passed", 0), limit) },
	)
}

func checkOppositeOrders(p *probe) error {
	store, is := p.store.(ratelimit.ConditionalStore)
	if !is {
		return checkDeclared(p)
	}
	const names = 6
	err := p.togetherEach(func(caller, _ int) error {
		call := make(hits, names)
		for i := range call {
			call[i] = p.hit(fmt.Sprint("order", i), 1)
		}
		if caller%2 == 1 {
			slices.Reverse(call)
		}
		return store.AddUnlessOver(p.ctx, call)
	})
	if err != nil {
		return err
	}
	return p.final(p.hit("order3", 0), uint64(callers*p.callsEach))
}
