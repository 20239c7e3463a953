package leasestore

import (
	"context"
	"fmt"
	"sync"

	"github.com/ashlar-go/ashlar/ratelimit"
)

const (
	// bucketAhead bounds the time that a claim covers to 1/bucketAhead of that in which a bucket fills.
	bucketAhead = 8
	// bucketShare is the part of a bucket's tokens that one claim may take, unless few are left.
	bucketShare = 4
	// bucketPause bounds how long hits are refused in memory, as bucketAhead does.
	bucketPause = 4
	// worthCall is the least number of hits that make a call of the store worth it.
	worthCall = 256
	// worthClaim is the least number of hits that must be expected to use a claim.
	worthClaim = 4
	// maxPause bounds how long hits are refused in memory to so many times Options.Ahead.
	maxPause = 4
	// maxClaim bounds a claim.
	maxClaim = 1 << 31
	// maxHits limits the hits of a charge: more pass no limit.
	maxHits = 1 << 33
	// bucketLocks is the number of locks that the groups of buckets share.
	bucketLocks = 64
)

// buckets are the leases of token buckets, in groups as those of table.
type buckets struct {
	ahead  int64 // Options.Ahead in microseconds
	groups []bucketGroup
	shift  uint
	locks  [bucketLocks]struct {
		sync.Mutex
		_ [56]byte // others are in other cache lines
	}
}

// bucketGroup has the buckets of keys, nil for a key that was seen once.
type bucketGroup struct {
	tags [groupSize]uint64
	seen [groupSize]int64 // the last time, in Unix microseconds
	of   [groupSize]*bucket
}

// group returns the locked group of a tag, and its lock.
func (bs *buckets) group(tag uint64) (*bucketGroup, *sync.Mutex) {
	at := tag >> bs.shift & uint64(len(bs.groups)-1)
	lock := &bs.locks[at%bucketLocks].Mutex
	lock.Lock()
	return &bs.groups[at], lock
}

// find returns the bucket of a charge, or nil. A key that was seen a short time ago gets one.
func (bs *buckets) find(g *bucketGroup, tag uint64, t *ratelimit.Charge) *bucket {
	for i := range g.tags {
		if g.tags[i] != tag {
			continue
		}
		b := g.of[i]
		switch {
		case b == nil && t.Now-g.seen[i] <= bs.ahead/reviewsPerAhead && t.Now >= g.seen[i],
			b != nil && (b.params != [4]int64(t.Params[2:]) || t.Now < b.asked-bs.ahead): // another limit, or the clock was set back
			b = &bucket{params: [4]int64(t.Params[2:]), since: t.Now}
			b.capacity = b.tokens(b.params[0], b.params[1])
			g.of[i] = b
		}
		g.seen[i] = t.Now
		return b
	}
	if i := g.victim(tag, t.Now, bs.ahead); i >= 0 {
		g.tags[i], g.seen[i], g.of[i] = tag, t.Now, nil
	}
	return nil
}

// victim returns a slot that may be reused, the first kind that there is: empty, of a key that was seen
// once, of an idle bucket. Times to come, from before the clock was set back, are those of idle ones too.
// It returns -1 if all are in use.
func (g *bucketGroup) victim(tag uint64, now, ahead int64) int {
	once, idle := -1, -1
	for j := range groupSize {
		i := (int(tag>>8) + j) % groupSize
		b := g.of[i]
		switch {
		case g.tags[i] == 0:
			return i
		case b == nil && once < 0:
			once = i
		case b != nil && b.caller == nil && (max(b.asked, g.seen[i]) < now-ahead || b.asked > now+ahead):
			idle = i
		}
	}
	if once >= 0 {
		return once
	}
	return idle
}

// leasesCharge reports whether a charge may be leased.
func (l *Leases) leasesCharge(t *ratelimit.Charge) bool {
	return t.Algorithm.Leasable() && (t.Lease || l.opts.All) && !t.Claim && !t.Refund && t.Params[4] > 0 &&
		t.N <= maxHits && len(t.Key) <= maxKeyLen && !l.closing.Load()
}

