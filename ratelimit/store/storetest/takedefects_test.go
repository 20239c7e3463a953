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

func TestTakingReference(t *testing.T) {
	for name, opts := range map[string]storetest.Options{"own clock": {}, "clock": {Clock: storetest.NewClock()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts.Takes = true
			storetest.Run(t, func(*testing.T) ratelimit.Store { return newTaking() }, &opts)
		})
	}
}

// TestLazyStoresMayTake shows what a store is free to do: it does not write what takes nothing, and
// drops what has expired.
func TestLazyStoresMayTake(t *testing.T) {
	clock := storetest.NewClock()
	storetest.Run(t, func(*testing.T) ratelimit.Store {
		expires := make(map[string]int64)
		return takeWith{newTaking(), func(s *taking, t *ratelimit.Take) {
			key := string(t.Key)
			if clock.Now().UnixMicro() >= expires[key] {
				delete(s.states, key)
			}
			state := s.states[key]
			if t.Apply(&state); t.Taken && t.N > 0 {
				s.states[key], expires[key] = state, t.Expires()
			}
		}}
	}, &storetest.Options{Takes: true, Clock: clock})
}

func TestFalseDeclarationsOfTakesAreNoticed(t *testing.T) {
	mustFail(t, "take/declared", newTaking(), nil)
	mustFail(t, "take/declared", newReference(), &storetest.Options{Takes: true})
	mustFail(t, "take/apply", newReference(), &storetest.Options{Takes: true})
}

// takeWith is a taking reference with another way to make a take.
type takeWith struct {
	*taking
	take func(s *taking, t *ratelimit.Take)
}

func (s takeWith) Take(_ context.Context, takes []ratelimit.Take) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range takes {
		s.take(s.taking, &takes[i])
	}
	return nil
}

// callWith is a taking reference with another Take.
type callWith struct {
	*taking
	call func(ctx context.Context, s *taking, takes []ratelimit.Take) error
}

func (s callWith) Take(ctx context.Context, takes []ratelimit.Take) error {
	return s.call(ctx, s.taking, takes)
}

// takeDefects are ways to get one take wrong, each with a case that must notice.
var takeDefects = map[string]struct {
	noticed string
	take    func(s *taking, t *ratelimit.Take)
}{
	"numbers of 14 digits": {"take/apply", onState(func(n int64) int64 { _, _ = fmt.Sscan(fmt.Sprintf("%.0f", rounded(n)), &n); return n })},
	"forgets the rest":     {"take/apply", func(s *taking, t *ratelimit.Take) { s.apply(t); dropRest(s, t) }},
	"does not give back":   {"take/back", func(s *taking, t *ratelimit.Take) { t.Back = false; s.apply(t); t.Back = true }},
	"gives all back":       {"take/back", func(s *taking, t *ratelimit.Take) { s.applyAs(t, func(t *ratelimit.Take) { t.N *= 1000 }) }},
	"forgets when it was":  {"take/back", func(s *taking, t *ratelimit.Take) { s.applyAs(t, func(t *ratelimit.Take) { t.Terms[3] *= notBack(t) }) }},
	"reads take":           {"take/read", func(s *taking, t *ratelimit.Take) { s.applyAs(t, func(t *ratelimit.Take) { t.N = max(t.N, 1) }) }},
	"refused hits count":   {"take/refused", countsRefused},
	"everything passes":    {"take/refused", func(s *taking, t *ratelimit.Take) { s.apply(t); t.Taken = true }},
	"hits in 31 bits":      {"take/large", onState(func(n int64) int64 { return low31(n) })},
	"hits at once in 32 bits": {"take/large", func(s *taking, t *ratelimit.Take) {
		s.applyAs(t, func(t *ratelimit.Take) { t.N = uint64(uint32(t.N)) })
	}},
	"keeps the first limit": {"take/changed", keepsTerms},
	"time only grows":       {"take/clocks", timeGrows},
	"one unit too short":    {"take/kept", forgets(func(t *ratelimit.Take) int64 { return (t.Now + t.Expires()) / 2 })},
	"in whole seconds":      {"take/kept", forgets(func(t *ratelimit.Take) int64 { return t.Now + (t.Expires()-t.Now)/1_000_000*1_000_000 })},
	"keys in lower case":    {"take/keys", renamed(bytes.ToLower)},
	"keys cut short":        {"take/keys", renamed(func(k []byte) []byte { return append(k[:min(250, len(k))], k[max(0, len(k)-90):]...) })},
	"writes N":              {"take/untouched", func(s *taking, t *ratelimit.Take) { s.apply(t); t.N = 0 }},
	"writes the key":        {"take/untouched", func(s *taking, t *ratelimit.Take) { s.apply(t); t.Key[0] ^= 1 }},
	"fixed ones apart": {"take/fixed", func(s *taking, t *ratelimit.Take) {
		s.applyAs(t, func(t *ratelimit.Take) { t.Key = fmt.Append(t.Key, t.Fixed) })
	}},
	"not atomic":            {"take/race", takesNotAtomic},
	"gives back not atomic": {"take/race back", takesNotAtomic},
}

