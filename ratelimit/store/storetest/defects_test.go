package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

type call func(ctx context.Context, hits []ratelimit.Hit) error

// broken is a reference with one method, or both, replaced.
type broken struct {
	*reference
	addWith, askWith call
}

func (b *broken) Add(ctx context.Context, hits []ratelimit.Hit) error {
	if b.addWith != nil {
		return b.addWith(ctx, hits)
	}
	return b.reference.Add(ctx, hits)
}

func (b *broken) AddUnlessOver(ctx context.Context, hits []ratelimit.Hit) error {
	if b.askWith != nil {
		return b.askWith(ctx, hits)
	}
	return b.reference.AddUnlessOver(ctx, hits)
}

// defects are ways to get a store wrong, each with a case that must notice.
var defects = map[string]struct {
	noticed string
	add     func(r *reference) call
	ask     func(r *reference) call
}{
	"lost update":          {noticed: "concurrency/ranks", add: lostUpdate},
	"lost update in a sum": {noticed: "concurrency/sum", add: lostUpdate},
	"off by one":           {noticed: "basic/rank", add: after(func(h *ratelimit.Hit) { h.Count-- })},
	"adds one, not N":      {noticed: "basic/several", add: before(func(h *ratelimit.Hit) { h.N = min(h.N, 1) })},
	"adds when reading":    {noticed: "basic/read", add: before(func(h *ratelimit.Hit) { h.N = max(h.N, 1) })},
	"counts in 32 bits":    {noticed: "basic/several", add: after(func(h *ratelimit.Hit) { h.Count = uint64(uint32(h.Count)) })},
	"wraps round":          {noticed: "basic/saturation", add: wrapsRound},
	"stops at the limit":   {noticed: "basic/over", add: after(func(h *ratelimit.Hit) { h.Count = min(h.Count, uint64(h.Limit)) })},
	"error when over":      {noticed: "basic/over", add: errorWhenOver},
	"error without hits":   {noticed: "basic/none", add: errorWithoutHits},
	"each key once":        {noticed: "basic/twice", add: eachKeyOnce},
	"reversed order":       {noticed: "basic/order", add: reversed},
	"first hits only":      {noticed: "basic/many", add: firstHitsOnly},
	"keys as C strings":    {noticed: "basic/keys", add: renaming(func(k []byte) []byte { k, _, _ = bytes.Cut(k, []byte{0}); return k })},
	"keys trimmed":         {noticed: "basic/keys", add: renaming(bytes.TrimSpace)},
	"keys made valid":      {noticed: "basic/keys", add: renaming(func(k []byte) []byte { return bytes.ToValidUTF8(k, []byte("?")) })},
	"keys in lower case":   {noticed: "basic/keys", add: renaming(bytes.ToLower)},
	"keys cut short":       {noticed: "basic/keys", add: renaming(func(k []byte) []byte { return append(k[:min(250, len(k))], k[max(0, len(k)-80):]...) })},
	"keeps the buffer":     {noticed: "basic/buffers", add: aliasing},
	"overwrites the key":   {noticed: "basic/untouched", add: after(func(h *ratelimit.Hit) { h.Key[0] ^= 1 })},
	"overwrites N":         {noticed: "basic/untouched", add: after(func(h *ratelimit.Hit) { h.N = 0 })},
	"fixed ones apart":     {noticed: "basic/fixed", add: counterPerFixed},
	"hangs when canceled":  {noticed: "basic/canceled", add: hangsWhenCanceled},
	"broken by canceling":  {noticed: "basic/canceled", add: brokenByCanceling},
	"one window":           {noticed: "windows/apart", add: renaming(func(k []byte) []byte { return k[:bytes.LastIndexByte(k, '_')] })},
	"one unit too few":     {noticed: "windows/units", add: errorIf(func(h *ratelimit.Hit) bool { return h.Unit == ratelimit.Week })},
	"units only":           {noticed: "windows/lengths", add: errorIf(func(h *ratelimit.Hit) bool { return h.Length != 0 })},
	"refuses the past":     {noticed: "windows/past", add: errorIf(func(h *ratelimit.Hit) bool { return h.End() <= ratelimit.Year.Window(time.Now().Unix()) })},
	"counters per jitter":  {noticed: "windows/jitter", add: counterPerJitter},
	"a counter per window": {noticed: "windows/turning", add: counterPerWindow},
	"old after a pause":    {noticed: "windows/long quiet", add: onlyNear(func(gone int64) bool { return gone > 5*ratelimit.Year.Seconds() })},
	"only goes forward":    {noticed: "windows/clock back", add: onlyNear(func(gone int64) bool { return gone < -ratelimit.Day.Seconds() })},
	"shrinks for readers":  {noticed: "concurrency/readers", add: shrinking},

	"always adds":             {noticed: "conditional/some over", ask: func(r *reference) call { return r.Add }},
	"never adds what is over": {noticed: "conditional/all over", ask: neverOver},
	"limit is exclusive":      {noticed: "conditional/boundary", ask: limitWith(func(limit uint32) uint32 { return limit - min(limit, 1) })},
	"limit is one too high":   {noticed: "conditional/boundary", ask: limitWith(func(limit uint32) uint32 { return limit + 1 })},
	"conditional key once":    {noticed: "conditional/twice", ask: askEachKeyOnce},
	"reading adds":            {noticed: "conditional/read", ask: readingAdds},
	"counters apart":          {noticed: "conditional/same counters", ask: countersApart},
	"many not decided":        {noticed: "conditional/many", ask: manyNotDecided},
	"one by one":              {noticed: "conditional/some over", ask: oneByOne},
	"not atomic":              {noticed: "conditional/race", ask: notAtomic},
	"adds nothing":            {noticed: "conditional/none over", ask: func(*reference) call { return func(context.Context, []ratelimit.Hit) error { return nil } }},
	"locks in any order":      {noticed: "conditional/opposite orders", ask: locksInAnyOrder},
}

