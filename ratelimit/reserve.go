package ratelimit

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// MaxReservation is the maximum time for which hits can be reserved.
const MaxReservation = 24 * time.Hour

// Reservation is hits that [Limiter.Reserve] has charged by an estimate, until Settle says how many they were.
type Reservation struct {
	// Status is that of the estimate: its Code is OK if the hits are reserved, or OverLimit.
	Status  Status
	limiter *Limiter
	key     string
	handle  string
	settled atomic.Bool
}

// Reserve charges estimate hits on key, as AllowN does, for work whose size is not known yet: tokens of a language model, bytes,
// cost. [Reservation.Settle] charges what it came to, or gives back what was not used, in the window that was
// charged. Hits that are not settled within ttl, because the program crashed say, are given back then, or up to an
// eighth of ttl later if more than 32 reservations of the key are open.
//
// If the status is OverLimit nothing is charged, and nothing has to be settled. The limit needs [Limit].Reservations. ttl
// is from a millisecond to [MaxReservation]. Errors are those of Allow; of kind Invalid for a wrong ttl or limit too.
func (l *Limiter) Reserve(ctx context.Context, key string, estimate uint64, ttl time.Duration) (*Reservation, error) {
	_, c, d := l.acquire(key)
	defer l.release(c)
	c.descriptors[0].HitsAddend = &estimate
	defer func() { c.descriptors[0].HitsAddend = nil }()
	if err := l.engine.ReserveInto(ctx, &c.request, ttl, d); err != nil {
		return nil, err
	}
	r := &Reservation{Status: d.Statuses[0], limiter: l, key: key, handle: d.Reservation()}
	r.Status.Code = d.Code
	return r, nil
}

// Settle ends the reservation with the number of hits that there were. If they are more than the estimate, the rest is
// charged too, even above the limit: then it is debt, which later windows pay before hits pass again. Limit.MaxDebt bounds
// the debt; uncharged is how many hits were above that. After the ttl all hits are charged in this way, because
// the estimate was given back. It does not end with ctx.
//
// Without an error, a second call has no effect, and neither has one if the hits were not reserved. Errors are those
// of Allow; call Settle again then.
func (r *Reservation) Settle(ctx context.Context, actual uint64) (uncharged uint64, err error) {
	if r.handle == "" || !r.settled.CompareAndSwap(false, true) {
		return 0, nil
	}
	_, c, d := r.limiter.acquire(r.key)
	defer r.limiter.release(c)
	c.descriptors[0].HitsAddend = &actual
	defer func() { c.descriptors[0].HitsAddend = nil }()
	if uncharged, err = r.limiter.engine.SettleInto(ctx, &c.request, r.handle, d); err != nil {
		r.settled.Store(false)
	}
	return uncharged, err
}

// ReserveInto decides r as DecideInto does, and reserves the hits of descriptors whose limit has Reservations for a time: see
// [Limiter.Reserve]. Hits of other limits are counted as usual. If the Decision is OverLimit, nothing is
// reserved. [Decision.Reservation] is for [Engine.SettleInto].
//
// The error is also of kind Invalid if there are limits, but none of them has Reservations.
func (e *Engine) ReserveInto(ctx context.Context, r *Request, ttl time.Duration, d *Decision) error {
	d.reset(e, len(r.Descriptors))
	if ttl < time.Millisecond || ttl > MaxReservation {
		return d.failed(&Error{Kind: Invalid, Message: fmt.Sprintf("a reservation for %v: use a time from 1ms to %v", ttl, MaxReservation)})
	}
	w := &d.work
	w.ttl = ttl.Microseconds()
	defer func() { w.ttl = 0 }()
	err := e.decideMatched(ctx, r, d, func() error {
		limited, reserves := false, false
		for _, c := range w.checks {
			limited = limited || c.override != nil || c.rule != nil && !c.rule.unlimited
			reserves = reserves || c.reserves()
		}
		if limited && !reserves {
			return &Error{Kind: Invalid, Message: "no limit of the request keeps reservations: its rule needs 'reservations: true', or Limit.Reservations"}
		}
		return nil
	})
	if err == nil && d.Code == OverLimit { // it reserves nothing, of other descriptors either
		err = e.unreserve(ctx, w)
	}
	return d.failed(err)
}

// KeepsReservations reports whether the rules have had a limit with Reservations since New: otherwise there is nothing to reserve or
// to settle.
func (e *Engine) KeepsReservations() bool { return e.reserve.Load() }

// reserves reports whether the limit of the check has reservations.
func (c *check) reserves() bool {
	return c.rule != nil && c.rule.limit.charge != nil && c.rule.limit.charge.reserves
}

