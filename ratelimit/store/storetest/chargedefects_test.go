package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

func TestChargingReference(t *testing.T) {
	for name, opts := range map[string]storetest.Options{"own clock": {}, "clock": {Clock: storetest.NewClock()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts.Charges = true
			storetest.Run(t, func(*testing.T) ratelimit.Store { return newCharging() }, &opts)
		})
	}
}

// TestLazyStoresMayTake shows what a store is free to do: it does not write what takes nothing, and
// drops what has expired.
func TestLazyStoresMayCharge(t *testing.T) {
	clock := storetest.NewClock()
	storetest.Run(t, func(*testing.T) ratelimit.Store {
		expires := make(map[string]int64)
		return chargeWith{newCharging(), func(s *charging, t *ratelimit.Charge) {
			key := string(t.Key)
			if clock.Now().UnixMicro() >= expires[key] {
				delete(s.states, key)
			}
			state := s.states[key]
			if t.Apply(&state); t.Allowed && t.N > 0 {
				s.states[key], expires[key] = state, t.Expires()
			}
		}}
	}, &storetest.Options{Charges: true, Clock: clock})
}

func TestFalseDeclarationsOfChargesAreNoticed(t *testing.T) {
	mustFail(t, "charge/declared", newCharging(), nil)
	mustFail(t, "charge/declared", newReference(), &storetest.Options{Charges: true})
	mustFail(t, "charge/apply", newReference(), &storetest.Options{Charges: true})
}

// chargeWith is a taking reference with another way to make a charge.
type chargeWith struct {
	*charging
	charge func(s *charging, t *ratelimit.Charge)
}

func (s chargeWith) Charge(_ context.Context, charges []ratelimit.Charge) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range charges {
		s.charge(s.charging, &charges[i])
	}
	return nil
}

// callWith is a reference with another Charge.
type callWith struct {
	*charging
	call func(ctx context.Context, s *charging, charges []ratelimit.Charge) error
}

func (s callWith) Charge(ctx context.Context, charges []ratelimit.Charge) error {
	return s.call(ctx, s.charging, charges)
}

// chargeDefects are ways to get one charge wrong, each with a case that must notice.
var chargeDefects = map[string]struct {
	noticed string
	charge  func(s *charging, t *ratelimit.Charge)
}{
	"numbers of 14 digits": {"charge/apply", onState(func(n int64) int64 { _, _ = fmt.Sscan(fmt.Sprintf("%.0f", rounded(n)), &n); return n })},
	"forgets the rest":     {"charge/apply", func(s *charging, t *ratelimit.Charge) { s.apply(t); dropRest(s, t) }},
	"does not give back":   {"charge/back", func(s *charging, t *ratelimit.Charge) { t.Refund = false; s.apply(t); t.Refund = true }},
	"gives all back":       {"charge/back", func(s *charging, t *ratelimit.Charge) { s.applyAs(t, func(t *ratelimit.Charge) { t.N *= 1000 }) }},
	"forgets when it was": {"charge/back", func(s *charging, t *ratelimit.Charge) {
		s.applyAs(t, func(t *ratelimit.Charge) { t.Params[3] *= notBack(t) })
	}},
	"reads take":         {"charge/read", func(s *charging, t *ratelimit.Charge) { s.applyAs(t, func(t *ratelimit.Charge) { t.N = max(t.N, 1) }) }},
	"refused hits count": {"charge/refused", countsRefused},
	"everything passes":  {"charge/refused", func(s *charging, t *ratelimit.Charge) { s.apply(t); t.Allowed = true }},
	"hits in 31 bits":    {"charge/large", onState(func(n int64) int64 { return low31(n) })},
	"hits at once in 32 bits": {"charge/large", func(s *charging, t *ratelimit.Charge) {
		s.applyAs(t, func(t *ratelimit.Charge) { t.N = uint64(uint32(t.N)) })
	}},
	"keeps the first limit": {"charge/changed", keepsParams},
	"time only grows":       {"charge/clocks", timeGrows},
	"one unit too short":    {"charge/kept", forgets(func(t *ratelimit.Charge) int64 { return (t.Now + t.Expires()) / 2 })},
	"in whole seconds":      {"charge/kept", forgets(func(t *ratelimit.Charge) int64 { return t.Now + (t.Expires()-t.Now)/1_000_000*1_000_000 })},
	"keys in lower case":    {"charge/keys", renamed(bytes.ToLower)},
	"keys cut short":        {"charge/keys", renamed(func(k []byte) []byte { return append(k[:min(250, len(k))], k[max(0, len(k)-90):]...) })},
	"writes N":              {"charge/untouched", func(s *charging, t *ratelimit.Charge) { s.apply(t); t.N = 0 }},
	"writes the key":        {"charge/untouched", func(s *charging, t *ratelimit.Charge) { s.apply(t); t.Key[0] ^= 1 }},
	"fixed ones apart": {"charge/fixed", func(s *charging, t *ratelimit.Charge) {
		s.applyAs(t, func(t *ratelimit.Charge) { t.Key = fmt.Append(t.Key, t.Fixed) })
	}},
	"not atomic":            {"charge/race", chargesNotAtomic},
	"gives back not atomic": {"charge/race back", chargesNotAtomic},
}