// elsewhere are the cases whose defects need more than a broken method.
var elsewhere = []string{
	"windows/last second", "windows/last second of lengths", "windows/late", "conditional/declared", "subtract/declared",
	"subtract/hits", "subtract/zero", "subtract/missing", "subtract/race",
	"subtract/many", "subtract/keys", "subtract/large", "charge/declared",
	"ledger/values", "ledger/buffers", "ledger/none", "ledger/race", "ledger/canceled", "ledger/declared",
}

func TestEveryCaseHasADefect(t *testing.T) {
	tested := slices.Clone(elsewhere)
	for _, d := range defects {
		tested = append(tested, d.noticed)
	}
	for _, d := range chargeDefects {
		tested = append(tested, d.noticed)
	}
	for _, d := range chargeCallDefects {
		tested = append(tested, d.noticed)
	}
	for _, c := range storetest.Cases(&storetest.Options{Clock: storetest.NewClock(), Subtracts: true, Charges: true, Ledgers: true}) {
		if !slices.Contains(tested, c.Name) {
			t.Errorf("no defect shows that case %q notices anything", c.Name)
		}
	}
}

func TestEveryDefectIsNoticed(t *testing.T) {
	for name, d := range defects {
		t.Run(name, func(t *testing.T) {
			store := &broken{reference: newReference()}
			if d.add != nil {
				store.addWith = d.add(store.reference)
			}
			if d.ask != nil {
				store.askWith = d.ask(store.reference)
			}
			mustFail(t, d.noticed, store, &storetest.Options{Clock: storetest.NewClock(), Timeout: caseTimeout(d.noticed)})
		})
	}
}

// caseTimeout returns a short timeout for stores that are expected to hang.
func caseTimeout(noticed string) time.Duration {
	if noticed == "basic/canceled" || noticed == "conditional/opposite orders" {
		return 100 * time.Millisecond
	}
	return 0
}

func mustFail(t *testing.T, noticed string, store ratelimit.Store, opts *storetest.Options) {
	t.Helper()
	c := find(t, noticed, opts)
	err := c.Check(store, opts)
	if err == nil {
		t.Fatalf("case %q found nothing wrong with the store", noticed)
	}
	if !strings.Contains(err.Error(), c.Why) {
		t.Errorf("the failure %q does not say why: %q", err, c.Why)
	}
}

func find(t *testing.T, name string, opts *storetest.Options) storetest.Case {
	t.Helper()
	cases := storetest.Cases(opts)
	i := slices.IndexFunc(cases, func(c storetest.Case) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no case %q with these options", name)
	}
	return cases[i]
}

func before(change func(h *ratelimit.Hit)) func(r *reference) call {
	return func(r *reference) call {
		return func(ctx context.Context, hits []ratelimit.Hit) error {
			mine := slices.Clone(hits)
			for i := range mine {
				change(&mine[i])
			}
			err := r.Add(ctx, mine)
			for i := range mine {
				hits[i].Count = mine[i].Count
			}
			return err
		}
	}
}

func after(change func(h *ratelimit.Hit)) func(r *reference) call {
	return func(r *reference) call {
		return func(ctx context.Context, hits []ratelimit.Hit) error {
			err := r.Add(ctx, hits)
			for i := range hits {
				change(&hits[i])
			}
			return err
		}
	}
}

