package memstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/explain"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// TestSimulation runs an engine with memory stores in a bubble with its own time: callers make
// random calls at random moments, while the clock jumps and rules are replaced. Each call is
// compared with what the stores did and with package explain, and no limit may admit more than
// it allows.
func TestSimulation(t *testing.T) {
	var seeds, calls, denied, jumps, overflows int
	for seed := range scaletest.Seeds(t, 20, 200) {
		seeds++
		synctest.Test(t, func(t *testing.T) {
			s := newSimulation(t, seed)
			s.run()
			calls, denied, jumps = calls+s.calls, denied+s.denied, jumps+s.jumps
			if s.overflowed() {
				overflows++
			}
		})
	}
	t.Logf("%d calls, %d denied, %d jumps of the clock, %d of %d stores full", calls, denied, jumps, overflows, seeds)
	if seeds >= 20 && (calls == 0 || denied == 0 || jumps == 0 || overflows == 0) {
		t.Error("the simulation does not cover all of these")
	}
}

// simulation is one run.
type simulation struct {
	t            *testing.T
	rand         *rand.Rand // of the simulation itself; callers have their own
	options      ratelimit.Options
	whenFull     memstore.WhenFull
	main, second *memstore.Store
	engine       *ratelimit.Engine
	keys         int // number of different values

	clock  sync.RWMutex // held for reading during a call, so that the clock stays
	offset atomic.Int64 // seconds that the clock is ahead of the bubble's
	epoch  int          // how often the clock was set back
	jumped bool         // the engine has this clock

	mu       sync.Mutex
	admitted map[window]uint64 // hits of calls that passed
	counted  map[window]uint64 // hits of all calls
	calls    int
	denied   int
	jumps    int
}

// window identifies a counter. A store may have dropped it when the clock is set back, so that
// it begins at zero.
type window struct {
	key   string
	end   int64
	epoch int
}

const simulationBytes = 64 << 10

func newSimulation(t *testing.T, seed uint64) *simulation {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(n int) bool { return r.IntN(n) == 0 }
	s := &simulation{t: t, rand: r, admitted: make(map[window]uint64), counted: make(map[window]uint64), keys: 1 << r.IntN(4)}
	s.whenFull = allWhenFull[r.IntN(len(allWhenFull))]
	s.jumped = !pick(3)
	now := func() time.Time { return time.Now().Add(time.Duration(s.offset.Load()) * time.Second) }
	o := &memstore.Options{MaxBytes: simulationBytes, Shards: 1 << r.IntN(3), WhenFull: s.whenFull, Now: now}
	s.main, s.second = memstore.MustNew(o), memstore.MustNew(o)
	s.options = ratelimit.Options{
		CounterKeyPrefix:           []string{"", "p:"}[r.IntN(2)],
		CounterKeyFormat:           []ratelimit.KeyFormat{ratelimit.KeyUnambiguous, ratelimit.KeyReference}[r.IntN(2)],
		StopIncrementWhenOverLimit: pick(2),
		Log:                        slog.New(slog.DiscardHandler),
	}
	if s.jumped {
		s.options.Now = now
	}
	if pick(2) {
		s.options.PerSecond = witness{s.second}
	}
	s.engine = ratelimit.MustNew(witness{s.main}, &s.options)
	s.engine.Use(s.rules(3))
	if pick(4) { // fill the main store
		c := newCounter()
		for i := range 2000 {
			c.add(s.main, i, ratelimit.Year, now().Unix())
		}
	}
	return s
}

// rules returns rules in which the limits of the fixed keys are n.
func (s *simulation) rules(n uint32) *ratelimit.Ruleset {
	limit := func(n uint32, unit ratelimit.Unit) *ratelimit.Limit { return new(ratelimit.Per(n, unit)) }
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "d", Rules: []ratelimit.Rule{
		{Key: "second", Limit: limit(2, ratelimit.Second)},
		{Key: "minute", Limit: limit(5, ratelimit.Minute)},
		{Key: "hour", Limit: limit(9, ratelimit.Hour), Rules: []ratelimit.Rule{{Key: "minute", Limit: limit(3, ratelimit.Minute)}}},
		{Key: "fixed", Value: "0", Limit: limit(n, ratelimit.Minute)},
		{Key: "shared", Value: "*", ShareThreshold: true, Limit: limit(n, ratelimit.Hour)},
	}}}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return rules
}

// witness is a store that shows each call what it did.
type witness struct{ store *memstore.Store }

type seen struct {
	mu   sync.Mutex
	hits map[string]ratelimit.Hit // the last one of each key
}

type seenKey struct{}

func (w witness) Add(ctx context.Context, hits []ratelimit.Hit) error {
	err := w.store.Add(ctx, hits)
	note(ctx, hits)
	return err
}

func (w witness) AddUnlessOver(ctx context.Context, hits []ratelimit.Hit) error {
	err := w.store.AddUnlessOver(ctx, hits)
	note(ctx, hits)
	return err
}

func note(ctx context.Context, hits []ratelimit.Hit) {
	s := ctx.Value(seenKey{}).(*seen)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range hits {
		s.hits[string(h.Key)] = h
	}
}

func (s *simulation) run() {
	var all sync.WaitGroup
	for i := range 2 + s.rand.IntN(4) {
		r := rand.New(rand.NewPCG(s.rand.Uint64(), uint64(i)))
		all.Go(func() {
			time.Sleep(time.Millisecond / 2) // so that no call is made in the instant in which a second ends
			for range 30 {
				time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
				s.call(r)
			}
		})
	}
	all.Go(s.disturb)
	all.Wait()
	for _, store := range []*memstore.Store{s.main, s.second} {
		if stats := store.Stats(); stats.Bytes > simulationBytes {
			s.t.Errorf("the store uses %d bytes, want %d at most", stats.Bytes, simulationBytes)
		}
	}
	s.compareCounters()
}

