package leasestore_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// TestBucketSimulation is TestSimulation with token buckets. All hits that were admitted, in the
// order of their times, must fit in buckets that hold each of them exactly. After each decision the
// claimed tokens of the instance must be dropped no later than their positions in the store begin.
func TestBucketSimulation(t *testing.T) {
	sum := simulate(t, true)
	if sum.seeds >= 20 && slices.Contains([]int{sum.admitted, sum.refused, sum.failed, sum.crashes, sum.claims}, 0) {
		t.Error("the simulation does not cover all of these")
	}
}

// bucketRun has the state that only simulations of token buckets have.
type bucketRun struct {
	limit  ratelimit.Limit
	skew   bool                       // the clocks of instances differ
	states map[string]ratelimit.State // in the store
	admits []admission
}

// admission is hits that were admitted. Its time is that of the instance, in microseconds.
type admission struct {
	key string
	n   uint64
	at  int64
}

// position is the beginning of claimed tokens in the schedule of the store, in microseconds.
type position struct{ begin, n int64 }

func newBucketRun(random *rand.Rand) *bucketRun {
	b := &bucketRun{states: make(map[string]ratelimit.State), limit: ratelimit.Limit{
		RequestsPerUnit: uint32(100 << random.IntN(11)), Unit: ratelimit.Minute, Algorithm: ratelimit.TokenBucket,
	}}
	if random.IntN(2) == 0 {
		b.limit.Burst = 1 + random.Uint32N(2*b.limit.RequestsPerUnit)
	}
	b.skew = random.IntN(4) == 0
	return b
}

// engine returns that of an instance.
func (b *bucketRun) engine(i *instance) *ratelimit.Engine {
	if !b.skew {
		i.offset = 0
	}
	// Charges are up to 8 seconds late. Clocks that are further apart have buckets of their own.
	fill := time.Duration(max(b.limit.Burst, 1)) * time.Minute / time.Duration(b.limit.RequestsPerUnit)
	if b.limit.Burst == 0 {
		fill = time.Minute
	}
	most := (max(fill, 15*time.Second) - 9*time.Second) / 2
	i.offset = min(max(i.offset, -most), most)
	limit := b.limit
	limit.Lease = !i.plain
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "d", Rules: []ratelimit.Rule{{Key: "k", Limit: &limit}}}}, nil)
	if err != nil {
		panic(err)
	}
	e := ratelimit.MustNew(i.leases.Store(), &ratelimit.Options{Now: func() time.Time { return time.Now().Add(i.offset) }})
	e.Use(rules)
	return e
}

// decide makes decisions with one descriptor or two. After five seconds of few hits all instances
// wait for two, and one second of many hits follows, so that claims that were too long in use show.
func (i *instance) decide(r *rand.Rand) {
	s := i.s
	many := uint64(20)
	switch elapsed := time.Since(s.end.Add(-simulatedTime)) % (8 * time.Second); {
	case elapsed < 5*time.Second:
	case elapsed < 7*time.Second:
		// Not at the same moment: the order of so many goroutines would not be the same each time.
		time.Sleep(7*time.Second - elapsed + time.Duration(r.Int64N(int64(time.Millisecond))))
		fallthrough
	default:
		many = uint64(max(s.bucket.limit.Burst, s.bucket.limit.RequestsPerUnit)) / 4
	}
	q := ratelimit.Request{Domain: "d", Descriptors: make([]ratelimit.Descriptor, 1+r.IntN(4)/3)}
	hits := make([]uint64, len(q.Descriptors))
	for j := range q.Descriptors {
		hits[j] = 1
		if r.IntN(10) == 0 {
			hits[j] = r.Uint64N(many + 1)
		}
		q.Descriptors[j] = ratelimit.Descriptor{HitsAddend: &hits[j], Entries: []ratelimit.Entry{{Key: "k", Value: fmt.Sprint(r.IntN(s.keys))}}}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if r.IntN(20) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.Int64N(int64(100*time.Millisecond))))
		defer cancel()
	}
	for range 1 + r.IntN(10)/9*r.IntN(40) { // sometimes many
		s.mu.Lock()
		asked := i.asked
		s.mu.Unlock()
		now := time.Now().Add(i.offset).UnixMicro()
		d, err := i.engine.Decide(ctx, &q)
		s.mu.Lock()
		s.calls++
		used := make(map[string]int64)
		for j := range q.Descriptors {
			switch {
			case err != nil || i.dead:
				s.failed++
			case !d.Statuses[j].Allowed():
				s.refused++
			default:
				s.admitted++
				used[q.Descriptors[j].Entries[0].Value] += int64(hits[j])
				s.bucket.admits = append(s.bucket.admits, admission{q.Descriptors[j].Entries[0].Value, hits[j], now})
			}
		}
		s.event(now, err, i.dead)
		i.checkClaims()
		if i.asked == asked {
			i.checkUsed(used, now)
		}
		s.mu.Unlock()
	}
}

