package ratelimit_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// The number of names that come with requests is bounded; further names are counted as
// "other", with one log line for each kind (REFERENCE.md, 5.3).
func TestFoldedLimitNames(t *testing.T) {
	b := newBench(t, &ratelimit.Options{MaxRequestStats: 3}, flagged("d", "detailed", ""), flagged("v", "value", ""), rule("plain", "", 5))
	ask := []ratelimit.Descriptor{
		desc("detailed", "1"), desc("value", "1"), override(5, ratelimit.Minute, desc("o", "1")), // these fill it up
		desc("detailed", "2"), desc("value", "2"), override(5, ratelimit.Minute, desc("o", "2")),
		desc("plain", "1"), desc("detailed", "1"), desc("value", "1"),
	}
	for _, d := range ask {
		b.decide(d)
	}
	equal(t, "statistics", totals(b), map[string]uint64{
		"domain.detailed_1": 2, "domain.value_1": 2, "domain.o_1": 1, "domain.other": 3, "domain.plain": 1,
	})
	equal(t, "warnings", strings.Count(b.log.String(), "level=WARN"), 1)
	for _, want := range []string{"statistics key", "other", "domain=domain", "names=3"} {
		if !strings.Contains(b.log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, b.log)
		}
	}
}

func totals(b *bench) map[string]uint64 {
	all := make(map[string]uint64)
	for key, c := range b.stats.counts() {
		all[key] = c.TotalHits
	}
	return all
}

// Each domain has its own bound, and its own "other".
func TestFoldedPerDomain(t *testing.T) {
	b := newBench(t, &ratelimit.Options{MaxRequestStats: 1})
	b.engine.Use(compile(t, ratelimit.Domain{Name: "one"}, ratelimit.Domain{Name: "two"}))
	for _, domain := range []string{"one", "two", "one", "two", "two"} {
		d := override(5, ratelimit.Minute, desc("k", decimal(uint64(len(totals(b))))))
		b.decideRequest(&ratelimit.Request{Domain: domain, Descriptors: []ratelimit.Descriptor{d}})
	}
	equal(t, "statistics", totals(b), map[string]uint64{"one.k_0": 1, "two.k_1": 1, "one.other": 1, "two.other": 2})
	equal(t, "warnings", strings.Count(b.log.String(), "level=WARN"), 1)
}

// Names that were not used for five minutes make room for others.
func TestUnusedNamesMakeRoom(t *testing.T) {
	b := newBench(t, &ratelimit.Options{MaxRequestStats: 2}, flagged("d", "detailed", ""))
	ask := func(seconds int64, value string) {
		b.clock.set(epoch + seconds)
		b.decide(desc("detailed", value))
	}
	ask(0, "a")
	ask(0, "b")
	ask(200, "a")
	ask(200, "c") // no room
	ask(301, "c") // that of b
	ask(400, "d") // no room
	ask(501, "d") // that of a
	ask(502, "b") // no room
	equal(t, "statistics", totals(b), map[string]uint64{
		"domain.detailed_a": 2, "domain.detailed_b": 1, "domain.detailed_c": 1, "domain.detailed_d": 1, "domain.other": 3,
	})
}

func TestFoldedDomains(t *testing.T) {
	b := newBench(t, &ratelimit.Options{MaxRequestStats: 2})
	for _, domain := range []string{"a", "b:c", "d", "e", "a", "b:c", strings.Repeat("x", 5000)} {
		b.decideRequest(&ratelimit.Request{Domain: domain, Descriptors: []ratelimit.Descriptor{desc("k", "")}})
	}
	equal(t, "not found", b.stats.notFound(), map[string]uint64{"a": 2, "b_c": 2, "other": 3})
	equal(t, "warnings", b.log.Count("too many names"), 1)
	if !strings.Contains(b.log.String(), "unknown domain") {
		t.Errorf("the log does not name what is folded: %s", b.log)
	}
}