func renaming(rename func(key []byte) []byte) func(r *reference) call {
	return before(func(h *ratelimit.Hit) { h.Key = rename(bytes.Clone(h.Key)) })
}

func errorIf(bad func(h *ratelimit.Hit) bool) func(r *reference) call {
	return func(r *reference) call {
		return func(ctx context.Context, hits []ratelimit.Hit) error {
			for i := range hits {
				if bad(&hits[i]) {
					return errors.New("no")
				}
			}
			return r.Add(ctx, hits)
		}
	}
}

func lostUpdate(r *reference) call {
	return func(ctx context.Context, hits []ratelimit.Hit) error {
		for i := range hits {
			h := &hits[i]
			seen := []ratelimit.Hit{{Key: h.Key}}
			_ = r.Add(ctx, seen)
			runtime.Gosched()
			h.Count = seen[0].Count + h.N
			r.mu.Lock()
			r.counts[string(h.Key)] = h.Count
			r.mu.Unlock()
		}
		return nil
	}
}

func wrapsRound(r *reference) call {
	return func(_ context.Context, hits []ratelimit.Hit) error {
		for i := range hits {
			r.counts[string(hits[i].Key)] += hits[i].N
			hits[i].Count = r.counts[string(hits[i].Key)]
		}
		return nil
	}
}

func errorWhenOver(r *reference) call {
	return func(ctx context.Context, hits []ratelimit.Hit) error {
		err := r.Add(ctx, hits)
		for _, h := range hits {
			if h.Count > uint64(h.Limit) {
				return errors.New("over the limit")
			}
		}
		return err
	}
}

func errorWithoutHits(r *reference) call {
	return func(ctx context.Context, hits []ratelimit.Hit) error {
		if len(hits) == 0 {
			return errors.New("nothing to do")
		}
		return r.Add(ctx, hits)
	}
}

func eachKeyOnce(r *reference) call {
	return func(ctx context.Context, hits []ratelimit.Hit) error {
		seen := make(map[string]uint64)
		for i := range hits {
			h := &hits[i]
			if _, again := seen[string(h.Key)]; !again {
				_ = r.Add(ctx, hits[i:i+1])
				seen[string(h.Key)] = h.Count
			}
			h.Count = seen[string(h.Key)]
		}
		return nil
	}
}

func reversed(r *reference) call {
	return func(ctx context.Context, hits []ratelimit.Hit) error {
		slices.Reverse(hits)
		defer slices.Reverse(hits)
		return r.Add(ctx, hits)
	}
}

func firstHitsOnly(r *reference) call {
	return func(ctx context.Context, hits []ratelimit.Hit) error { return r.Add(ctx, hits[:min(128, len(hits))]) }
}

// aliasing keeps the bytes of the keys where the caller had them.
func aliasing(*reference) call {
	type counter struct {
		key   []byte
		count uint64
	}
	var counters []*counter
	return func(_ context.Context, hits []ratelimit.Hit) error {
		for i := range hits {
			h := &hits[i]
			at := slices.IndexFunc(counters, func(c *counter) bool { return bytes.Equal(c.key, h.Key) })
			if at < 0 {
				at = len(counters)
				counters = append(counters, &counter{key: h.Key})
			}
			counters[at].count += h.N
			h.Count = counters[at].count
		}
		return nil
	}
}

func hangsWhenCanceled(r *reference) call {
	return func(ctx context.Context, hits []ratelimit.Hit) error {
		if ctx.Err() != nil {
			select {}
		}
		return r.Add(ctx, hits)
	}
}

func brokenByCanceling(r *reference) call {
	var gone error
	return func(ctx context.Context, hits []ratelimit.Hit) error {
		if gone == nil {
			gone = ctx.Err()
		}
		return errors.Join(gone, r.Add(ctx, hits))
	}
}

func counterPerJitter(r *reference) call {
	return before(func(h *ratelimit.Hit) { h.Key = append(bytes.Clone(h.Key), byte(h.Jitter)) })(r)
}

func counterPerFixed(r *reference) call {
	return before(func(h *ratelimit.Hit) { h.Key = append(bytes.Clone(h.Key), fmt.Sprint(h.Fixed)...) })(r)
}

// counterPerWindow has a counter for each of 200 windows, and never frees one.
func counterPerWindow(r *reference) call {
	seen := make(map[int64]bool)
	return func(ctx context.Context, hits []ratelimit.Hit) error {
		for i := range hits {
			seen[hits[i].End()] = true
		}
		if len(seen) > 200 {
			return errors.New("too many windows")
		}
		return r.Add(ctx, hits)
	}
}