// check charges exact buckets with what was admitted.
func (b *bucketRun) check(t *testing.T) {
	now := int64(0)
	clock := &ratelimit.Options{Now: func() time.Time { return time.UnixMicro(now) }}
	exact, err := ratelimit.NewLimiter("exact", memstore.MustNew(&memstore.Options{Now: clock.Now}), b.limit, clock)
	if err != nil {
		panic(err)
	}
	slices.SortStableFunc(b.admits, func(x, y admission) int { return cmp.Compare(x.at, y.at) })
	for _, a := range b.admits {
		now = a.at
		if s, err := exact.AllowN(t.Context(), a.key, a.n); err != nil || !s.Allowed() {
			t.Errorf("%s: %d hits were admitted at %d µs that are over the limit (%v)", a.key, a.n, a.at, err)
			return
		}
	}
}

// claimed notes charges of a call that has returned. Those after a hit of the same key are claims.
func (i *instance) claimed(charges []ratelimit.Charge, begins []int64) {
	for j, t := range charges {
		if !t.Allowed || t.N == 0 || !slices.ContainsFunc(charges[:j], func(o ratelimit.Charge) bool { return string(o.Key) == string(t.Key) }) {
			continue
		}
		positions := i.claims[string(t.Key)]
		at, _ := slices.BinarySearchFunc(positions, begins[j], func(p position, begin int64) int { return cmp.Compare(p.begin, begin) })
		i.claims[string(t.Key)] = slices.Insert(positions, at, position{begins[j], int64(t.N)})
	}
}

// checkClaims compares the tokens that the instance may use with the last ones that it claimed: none may
// be used after its position has begun.
func (i *instance) checkClaims() {
	rate := int64(i.s.bucket.limit.RequestsPerUnit)
	for key, positions := range i.claims {
		left, until := i.leases.BucketClaim([]byte(key))
		for n := int64(0); n < left; {
			if len(positions) == 0 {
				i.s.t.Errorf("%s: %d tokens may be used, but %d were claimed", key, left, n)
				break
			}
			last := positions[len(positions)-1]
			positions, n = positions[:len(positions)-1], n+last.n
			if end := last.begin + n*time.Minute.Microseconds()/rate; until > end {
				i.s.t.Errorf("%s: %d claimed tokens may be used %d µs too long", key, left, until-end)
			}
		}
	}
}

// checkUsed compares tokens that were used without a call of the store with their positions, of which those that
// may still be used are the last: none may have begun.
func (i *instance) checkUsed(used map[string]int64, now int64) {
	rate := int64(i.s.bucket.limit.RequestsPerUnit)
	for value, n := range used {
		left, until := i.leases.BucketClaim([]byte("d|k|" + value + "|token_bucket_minute"))
		if ahead := (until - now) * rate / time.Minute.Microseconds(); n > 0 && left+n > ahead {
			i.s.t.Errorf("%s: %d tokens were used and %d may still be, but the positions of only %d have not begun", value, n, left, ahead)
		}
	}
}

// Charge applies charges to the states in the store. Sometimes charges of others come between those of a call.
func (l *link) Charge(ctx context.Context, charges []ratelimit.Charge) error {
	s := l.i.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(charges) == 0 {
		return nil
	}
	if l.i.dead {
		return errLink
	}
	s.storeCalls++
	l.i.asked++
	there, lostThere := l.way()
	back, lostBack := l.way()
	arrives := func(lost bool) bool { return !lost && time.Now().After(l.i.cut) && !l.i.dead }
	if !l.sleep(ctx, there) || !arrives(lostThere) {
		return errLink
	}
	split := l.random.IntN(10) == 0
	begins := make([]int64, len(charges))
	for i := range charges {
		t := &charges[i]
		state := s.bucket.states[string(t.Key)]
		begins[i] = max(state[0], t.Now)
		if t.Apply(&state); t.Allowed && t.N > 0 {
			s.bucket.states[string(t.Key)] = state
		}
		if split && !l.sleep(ctx, time.Duration(l.random.Int64N(int64(10*time.Millisecond)))) {
			return errLink
		}
	}
	if !l.sleep(ctx, back) || !arrives(lostBack) {
		return errLink
	}
	l.i.claimed(charges, begins)
	return nil
}