// charge decides charges from leases, and calls the store for the others.
func (l *Leases) charge(ctx context.Context, inner ratelimit.ChargeStore, charges []ratelimit.Charge) error {
	for i := range charges {
		t := &charges[i]
		known := false
		if l.leasesCharge(t) {
			tag := l.tag(t.Key)
			g, lock := l.buckets.group(tag)
			b := l.buckets.find(g, tag, t)
			decided := b != nil && b.decide(t)
			lock.Unlock()
			if decided {
				continue
			}
			known = b != nil
		}
		if !known && !t.Refund && len(charges) == 1 {
			return inner.Charge(ctx, charges)
		}
		return l.chargeRest(ctx, inner, charges, i)
	}
	return nil
}

// chargeCall is a call of the store for charges that leases don't decide.
type chargeCall struct {
	asked  []ratelimit.Charge // for the store: first those of entries, then the claims
	entry  []chargeEntry
	claims bool // it is the caller of a bucket
	waited bool // for another call: not again
	failed bool
}

// chargeEntry is one of these charges.
type chargeEntry struct {
	at       int // index in the caller's charges
	tag      uint64
	b        *bucket // nil without a lease
	claims   bool    // b.caller is this call
	reserved int64   // tokens of the lease that are used in addition
	extra    int64   // tokens to claim
	parts    bool    // in as many parts as it takes to get what there is
	pause    int64   // how long to refuse hits if the bucket is empty then
	from, to int     // of the claims in asked
}

// release keeps the memory for other calls, unless it is large.
func (c *chargeCall) release(l *Leases) {
	if cap(c.asked) > 200 {
		return
	}
	clear(c.asked)
	clear(c.entry)
	*c = chargeCall{asked: c.asked[:0], entry: c.entry[:0]}
	l.chargeCalls.Put(c)
}

// chargeRest decides charges of which those before an index are decided.
func (l *Leases) chargeRest(ctx context.Context, inner ratelimit.ChargeStore, charges []ratelimit.Charge, from int) error {
	c := l.chargeCalls.Get().(*chargeCall)
	defer c.release(l)
	for i := from; i < len(charges); i++ {
		if err := l.routeCharge(ctx, c, charges, i); err != nil {
			return err
		}
	}
	if len(c.asked) == 0 {
		return nil
	}
	for i := range c.entry {
		c.addClaims(i)
	}
	c.failed = true
	defer l.endClaims(c, charges) // also if the store panics
	err := inner.Charge(ctx, c.asked)
	c.failed = err != nil
	return err
}

// routeCharge decides a charge if its lease can, waits for another call that claims, or adds the charge to
// those for the store.
func (l *Leases) routeCharge(ctx context.Context, c *chargeCall, charges []ratelimit.Charge, at int) error {
	t := &charges[at]
	e := chargeEntry{at: at}
	for l.leasesCharge(t) {
		e.tag = l.tag(t.Key)
		wait, decided := l.nextCharge(c, t, &e)
		switch {
		case decided:
			return nil
		case wait == nil:
			c.add(t, &e)
			return nil
		}
		select {
		case <-wait:
			c.waited = true
		case <-ctx.Done():
			return fmt.Errorf("leasestore: given up: %w", context.Cause(ctx))
		}
	}
	if t.Refund && t.Algorithm.Leasable() {
		e.tag = l.tag(t.Key)
		l.backCharge(c, t, &e)
	}
	c.add(t, &e)
	return nil
}

func (c *chargeCall) add(t *ratelimit.Charge, e *chargeEntry) {
	c.asked, c.entry = append(c.asked, *t), append(c.entry, *e)
	if e.reserved > 0 && !t.Refund {
		c.asked[len(c.asked)-1].SetHits(t.N - uint64(e.reserved))
	}
}

// addClaims appends the charges that claim for an entry.
func (c *chargeCall) addClaims(at int) {
	e := &c.entry[at]
	e.from = len(c.asked)
	for left := e.extra; left > 0; {
		n := left
		if e.parts {
			n = (left + 1) / 2
		}
		left -= n
		t := c.asked[at]
		t.SetHits(uint64(n))
		c.asked = append(c.asked, t)
	}
	e.to = len(c.asked)
}

