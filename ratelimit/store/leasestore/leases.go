package leasestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/internal/settings"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// Options are the optional settings of Leases. nil and the zero value mean the defaults.
type Options struct {
	// All leases all hits, whatever their Lease says. Default: those of rules with Lease.
	All bool
	// MaxKeys limits the counters that can be leased at the same time; hits on others go to the
	// store. It is rounded up to 8 times a power of two. A table of 24 bytes for each is
	// allocated at once, and about 300 bytes for each in use. Default, when 0: 16,384; at most 16,777,216.
	MaxKeys int
	// Ahead is the time whose demand a claim covers, and after which claims without demand have
	// been given back, those of token buckets aside. A window that was full is asked about again after a quarter of it, then
	// at intervals that double up to four times Ahead. Default, when 0: 500 milliseconds; at most an hour.
	Ahead time.Duration
}

const (
	defaultMaxKeys = 1 << 14
	maxKeys        = 1 << 24
	defaultAhead   = 500 * time.Millisecond
	// maxKeyLen is the maximum length of a key that is leased, in bytes.
	maxKeyLen = 512
	// share is the part of a window's rest that one claim may take: 1/share.
	share = 32
	// minDemand is the least number of hits that must be expected in the time Ahead for a claim.
	minDemand = 16
	// warmUp is the number of hits in quick succession that precede the first claim.
	warmUp = 3
	// growth bounds a claim by that many times what was used of the last one.
	growth = 4
	// reviewsPerAhead is the number of reviews of leases in the time Ahead.
	reviewsPerAhead = 4
	// maxBackoff bounds the reviews between two reads of a full window.
	maxBackoff = 16
	// batchSize is the maximum number of hits that are given back in one call.
	batchSize = 1000
	// giveBackTimeout bounds a call that gives back.
	giveBackTimeout = 5 * time.Second
	// smaller is by how much claims are smaller if nothing can be given back.
	smaller = 16
)

// Leases claims hits of windows and token buckets ahead from a store. It is safe for concurrent use. Create it
// with New, use its Store, and Close it before the inner store is closed.
type Leases struct {
	inner       ratelimit.Store
	subtracts   ratelimit.SubtractStore // nil if the inner store is none
	opts        Options
	seed        maphash.Seed
	table       table
	buckets     buckets
	start       time.Time // of which times are the nanoseconds since
	calls       sync.Pool // of *call
	chargeCalls sync.Pool // of *chargeCall

	// cannotSubtract is set when the inner store has returned errors.ErrUnsupported.
	cannotSubtract atomic.Bool
	probe          sync.Once

	mu     sync.Mutex
	listed []*lease // those that have to be reviewed
	timer  *time.Timer
	closed bool
	// closing is set with closed.
	closing atomic.Bool
	work    sync.WaitGroup // claims and reviews

	stats struct{ claims, claimed, returned, lost atomic.Uint64 }
}

// New returns Leases from a store whose additions are atomic; memcachestore's are not. opts
// may be nil.
func New(inner ratelimit.Store, opts *Options) (*Leases, error) {
	l := &Leases{inner: inner, opts: *cmp.Or(opts, &Options{}), seed: maphash.MakeSeed(), start: time.Now()}
	o := &l.opts
	var errs []error
	if inner == nil {
		errs = append(errs, errors.New("no store to claim hits from"))
	}
	settings.Default(&errs, "option MaxKeys", &o.MaxKeys, defaultMaxKeys, maxKeys)
	settings.Default(&errs, "option Ahead", &o.Ahead, defaultAhead, time.Hour)
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("leasestore: %w", err)
	}
	n, shift := groupsFor(o.MaxKeys)
	l.table.groups, l.table.shift, l.table.short = make([]group, n), shift, int64(o.Ahead/reviewsPerAhead)
	l.buckets.groups, l.buckets.shift, l.buckets.ahead = make([]bucketGroup, n), shift, int64(o.Ahead/time.Microsecond)
	l.calls.New = func() any { return new(call) }
	l.chargeCalls.New = func() any { return new(chargeCall) }
	l.subtracts, _ = inner.(ratelimit.SubtractStore)
	if l.subtracts == nil {
		l.cannotSubtract.Store(true)
	}
	return l, nil
}

// Store returns the store with leases. It is a ratelimit.ConditionalStore, a
// ratelimit.SubtractStore and a ratelimit.ChargeStore, whose methods return errors.ErrUnsupported
// where the store given to New has none.
func (l *Leases) Store() ratelimit.Store { return &leased{l} }