// chargeCallDefects are ways to get a call wrong.
var chargeCallDefects = map[string]struct {
	noticed string
	call    func(ctx context.Context, s *charging, charges []ratelimit.Charge) error
}{
	"reversed": {"charge/order", func(ctx context.Context, s *charging, charges []ratelimit.Charge) error {
		slices.Reverse(charges)
		defer slices.Reverse(charges)
		return s.Charge(ctx, charges)
	}},
	"each key once": {"charge/order", func(ctx context.Context, s *charging, charges []ratelimit.Charge) error {
		before := maps.Clone(s.states)
		for i := range charges {
			state := before[string(charges[i].Key)]
			charges[i].Apply(&state)
			s.states[string(charges[i].Key)] = state
		}
		return nil
	}},
	"error without charges": {"charge/none", func(ctx context.Context, s *charging, charges []ratelimit.Charge) error {
		if len(charges) == 0 {
			return errors.New("nothing to do")
		}
		return s.Charge(ctx, charges)
	}},
	"first takes only": {"charge/many", func(ctx context.Context, s *charging, charges []ratelimit.Charge) error {
		return s.Charge(ctx, charges[:min(len(charges), 128)])
	}},
	"hangs when canceled": {"charge/canceled", func(ctx context.Context, s *charging, charges []ratelimit.Charge) error {
		if ctx.Err() != nil {
			select {}
		}
		return s.Charge(ctx, charges)
	}},
	"keeps the buffer": {"charge/buffers", keepsBuffer()},
}

func TestEveryDefectOfChargesIsNoticed(t *testing.T) {
	for name, d := range chargeDefects {
		t.Run(name, func(t *testing.T) {
			mustFail(t, d.noticed, chargeWith{newCharging(), d.charge}, &storetest.Options{Charges: true, Clock: storetest.NewClock()})
		})
	}
	for name, d := range chargeCallDefects {
		t.Run(name, func(t *testing.T) {
			opts := &storetest.Options{Charges: true, Clock: storetest.NewClock()}
			if d.noticed == "charge/canceled" {
				opts.Timeout = 100 * time.Millisecond
			}
			mustFail(t, d.noticed, callWith{newCharging(), d.call}, opts)
		})
	}
}

// apply makes a charge. The mutex must be locked.
func (s *charging) apply(t *ratelimit.Charge) { s.applyAs(t, func(*ratelimit.Charge) {}) }

// applyAs makes another take, and returns its result for t.
func (s *charging) applyAs(t *ratelimit.Charge, change func(t *ratelimit.Charge)) {
	other := *t
	other.Key = bytes.Clone(t.Key)
	change(&other)
	state := s.states[string(other.Key)]
	other.Apply(&state)
	s.states[string(other.Key)] = state
	t.Allowed, t.State = other.Allowed, other.State
}

