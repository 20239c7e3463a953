package leasestore_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/leasestore"
)

// TestSimulation runs 100 instances and a store in a bubble, where calls take time, get lost
// before and after the store, and instances crash, stall and have different clocks. No limit may
// admit more than it allows, at any moment, and no hit may be missing that no failure explains.
func TestSimulation(t *testing.T) {
	sum := simulate(t, false)
	if sum.seeds >= 20 && slices.Contains([]int{sum.admitted, sum.refused, sum.failed, sum.crashes, sum.lost, sum.claims, sum.full}, 0) {
		t.Error("the simulation does not cover all of these")
	}
}

// simulate runs the seeds, with token buckets or fixed windows.
func simulate(t *testing.T, buckets bool) (sum tally) {
	for seed := range scaletest.Seeds(t, 20, 200) {
		simulateSeed(t, seed, buckets, &sum)
	}
	t.Logf("%+v", sum)
	return sum
}

// simulateSeed runs one seed, adds to the sum, and returns the sum of the hashes of all events.
func simulateSeed(t *testing.T, seed uint64, buckets bool, sum *tally) (events uint64) {
	// Goroutines that become ready at the same moment run in the same order each time on one
	// processor, unless they run for so long that they are preempted. The race detector changes the order anyway.
	if !scaletest.Race() {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation(t, seed, buckets)
		s.run()
		sum.add(&s.tally)
		events = s.events
	})
	return events
}

// A seed that fails fails again: everything that happens follows from it, but for the order in which goroutines
// that wake at one moment get what there is, if one of them is preempted. On a processor that four programs shared
// this changed the counts of some hits in 1 of 800 pairs of runs, and the tally in none.
func TestSimulationsRepeat(t *testing.T) {
	if scaletest.Race() {
		t.Skip("the race detector changes the order of goroutines")
	}
	preempted := 0
	for _, buckets := range []bool{false, true} {
		for seed := range uint64(5) {
			var sums [2]tally
			var events [2]uint64
			for i := range sums {
				events[i] = simulateSeed(t, seed, buckets, &sums[i])
			}
			require.Equal(t, sums[0], sums[1], "seed %d", seed)
			if events[0] != events[1] {
				preempted++
			}
		}
	}
	require.LessOrEqual(t, preempted, 1, "pairs of runs with other events")
}

// tally counts what happened. lost counts hits; full windows that reached their limit.
type tally struct{ seeds, calls, storeCalls, claims, admitted, refused, failed, crashes, lost, full, checks int }

func (t *tally) add(o *tally) {
	t.seeds++
	t.calls += o.calls
	t.storeCalls += o.storeCalls
	t.claims += o.claims
	t.admitted += o.admitted
	t.refused += o.refused
	t.failed += o.failed
	t.crashes += o.crashes
	t.lost += o.lost
	t.full += o.full
	t.checks += o.checks
}

const (
	simulatedInstances = 100
	simulatedTime      = 32 * time.Second
	simulatedAhead     = 6 * time.Second
)

// account counts the hits of one counter by what happened to them. All but count are parts of it.
type account struct {
	count    uint64 // the counter in the store
	admitted uint64
	flying   uint64 // in calls in progress, whose hits nobody else has
	lost     uint64 // not in any lease because a call failed or an instance crashed
	vain     uint64 // maybe counted for calls that were refused or that failed
	asked    uint64 // in calls in progress, some of which may be decided already
}

// simulation is one run.
type simulation struct {
	tally
	t      *testing.T
	random *rand.Rand
	end    time.Time
	keys   int
	limits [2]uint32 // before and after a change of the configuration
	faults bool
	bucket *bucketRun // nil for fixed windows

	mu        sync.Mutex
	accounts  map[string]*account
	instances []*instance // that run
	events    uint64      // the sum of the hashes of all events
}

func newSimulation(t *testing.T, seed uint64, buckets bool) *simulation {
	time.Sleep(46 * time.Second) // so that the minute turns after 14
	s := &simulation{
		t: t, random: rand.New(rand.NewPCG(seed, 0)), accounts: make(map[string]*account),
		end: time.Now().Add(simulatedTime),
	}
	s.keys = 1 + s.random.IntN(3)
	s.limits[0] = uint32(1 << s.random.IntN(12) * (1 + s.random.IntN(3)))
	if s.limits[1] = s.limits[0]; s.random.IntN(4) == 0 {
		s.limits[1] = 1 + s.random.Uint32N(2*s.limits[0])
	}
	s.faults = s.random.IntN(4) > 0
	if buckets {
		s.bucket = newBucketRun(s.random)
	}
	return s
}

