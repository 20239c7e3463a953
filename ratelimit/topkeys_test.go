package ratelimit_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// topText shows the keys of a rule in a line.
func topText(keys []ratelimit.KeyCount) string {
	var texts []string
	for _, k := range keys {
		text := ""
		for _, e := range k.Entries {
			text += e.Key + "=" + e.Value + " "
		}
		if k.Domain != "" {
			text = k.Domain + ": " + text
		}
		texts = append(texts, fmt.Sprintf("%s%d", text, k.Count))
		if k.Error > 0 {
			texts[len(texts)-1] += fmt.Sprintf("±%d", k.Error)
		}
	}
	return strings.Join(texts, ", ")
}

// newTopBench returns a bench with top keys, at the start of a minute. Its over-limit cache answers
// some hits.
func newTopBench(t testing.TB, rules ...ratelimit.Rule) *bench {
	t.Helper()
	b := newBench(t, &ratelimit.Options{TopKeys: true, OverLimitCache: newMapCache((&clock{unix: epoch}).Now)}, rules...)
	b.clock.set(epoch - epoch%60)
	return b
}

// A few keys are counted exactly, over the current minute and the one before.
func TestTopKeys(t *testing.T) {
	shadow := rule("s", "", 0)
	shadow.ShadowMode = true
	b := newTopBench(t, rule("k", "", 2), shadow, flagged("s", "wild", "w*"), rule("unused", "", 1))
	minute := b.clock.Now().Unix()
	ask := func() {
		b.decide(desc("k", "a"), desc("k", "b"), desc("k", "a"), desc("s", "x"), desc("wild", "w1"), desc("wild", "w2"))
		b.decide(hits(3, desc("k", "c")), hits(0, desc("k", "peek")), override(7, ratelimit.Hour, desc("o", "v", "p", "")))
	}
	ask()
	ask()
	top := b.engine.TopKeys()
	equal(t, "from", top.From.Unix(), epoch) // when the engine was created
	equal(t, "rules", len(top.Rules), 4)
	k := top.Rules[0]
	equal(t, "rule", fmt.Sprintln(k.Limit, k.Domain, k.Path), "0 domain [{k }]\n")
	equal(t, "hits", k.Hits, 12)
	equal(t, "keys by hits", topText(k.ByHits), "k=c 6, k=a 4, k=b 2")
	equal(t, "refusals", k.Refusals, 8)
	equal(t, "keys by refusals", topText(k.ByRefusals), "k=c 6, k=a 2")
	equal(t, "in shadow mode", topText(top.Rules[1].ByRefusals), "s=x 2")
	equal(t, "a shared counter", topText(top.Rules[2].ByHits), "wild=w* 4")
	requests := top.Rules[3]
	equal(t, "limits from requests", fmt.Sprintln(requests.Limit, requests.Domain, requests.Path), "-1  []\n")
	equal(t, "their keys", topText(requests.ByHits), "domain: o=v p= 2")

	b.clock.set(minute + 61)
	ask()
	top = b.engine.TopKeys()
	equal(t, "in the second minute", topText(top.Rules[0].ByHits), "k=c 9, k=a 6, k=b 3")
	b.clock.set(minute + 121)
	top = b.engine.TopKeys()
	equal(t, "in the third minute", topText(top.Rules[0].ByHits), "k=c 3, k=a 2, k=b 1")
	equal(t, "period", top.To.Sub(top.From), 61*time.Second)
	b.clock.set(minute + 300)
	equal(t, "later", len(b.engine.TopKeys().Rules), 0)
}

func TestTopKeysOff(t *testing.T) {
	b := newBench(t, nil, rule("k", "", 2))
	equal(t, "top keys", b.engine.TopKeys() == nil, true)
}

// Rules keep their numbers when others are activated.
func TestTopKeysOfNewRules(t *testing.T) {
	b := newTopBench(t, rule("a", "", 2), rule("b", "", 2), rule("c", "v", 2))
	b.decide(desc("a", "x"), desc("b", "y"), desc("c", "v"))
	b.use(rule("z", "", 1), rule("b", "", 9), rule("c", "", 2))
	b.decide(desc("b", "y"))
	top := b.engine.TopKeys()
	equal(t, "rules", len(top.Rules), 1)
	equal(t, "index", top.Rules[0].Limit, 1)
	equal(t, "keys", topText(top.Rules[0].ByHits), "b=y 2")
}

// What clients send can't occupy much memory: long keys are cut, and distinguished all the same.
func TestLongTopKeys(t *testing.T) {
	b := newTopBench(t, rule("k", "", 9))
	long := strings.Repeat("x", 100_000)
	b.decide(desc("k", long+"1"), desc("k", long+"2"), desc("k", long+"1"))
	keys := b.engine.TopKeys().Rules[0].ByHits
	equal(t, "keys", len(keys), 2)
	for i, k := range keys {
		equal(t, "count", k.Count, uint64(2-i))
		equal(t, "key", k.Entries[0].Key, "k")
		equal(t, "end", strings.HasSuffix(k.Entries[0].Value, "x…"), true)
		equal(t, "cut", len(k.Entries[0].Value) <= 256+len("…"), true)
	}
}

