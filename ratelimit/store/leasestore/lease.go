package leasestore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// lease has what is known of one counter with one limit in one window.
type lease struct {
	// state is the counter's value after the last claim in the upper 32 bits, and the hits that
	// are left of claims in the lower 32.
	state atomic.Uint64
	// full is the counter's value if that has reached the limit, else 0.
	full atomic.Uint64
	hit  ratelimit.Hit // with its own Key; N and Count are 0

	mu      sync.Mutex
	claim   *claim // in progress
	retired bool   // not in the table any more
	listed  bool   // in Leases.listed
	seen    uint64 // the counter's value after the last call
	excess  uint64 // hits that were counted above the limit in vain, to give back

	// Demand.
	at      int64  // when the last hits were granted, in nanoseconds
	granted uint64 // how many
	warm    int    // calls in quick succession
	hot     bool   // there were so many once
	waiting uint64 // hits that waited for the last claim

	// Reviews.
	claims, reviewedClaims uint64 // how many there were, and had been at the last review
	reviewedLeft           uint64 // what was left then
	reviewedUsed           uint64 // what was used between the last two
	suspect                bool   // the window was full: read before counting
	wait, backoff          int    // reviews until then, and how many the last time
}

// is reports whether a hit has the counter, the window and the limit of the lease.
func (e *lease) is(h *ratelimit.Hit) bool {
	return h.Limit == e.hit.Limit && h.Window == e.hit.Window && h.Unit == e.hit.Unit &&
		h.Length == e.hit.Length && string(h.Key) == string(e.hit.Key)
}

// hitOf returns n hits on the counter.
func (e *lease) hitOf(n uint64) ratelimit.Hit {
	h := e.hit
	h.N = n
	return h
}

// retire makes sure that nothing is claimed for the lease any more. It reports false if the
// lease must stay in the table.
func (e *lease) retire() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.listed || e.claim != nil {
		return false
	}
	e.retired = true
	return true
}

const (
	leftMask = 1<<32 - 1
	// maxCount is a count that every store can reach.
	maxCount = 1 << 62
)

// decide counts a hit if the lease is enough to, or if the window is full.
func (e *lease) decide(h *ratelimit.Hit) bool {
	for {
		s := e.state.Load()
		left := s & leftMask
		if left < h.N || left == 0 {
			break
		}
		if e.state.CompareAndSwap(s, s-h.N) {
			h.Count = s>>32 - (left - h.N)
			return true
		}
	}
	full := e.full.Load()
	if full == 0 {
		return false
	}
	if h.Count = full; h.N > 0 {
		h.Count = min(plus(max(full, uint64(h.Limit)), h.N), maxCount)
	}
	return true
}

// plus adds, and stops at the maximum.
func plus(a, b uint64) uint64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return 1<<64 - 1
}

// withdraw removes up to n hits from what is left, to give them back, and returns how many.
func (e *lease) withdraw(n uint64) uint64 {
	for {
		s := e.state.Load()
		n = min(n, s&leftMask)
		if e.state.CompareAndSwap(s, s-n<<32-n) {
			return n
		}
	}
}

// put adds n hits to what is left, with the counter's value after the claim or 0 if there was none.
func (e *lease) put(n, count uint64) {
	for {
		s := e.state.Load()
		left := s&leftMask + n
		top := s >> 32
		if count > 0 {
			top = min(count, uint64(e.hit.Limit))
		}
		if e.state.CompareAndSwap(s, max(top, left)<<32|left) {
			return
		}
	}
}

// claim is a call that claims hits ahead, in addition to those of the caller that makes it.
type claim struct {
	n, extra uint64
	ask      bool // read first
	done     chan struct{}

	// These are set when it is done.
	count uint64 // the counter's value with the n hits, which are not added if the window is full
	err   error
}

// next decides a hit, or returns the claim to wait for, which the hit has begun if begun is set, or
// another caller. Without both the hit is for the store. The hits of the caller are part of a claim that
// it begins if own is set.
func (e *lease) next(ctx context.Context, l *Leases, h *ratelimit.Hit, own bool) (decided bool, c *claim, begun bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.decide(h):
		return true, nil, false
	case e.claim != nil && h.N > 0:
		e.waiting += h.N
		return false, e.claim, false
	case e.retired || h.N == 0 || h.N > uint64(h.Limit):
		return false, nil, false
	}
	extra := e.demand(l, h.N)
	if extra == 0 && !e.suspect || !own && extra < h.N {
		return false, nil, false
	}
	c = &claim{n: h.N, extra: extra, ask: e.suspect, done: make(chan struct{})}
	if !own {
		c.n = 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false, nil, false
	}
	l.work.Add(1)
	e.claim, e.waiting = c, 0
	go l.make(context.WithoutCancel(ctx), e, c)
	return false, c, true
}

