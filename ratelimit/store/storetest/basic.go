package storetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

type hits = []ratelimit.Hit

func basicCases(o *Options) []Case {
	cases := []Case{
		{"basic/rank", "the engine decides by the Count of a hit whether it was within the limit", checkRank},
		{"basic/several", "a request may be worth more than one hit", checkSeveral},
		{"basic/read", "N = 0 reads how much is left, which must not count", checkRead},
		{"basic/twice", "two descriptors of one request may share a counter, and each is a hit", checkTwice},
		{"basic/many", "a request may have any number of descriptors, and the counts must not be mixed up", checkMany},
		{"basic/none", "a request whose descriptors are all unlimited counts nothing", checkNone},
		{"basic/over", "the engine decides what exceeding a limit means: a denial is a value, not a failure", checkOver},
		{"basic/saturation", "a counter that wraps round lifts the limit", checkSaturation},
		{"basic/keys", "keys are made of what clients send, and a client must not be able to count on the counter of another", checkKeys},
		{"basic/buffers", "the engine uses the memory of hits and keys again for the next request", checkBuffers},
		{"basic/untouched", "the engine reads its hits again after the call; the store may write Count only", checkUntouched},
		{"basic/fixed", "a limit that comes with a request counts where the rule with the same descriptor does", checkFixed},
		{"basic/canceled", "a canceled call must return, and the store must keep working", checkCanceled},
	}
	if o.Flush != nil {
		return cases
	}
	return append(cases, Case{"basic/order", "hits are added in order, so the first of two is the first to be let in", checkOrder})
}

func checkRank(p *probe) error {
	for rank := range uint64(5) {
		if err := p.add(hits{p.hit("rank", 1)}, rank+1); err != nil {
			return err
		}
	}
	return nil
}

func checkSeveral(p *probe) error {
	return first(
		func() error { return p.add(hits{p.hit("several", 7)}, 7) },
		func() error { return p.add(hits{p.hit("several", 1)}, 8) },
		func() error { return p.add(hits{p.hit("several", 1<<32)}, 1<<32+8) },
	)
}

func checkRead(p *probe) error {
	return first(
		func() error { return p.add(hits{p.hit("read", 0)}, 0) },
		func() error { return p.add(hits{p.hit("read", 3)}, 3) },
		func() error { return p.add(hits{p.hit("read", 0)}, 3) },
		func() error { return p.add(hits{p.hit("read", 0), p.hit("other", 0)}, 3, 0) },
		func() error { return p.add(hits{p.hit("read", 1)}, 4) },
	)
}

func checkTwice(p *probe) error {
	return first(
		func() error { return p.add(hits{p.hit("twice", 1), p.hit("twice", 1)}, 1, 2) },
		func() error { return p.final(p.hit("twice", 0), 2) },
	)
}

func checkFixed(p *probe) error {
	fixed := func(n uint64) ratelimit.Hit {
		h := p.hit("fixed", n)
		h.Fixed = true
		return h
	}
	return first(
		func() error { return p.add(hits{fixed(1)}, 1) },
		func() error { return p.add(hits{p.hit("fixed", 2)}, 3) },
		func() error { return p.add(hits{fixed(0), p.hit("fixed", 0)}, 3, 3) },
	)
}

func checkOrder(p *probe) error {
	call := hits{p.hit("order", 0), p.hit("order", 5), p.hit("else", 1), p.hit("order", 0), p.hit("order", 2)}
	return p.add(call, 0, 5, 1, 5, 7)
}

func checkMany(p *probe) error {
	const n = 300
	call := make(hits, n)
	want := make([]uint64, n)
	for round := range uint64(2) {
		for i := range call {
			call[i] = p.hit(fmt.Sprint("many", i), uint64(i))
			want[i] = uint64(i) * (round + 1)
		}
		if err := p.add(call, want...); err != nil {
			return err
		}
	}
	return nil
}

func checkNone(p *probe) error {
	return first(
		func() error { return p.add(nil) },
		func() error { return p.add(hits{}) },
	)
}

