package storetest

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

type hits = []ratelimit.Hit

var basicCases = []Case{
	{"basic/rank", "the engine decides by the Count of a hit whether it was within the limit", func(p *probe) {
		for rank := range uint64(5) {
			p.add(hits{p.hit("rank", 1)}, rank+1)
		}
	}},
	{"basic/several", "a request may be worth more than one hit", func(p *probe) {
		p.add(hits{p.hit("several", 7)}, 7)
		p.add(hits{p.hit("several", 1)}, 8)
		p.add(hits{p.hit("several", 1<<32)}, 1<<32+8)
	}},
	{"basic/read", "N = 0 reads how much is left, which must not count", func(p *probe) {
		p.add(hits{p.hit("read", 0)}, 0)
		p.add(hits{p.hit("read", 3)}, 3)
		p.add(hits{p.hit("read", 0)}, 3)
		p.add(hits{p.hit("read", 0), p.hit("other", 0)}, 3, 0)
		p.add(hits{p.hit("read", 1)}, 4)
	}},
	{"basic/twice", "two descriptors of one request may share a counter, and each is a hit", func(p *probe) {
		p.add(hits{p.hit("twice", 1), p.hit("twice", 1)}, 1, 2)
		p.final(p.hit("twice", 0), 2)
	}},
	{"basic/many", "a request may have any number of descriptors, and the counts must not be mixed up", func(p *probe) {
		call, want := make(hits, 300), make([]uint64, 300)
		for round := range uint64(2) {
			for i := range call {
				call[i] = p.hit(fmt.Sprint("many", i), uint64(i))
				want[i] = uint64(i) * (round + 1)
			}
			p.add(call, want...)
		}
	}},
	{"basic/none", "a request whose descriptors are all unlimited counts nothing", func(p *probe) {
		p.add(nil)
		p.add(hits{})
	}},
	{"basic/over", "the engine decides what exceeding a limit means: a denial is a value, not a failure", func(p *probe) {
		for rank := range uint64(3) {
			p.add(hits{p.limited("over", 2, 1), p.limited("zero", 2, 0)}, 2*rank+2, 2*rank+2)
		}
	}},
	{"basic/saturation", "a counter that wraps round lifts the limit", func(p *probe) {
		most := p.MaxCount
		p.add(hits{p.hit("full", most)}, most)
		p.add(hits{p.hit("full", 1)}, most)
		p.add(hits{p.hit("full", most)}, most)
		p.add(hits{p.hit("nearly", most-2)}, most-2)
		p.add(hits{p.hit("nearly", 2)}, most)
		p.add(hits{p.hit("nearly", 0)}, most)
		p.add(hits{p.hit("nearly", 5)}, most)
		p.add(hits{p.hit("leap", 10)}, 10)
		p.add(hits{p.hit("leap", 1<<64-1)}, most)
	}},
	{"basic/keys", "keys are made of what clients send, and a client must not be able to count on the counter of another", func(p *probe) {
		call, want := p.oddHits()
		p.add(call, want...)
		for i := range call {
			call[i].N = 0
		}
		p.add(call, want...)
	}},
	{"basic/buffers", "the engine uses the memory of hits and keys again for the next request", checkBuffers},
	{"basic/untouched", "the engine reads its hits again after the call; the store may write Count only", checkUntouched},
	{"basic/fixed", "a limit that comes with a request counts where the rule with the same descriptor does", func(p *probe) {
		fixed := p.hit("fixed", 1)
		fixed.Fixed = true
		p.add(hits{fixed}, 1)
		p.add(hits{p.hit("fixed", 2)}, 3)
		fixed.N = 0
		p.add(hits{fixed, p.hit("fixed", 0)}, 3, 3)
	}},
	{"basic/canceled", "a canceled call must return, and the store must keep working", func(p *probe) {
		p.ended(func(ctx context.Context) { _ = p.store.Add(ctx, hits{p.hit("canceled", 1)}) })
		p.add(hits{p.hit("after", 1)}, 1)
	}},
}