// demand returns how many hits to claim beyond n: what was used of the last claim in a time,
// for the time Ahead. e.mu is held.
func (e *lease) demand(l *Leases, n uint64) uint64 {
	now := l.now()
	elapsed := max(now-e.at, 1)
	used := e.granted
	e.at, e.granted = now, n
	ahead := int64(l.opts.Ahead)
	part := uint64(share)
	if l.cannotSubtract.Load() {
		ahead, part = ahead/smaller, part*smaller
	}
	want := float64(used) * float64(ahead) / float64(elapsed)
	if want < minDemand {
		e.warm = 0
		return 0
	}
	if e.warm++; e.warm < warmUp {
		return 0
	}
	e.hot = true
	limit := uint64(e.hit.Limit)
	room := (limit - min(e.seen, limit)) / part
	extra := min(uint64(min(want, float64(growth*used))), leftMask)
	extra = min(max(extra, e.waiting), room)
	extra -= extra % n
	e.granted += extra
	return extra
}

// make makes a claim.
func (l *Leases) make(ctx context.Context, e *lease, c *claim) {
	defer l.work.Done()
	c.err = errors.New("the counter store ended its goroutine")
	defer func() { // runtime.Goexit included
		e.mu.Lock()
		e.claim = nil
		e.mu.Unlock()
		close(c.done)
	}()
	l.probe.Do(func() { l.probeSubtract(ctx) })
	hits := [1]ratelimit.Hit{e.hit}
	limit := uint64(e.hit.Limit)
	if c.ask {
		if c.err = guard(func() error { return l.inner.Add(ctx, hits[:]) }); c.err != nil {
			return
		}
		count := hits[0].Count
		if count >= limit {
			c.count = min(plus(count, c.n), maxCount)
			e.mu.Lock()
			e.note(l, count)
			e.mu.Unlock()
			return
		}
		c.extra = min(c.extra, (limit-min(plus(count, c.n), limit))/share)
	}
	if c.n+c.extra == 0 {
		return
	}
	hits[0].N, hits[0].Count = c.n+c.extra, 0
	if c.err = guard(func() error { return l.inner.Add(ctx, hits[:]) }); c.err != nil {
		l.stats.lost.Add(c.extra)
		e.mu.Lock()
		e.warm, e.granted = 0, 0
		e.mu.Unlock()
		return
	}
	l.finish(ctx, e, c, hits[0].Count)
}

// probeSubtract finds out whether the store can subtract, which a wrapper does not tell before.
func (l *Leases) probeSubtract(ctx context.Context) {
	if l.subtracts != nil && errors.Is(guard(func() error { return l.subtracts.Subtract(ctx, nil) }), errors.ErrUnsupported) {
		l.cannotSubtract.Store(true)
	}
}

// finish shares out a claim after which the counter has a value. Of the hits claimed ahead, those
// within the limit are ours, and the others are given back.
func (l *Leases) finish(ctx context.Context, e *lease, c *claim, count uint64) {
	limit := uint64(e.hit.Limit)
	c.count = count - min(c.extra, count)
	ours := min(limit-min(c.count, limit), c.extra)
	l.stats.claims.Add(1)
	l.stats.claimed.Add(ours)
	e.mu.Lock()
	e.claims++
	e.suspect, e.backoff = false, 0
	excess := c.extra - ours
	if c.count > limit {
		excess += c.n
	}
	e.note(l, count-min(excess, count))
	if ours+excess == 0 {
		e.mu.Unlock()
		return
	}
	if !l.list(e) { // closed
		e.mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, giveBackTimeout)
		defer cancel()
		_, _ = l.giveBack(ctx, []ratelimit.Hit{e.hitOf(ours + excess)})
		return
	}
	e.excess += excess
	e.put(ours, count)
	e.mu.Unlock()
}

// note notes the counter's value after a call. e.mu is held.
func (e *lease) note(l *Leases, count uint64) {
	e.seen = count
	if count < uint64(e.hit.Limit) || e.retired {
		return
	}
	e.suspect = true
	if !e.hot || e.hit.Limit == 0 || !l.list(e) {
		return
	}
	if e.full.Swap(count) == 0 {
		e.backoff = min(max(2*e.backoff, 1), maxBackoff)
		e.wait = e.backoff
	}
}

// review returns the hits to give back, and whether to review the lease again.
func (e *lease) review() (back uint64, again bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.full.Load() > 0 {
		if e.wait--; e.wait <= 0 {
			e.full.Store(0)
		}
	}
	back, e.excess = e.excess, 0
	left := e.state.Load() & leftMask
	if e.claims != e.reviewedClaims { // there is demand, or was just now
		e.reviewedClaims, e.reviewedUsed = e.claims, left
	} else if e.claim == nil {
		used := e.reviewedLeft - min(left, e.reviewedLeft)
		if keep := 2 * reviewsPerAhead * max(used, e.reviewedUsed); left > keep {
			back += e.withdraw(left - keep)
		}
		e.reviewedUsed = used
	}
	e.reviewedLeft = e.state.Load() & leftMask
	e.listed = e.reviewedLeft > 0 || e.full.Load() > 0 || e.claim != nil
	return back, e.listed
}

// drain returns all hits to give back, and makes the lease forget that the window is full.
func (e *lease) drain() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.full.Store(0)
	back := e.excess + e.withdraw(leftMask)
	e.excess, e.suspect = 0, false
	return back
}