// onState changes all numbers that are kept.
func onState(change func(n int64) int64) func(s *charging, t *ratelimit.Charge) {
	return func(s *charging, t *ratelimit.Charge) {
		s.apply(t)
		state := t.State
		for i := range state {
			state[i] = change(state[i])
		}
		s.states[string(t.Key)] = state
	}
}

// rounded returns a number as text of 14 digits keeps it.
func rounded(n int64) (f float64) {
	_, _ = fmt.Sscan(fmt.Sprintf("%.14g", float64(n)), &f)
	return f
}

// low31 keeps 31 bits of what could be a number of hits.
func low31(n int64) int64 {
	if n < 1<<33 {
		return n & (1<<31 - 1)
	}
	return n
}

func dropRest(s *charging, t *ratelimit.Charge) {
	if t.Algorithm == ratelimit.TokenBucket {
		state := t.State
		state[1] = 0
		s.states[string(t.Key)] = state
	}
}

// notBack returns 0 for permits that are released.
func notBack(t *ratelimit.Charge) int64 {
	if t.Refund && t.Algorithm == ratelimit.Concurrency {
		return 0
	}
	return 1
}

func countsRefused(s *charging, t *ratelimit.Charge) {
	if s.apply(t); !t.Allowed {
		state := t.State
		state[1]++
		s.states[string(t.Key)] = state
	}
}

// keepsTerms applies the terms that a key was first used with.
func keepsParams(s *charging, t *ratelimit.Charge) {
	s.applyAs(t, func(t *ratelimit.Charge) {
		params := "terms of " + string(t.Key)
		if _, known := s.states[params]; !known {
			var first ratelimit.State
			copy(first[:], t.Params[:])
			s.states[params] = first
		}
		first := s.states[params]
		t.Params[1], t.Params[2], t.Params[3] = first[1], first[2], first[3]
	})
}

// timeGrows holds that a charge comes no earlier than the one before.
func timeGrows(s *charging, t *ratelimit.Charge) {
	s.applyAs(t, func(t *ratelimit.Charge) {
		latest := s.states["latest"]
		latest[0] = max(latest[0], t.Now)
		latest[1] = max(latest[1], t.Params[0])
		s.states["latest"] = latest
		if t.Now = latest[0]; t.Algorithm != ratelimit.TokenBucket {
			t.Params[0] = latest[1]
		}
	})
}

// forgets drops a state at a time that the last charge determines.
func forgets(at func(t *ratelimit.Charge) int64) func(s *charging, t *ratelimit.Charge) {
	return func(s *charging, t *ratelimit.Charge) {
		end := "end of " + string(t.Key)
		if t.Now >= s.states[end][0] {
			delete(s.states, string(t.Key))
		}
		if s.apply(t); t.N > 0 {
			s.states[end] = ratelimit.State{at(t)}
		}
	}
}

func renamed(rename func(key []byte) []byte) func(s *charging, t *ratelimit.Charge) {
	return func(s *charging, t *ratelimit.Charge) {
		s.applyAs(t, func(t *ratelimit.Charge) { t.Key = rename(t.Key) })
	}
}

// chargesNotAtomic reads a state and writes it later.
func chargesNotAtomic(s *charging, t *ratelimit.Charge) {
	state := s.states[string(t.Key)]
	s.mu.Unlock()
	runtime.Gosched()
	s.mu.Lock()
	t.Apply(&state)
	s.states[string(t.Key)] = state
}

// keepsBuffer keeps the bytes of the keys where the caller had them.
func keepsBuffer() func(ctx context.Context, s *charging, charges []ratelimit.Charge) error {
	var keys [][]byte
	return func(_ context.Context, s *charging, charges []ratelimit.Charge) error {
		for i := range charges {
			t := &charges[i]
			at := slices.IndexFunc(keys, func(key []byte) bool { return bytes.Equal(key, t.Key) })
			if at < 0 {
				at = len(keys)
				keys = append(keys, t.Key)
			}
			state := s.states[fmt.Sprint(at)]
			t.Apply(&state)
			s.states[fmt.Sprint(at)] = state
		}
		return nil
	}
}