// unreserve gives back what was reserved.
func (e *Engine) unreserve(ctx context.Context, w *workspace) error {
	ctx = context.WithoutCancel(ctx)
	for i := range w.checks {
		c := &w.checks[i]
		h, local := c.hold(w)
		if h.number == 0 {
			continue
		}
		t := w.charges[c.hit]
		t.book = &booking{maxDebt: c.charge.maxDebt, settles: true, hold: h}
		if err := guard(func() error { return chargeFrom(ctx, e.ledgers(local), []Charge{t}) }); err != nil {
			return storeError(err)
		}
		w.charges[c.hit].book.hold = hold{}
	}
	return nil
}

// hold returns the hold that the charge of the check has opened, and whether it is in the fallback store.
func (c *check) hold(w *workspace) (h hold, local bool) {
	if c.live && c.charge != nil && c.charge.reserves && (c.failure == "" || c.failure == FailLocal) {
		h = w.charges[c.hit].book.hold
	}
	return h, c.failure == FailLocal
}

// ledgers returns the store of holds.
func (e *Engine) ledgers(local bool) Store {
	if local {
		return e.opts.Fallback
	}
	return e.store
}

// settled is a reservation that is being settled.
type settled struct {
	hold   hold
	local  bool // in the fallback store
	actual int64
}

// Reservation returns what [Engine.SettleInto] needs to settle the hits that ReserveInto has reserved, as printable text without
// spaces, or "" if nothing was reserved. It is as long as the request has descriptors, up to 50 bytes for each.
func (d *Decision) Reservation() string {
	b, any := []byte(nil), false
	for i := range d.work.checks {
		h, local := d.work.checks[i].hold(&d.work)
		any = any || h.number > 0
		for _, n := range []int64{h.number, h.expires, h.hits, h.from} {
			b = binary.AppendVarint(b, n)
			if h.number == 0 {
				break
			}
		}
		if h.number > 0 {
			b = append(b, map[bool]byte{true: 1}[local])
		}
	}
	if !any {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseReservation reads what Reservation has written for n descriptors.
func parseReservation(text string, n int) ([]settled, error) {
	invalid := &Error{Kind: Invalid, Message: "the reservation is not one of a request with these descriptors"}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, invalid
	}
	all := make([]settled, n)
	for i := range all {
		h := &all[i].hold
		for _, field := range []*int64{&h.number, &h.expires, &h.hits, &h.from} {
			v, used := binary.Varint(b)
			if used <= 0 || v < 0 || v >= 1<<53 {
				return nil, invalid
			}
			if *field, b = v, b[used:]; h.number == 0 {
				break
			}
		}
		if h.number > 0 {
			if len(b) == 0 || b[0] > 1 || h.hits > maxHits {
				return nil, invalid
			}
			all[i].local, b = b[0] == 1, b[1:]
		}
	}
	if len(b) > 0 {
		return nil, invalid
	}
	return all, nil
}

// SettleInto ends a reservation: the hits of r, whose descriptors are those of the request that reserved them, are how many
// there were. It returns how many of them are not charged, because the debt would be more than Limit.MaxDebt: see
// [Reservation.Settle]. Descriptors without reserved hits, and those whose rule has changed so that it keeps no reservations, are
// passed over. d is overwritten: its Code is OK, and its Statuses say what remains of the limits that were settled. It does not
// end with ctx.
//
// Errors are those of Decide; policies for store failures do not apply. Before the reservation expires, a settlement may
// be repeated.
func (e *Engine) SettleInto(ctx context.Context, r *Request, reservation string, d *Decision) (uncharged uint64, err error) {
	d.reset(e, len(r.Descriptors))
	uncharged, err = e.settle(ctx, r, reservation, d)
	return uncharged, d.failed(err)
}

func (e *Engine) settle(ctx context.Context, r *Request, reservation string, d *Decision) (uncharged uint64, err error) {
	all, err := parseReservation(reservation, len(r.Descriptors))
	if err != nil {
		return 0, err
	}
	if err := validate(r); err != nil {
		return 0, err
	}
	u := e.inUse.Load()
	if u == nil {
		return 0, sentinelError(NotReady, ErrNoRules)
	}
	e.match(u, r, d)
	w, t := &d.work, e.clock.read()
	for i := range w.checks {
		c, s := &w.checks[i], &all[i]
		if s.hold.number == 0 || c.override != nil || !c.reserves() {
			*c = check{}
			continue
		}
		s.actual = int64(min(c.hits, maxHits))
		c.settled, c.refund = s, s.actual < s.hold.hits
		c.hits = uint64(max(s.actual-s.hold.hits, s.hold.hits-s.actual))
	}
	e.prepare(u, r, d, t)
	ctx = context.WithoutCancel(ctx)
	for i := range w.checks {
		c := &w.checks[i]
		if c.settled == nil {
			continue
		}
		failed := guard(func() error { return chargeFrom(ctx, e.ledgers(c.settled.local), w.charges[c.hit:c.hit+1]) })
		if err = errors.Join(err, failed); failed == nil {
			uncharged += uint64(w.charges[c.hit].book.uncharged)
		}
	}
	if err != nil {
		return uncharged, storeError(err)
	}
	e.evaluate(u, r, d, t)
	d.Code = OK
	return uncharged, nil
}