// nextCharge decides a charge, returns what to wait for, or sets how its entry goes on.
func (l *Leases) nextCharge(c *chargeCall, t *ratelimit.Charge, e *chargeEntry) (wait chan struct{}, decided bool) {
	g, lock := l.buckets.group(e.tag)
	defer lock.Unlock()
	b := l.buckets.find(g, e.tag, t)
	e.b = b
	switch {
	case b == nil || b.caller == c:
		return nil, false
	case b.decide(t):
		return nil, true
	case b.caller != nil:
		if c.claims || c.waited || t.N == 0 { // two calls must not wait for each other
			return nil, false
		}
		if b.done == nil {
			b.done = make(chan struct{})
		}
		return b.done, false
	case t.Now < b.asked || t.N == 0:
		return nil, false
	}
	b.demand(t, l.buckets.ahead, e)
	if e.extra > 0 || e.parts || b.left > 0 {
		b.caller, c.claims, e.claims = c, true, true
		e.reserved, b.left = min(b.left, max(int64(t.N)-1, 0)), 0
	}
	return nil, false
}

// endClaims gives the charges their results, and the buckets what was claimed.
func (l *Leases) endClaims(c *chargeCall, charges []ratelimit.Charge) {
	for i := range c.entry {
		e := &c.entry[i]
		t := &charges[e.at]
		t.Allowed, t.State = c.asked[i].Allowed, c.asked[i].State
		if e.b != nil && !c.failed {
			_, lock := l.buckets.group(e.tag)
			e.b.noteCharge(t, e)
			lock.Unlock()
		}
	}
	for i := range c.entry {
		if e := &c.entry[i]; e.claims {
			_, lock := l.buckets.group(e.tag)
			l.endClaim(c, e, &c.asked[i])
			lock.Unlock()
		}
	}
}

// endClaim ends the claim of an entry with a charge. The group of the bucket is locked.
func (l *Leases) endClaim(c *chargeCall, e *chargeEntry, t *ratelimit.Charge) {
	b := e.b
	b.caller = nil
	if b.done != nil {
		close(b.done)
		b.done = nil
	}
	if c.failed {
		b.left, b.busy = e.reserved, false
		l.stats.lost.Add(uint64(e.extra))
		return
	}
	state, claimed := t.State, uint64(0)
	for _, a := range c.asked[e.from:e.to] {
		if state = a.State; a.Allowed {
			claimed += a.N
			b.claimed(int64(a.N), state)
		}
	}
	if claimed > 0 {
		l.stats.claims.Add(1)
		l.stats.claimed.Add(claimed)
	}
	b.note(state, t.Now, e.pause)
}

// note notes the state of the bucket in the store after a call.
func (b *bucket) note(state ratelimit.State, now, pause int64) {
	b.virtual, b.full = b.without(state, b.left), state[0]
	b.asked, b.available = now, b.room(&state, now)
	b.pause = 0
	switch {
	case b.available == 0:
		b.pause, b.short = now+pause, true
	case b.available >= b.capacity/bucketShare:
		b.short = false
	}
}

// noteCharge notes the result of a charge, before claims of its call.
func (b *bucket) noteCharge(t *ratelimit.Charge, e *chargeEntry) {
	if e.claims && (!t.Allowed || t.Refund) {
		b.left = e.reserved
		b.expire(t.Now)
	}
	switch {
	case !e.claims && !t.Allowed && b.decide(t): // from a lease that has come in the meantime
	case b.caller == nil && b.left == 0 && t.Now >= b.asked && t.State[0] >= b.virtual[0]:
		b.note(t.State, t.Now, e.pause)
	default:
		t.State = b.without(t.State, b.left)
	}
}

// backCharge prepares a charge that gives hits back: the positions of all that follow move to the front, and
// so do those of the tokens that are left.
func (l *Leases) backCharge(c *chargeCall, t *ratelimit.Charge, e *chargeEntry) {
	g, lock := l.buckets.group(e.tag)
	defer lock.Unlock()
	for i, b := range g.of {
		if b == nil || g.tags[i] != e.tag {
			continue
		}
		if b.caller != nil || b.params != [4]int64(t.Params[2:]) { // unknown whether its claim comes before
			g.of[i] = nil
			continue
		}
		micro, _ := b.time(int64(min(t.N, maxHits)))
		b.until -= micro + 1
		e.b, b.caller, c.claims, e.claims = b, c, true, true
		e.reserved, b.left = b.left, 0
	}
}

// held counts the buckets with tokens claimed and not used, and these.
func (bs *buckets) held() (keys int, tokens uint64) {
	for i := range bs.groups {
		lock := &bs.locks[i%bucketLocks]
		lock.Lock()
		for _, b := range bs.groups[i].of {
			if b != nil && b.left > 0 {
				keys++
				tokens += uint64(b.left)
			}
		}
		lock.Unlock()
	}
	return keys, tokens
}