// exactCases are for stores without Options.Flush.
var exactCases = []Case{
	{"basic/order", "hits are added in order, so the first of two is the first to be let in", func(p *probe) {
		call := hits{p.hit("order", 0), p.hit("order", 5), p.hit("else", 1), p.hit("order", 0), p.hit("order", 2)}
		p.add(call, 0, 5, 1, 5, 7)
	}},
	{"concurrency/ranks", "of concurrent requests, exactly as many as the limit allows may be within it", checkRanks},
}

// oddKeys returns keys that are pairwise different, most of them slightly.
func oddKeys() []string {
	long := strings.Repeat("0123456789abcdef", 640) // 10 KB
	return []string{
		"", " ", "  ", "\t", "\n", "\r\n", "\x00", "\x00\x00", "a\x00", "a\x00b", "a", "A", "a ", " a", "a b",
		"a\nb", "a\r\nset b 0 0 1", "*", "%s", "{a}", "{a}b", "_", "__",
		"\u00e9", "e\u0301", "\xe9", "\xff\xfe", "日本語", "日本", "\U0001f600",
		long, long + "x", "x" + long, long[:len(long)-1] + "x", "x" + long[1:], long[:249], long[:250], long[:251],
		long[:512], long[:513], long[:511] + "x", long[:5000] + "x" + long[5001:],
	}
}

// oddHits returns hits on counters with odd keys, and their numbers. It checks that the store refuses the
// keys that it declares.
func (p *probe) oddHits() (call hits, numbers []uint64) {
	for i, odd := range oddKeys() {
		h := p.hit("", uint64(i+2))
		// Before, because a store may hold that the end of a key is its window.
		h.Key = append([]byte(odd), h.Key...)
		if !p.Refuses(h.Key) {
			call, numbers = append(call, h), append(numbers, h.N)
		} else if p.store.Add(p.ctx, hits{h}) == nil {
			p.fail("Add(%s) returned no error, though Options.Refuses declares one", describe(hits{h}))
		}
	}
	return call, numbers
}

func checkBuffers(p *probe) {
	buf := make(hits, 2)
	var keys [2][]byte
	for round := range uint64(3) {
		for i := range buf {
			buf[i] = p.hit(fmt.Sprint("buffer", i), 1)
			keys[i] = append(keys[i][:0], buf[i].Key...)
			buf[i].Key = keys[i]
		}
		p.add(buf, round+1, round+1)
		for i := range buf {
			copy(keys[i], bytes.Repeat([]byte("z"), len(keys[i])))
			buf[i] = ratelimit.Hit{}
		}
	}
	overwritten := p.hit("", 0)
	overwritten.Key = keys[0]
	p.add(hits{overwritten}, 0)
}

func checkUntouched(p *probe) {
	call := hits{p.hit("one", 3), p.hit("two", 0), p.hit("one", 1)}
	call[0].Jitter, call[1].Limit = 17, 0
	before := slices.Clone(call)
	for i := range before {
		before[i].Key = bytes.Clone(before[i].Key)
	}
	p.check(p.store.Add(p.ctx, call))
	if p.Flush != nil {
		p.Flush(p.store)
	}
	for i := range call {
		after := call[i]
		after.Count = 0
		if was := before[i]; fmt.Sprint(was) != fmt.Sprint(after) {
			p.fail("Add(%s) made of the hit %v the hit %v", describe(before), was, after)
		}
	}
}

// ended makes calls, which may or may not count, with contexts that have ended.
func (p *probe) ended(call func(context.Context)) {
	canceled, cancel := context.WithCancel(p.ctx)
	cancel()
	late, stop := context.WithDeadline(p.ctx, time.Unix(1, 0))
	defer stop()
	for _, ctx := range []context.Context{canceled, late} {
		p.within("in a call with a context whose error is %q", ctx.Err())
		if p.check(p.bounded(func() { call(ctx) })); p.err != nil {
			runtime.Goexit() // the case ends, because the call may go on with what it uses
		}
	}
}