// Stats are the statistics of Leases. All but Keys and Held count from New.
type Stats struct {
	// Keys is the number of counters and buckets with claims, and windows known to be full, Held the number of hits
	// claimed for them and not used yet.
	Keys int
	Held uint64
	// Claims is the number of calls that claimed hits ahead, Claimed the number of these hits.
	Claims, Claimed uint64
	// Returned is the number of hits that were given back.
	Returned uint64
	// Lost is the number of hits that may have been claimed, or not given back, because a
	// call failed: they may be missing until their windows end, or their buckets are full.
	Lost uint64
}

// Stats reads one lease after the other, so under load the sums are not a consistent snapshot.
func (l *Leases) Stats() Stats {
	s := Stats{
		Claims: l.stats.claims.Load(), Claimed: l.stats.claimed.Load(),
		Returned: l.stats.returned.Load(), Lost: l.stats.lost.Load(),
	}
	s.Keys, s.Held = l.buckets.held()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.listed {
		s.Keys++
		s.Held += uint64(uint32(e.state.Load()))
	}
	return s
}

// Close gives back what is claimed of windows and not used, which takes at most about five seconds. Then
// the store counts without leases. It does not close the inner store. The error says how
// many hits could not be given back.
func (l *Leases) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.closing.Store(true)
	if l.timer != nil && l.timer.Stop() {
		l.work.Done()
	}
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), giveBackTimeout)
	defer cancel()
	finished := make(chan struct{})
	go func() { l.work.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-ctx.Done(): // claims that succeed later are given back then
	}
	l.mu.Lock()
	listed := l.listed
	l.listed = nil
	l.mu.Unlock()
	var back []ratelimit.Hit
	for _, e := range listed {
		e.mu.Lock()
		e.listed = false // so that no claim is kept any more
		e.mu.Unlock()
		if n := e.drain(); n > 0 {
			back = append(back, e.hitOf(n))
		}
	}
	if lost, err := l.giveBack(ctx, back); err != nil {
		return fmt.Errorf("leasestore: %d hits were not given back: %w", lost, err)
	}
	return nil
}

// giveBack subtracts hits that were claimed and not used. A call that fails is not repeated,
// because the hits may have been subtracted.
func (l *Leases) giveBack(ctx context.Context, hits []ratelimit.Hit) (lost uint64, err error) {
	for len(hits) > 0 {
		part := hits[:min(len(hits), batchSize)]
		hits = hits[len(part):]
		sum := uint64(0)
		for i := range part {
			sum += part[i].N
		}
		callErr := errors.ErrUnsupported
		if !l.cannotSubtract.Load() {
			callErr = guard(func() error { return l.subtracts.Subtract(ctx, part) })
		}
		if callErr == nil {
			l.stats.returned.Add(sum)
			continue
		}
		if errors.Is(callErr, errors.ErrUnsupported) {
			l.cannotSubtract.Store(true)
		}
		l.stats.lost.Add(sum)
		lost, err = lost+sum, callErr
	}
	return lost, err
}

// guard turns a panic of a call to a store into an error.
func guard(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the counter store panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return call()
}

// now returns the time on which demand is measured, in nanoseconds.
func (l *Leases) now() int64 { return int64(time.Since(l.start)) }

// list makes sure that the lease is reviewed. It reports false after Close. e.mu is held.
func (l *Leases) list(e *lease) bool {
	if e.listed {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	e.listed = true
	l.listed = append(l.listed, e)
	l.schedule()
	return true
}

// schedule sets the timer, unless it is set or Leases are closed. l.mu is held.
func (l *Leases) schedule() {
	if l.timer == nil && !l.closed && len(l.listed) > 0 {
		l.work.Add(1)
		l.timer = time.AfterFunc(l.opts.Ahead/reviewsPerAhead, l.review)
	}
}

// review reviews all listed leases: what is not in demand is given back, and full windows may
// be asked about again. There is no timer while none is listed.
func (l *Leases) review() {
	defer l.work.Done()
	l.mu.Lock()
	reviewed := l.listed
	l.listed = nil
	l.mu.Unlock()
	var back []ratelimit.Hit
	stay := reviewed[:0]
	for _, e := range reviewed {
		n, again := e.review()
		if n > 0 {
			back = append(back, e.hitOf(n))
		}
		if again {
			stay = append(stay, e)
		}
	}
	clear(reviewed[len(stay):])
	if len(back) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), giveBackTimeout)
		_, _ = l.giveBack(ctx, back)
		cancel()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listed = append(stay, l.listed...)
	l.timer = nil
	l.schedule()
}