// Numbers of hits that clients choose overflow nothing.
func TestTopKeysOfManyHits(t *testing.T) {
	b := newTopBench(t, rule("k", "", 9))
	for range 20_000 {
		b.decide(hits(math.MaxUint64, desc("k", "greedy")))
	}
	b.decide(desc("k", "modest"))
	keys := b.engine.TopKeys().Rules[0].ByHits
	equal(t, "key", keys[0].Entries[0].Value, "greedy")
	if keys[0].Count < 1<<45 {
		t.Errorf("%d hits", keys[0].Count)
	}
}

// zipfStream decides hits on keys whose frequencies fall like a Zipf distribution's and returns the true
// numbers. An n-th of them is refused.
func zipfStream(t *testing.T, b *bench, hits, perSecond int) map[string]uint64 {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 1, 100_000)
	exact := make(map[string]uint64)
	var d ratelimit.Decision
	start := b.clock.Now().Unix()
	for i := range hits {
		b.clock.set(start + int64(i/perSecond))
		key := fmt.Sprint(zipf.Uint64())
		exact[key]++
		request := ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("k", key)}}
		if err := b.engine.DecideInto(t.Context(), &request, &d); err != nil {
			t.Fatal(err)
		}
	}
	return exact
}

// The estimates are within their bounds, and no key with more than 2 % of the hits is missing: with
// every decision looked at, and with some of them.
func TestTopKeysOfAZipfStream(t *testing.T) {
	scaletest.Unraced(t)
	for name, perSecond := range map[string]int{"all": 8_000, "some": 1_000_000} {
		const stream = 200_000
		b := newTopBench(t, ratelimit.Rule{Key: "k", Limit: per(1000, ratelimit.Hour)})
		b.clock.set(b.clock.Now().Unix() + 50) // the stream may go on into the next minute
		exact := zipfStream(t, b, stream, perSecond)
		r := b.engine.TopKeys().Rules[0]
		equal(t, name+": keys", len(r.ByHits), 64)
		if name == "all" {
			equal(t, "hits", r.Hits, stream)
		}
		if off := max(r.Hits, stream) - min(r.Hits, stream); off > stream/50 {
			t.Errorf("%s: %d hits of %d", name, r.Hits, stream)
		}
		found := checkTop(t, name, r.ByHits, exact, stream)
		for key, n := range exact {
			if n > stream/50 && !found[key] {
				t.Errorf("%s: key %s with %d hits is missing", name, key, n)
			}
			exact[key] -= min(n, 1000) // the rest was refused
		}
		checkTop(t, name+", refusals", r.ByRefusals, exact, stream)
	}
}

// checkTop compares estimates with the truth.
func checkTop(t *testing.T, what string, keys []ratelimit.KeyCount, exact map[string]uint64, total uint64) map[string]bool {
	t.Helper()
	found := make(map[string]bool)
	for i, k := range keys {
		key := k.Entries[0].Value
		found[key] = true
		if off := max(k.Count, exact[key]) - min(k.Count, exact[key]); off > k.Error {
			t.Errorf("%s: key %s has %d hits, and %d±%d are estimated", what, key, exact[key], k.Count, k.Error)
		}
		if i < 5 && k.Error > total/16 {
			t.Errorf("%s: key %s: %d±%d is of no use", what, key, k.Count, k.Error)
		}
	}
	if len(found) != len(keys) {
		t.Errorf("%s: %d keys, %d of them different", what, len(keys), len(found))
	}
	return found
}

// Decisions, changes of the rules and reading happen at the same time.
func TestTopKeysConcurrently(t *testing.T) {
	store := storeFunc(func(_ context.Context, hits []ratelimit.Hit) error {
		for i := range hits {
			hits[i].Count = hits[i].N
		}
		return nil
	})
	e := ratelimit.MustNew(store, &ratelimit.Options{TopKeys: true})
	rules := compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{rule("k", "", 5)}})
	e.Use(rules)
	const each = 3000 // few enough for all of them to be looked at
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			var d ratelimit.Decision
			for i := range each {
				r := ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("k", fmt.Sprint(i%3))}}
				if err := e.DecideInto(context.Background(), &r, &d); err != nil {
					t.Error(err)
				}
				if i%100 == g {
					e.TopKeys()
				}
				if i%500 == g {
					e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{rule("k", "", 5)}}))
				}
			}
		})
	}
	all.Wait()
	r := e.TopKeys().Rules[0]
	equal(t, "keys", len(r.ByHits), 3)
	var total uint64
	for _, k := range r.ByHits {
		total += k.Count
	}
	equal(t, "sum", total, r.Hits)
}