// disturb sets the clock and replaces the rules, between calls.
func (s *simulation) disturb() {
	for range 10 {
		time.Sleep(time.Duration(s.rand.IntN(12_000)) * time.Millisecond)
		s.clock.Lock()
		if s.jumped {
			s.jumps++
			switch s.rand.IntN(4) {
			case 0:
				s.offset.Add(s.rand.Int64N(7200))
			case 1:
				s.offset.Add(-s.rand.Int64N(200))
				s.epoch++
			default:
				s.offset.Add(1 + s.rand.Int64N(3))
			}
		}
		if s.rand.IntN(4) == 0 {
			s.engine.Use(s.rules(3)) // equal rules: counts continue
		}
		s.clock.Unlock()
	}
}

// call makes a call and checks it.
func (s *simulation) call(r *rand.Rand) {
	s.clock.RLock()
	defer s.clock.RUnlock()
	request := &ratelimit.Request{Domain: "d"}
	entry := func(key string) ratelimit.Entry {
		return ratelimit.Entry{Key: key, Value: strconv.Itoa(r.IntN(s.keys))}
	}
	for _, d := range [][]ratelimit.Entry{{entry("second")}, {entry("minute")}, {entry("hour")}, {entry("hour"), entry("minute")}, {entry("fixed")}, {entry("shared")}} {
		if r.IntN(3) == 0 {
			request.Descriptors = append(request.Descriptors, ratelimit.Descriptor{Entries: d})
		}
	}
	if len(request.Descriptors) == 0 {
		return
	}
	request.HitsAddend = r.Uint32N(3)
	did := &seen{hits: make(map[string]ratelimit.Hit)}
	d, err := s.engine.Decide(context.WithValue(s.t.Context(), seenKey{}, did), request)
	if err != nil {
		s.t.Error(err)
		return
	}
	if err := s.check(request, d, did.hits); err != nil {
		s.t.Errorf("%+v: %v", request.Descriptors, err)
	}
}

// check compares a decision with the hits of the stores.
func (s *simulation) check(request *ratelimit.Request, d *ratelimit.Decision, hits map[string]ratelimit.Hit) error {
	now := time.Now().Add(time.Duration(s.offset.Load()) * time.Second)
	x, err := explain.Decision(s.engine.Rules(), request, &explain.Options{Now: now, CounterKeyPrefix: s.options.CounterKeyPrefix, CounterKeyFormat: s.options.CounterKeyFormat})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if d.Code == ratelimit.OverLimit {
		s.denied++
	}
	n := uint64(max(1, request.HitsAddend))
	for i, status := range d.Statuses {
		limit := x.Descriptors[i].Limit
		if limit == nil || !status.Limited {
			if limit != nil || status.Limited {
				return fmt.Errorf("descriptor %d: status %+v, but explain has %+v", i, status, limit)
			}
			continue
		}
		h, ok := hits[limit.CounterKey]
		switch {
		case !ok:
			return fmt.Errorf("descriptor %d: explain has the counter %q, but the stores have %v", i, limit.CounterKey, hits)
		case h.End()-now.Unix() != int64(status.ResetSeconds):
			return fmt.Errorf("descriptor %d: the window of %q ends in %d s, but the status says %d", i, h.Key, h.End()-now.Unix(), status.ResetSeconds)
		case (status.Code == ratelimit.OverLimit) != (h.Count > uint64(h.Limit)):
			return fmt.Errorf("descriptor %d: code %v at count %d of %d", i, status.Code, h.Count, h.Limit)
		case status.Code == ratelimit.OK && uint64(status.Remaining) != uint64(h.Limit)-h.Count:
			return fmt.Errorf("descriptor %d: %d remaining at count %d of %d", i, status.Remaining, h.Count, h.Limit)
		}
		w := window{limit.CounterKey, h.End(), s.epoch}
		if !s.options.StopIncrementWhenOverLimit || d.Code == ratelimit.OK || status.Code == ratelimit.OverLimit {
			s.counted[w] += n
		}
		if d.Code != ratelimit.OK {
			continue
		}
		if s.admitted[w] += n; s.admitted[w] > uint64(h.Limit) && (s.whenFull == memstore.Deny || !s.overflowed()) {
			return fmt.Errorf("descriptor %d: %d hits passed on %q, want %d at most", i, s.admitted[w], limit.CounterKey, h.Limit)
		}
	}
	return nil
}

func (s *simulation) overflowed() bool {
	return s.main.Stats().Overflow()+s.second.Stats().Overflow() > 0
}

// compareCounters compares the counters of the windows that have not ended, if each hit was
// counted on a counter of its own. With two stores, the engine reads before it adds.
func (s *simulation) compareCounters() {
	if s.options.StopIncrementWhenOverLimit && s.options.PerSecond != nil || s.overflowed() || s.jumps > 0 {
		return
	}
	for w, want := range s.counted {
		if w.end <= time.Now().Unix() {
			continue
		}
		total := uint64(0)
		for _, store := range []*memstore.Store{s.main, s.second} {
			for unit := ratelimit.Second; unit.Valid(); unit++ {
				total += add(store, ratelimit.Hit{Key: []byte(w.key), Unit: unit, Window: w.end - unit.Seconds()})
				if start := w.end - unit.Seconds(); start%unit.Seconds() == 0 {
					break // the store identifies a window by its end
				}
			}
		}
		if total != want {
			s.t.Errorf("counter %q is at %d, want %d", w.key, total, want)
		}
	}
}
