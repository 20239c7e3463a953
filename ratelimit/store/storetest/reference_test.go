package storetest_test

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/storetest"
)

// reference is the contract in as few lines as it takes: a map that forgets
// nothing.
type reference struct {
	mu     sync.Mutex
	counts map[string]uint64
}

func newReference() *reference { return &reference{counts: make(map[string]uint64)} }

func (r *reference) Add(_ context.Context, hits []ratelimit.Hit) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range hits {
		r.add(&hits[i])
	}
	return nil
}

func (r *reference) add(h *ratelimit.Hit) {
	if h.N > 0 {
		r.counts[string(h.Key)] = capped(r.counts[string(h.Key)], h.N)
	}
	h.Count = r.counts[string(h.Key)]
}

func (r *reference) AddUnlessOver(_ context.Context, hits []ratelimit.Hit) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	over := make([]bool, len(hits))
	anyOver := false
	for i, h := range hits {
		over[i] = capped(r.counts[string(h.Key)], h.N) > uint64(h.Limit)
		anyOver = anyOver || over[i]
	}
	for i := range hits {
		if h := &hits[i]; !anyOver || over[i] {
			r.add(h)
		} else {
			h.Count = r.counts[string(h.Key)]
		}
	}
	return nil
}

// subtracting is a reference that can subtract hits.
type subtracting struct{ *reference }

func (s subtracting) Subtract(_ context.Context, hits []ratelimit.Hit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range hits {
		h := &hits[i]
		if n, exists := s.counts[string(h.Key)]; exists {
			s.counts[string(h.Key)] = n - min(n, h.N)
		}
		h.Count = s.counts[string(h.Key)]
	}
	return nil
}

func capped(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// lagging returns counts calculated from what it has read, and adds when it is flushed.
type lagging struct {
	*plain
	late    sync.Mutex
	pending []ratelimit.Hit
}

func newLagging() *lagging { return &lagging{plain: newPlain()} }

func (l *lagging) Add(ctx context.Context, hits []ratelimit.Hit) error {
	l.late.Lock()
	defer l.late.Unlock()
	reads := make([]ratelimit.Hit, len(hits))
	for i, h := range hits {
		h.Key = append([]byte(nil), h.Key...)
		l.pending = append(l.pending, h)
		h.N = 0
		reads[i] = h
	}
	err := l.plain.Add(ctx, reads)
	for i := range hits {
		hits[i].Count = capped(reads[i].Count, hits[i].N)
	}
	return err
}

func (l *lagging) settle() {
	l.late.Lock()
	defer l.late.Unlock()
	_ = l.plain.Add(context.Background(), l.pending)
	l.pending = nil
}

// plain is a Store and no ConditionalStore.
type plain struct{ *forgetful }

func newPlain() *plain { return &plain{&forgetful{reference: newReference()}} }

func (plain) AddUnlessOver() {} // hides the method of the same name

// forgetful is a reference that loses a window some time after its end.
type forgetful struct {
	*reference
	clock *storetest.Clock
	after time.Duration
}

func (f *forgetful) Add(ctx context.Context, hits []ratelimit.Hit) error {
	if f.clock != nil {
		f.forget(hits)
	}
	return f.reference.Add(ctx, hits)
}

func (f *forgetful) forget(hits []ratelimit.Hit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range hits {
		if !f.clock.Now().Before(time.Unix(h.End(), 0).Add(f.after)) {
			delete(f.counts, string(h.Key))
		}
	}
}

// taking is a reference that holds limits of every algorithm.
type charging struct {
	*reference
	states map[string]ratelimit.State
}

func newCharging() *charging { return &charging{newReference(), make(map[string]ratelimit.State)} }

func (s *charging) Charge(_ context.Context, charges []ratelimit.Charge) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range charges {
		state := s.states[string(charges[i].Key)]
		charges[i].Apply(&state)
		s.states[string(charges[i].Key)] = state
	}
	return nil
}