// takeCallDefects are ways to get a call wrong.
var takeCallDefects = map[string]struct {
	noticed string
	call    func(ctx context.Context, s *taking, takes []ratelimit.Take) error
}{
	"reversed": {"take/order", func(ctx context.Context, s *taking, takes []ratelimit.Take) error {
		slices.Reverse(takes)
		defer slices.Reverse(takes)
		return s.Take(ctx, takes)
	}},
	"each key once": {"take/order", func(ctx context.Context, s *taking, takes []ratelimit.Take) error {
		before := maps.Clone(s.states)
		for i := range takes {
			state := before[string(takes[i].Key)]
			takes[i].Apply(&state)
			s.states[string(takes[i].Key)] = state
		}
		return nil
	}},
	"error without takes": {"take/none", func(ctx context.Context, s *taking, takes []ratelimit.Take) error {
		if len(takes) == 0 {
			return errors.New("nothing to do")
		}
		return s.Take(ctx, takes)
	}},
	"first takes only": {"take/many", func(ctx context.Context, s *taking, takes []ratelimit.Take) error {
		return s.Take(ctx, takes[:min(len(takes), 128)])
	}},
	"hangs when canceled": {"take/canceled", func(ctx context.Context, s *taking, takes []ratelimit.Take) error {
		if ctx.Err() != nil {
			select {}
		}
		return s.Take(ctx, takes)
	}},
	"keeps the buffer": {"take/buffers", keepsBuffer()},
}

func TestEveryDefectOfTakesIsNoticed(t *testing.T) {
	for name, d := range takeDefects {
		t.Run(name, func(t *testing.T) {
			mustFail(t, d.noticed, takeWith{newTaking(), d.take}, &storetest.Options{Takes: true, Clock: storetest.NewClock()})
		})
	}
	for name, d := range takeCallDefects {
		t.Run(name, func(t *testing.T) {
			opts := &storetest.Options{Takes: true, Clock: storetest.NewClock()}
			if d.noticed == "take/canceled" {
				opts.Timeout = 100 * time.Millisecond
			}
			mustFail(t, d.noticed, callWith{newTaking(), d.call}, opts)
		})
	}
}

// apply makes a take. The mutex must be locked.
func (s *taking) apply(t *ratelimit.Take) { s.applyAs(t, func(*ratelimit.Take) {}) }

// applyAs makes another take, and returns its result for t.
func (s *taking) applyAs(t *ratelimit.Take, change func(t *ratelimit.Take)) {
	other := *t
	other.Key = bytes.Clone(t.Key)
	change(&other)
	state := s.states[string(other.Key)]
	other.Apply(&state)
	s.states[string(other.Key)] = state
	t.Taken, t.State = other.Taken, other.State
}

// onState changes all numbers that are kept.
func onState(change func(n int64) int64) func(s *taking, t *ratelimit.Take) {
	return func(s *taking, t *ratelimit.Take) {
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

func dropRest(s *taking, t *ratelimit.Take) {
	if t.Algorithm == ratelimit.TokenBucket {
		state := t.State
		state[1] = 0
		s.states[string(t.Key)] = state
	}
}

// notBack returns 0 for places that are given back.
func notBack(t *ratelimit.Take) int64 {
	if t.Back && t.Algorithm == ratelimit.Concurrency {
		return 0
	}
	return 1
}

func countsRefused(s *taking, t *ratelimit.Take) {
	if s.apply(t); !t.Taken {
		state := t.State
		state[1]++
		s.states[string(t.Key)] = state
	}
}

// keepsTerms applies the terms that a key was first used with.
func keepsTerms(s *taking, t *ratelimit.Take) {
	s.applyAs(t, func(t *ratelimit.Take) {
		terms := "terms of " + string(t.Key)
		if _, known := s.states[terms]; !known {
			var first ratelimit.State
			copy(first[:], t.Terms[:])
			s.states[terms] = first
		}
		first := s.states[terms]
		t.Terms[1], t.Terms[2], t.Terms[3] = first[1], first[2], first[3]
	})
}

// timeGrows holds that a take comes no earlier than the one before.
func timeGrows(s *taking, t *ratelimit.Take) {
	s.applyAs(t, func(t *ratelimit.Take) {
		latest := s.states["latest"]
		latest[0] = max(latest[0], t.Now)
		latest[1] = max(latest[1], t.Terms[0])
		s.states["latest"] = latest
		if t.Now = latest[0]; t.Algorithm != ratelimit.TokenBucket {
			t.Terms[0] = latest[1]
		}
	})
}

// forgets drops a state at a time that the last take of hits determines.
func forgets(at func(t *ratelimit.Take) int64) func(s *taking, t *ratelimit.Take) {
	return func(s *taking, t *ratelimit.Take) {
		end := "end of " + string(t.Key)
		if t.Now >= s.states[end][0] {
			delete(s.states, string(t.Key))
		}
		if s.apply(t); t.N > 0 {
			s.states[end] = ratelimit.State{at(t)}
		}
	}
}

func renamed(rename func(key []byte) []byte) func(s *taking, t *ratelimit.Take) {
	return func(s *taking, t *ratelimit.Take) {
		s.applyAs(t, func(t *ratelimit.Take) { t.Key = rename(t.Key) })
	}
}

// takesNotAtomic reads a state and writes it later.
func takesNotAtomic(s *taking, t *ratelimit.Take) {
	state := s.states[string(t.Key)]
	s.mu.Unlock()
	runtime.Gosched()
	s.mu.Lock()
	t.Apply(&state)
	s.states[string(t.Key)] = state
}

// keepsBuffer keeps the bytes of the keys where the caller had them.
func keepsBuffer() func(ctx context.Context, s *taking, takes []ratelimit.Take) error {
	var keys [][]byte
	return func(_ context.Context, s *taking, takes []ratelimit.Take) error {
		for i := range takes {
			t := &takes[i]
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
