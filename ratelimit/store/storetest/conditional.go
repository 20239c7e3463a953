package storetest

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/ashlar-go/ashlar/ratelimit"
)

var conditionalCases = []Case{
	{"conditional/none over", "a request that is within all its limits counts on all of them", func(p *probe) {
		call := func() hits { return hits{p.limited("a", 1, 9), p.limited("b", 2, 9)} }
		p.ask(call(), 1, 2)
		p.ask(call(), 2, 4)
		p.ask(nil)
	}},
	{"conditional/some over", "a denied request must not use up the limits that would have allowed it", func(p *probe) {
		call := func() hits { return hits{p.limited("a", 2, 9), p.limited("b", 2, 3), p.limited("c", 2, 9)} }
		p.ask(call(), 2, 2, 2)
		p.ask(call(), 2, 4, 2)
		p.ask(call(), 2, 6, 2)
		p.ask(hits{p.limited("new", 1, 9), p.limited("b", 1, 3)}, 0, 7)
		p.final(p.hit("a", 0), 2)
		p.final(p.hit("new", 0), 0)
	}},
	{"conditional/all over", "a counter over its limit counts the denied hits too", func(p *probe) {
		call := func() hits { return hits{p.limited("a", 1, 0), p.limited("b", 5, 4)} }
		p.ask(call(), 1, 5)
		p.ask(call(), 2, 10)
		p.ask(hits{p.limited("a", p.MaxCount, 1<<32-1)}, p.MaxCount)
		p.ask(hits{p.limited("a", p.MaxCount, 1<<32-1)}, p.MaxCount)
	}},
	{"conditional/boundary", "the last hit that a limit allows is within it", func(p *probe) {
		p.ask(hits{p.limited("a", 3, 3)}, 3)
		p.ask(hits{p.limited("b", 1, 9), p.limited("a", 0, 3)}, 1, 3)
		p.ask(hits{p.limited("b", 1, 9), p.limited("a", 1, 3)}, 1, 4)
		p.ask(hits{p.limited("c", 1<<32-1, 1<<32-1), p.limited("b", 8, 9)}, 1<<32-1, 9)
		p.ask(hits{p.limited("d", 1<<40, 1<<32-1), p.limited("b", 0, 9)}, 1<<40, 9)
	}},
	// It does not specify whether the second of two hits on a counter is compared with the count after the first.
	{"conditional/twice", "a request may ask for the same counter twice", func(p *probe) {
		call := func() hits { return hits{p.limited("a", 1, 5), p.limited("b", 1, 9), p.limited("a", 1, 5)} }
		p.ask(call(), 1, 1, 2)
		p.ask(call(), 3, 2, 4)
		p.ask(hits{p.limited("a", 1, 5)}, 5)
		p.ask(call(), 6, 2, 7)
	}},
	{"conditional/read", "N = 0 adds nothing, whatever is decided", func(p *probe) {
		p.ask(hits{p.limited("a", 0, 5), p.limited("b", 1, 5)}, 0, 1)
		p.add(hits{p.hit("a", 5)}, 5)
		p.ask(hits{p.limited("a", 0, 5), p.limited("b", 1, 5)}, 5, 2)
		p.ask(hits{p.limited("a", 0, 5), p.limited("b", 9, 5)}, 5, 11)
	}},
	{"conditional/many", "a request may have any number of descriptors", func(p *probe) {
		const n = 60
		call, want := make(hits, n), make([]uint64, n)
		build := func() {
			for i := range call {
				call[i] = p.limited(fmt.Sprint("many", i), uint64(i), n-2)
			}
		}
		build() // all but the last are within their limits
		want[n-1] = n - 1
		p.ask(call, want...)
		build()
		for i := range n - 1 {
			want[i] = uint64(i)
		}
		p.ask(call[:n-1], want[:n-1]...)
		p.final(p.hit("many7", 0), 7)
	}},
	{"conditional/same counters", "Add and AddUnlessOver count on the same counters", func(p *probe) {
		p.add(hits{p.hit("a", 2)}, 2)
		p.ask(hits{p.limited("a", 1, 3)}, 3)
		p.add(hits{p.hit("a", 1)}, 4)
		p.ask(hits{p.limited("a", 1, 3), p.limited("b", 1, 3)}, 5, 0)
	}},
	{"conditional/race", "between the comparison and the addition nobody else may add, or more than the limit get through", checkConditionalRace},
	{"conditional/opposite orders", "two requests may name the same counters in opposite orders, at once", func(p *probe) {
		p.togetherEach(func(caller, _ int) error {
			call := make(hits, 6)
			for i := range call {
				call[i] = p.hit(fmt.Sprint("order", i), 1)
			}
			if caller%2 == 1 {
				slices.Reverse(call)
			}
			return p.store.(ratelimit.ConditionalStore).AddUnlessOver(p.ctx, call)
		})
		p.final(p.hit("order3", 0), uint64(callers*p.callsEach))
	}},
}

// ask makes one conditional call and compares its counts.
func (p *probe) ask(hits []ratelimit.Hit, want ...uint64) {
	p.call("AddUnlessOver", p.store.(ratelimit.ConditionalStore).AddUnlessOver, hits, want)
}

// limited returns n hits on a counter with a limit.
func (p *probe) limited(name string, n uint64, limit uint32) ratelimit.Hit {
	h := p.hit(name, n)
	h.Limit = limit
	return h
}

// checkConditionalRace makes concurrent requests on two counters: one allows a tenth of them,
// the other counts those allowed.
func checkConditionalRace(p *probe) {
	all := uint64(callers * p.callsEach)
	limit := all / 10
	var passed atomic.Uint64
	p.togetherEach(func(int, int) error {
		call := hits{p.limited("passed", 1, uint32(all)), p.limited("scarce", 1, uint32(limit))}
		err := p.store.(ratelimit.ConditionalStore).AddUnlessOver(p.ctx, call)
		if err == nil && call[1].Count <= limit {
			passed.Add(1)
		}
		return err
	})
	if n := passed.Load(); n != limit {
		p.fail("%d of %d requests at once found themselves within a limit of %d, want %d", n, all, limit, limit)
	}
	p.final(p.hit("scarce", 0), all)
	p.final(p.hit("passed", 0), limit)
}
