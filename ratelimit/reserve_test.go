package ratelimit_test

import (
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// reserving is a limit of 100 a minute with reservations, at a time that begins with a minute.
type reserving struct {
	t       *testing.T
	now     time.Time
	limiter *ratelimit.Limiter
}

func newReserving(t *testing.T, l ratelimit.Limit) *reserving {
	r := &reserving{t: t, now: time.Unix(1_800_000_000, 0)}
	clock := func() time.Time { return r.now }
	l.Reservations = true
	r.limiter = newLimiter(t, memstore.MustNew(&memstore.Options{Now: clock}), l, &ratelimit.Options{Now: clock})
	return r
}

func (r *reserving) after(d time.Duration) { r.now = r.now.Add(d) }

func (r *reserving) reserve(n uint64) *ratelimit.Reservation {
	r.t.Helper()
	v, err := r.limiter.Reserve(r.t.Context(), "ann", n, 5*time.Minute)
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

func (r *reserving) settle(v *ratelimit.Reservation, actual, uncharged uint64) {
	r.t.Helper()
	got, err := v.Settle(r.t.Context(), actual)
	if err != nil || got != uncharged {
		r.t.Fatalf("Settle(%d) = %d, %v, want %d", actual, got, err, uncharged)
	}
}

func (r *reserving) remaining(want uint32) {
	r.t.Helper()
	s, err := r.limiter.Peek(r.t.Context(), "ann")
	if err != nil || s.Remaining != want {
		r.t.Fatalf("%d hits remain (%v), want %d", s.Remaining, err, want)
	}
}

// Three algorithms by what can become of an estimate: 100 tokens a minute, reserved at second 0.
func TestReservations(t *testing.T) {
	for _, algorithm := range []ratelimit.Algorithm{ratelimit.FixedWindow, ratelimit.SlidingWindow, ratelimit.TokenBucket} {
		limit := ratelimit.Per(100, ratelimit.Minute)
		limit.Algorithm = algorithm
		of := func(fixed, sliding, bucket uint32) uint32 { return []uint32{fixed, sliding, bucket}[algorithm] }
		t.Run(algorithm.String()+"/overrun", func(t *testing.T) {
			r := newReserving(t, limit)
			v := r.reserve(40)
			r.remaining(60)
			r.settle(v, 130, 0)
			r.remaining(0)
			r.after(30 * time.Second)
			r.remaining(of(0, 0, 20)) // 50 tokens came, for a debt of 30
			r.after(30 * time.Second)
			r.remaining(of(70, 0, 70)) // the next window pays 30
			r.after(30 * time.Second)
			r.remaining(of(70, 20, 100)) // and half of the 100 hits before count
			r.after(30 * time.Second)
			r.remaining(of(100, 70, 100))
		})
		t.Run(algorithm.String()+"/overrun above the debt that is allowed", func(t *testing.T) {
			r := newReserving(t, limit)
			r.settle(r.reserve(40), 250, 50)
			r.after(time.Minute)
			r.remaining(0)
			r.after(time.Minute)
			r.remaining(of(100, 0, 100))
		})
		t.Run(algorithm.String()+"/refusal", func(t *testing.T) {
			r := newReserving(t, limit)
			held := r.reserve(70)
			v := r.reserve(31)
			if v.Status.Code != ratelimit.OverLimit || v.Status.RetryAfter() <= 0 {
				t.Fatalf("%+v", v.Status)
			}
			r.remaining(30) // it charged nothing
			r.settle(v, 31, 0)
			r.remaining(30)
			r.settle(held, 10, 0)
			r.remaining(90)
			r.settle(held, 10, 0) // twice
			r.remaining(90)
		})
		t.Run(algorithm.String()+"/late refund", func(t *testing.T) {
			r := newReserving(t, limit)
			v := r.reserve(80)
			r.after(time.Minute)
			r.remaining(of(100, 20, 100))
			if s, err := r.limiter.AllowN(t.Context(), "ann", 15); err != nil || !s.Allowed() {
				t.Fatal(s, err)
			}
			r.settle(v, 30, 0)
			r.remaining(of(85, 55, 85)) // no more than if 30 had been charged
			r.after(3 * time.Minute)
			r.remaining(100)
		})
		t.Run(algorithm.String()+"/late overrun", func(t *testing.T) {
			r := newReserving(t, limit)
			v := r.reserve(80)
			r.after(time.Minute)
			r.settle(v, 110, 0)
			r.remaining(of(90, 0, 70)) // 20 fit in the window that was charged
		})
		t.Run(algorithm.String()+"/crash", func(t *testing.T) {
			r := newReserving(t, limit)
			v, err := r.limiter.Reserve(t.Context(), "ann", 80, 10*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			r.after(9999 * time.Millisecond)
			r.remaining(of(20, 20, 36))
			r.after(time.Millisecond)
			r.remaining(100)
			r.settle(v, 30, 0) // it lives: the hits are charged now
			r.remaining(70)
		})
	}
}

// Many reservations that are open share what the ledger keeps, and are settled one by one.
func TestManyReservations(t *testing.T) {
	r := newReserving(t, ratelimit.Per(100_000, ratelimit.Minute))
	var all []*ratelimit.Reservation
	for range 1000 {
		all = append(all, r.reserve(10))
		r.after(10 * time.Millisecond)
	}
	r.remaining(90_000)
	for _, v := range all[:500] {
		r.settle(v, 4, 0)
	}
	r.remaining(93_000)
	r.after(6 * time.Minute)
	r.remaining(100_000)
}

// What a key keeps has a bound, however short windows and however long reservations are.
func TestReservationsAreBounded(t *testing.T) {
	r := newReserving(t, ratelimit.Per(100, ratelimit.Second))
	for range 1000 {
		v, err := r.limiter.Reserve(t.Context(), "ann", 1, time.Hour)
		if err != nil || !v.Status.Allowed() {
			t.Fatal(v, err)
		}
		r.after(time.Second)
	}
	if v := r.reserve(1); v.Status.Allowed() {
		t.Error("more than 1,000 reservations of different windows are open")
	}
	r.after(time.Hour)
	if v := r.reserve(1); !v.Status.Allowed() {
		t.Error("reservations that have ended count")
	}
}

func TestReserveInvalid(t *testing.T) {
	r := newReserving(t, ratelimit.Per(100, ratelimit.Minute))
	plain := newLimiter(t, memstore.MustNew(nil), ratelimit.Per(100, ratelimit.Minute), nil)
	for _, reserve := range []func() (*ratelimit.Reservation, error){
		func() (*ratelimit.Reservation, error) { return r.limiter.Reserve(t.Context(), "ann", 1, 0) },
		func() (*ratelimit.Reservation, error) { return r.limiter.Reserve(t.Context(), "ann", 1, 25*time.Hour) },
		func() (*ratelimit.Reservation, error) { return plain.Reserve(t.Context(), "ann", 1, time.Minute) },
	} {
		if _, err := reserve(); ratelimit.KindOf(err) != ratelimit.Invalid {
			t.Error(err)
		}
	}
	reserved := ratelimit.Per(100, ratelimit.Minute)
	reserved.Reservations = true
	if _, err := ratelimit.NewLimiter("a", newMapStore(), reserved, nil); err == nil {
		t.Error("a store that keeps no reservations was accepted")
	}
}