// The two kinds of names are bounded and reported separately.
func TestFoldedKindsAreApart(t *testing.T) {
	b := newBench(t, &ratelimit.Options{MaxRequestStats: 1})
	for _, v := range []string{"1", "2", "3"} {
		b.decide(override(5, ratelimit.Minute, desc("k", v)))
		b.decideRequest(&ratelimit.Request{Domain: "nope" + v, Descriptors: []ratelimit.Descriptor{desc("k", "")}})
	}
	equal(t, "statistics", totals(b), map[string]uint64{"domain.k_1": 1, "domain.other": 2})
	equal(t, "not found", b.stats.notFound(), map[string]uint64{"nope1": 1, "other": 2})
	equal(t, "warnings", b.log.Count("too many names"), 2)
}

// A long name is folded at once, so that the bound on names is one on bytes.
func TestFoldedLongNames(t *testing.T) {
	b := newBench(t, nil)
	fits := strings.Repeat("v", ratelimit.MaxStatsName-len("domain.k_"))
	b.decide(override(5, ratelimit.Minute, desc("k", fits)), override(5, ratelimit.Minute, desc("k", fits+"v")))
	equal(t, "statistics", totals(b), map[string]uint64{"domain.k_" + fits: 1, "domain.other": 1})
}

// The default bound is 10,000 names.
func TestFoldedByDefault(t *testing.T) {
	b := newBench(t, nil)
	r := ratelimit.Request{Domain: "domain"}
	for i := range uint64(10_100) {
		r.Descriptors = append(r.Descriptors, override(5, ratelimit.Minute, desc("k", decimal(i))))
	}
	b.decideRequest(&r)
	all := totals(b)
	equal(t, "names", len(all), 10_001)
	equal(t, "folded", all["domain.other"], 100)
}

// Names are copied from the request, because a caller may reuse its buffers.
func TestNamesAreCopied(t *testing.T) {
	b := newBench(t, nil, flagged("d", "k", ""))
	var d ratelimit.Decision
	for _, v := range []string{"first", "second", "third", "first"} {
		r := ratelimit.Request{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("k", v)}}
		if err := b.engine.DecideInto(t.Context(), &r, &d); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "statistics", totals(b), map[string]uint64{"domain.k_first": 2, "domain.k_second": 1, "domain.k_third": 1})
}

// Goroutines that add the same new names concurrently share their counters.
func TestFoldedConcurrently(t *testing.T) {
	b := newBench(t, &ratelimit.Options{MaxRequestStats: 5}, flagged("d", "k", ""))
	const workers, calls = 8, 200
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			var d ratelimit.Decision
			for i := range uint64(calls) {
				for _, r := range []ratelimit.Request{
					{Domain: "domain", Descriptors: []ratelimit.Descriptor{desc("k", decimal(i%10))}},
					{Domain: "nope" + decimal(i%10), Descriptors: []ratelimit.Descriptor{desc("k", "")}},
				} {
					if err := b.engine.DecideInto(t.Context(), &r, &d); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	sum := uint64(0)
	for _, n := range totals(b) {
		sum += n
	}
	equal(t, "names", len(totals(b)), 6)
	equal(t, "hits", sum, workers*calls)
	sum = 0
	for _, n := range b.stats.notFound() {
		sum += n
	}
	equal(t, "unknown domains", sum, workers*calls)
	equal(t, "names of domains", len(b.stats.notFound()), 6)
}

// LimitStats returns the live counters in the order of Limits, and none for a key from the request.
func TestLimitStats(t *testing.T) {
	b := newBench(t, nil, rule("a", "", 1), flagged("v", "value", ""), rule("b", "", 5))
	for _, d := range []ratelimit.Descriptor{desc("a", "1"), desc("a", "1"), desc("v", "1"), desc("b", "1")} {
		b.decide(d)
	}
	rules, live := b.engine.LimitStats()
	hits := map[string]uint64{}
	for i, l := range rules.Limits() {
		if live[i] != nil {
			hits[l.Path[0].Key] = live[i].Load().TotalHits
		}
	}
	equal(t, "hits", hits, map[string]uint64{"a": 2, "b": 1})
	rules, live = ratelimit.MustNew(newMapStore(), nil).LimitStats()
	if rules != nil || live != nil {
		t.Errorf("without rules: %v, %v", rules, live)
	}
}