func (s *simulation) run() {
	var all sync.WaitGroup
	for range simulatedInstances {
		i := s.newInstance(s.random.Uint64())
		all.Go(func() { i.live() })
	}
	random := rand.New(rand.NewPCG(s.random.Uint64(), 0))
	all.Go(func() {
		for time.Now().Before(s.end) {
			time.Sleep(time.Duration(random.Int64N(int64(6 * time.Second))))
			synctest.Wait()
			s.check(false)
		}
	})
	all.Wait()
	time.Sleep(4 * simulatedAhead)
	synctest.Wait()
	s.check(true)
	if s.bucket != nil {
		s.bucket.check(s.t)
	}
	for _, i := range s.instances {
		s.claims += int(i.leases.Stats().Claims)
		if err := i.leases.Close(); err != nil {
			s.t.Errorf("closing: %v", err)
		}
	}
	for _, a := range s.accounts {
		if a.count >= uint64(min(s.limits[0], s.limits[1])) {
			s.full++
		}
		s.lost += int(a.lost)
	}
}

// account returns that of a counter. s.mu is held.
func (s *simulation) account(key []byte) *account {
	a := s.accounts[string(key)]
	if a == nil {
		a = new(account)
		s.accounts[string(key)] = a
	}
	return a
}

// check compares all counters with the leases, at a moment when nobody runs. At the end, when
// no call is in progress and nothing was asked for some time, all claims have been given back.
func (s *simulation) check(atEnd bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checks++
	held, excess := make(map[string]uint64), make(map[string]uint64)
	for _, i := range s.instances {
		i.leases.Audit(func(key []byte, h, e uint64) {
			held[string(key)] += h
			excess[string(key)] += e
		})
	}
	limit := uint64(max(s.limits[0], s.limits[1]))
	for key, a := range s.accounts {
		h, e := held[key], excess[key]
		used := a.admitted + h
		switch {
		case used > limit:
			s.t.Errorf("%s: %d hits admitted and %d claimed, limit %d", key, a.admitted, h, limit)
		case used+e+a.flying > a.count:
			s.t.Errorf("%s: %d hits admitted, %d claimed, %d above the limit and %d in progress, but the count is %d", key, a.admitted, h, e, a.flying, a.count)
		case used+e+a.flying+a.asked+a.lost+a.vain < a.count:
			s.t.Errorf("%s: %d hits admitted, %d claimed, %d above the limit, %d in progress, %d lost and %d in vain, but the count is %d", key, a.admitted, h, e, a.flying+a.asked, a.lost, a.vain, a.count)
		case atEnd && h+e+a.flying+a.asked > 0:
			s.t.Errorf("%s: %d hits claimed, %d above the limit and %d in progress at the end", key, h, e, a.flying+a.asked)
		}
	}
}

// instance is a process with leases, or without if plain is set.
type instance struct {
	s      *simulation
	random *rand.Rand
	offset time.Duration // of its clock
	pause  time.Duration // between calls, on average
	reload time.Time     // when its configuration changes
	plain  bool
	leases *leasestore.Leases
	engine *ratelimit.Engine // for token buckets

	// These are guarded by s.mu.
	dead   bool
	cut    time.Time             // no call reaches the store until then
	claims map[string][]position // of token buckets, by key, in order
	asked  int                   // calls of the store with charges
}