// onlyNear drops hits in windows that are too distant from the first one.
func onlyNear(distant func(gone int64) bool) func(r *reference) call {
	return func(r *reference) call {
		var first int64
		return func(ctx context.Context, hits []ratelimit.Hit) error {
			if first == 0 {
				first = hits[0].Window
			}
			if distant(hits[0].Window - first) {
				return newReference().Add(ctx, hits)
			}
			return r.Add(ctx, hits)
		}
	}
}

// shrinking shows a reader half of the counter now and then: less than it has seen, as a
// rule, however fast others add.
func shrinking(r *reference) call {
	reads := 0
	return func(ctx context.Context, hits []ratelimit.Hit) error {
		err := r.Add(ctx, hits)
		r.mu.Lock()
		defer r.mu.Unlock()
		if hits[0].N == 0 {
			if reads++; reads%17 == 0 {
				hits[0].Count /= 2
			}
		}
		return err
	}
}

func neverOver(r *reference) call {
	return func(ctx context.Context, hits []ratelimit.Hit) error {
		mine := slices.Clone(hits)
		_ = r.Add(ctx, reads(mine))
		for i := range mine {
			hits[i].Count = mine[i].Count
			if capped(mine[i].Count, hits[i].N) > uint64(hits[i].Limit) {
				return nil
			}
		}
		return r.Add(ctx, hits)
	}
}

func reads(hits []ratelimit.Hit) []ratelimit.Hit {
	for i := range hits {
		hits[i].N = 0
	}
	return hits
}

func limitWith(change func(limit uint32) uint32) func(r *reference) call {
	return func(r *reference) call {
		return func(ctx context.Context, hits []ratelimit.Hit) error {
			for i := range hits {
				hits[i].Limit = change(hits[i].Limit)
			}
			return r.AddUnlessOver(ctx, hits)
		}
	}
}

func askEachKeyOnce(r *reference) call {
	return func(ctx context.Context, hits []ratelimit.Hit) error {
		for i := range hits {
			for j := range i {
				if bytes.Equal(hits[i].Key, hits[j].Key) {
					hits[i].N = 0
				}
			}
		}
		return r.AddUnlessOver(ctx, hits)
	}
}

func readingAdds(r *reference) call {
	return func(ctx context.Context, hits []ratelimit.Hit) error {
		for i := range hits {
			hits[i].N = max(hits[i].N, 1)
		}
		return r.AddUnlessOver(ctx, hits)
	}
}

func countersApart(*reference) call { return newReference().AddUnlessOver }

func manyNotDecided(r *reference) call {
	return func(ctx context.Context, hits []ratelimit.Hit) error {
		if len(hits) > 8 {
			return r.Add(ctx, hits)
		}
		return r.AddUnlessOver(ctx, hits)
	}
}

func oneByOne(r *reference) call {
	return func(ctx context.Context, hits []ratelimit.Hit) error {
		for i := range hits {
			_ = r.AddUnlessOver(ctx, hits[i:i+1])
		}
		return nil
	}
}

// notAtomic reads first and adds then, as an engine has to without a
// ConditionalStore. Who sees room for one more waits for another who sees the same.
func notAtomic(r *reference) call {
	var lastOnes atomic.Int32
	return func(ctx context.Context, hits []ratelimit.Hit) error {
		now := slices.Clone(hits)
		_ = r.Add(ctx, reads(now))
		anyOver := false
		for i, h := range hits {
			after := capped(now[i].Count, h.N)
			anyOver = anyOver || after > uint64(h.Limit)
			if after == uint64(h.Limit) {
				lastOnes.Add(1)
				for tries := 0; lastOnes.Load() < 2 && tries < 1_000_000; tries++ {
					runtime.Gosched()
				}
			}
		}
		for i := range hits {
			if h := &hits[i]; anyOver && capped(now[i].Count, h.N) <= uint64(h.Limit) {
				h.N = 0
			}
		}
		return r.Add(ctx, hits)
	}
}

// locksInAnyOrder has a lock per key and takes them as they come.
func locksInAnyOrder(r *reference) call {
	locks := make(map[string]chan struct{})
	lock := func(key string) chan struct{} {
		r.mu.Lock()
		defer r.mu.Unlock()
		if locks[key] == nil {
			locks[key] = make(chan struct{}, 1)
		}
		return locks[key]
	}
	return func(ctx context.Context, hits []ratelimit.Hit) error {
		for _, h := range hits {
			l := lock(string(h.Key))
			l <- struct{}{}
			defer func() { <-l }()
			runtime.Gosched()
		}
		return r.AddUnlessOver(ctx, hits)
	}
}