func checkOver(p *probe) error {
	for rank := range uint64(3) {
		h := p.hit("over", 2)
		h.Limit = 1
		zero := p.hit("zero", 2)
		zero.Limit = 0
		if err := p.add(hits{h, zero}, 2*rank+2, 2*rank+2); err != nil {
			return err
		}
	}
	return nil
}

func checkSaturation(p *probe) error {
	most := p.MaxCount
	return first(
		func() error { return p.add(hits{p.hit("full", most)}, most) },
		func() error { return p.add(hits{p.hit("full", 1)}, most) },
		func() error { return p.add(hits{p.hit("full", most)}, most) },
		func() error { return p.add(hits{p.hit("nearly", most-2)}, most-2) },
		func() error { return p.add(hits{p.hit("nearly", 2)}, most) },
		func() error { return p.add(hits{p.hit("nearly", 0)}, most) },
		func() error { return p.add(hits{p.hit("nearly", 5)}, most) },
		func() error { return p.add(hits{p.hit("leap", 10)}, 10) },
		func() error { return p.add(hits{p.hit("leap", 1<<64-1)}, most) },
	)
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

func checkKeys(p *probe) error {
	var call hits
	var want []uint64
	for i, odd := range oddKeys() {
		h := p.hit("", uint64(i+1))
		// Before, because a store may hold that the end of a key is its window.
		h.Key = append([]byte(odd), h.Key...)
		if !p.Refuses(h.Key) {
			call, want = append(call, h), append(want, h.N)
			continue
		}
		if p.store.Add(p.ctx, hits{h}) == nil {
			return fmt.Errorf("Add(%s) returned no error, though Options.Refuses declares one", describe(hits{h}))
		}
	}
	if err := p.add(call, want...); err != nil {
		return err
	}
	for i := range call {
		call[i].N = 0
	}
	return p.add(call, want...)
}

func checkBuffers(p *probe) error {
	buf := make(hits, 2)
	var keys [2][]byte
	for round := range uint64(3) {
		for i := range buf {
			buf[i] = p.hit(fmt.Sprint("buffer", i), 1)
			keys[i] = append(keys[i][:0], buf[i].Key...)
			buf[i].Key = keys[i]
		}
		if err := p.add(buf, round+1, round+1); err != nil {
			return err
		}
		for i := range buf {
			for j := range keys[i] {
				keys[i][j] = 'z'
			}
			buf[i] = ratelimit.Hit{}
		}
	}
	overwritten := p.hit("", 0)
	overwritten.Key = bytes.Repeat([]byte("z"), len(keys[0]))
	return p.add(hits{overwritten}, 0)
}

func checkUntouched(p *probe) error {
	call := hits{p.hit("one", 3), p.hit("two", 0), p.hit("one", 1)}
	call[0].Jitter, call[1].Limit = 17, 0
	before := slices.Clone(call)
	for i := range before {
		before[i].Key = bytes.Clone(before[i].Key)
	}
	if err := p.store.Add(p.ctx, call); err != nil {
		return err
	}
	if p.Flush != nil {
		p.Flush(p.store)
	}
	for i := range call {
		after := call[i]
		after.Count = 0
		if was := before[i]; fmt.Sprint(was) != fmt.Sprint(after) {
			return fmt.Errorf("Add(%s) made of the hit %v the hit %v", describe(before), was, after)
		}
	}
	return nil
}

func checkCanceled(p *probe) error {
	return first(
		func() error {
			return p.ended(func(ctx context.Context) { _ = p.store.Add(ctx, hits{p.hit("canceled", 1)}) })
		},
		func() error { return p.add(hits{p.hit("after", 1)}, 1) },
	)
}

// ended makes calls, which may or may not count, with contexts that have ended.
func (p *probe) ended(call func(context.Context)) error {
	canceled, cancel := context.WithCancel(p.ctx)
	cancel()
	late, stop := context.WithDeadline(p.ctx, time.Unix(1, 0))
	defer stop()
	for _, ctx := range []context.Context{canceled, late} {
		if err := p.bounded(func() error {
			call(ctx)
			return nil
		}); err != nil {
			return fmt.Errorf("a call with a context whose error is %q: %w", ctx.Err(), err)
		}
	}
	return nil
}