func (s *simulation) newInstance(seed uint64) *instance {
	r := rand.New(rand.NewPCG(seed, 0))
	i := &instance{
		s: s, random: r, offset: time.Duration(r.IntN(5)-2) * time.Second, plain: r.IntN(10) == 0,
		pause: 200 * time.Millisecond << r.IntN(8), reload: time.Now().Add(time.Duration(r.Int64N(int64(simulatedTime)))),
	}
	if r.IntN(20) == 0 {
		i.offset *= 30
	}
	i.claims = make(map[string][]position)
	i.leases = must(leasestore.New(&link{i, rand.New(rand.NewPCG(r.Uint64(), 0))}, &leasestore.Options{Ahead: simulatedAhead, MaxKeys: 256}))
	if s.bucket != nil {
		i.engine = s.bucket.engine(i)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instances = append(s.instances, i)
	return i
}

// live makes calls, from two goroutines, until the simulation ends or the instance crashes. Then
// it is replaced by another one.
func (i *instance) live() {
	s := i.s
	var both sync.WaitGroup
	for range 2 {
		r := rand.New(rand.NewPCG(i.random.Uint64(), 0))
		both.Go(func() {
			for !i.stopped() {
				time.Sleep(time.Duration(r.ExpFloat64() * float64(2*i.pause)))
				if r.IntN(20) == 0 { // a quiet time
					time.Sleep(time.Duration(r.Int64N(int64(20 * time.Second))))
				}
				if !i.stopped() {
					i.call(r)
				}
			}
		})
	}
	again := false
	if s.faults {
		for !i.stopped() {
			time.Sleep(time.Duration(i.random.Int64N(int64(simulatedTime))))
			s.mu.Lock()
			switch i.random.IntN(3) {
			case 0:
				i.cut = time.Now().Add(time.Duration(i.random.Int64N(int64(10 * time.Second))))
			case 1:
				again = !i.dead && time.Now().Before(s.end)
				i.crash()
			}
			s.mu.Unlock()
		}
	}
	both.Wait()
	if again {
		s.newInstance(i.random.Uint64()).live()
	}
}

func (i *instance) stopped() bool {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	return i.dead || !time.Now().Before(i.s.end)
}

// crash ends the instance: what it holds is lost. s.mu is held.
func (i *instance) crash() {
	s := i.s
	if i.dead {
		return
	}
	i.dead = true
	s.crashes++
	s.claims += int(i.leases.Stats().Claims)
	s.instances = slices.DeleteFunc(s.instances, func(o *instance) bool { return o == i })
	i.leases.Audit(func(key []byte, held, excess uint64) { s.account(key).lost += held + excess })
}

// call makes one call with random hits.
func (i *instance) call(r *rand.Rand) {
	s := i.s
	if s.bucket != nil {
		i.decide(r)
		return
	}
	limit := s.limits[0]
	now := time.Now()
	if now.After(i.reload) {
		limit = s.limits[1]
	}
	window := ratelimit.Minute.Window(now.Add(i.offset).Unix())
	hits := make([]ratelimit.Hit, 1+r.IntN(4)/3)
	for j := range hits {
		n := uint64(1)
		if r.IntN(10) == 0 {
			n = r.Uint64N(6)
		}
		hits[j] = ratelimit.Hit{
			Key: fmt.Appendf(nil, "key%d_%d", r.IntN(s.keys), window), N: n, Limit: limit,
			Unit: ratelimit.Minute, Window: window, Lease: !i.plain,
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if r.IntN(20) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.Int64N(int64(100*time.Millisecond))))
		defer cancel()
	}
	store := i.leases.Store().(ratelimit.ConditionalStore)
	if r.IntN(50) == 0 {
		i.refund(ctx, hits[:1])
		return
	}
	s.mu.Lock()
	for _, h := range hits {
		s.account(h.Key).asked += h.N
	}
	s.mu.Unlock()
	if r.IntN(5) == 0 {
		i.record(hits, store.AddUnlessOver(ctx, hits), true)
	} else {
		i.record(hits, store.Add(ctx, hits), false)
	}
}

// record records the result of a call. allOrNone is set if no hit counts unless all are within.
func (i *instance) record(hits []ratelimit.Hit, err error, allOrNone bool) {
	s := i.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	anyOver := slices.ContainsFunc(hits, func(h ratelimit.Hit) bool { return h.Count > uint64(h.Limit) })
	for _, h := range hits {
		a := s.account(h.Key)
		a.asked -= h.N
		s.event(time.Now().UnixNano(), h.N, h.Count)
		switch {
		case err != nil || i.dead:
			a.vain += h.N
			s.failed++
		case h.Count > uint64(h.Limit):
			s.refused++
			if i.plain {
				a.vain += h.N
			}
		case allOrNone && anyOver:
			if string(hits[0].Key) == string(hits[len(hits)-1].Key) {
				a.vain += h.N // of two that were within the limit one by one, the second is over
			}
		default:
			if a.admitted += h.N; a.admitted > uint64(max(s.limits[0], s.limits[1])) {
				s.t.Errorf("%s: %d hits admitted, limit %d", h.Key, a.admitted, h.Limit)
			}
			s.admitted++
		}
	}
}

// event adds an event to the sum, in which the order of those of one moment does not matter: a goroutine may
// be preempted. s.mu is held.
func (s *simulation) event(values ...any) {
	hash := fnv.New64()
	_, _ = fmt.Fprintln(hash, values...)
	s.events += hash.Sum64()
}