func TestTopKeysAllocateNothing(t *testing.T) {
	now := time.Unix(epoch, 0)
	e := ratelimit.MustNew(bareStore{}, &ratelimit.Options{Now: func() time.Time { return now }, TopKeys: true})
	e.Use(compile(t, ratelimit.Domain{Name: "domain", Rules: []ratelimit.Rule{rule("k", "", 5)}}))
	var d ratelimit.Decision
	var requests []ratelimit.Request
	for i := range 200 {
		requests = append(requests, ratelimit.Request{Domain: "domain", Descriptors: repeat(1, desc("k", fmt.Sprintf("%03d", i)))})
	}
	decide := func(i int) {
		if err := e.DecideInto(t.Context(), &requests[i%len(requests)], &d); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		decide(i)
	}
	i := 0
	if n := testing.AllocsPerRun(1000, func() { decide(i); i++ }); n != 0 && !scaletest.Race() {
		t.Errorf("%v allocations", n)
	}
}

func TestTopKeysOfALimiter(t *testing.T) {
	l, err := ratelimit.NewLimiter("logins", newMapStore(), ratelimit.Per(1, ratelimit.Day), &ratelimit.Options{TopKeys: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "b", "b"} {
		charge(t, l, key, 1)
	}
	r := l.TopKeys().Rules[0]
	equal(t, "hits", topText(r.ByHits), "key=b 3, key=a 1")
	equal(t, "refusals", topText(r.ByRefusals), "key=b 2")
}

// The number of keys is bounded in all rules together.
func TestTopKeysOfManyRules(t *testing.T) {
	scaletest.Unraced(t)
	var rules []ratelimit.Rule
	for i := range 1200 {
		rules = append(rules, rule(fmt.Sprintf("k%d", i), "", 0))
	}
	b := newTopBench(t, rules...)
	start := b.clock.Now().Unix()
	var d ratelimit.Decision
	for i := range 1200 {
		b.clock.set(start + int64(i/50))
		for v := range 80 {
			request := ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc(fmt.Sprintf("k%d", i), fmt.Sprint(v))}}
			if err := b.engine.DecideInto(t.Context(), &request, &d); err != nil {
				t.Fatal(err)
			}
		}
	}
	top := b.engine.TopKeys()
	equal(t, "rules", len(top.Rules), 1200)
	sizes := make(map[int]bool)
	keys := 0
	for _, r := range top.Rules {
		equal(t, "hits", r.Hits, 80)
		sizes[len(r.ByHits)] = true
		keys += len(r.ByHits) + len(r.ByRefusals)
	}
	if keys > 1<<16+2*1200 || !sizes[64] || !sizes[1] {
		t.Errorf("%d keys, %v for each rule", keys, slices.Sorted(maps.Keys(sizes)))
	}
}

// Hits that are claimed for others are in no statistics; what these report is.
func TestRecord(t *testing.T) {
	for _, algorithm := range []ratelimit.Algorithm{ratelimit.FixedWindow, ratelimit.SlidingWindow, ratelimit.TokenBucket} {
		b := newBench(t, nil)
		b.engine = ratelimit.MustNew(newChargeStore(), &ratelimit.Options{Stats: b.stats, Now: b.clock.Now, TopKeys: true})
		r := rule("k", "", 100)
		r.Limit.Algorithm = algorithm
		b.use(r)
		claim := hits(90, desc("k", "v"))
		claim.Claim = true
		equal(t, "remaining", b.decide(claim).Statuses[0].Remaining, 10)
		equal(t, "claimed", b.stats.Limit("domain.k").Load(), ratelimit.LimitCounts{})
		request := &ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("k", "v")}}
		b.engine.Record(request, 30, 7, 10)
		b.engine.Record(request, 5, 0, 50)
		b.engine.Record(request, 0, 0, 0)
		equal(t, "recorded", b.stats.Limit("domain.k").Load(), ratelimit.LimitCounts{TotalHits: 42, WithinLimit: 35, NearLimit: 10, OverLimit: 7})
		top := b.engine.TopKeys().Rules[0]
		equal(t, "top keys", topText(top.ByHits)+" "+topText(top.ByRefusals), "k=v 42 k=v 7")
		equal(t, "the counter", b.decide(hits(0, desc("k", "v"))).Statuses[0].Remaining, 10)
		for _, r := range []*ratelimit.Request{{}, {Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("x", "v")}}, {Domain: "x", Descriptors: []ratelimit.Descriptor{desc("k", "v")}}} {
			b.engine.Record(r, 1, 1, 1) // nothing to count
		}
	}
}
