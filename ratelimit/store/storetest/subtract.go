package storetest

import (
	"fmt"
	"sync/atomic"

	"github.com/ashlar-go/ashlar/ratelimit"
)

var subtractCases = []Case{
	{"subtract/hits", "hits that are refunded are available again", func(p *probe) {
		p.add(hits{p.hit("a", 5), p.hit("b", 7)}, 5, 7)
		p.subtract(hits{p.hit("a", 2)}, 3)
		p.subtract(hits{p.hit("b", 1), p.hit("a", 0), p.hit("b", 2)}, 6, 3, 4)
		p.subtract(nil)
		p.add(hits{p.hit("a", 1), p.hit("b", 1)}, 4, 5)
	}},
	{"subtract/zero", "a refund must not allow more than the limit", func(p *probe) {
		p.add(hits{p.hit("a", 5)}, 5)
		p.subtract(hits{p.hit("a", 6)}, 0)
		p.add(hits{p.hit("a", 3)}, 3)
		p.subtract(hits{p.hit("a", 1<<64-1)}, 0)
		p.add(hits{p.hit("a", 1)}, 1)
	}},
	{"subtract/missing", "a refund of hits that were never counted changes nothing", func(p *probe) {
		p.subtract(hits{p.hit("a", 6)}, 0)
		p.add(hits{p.hit("a", 3)}, 3)
	}},
	{"subtract/many", "a request may give back any number of hits, and the counts must not be mixed up", func(p *probe) {
		call, want := make(hits, 300), make([]uint64, 300)
		for i := range call {
			call[i] = p.hit(fmt.Sprint("many", i), uint64(i))
			want[i] = uint64(i)
		}
		p.add(call, want...)
		for i := range call {
			call[i].N = 5
			want[i] -= min(want[i], 5)
		}
		p.subtract(call, want...)
	}},
	{"subtract/keys", "hits are given back to the counter that they were added to, whatever its key is", func(p *probe) {
		call, want := p.oddHits()
		p.add(call, want...)
		for i := range call {
			call[i].N = 1
			want[i]--
		}
		p.subtract(call, want...)
	}},
	{"subtract/large", "a counter that was raised by mistake can be lowered again", func(p *probe) {
		most := p.MaxCount
		p.add(hits{p.hit("a", most)}, most)
		p.subtract(hits{p.hit("a", 1)}, most-1)
		p.subtract(hits{p.hit("a", 1<<40), p.hit("a", 0)}, most-1-1<<40, most-1-1<<40)
		p.subtract(hits{p.hit("a", most-2-1<<40)}, 1)
	}},
	{"subtract/race", "a refund must not lose hits that others count at the same time", func(p *probe) {
		all := uint64(callers * p.callsEach)
		p.add(hits{p.hit("a", all)}, all)
		var want atomic.Int64
		want.Store(int64(all))
		p.togetherEach(func(caller, _ int) error {
			// More than all subtractions, so that lost additions and lost subtractions don't cancel out.
			method, n, change := p.store.Add, all, int64(all)
			if caller%2 == 1 {
				method, n, change = p.store.(ratelimit.SubtractStore).Subtract, 1, -1
			}
			want.Add(change)
			return method(p.ctx, hits{p.hit("a", n)})
		})
		p.final(p.hit("a", 0), uint64(want.Load()))
	}},
}

// subtract makes one call and compares the counts after it.
func (p *probe) subtract(hits []ratelimit.Hit, want ...uint64) {
	p.call("Subtract", p.store.(ratelimit.SubtractStore).Subtract, hits, want)
}
