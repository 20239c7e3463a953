package ratelimit_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// lossy is the way of instances to a store: calls get lost before they arrive, or their replies after.
type lossy struct {
	*memstore.Store
	random *rand.Rand
	lost   bool // the reply of the last call
	faults bool
}

func (l *lossy) Update(ctx context.Context, key []byte, change func([]byte) ([]byte, time.Duration)) error {
	l.lost = false
	if key != nil && l.faults && l.random.IntN(20) == 0 {
		return errors.New("connection refused")
	}
	err := l.Store.Update(ctx, key, change)
	if l.lost = key != nil && l.faults && l.random.IntN(20) == 0; l.lost {
		return errors.New("connection reset")
	}
	return err
}

// settlement is hits that were charged at one of two times.
type settlement struct {
	from, at time.Time
	hits     int64
}

// reservationRun is a run with instances that reserve, work, settle, are late and crash. What was settled is
// checked against the limit and the debt that is allowed, for all times in between.
type reservationRun struct {
	t        *testing.T
	random   *rand.Rand
	store    *lossy
	now      time.Time
	limit    ratelimit.Limit
	ttl      time.Duration
	limiters []*ratelimit.Limiter
	open     []work
	settled  []settlement
}

// work is a reservation that is not settled yet.
type work struct {
	*ratelimit.Reservation
	at       time.Time
	estimate int64
	ends     time.Time // later than the ttl, sometimes
}

func TestReservationsHoldTheLimit(t *testing.T) {
	scaletest.Unraced(t)
	for _, algorithm := range []ratelimit.Algorithm{ratelimit.FixedWindow, ratelimit.SlidingWindow, ratelimit.TokenBucket} {
		t.Run(algorithm.String(), func(t *testing.T) {
			for seed := range uint64(200) {
				newReservationRun(t, seed, algorithm).run(seed)
			}
		})
	}
}

func newReservationRun(t *testing.T, seed uint64, algorithm ratelimit.Algorithm) *reservationRun {
	r := &reservationRun{t: t, random: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(1_800_000_000, 0)}
	clock := func() time.Time { return r.now }
	r.store = &lossy{Store: memstore.MustNew(&memstore.Options{Now: clock}), random: r.random, faults: seed%2 == 1}
	r.limit = ratelimit.Per(10+r.random.Uint32N(200), 10*time.Second)
	r.limit.Algorithm, r.limit.Reservations, r.limit.MaxDebt = algorithm, true, r.random.Uint32N(300)
	r.ttl = time.Duration(1+r.random.IntN(30)) * time.Second
	for range 4 {
		r.limiters = append(r.limiters, newLimiter(t, r.store, r.limit, &ratelimit.Options{Now: clock}))
	}
	return r
}

func (r *reservationRun) run(seed uint64) {
	ttl := r.ttl
	for range 300 {
		r.now = r.now.Add(time.Duration(r.random.ExpFloat64() * float64(300*time.Millisecond)))
		l := r.limiters[r.random.IntN(len(r.limiters))]
		if len(r.open) > 0 && r.random.IntN(2) == 0 {
			i := r.random.IntN(len(r.open))
			if w := r.open[i]; !r.now.Before(w.ends) {
				r.open[i] = r.open[len(r.open)-1]
				r.open = r.open[:len(r.open)-1]
				r.settle(w)
			}
			continue
		}
		estimate := 1 + r.random.Int64N(int64(r.limit.RequestsPerUnit)/2)
		v, err := l.Reserve(r.t.Context(), "k", uint64(estimate), ttl)
		if err != nil || !v.Status.Allowed() || r.random.IntN(10) == 0 { // it crashes, or was refused
			continue
		}
		r.open = append(r.open, work{v, r.now, estimate, r.now.Add(time.Duration(r.random.ExpFloat64() * float64(ttl) / 3))})
	}
	r.check(seed)
	r.store.faults = false
	r.now = r.now.Add(ttl*9/8 + 10*time.Second*time.Duration(2+(r.limit.MaxDebt+r.limit.RequestsPerUnit)/r.limit.RequestsPerUnit))
	s, err := r.limiters[0].Peek(r.t.Context(), "k")
	if err != nil || s.Remaining != r.limit.RequestsPerUnit { // what nobody settled is free again, and debt is paid
		r.t.Errorf("seed %d: %d of %d hits remain at the end (%v)", seed, s.Remaining, r.limit.RequestsPerUnit, err)
	}
}

func (r *reservationRun) settle(w work) {
	actual := int64(r.random.ExpFloat64() * float64(w.estimate))
	uncharged, err := w.Settle(r.t.Context(), uint64(actual))
	if err != nil {
		return // whether it was charged is unknown
	}
	held, more := settlement{w.at, w.at, min(actual, w.estimate)}, settlement{r.now, r.now, max(actual-w.estimate, 0)}
	switch late := r.now.Unix()/10 - w.at.Unix()/10; {
	case !r.now.Before(w.at.Add(r.ttl)): // the estimate was given back
		held = settlement{r.now, r.now, held.hits}
	case late == 1 && r.limit.Algorithm != ratelimit.TokenBucket: // what fits in the window before is charged there
		more.from = w.at
	}
	less := min(more.hits, int64(uncharged))
	more.hits, held.hits = more.hits-less, held.hits-int64(uncharged)+less
	r.settled = append(r.settled, held, more)
}

// check compares what was settled between any two times with what the limit lets pass in between.
func (r *reservationRun) check(seed uint64) {
	limit, debt := int64(r.limit.RequestsPerUnit), int64(r.limit.MaxDebt)
	if debt == 0 {
		debt = limit
	}
	slices.SortFunc(r.settled, func(a, b settlement) int { return a.at.Compare(b.at) })
	for _, first := range r.settled {
		sum := int64(0)
		for _, last := range r.settled {
			if last.from.Before(first.from) {
				continue
			}
			sum += last.hits
			between := last.at.Sub(first.from)
			most := limit + debt + limit*between.Milliseconds()/10_000 + 1
			if r.limit.Algorithm != ratelimit.TokenBucket {
				windows := last.at.Unix()/10 - first.from.Unix()/10 + 1
				most = limit*windows + debt
			}
			if sum > most {
				r.t.Fatalf("seed %d: %d hits in %v from %v, want at most %d", seed, sum, between, first.from, most)
			}
		}
	}
}