// refund takes back hits that were admitted.
func (i *instance) refund(ctx context.Context, hits []ratelimit.Hit) {
	s := i.s
	s.mu.Lock()
	a := s.account(hits[0].Key)
	hits[0].N = min(hits[0].N, a.admitted)
	a.admitted -= hits[0].N
	s.mu.Unlock()
	_ = i.leases.Store().(ratelimit.SubtractStore).Subtract(ctx, hits)
}

// link is the way of an instance to the store, and its end there.
type link struct {
	i      *instance
	random *rand.Rand // guarded by s.mu
}

var errLink = errors.New("connection reset")

func (l *link) Add(ctx context.Context, hits []ratelimit.Hit) error {
	return l.travel(ctx, hits, false, func(s *simulation) {
		for j := range hits {
			a := s.account(hits[j].Key)
			a.count += hits[j].N
			hits[j].Count = a.count
		}
	})
}

func (l *link) AddUnlessOver(ctx context.Context, hits []ratelimit.Hit) error {
	return l.travel(ctx, hits, false, func(s *simulation) {
		over := slices.ContainsFunc(hits, func(h ratelimit.Hit) bool { return s.account(h.Key).count+h.N > uint64(h.Limit) })
		for j := range hits {
			a := s.account(hits[j].Key)
			if !over || a.count+hits[j].N > uint64(hits[j].Limit) {
				a.count += hits[j].N
			}
			hits[j].Count = a.count
		}
	})
}

func (l *link) Subtract(ctx context.Context, hits []ratelimit.Hit) error {
	return l.travel(ctx, hits, true, func(s *simulation) {
		for j := range hits {
			a := s.account(hits[j].Key)
			if a.count < hits[j].N {
				s.t.Errorf("%s: %d subtracted from %d", hits[j].Key, hits[j].N, a.count)
			}
			a.count -= min(a.count, hits[j].N)
			hits[j].Count = a.count
		}
	})
}

// travel applies a call of hits to the store, unless it gets lost on the way, and comes back, unless
// it gets lost then.
func (l *link) travel(ctx context.Context, hits []ratelimit.Hit, subtracts bool, apply func(*simulation)) error {
	s := l.i.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(hits) == 0 {
		return nil
	}
	if l.i.dead {
		return errLink
	}
	s.storeCalls++
	// The hits may be overwritten when the call has returned, and not before.
	there, lostThere := l.way()
	back, lostBack := l.way()
	if subtracts {
		for _, h := range hits {
			s.account(h.Key).flying += h.N
		}
	}
	arrived := l.sleep(ctx, there) && !lostThere && time.Now().After(l.i.cut) && !l.i.dead
	added := make([]uint64, len(hits)) // to the accounts, and not known by the caller yet
	if arrived {
		counts := make(map[string]uint64)
		for _, h := range hits {
			counts[string(h.Key)] = s.account(h.Key).count
		}
		apply(s)
		for j, h := range hits {
			if added[j] = h.N; !subtracts {
				// AddUnlessOver may have only read.
				added[j] = s.account(h.Key).count - counts[string(h.Key)]
				counts[string(h.Key)] = s.account(h.Key).count
			}
		}
	}
	for j, h := range hits {
		switch a := s.account(h.Key); {
		case subtracts && arrived:
			a.flying -= h.N
		case subtracts:
			a.flying -= h.N
			a.lost += h.N
		default:
			a.flying += added[j]
		}
	}
	returned := l.sleep(ctx, back) && !lostBack && time.Now().After(l.i.cut) && !l.i.dead
	for j, h := range hits {
		if !subtracts {
			a := s.account(h.Key)
			a.flying -= added[j]
			if !returned || !arrived {
				a.lost += added[j]
			}
		}
	}
	if !arrived || !returned {
		return errLink
	}
	return nil
}

// way draws how long a call takes in one direction, and whether it gets lost. s.mu is held.
func (l *link) way() (time.Duration, bool) {
	d := time.Duration(l.random.ExpFloat64() * float64(2*time.Millisecond))
	if !l.i.s.faults {
		return d, false
	}
	if l.random.IntN(100) == 0 { // a stall
		d += time.Duration(l.random.Int64N(int64(8 * time.Second)))
	}
	return d, l.random.IntN(50) == 0
}

// sleep waits, without s.mu, which is held before and after. It reports false if the context ends.
func (l *link) sleep(ctx context.Context, d time.Duration) bool {
	l.i.s.mu.Unlock()
	defer l.i.s.mu.Lock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
