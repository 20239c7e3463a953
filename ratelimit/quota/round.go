package quota

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/explain"
)

const (
	// late is how long after the begin of a second a round begins, so that the engine's clock has begun it too.
	late = 2 * time.Millisecond
	// again is the pause before a bucket is tried again whose window has not ended by the engine's clock.
	again = 20 * time.Millisecond
	// settle is the time at the begin of a window in which instances only claim what their clients may still use: it comes
	// before what they could get.
	settle = 50 * time.Millisecond
	// recheck is the time after which a window that was full is asked about again: others may have given back.
	recheck = 2 * time.Second
	// refundBefore is how long before its end hits are given back to a window, and not later: never to the next one.
	refundBefore = 2 * time.Second
	// parallel is the number of calls of the engine at the same time.
	parallel = 64
)

// run makes rounds until ctx ends: one at the begin of each second, where windows begin, of all buckets, and others of
// those with new leases.
func (s *Service) run(ctx context.Context) {
	defer close(s.ended)
	for {
		now := s.opts.Now()
		timer := time.NewTimer(now.Truncate(time.Second).Add(time.Second + late).Sub(now))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			s.round(ctx, true)
		case <-s.kick:
			timer.Stop()
			s.round(ctx, false)
		}
	}
}

// forever is the end of the window of limits without windows.
var forever = time.Unix(1<<40, 0)

// question is a call of the engine for a bucket.
type question struct {
	bucket     *bucket
	descriptor []ratelimit.Entry
	n          int64
	debt       int64 // part of n

	failed    bool
	free      bool // nothing is refused: shadow mode, or no limit applies any more
	got       int64
	remaining int64
	since     time.Time // the window
	until     time.Time
	algorithm ratelimit.Algorithm
}

// round assigns quotas to the leases that need some, of all buckets or of those with new leases.
func (s *Service) round(ctx context.Context, all bool) {
	rules := s.engine.Rules()
	s.mu.Lock()
	buckets := s.begin(rules, all)
	first := s.questions(buckets)
	s.mu.Unlock()
	s.ask(ctx, first)
	s.mu.Lock()
	s.answered(first)
	second := s.claims(buckets)
	s.mu.Unlock()
	s.ask(ctx, second)
	s.mu.Lock()
	s.share(buckets, second)
	back := s.surplus(buckets)
	s.mu.Unlock()
	s.giveBack(ctx, back)
}

// begin returns the buckets of a round. s.mu is held.
func (s *Service) begin(rules *ratelimit.Ruleset, all bool) []*bucket {
	now := s.opts.Now()
	if rules != s.rules {
		s.rules, all = rules, true
		for _, b := range s.buckets {
			b.resolve(rules, s.opts.ShadowMode)
		}
	}
	buckets := s.fresh
	s.fresh = nil
	for _, b := range buckets {
		b.fresh = false
	}
	if all {
		buckets = buckets[:0]
		for _, b := range s.buckets {
			buckets = append(buckets, b)
		}
	}
	for _, b := range buckets {
		b.orphans = prune(b.orphans, now)
		for _, e := range slices.Clone(b.leases) {
			if now.Sub(e.hit) >= s.opts.Idle {
				e.assign(abandon, 0, 0, now, s.opts.Delay)
				s.drop(e, now)
			}
		}
		if len(b.leases) == 0 && len(b.orphans) == 0 && b.spare == 0 {
			delete(s.buckets, b.key)
		}
	}
	return buckets
}

// resolve finds the descriptor of the bucket.
func (b *bucket) resolve(rules *ratelimit.Ruleset, shadow bool) {
	order, path, rule := explain.Arrange(rules, b.key.domain, b.id)
	b.descriptor, b.counted, b.path, b.open, b.refuse = nil, nil, path, true, false
	if rule != nil && !rule.Limit.Unlimited {
		b.descriptor, b.counted, b.open = order, order, shadow || rule.ShadowMode
		if b.refuse = !explain.Assignable(rule.Limit); b.refuse {
			b.descriptor, b.open = nil, false
		}
	}
	b.until = time.Time{} // ask, and claim what clients have by the rule from now on
}

// questions returns what must be known before quotas are shared: at the begin of a window what is left after
// what clients may still use and have used. s.mu is held.
func (s *Service) questions(buckets []*bucket) (all []*question) {
	now := s.opts.Now()
	for _, b := range buckets {
		n := b.debt
		switch {
		case b.descriptor == nil:
			b.debt = 0
			continue
		case b.open && n == 0:
			continue
		case !now.Before(b.until):
			n += b.usable(now, s.opts.Delay)
		case n > 0:
		case !b.wants(now):
			continue
		case b.algorithm != ratelimit.FixedWindow:
		case b.share() > 0 || now.Sub(b.asked) < recheck:
			continue
		}
		all = append(all, &question{bucket: b, descriptor: b.descriptor, n: n, debt: b.debt})
	}
	return all
}

// wants reports whether a lease needs an assignment.
func (b *bucket) wants(now time.Time) bool {
	return slices.ContainsFunc(b.leases, func(e *lease) bool { due, _ := e.due(now); return due })
}

// answered notes the answers to questions. s.mu is held.
func (s *Service) answered(all []*question) {
	now := s.opts.Now()
	for _, q := range all {
		b := q.bucket
		if q.failed {
			continue
		}
		b.asked, b.remaining, b.algorithm = now, q.remaining, q.algorithm
		b.open = b.open || q.free
		b.debt -= q.debt
		if !now.Before(b.until) {
			b.until = q.until
			b.enter(max(q.got-q.debt, 0), now, s.opts.Delay)
			if b.ready = q.since.Add(settle); now.Before(b.ready) {
				s.refresh(b)
				time.AfterFunc(b.ready.Sub(now), s.wake)
			}
		}
		s.retry(b, q.until, now)
	}
}

// retry has a bucket come again soon if the engine's clock is in another window. s.mu is held.
func (s *Service) retry(b *bucket, until, now time.Time) (retry bool) {
	if retry = !until.Equal(b.until) || !now.Before(b.until); retry {
		b.until = time.Time{}
		s.refresh(b)
		time.AfterFunc(again, s.wake)
	}
	return retry
}

// refresh makes the bucket part of the next round. s.mu is held.
func (s *Service) refresh(b *bucket) {
	if !b.fresh {
		b.fresh = true
		s.fresh = append(s.fresh, b)
	}
}

func (s *Service) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// claims returns what to claim for leases. s.mu is held.
func (s *Service) claims(buckets []*bucket) (all []*question) {
	now := s.opts.Now()
	for _, b := range buckets {
		if b.open || b.refuse || !now.Before(b.until) || now.Before(b.ready) {
			continue
		}
		need := int64(0)
		for _, e := range b.leases {
			e.want = 0
			due, left := e.due(now)
			if due && !(e.renewable(now, s.opts.Delay) && !e.tooLarge(now) && left > e.demand*early.Seconds()) {
				e.want = e.needs(now)
				need += e.want
			}
		}
		if min(need, b.share()) > b.spare {
			all = append(all, &question{bucket: b, descriptor: b.descriptor, n: min(need+b.ahead(now), b.share()) - b.spare})
		}
	}
	return all
}

// share shares what is claimed among the leases that want some. s.mu is held.
func (s *Service) share(buckets []*bucket, claims []*question) {
	now := s.opts.Now()
	failed := map[*bucket]bool{}
	for _, q := range claims {
		if failed[q.bucket] = q.failed; q.failed {
			continue
		}
		q.bucket.asked, q.bucket.remaining = now, q.remaining
		if !s.retry(q.bucket, q.until, now) {
			q.bucket.spare += q.got
		}
	}
	for _, b := range buckets {
		switch {
		case b.open || b.refuse:
			rule := allow
			if b.refuse {
				rule = deny
			}
			for _, e := range b.leases {
				if due, _ := e.due(now); due || e.kind != rule {
					e.assign(rule, 0, s.opts.TTL, now, s.opts.Delay)
				}
			}
		case now.Before(b.until) && !now.Before(b.ready) && !failed[b]:
			s.shareOf(b, now)
		}
	}
}

// shareOf shares what is claimed for a bucket. s.mu is held.
func (s *Service) shareOf(b *bucket, now time.Time) {
	ttl := min(s.opts.TTL, (b.until.Sub(now) + 2*settle + time.Second - 1).Truncate(time.Second))
	starving := slices.ContainsFunc(b.leases, func(e *lease) bool { return e.kind == deny || e.kind == none })
	var wanting []*lease
	for _, e := range b.leases {
		due, _ := e.due(now)
		switch {
		case due && e.want > 0:
			wanting = append(wanting, e)
		case due && e.renewable(now, s.opts.Delay):
			e.renew(ttl, now)
		}
	}
	distribute(wanting, b.spare, func(e *lease, n int64) {
		_, left := e.due(now)
		keeps := left > 0 && e.window == b.until && !(e.tooLarge(now) && starving)
		switch {
		case n > 0:
			b.spare -= n
			e.assign(tokens, n, ttl, now, s.opts.Delay)
		case keeps && !e.expiring(now):
		case keeps && e.renewable(now, s.opts.Delay):
			e.renew(ttl, now)
		case e.kind != deny || e.expiring(now):
			e.assign(deny, 0, ttl, now, s.opts.Delay)
		}
	})
}

// surplus returns what buckets hold for nobody. s.mu is held.
func (s *Service) surplus(buckets []*bucket) (all []*question) {
	now := s.opts.Now()
	for _, b := range buckets {
		need := b.ahead(now)
		for _, e := range b.leases {
			need += e.needs(now)
		}
		n := b.spare - need
		if b.algorithm == ratelimit.TokenBucket || b.descriptor == nil || len(b.leases) == 0 && b.until.Sub(now) < refundBefore {
			b.spare = 0 // tokens of a bucket come back by themselves
			continue
		}
		if n > 0 && b.until.Sub(now) >= refundBefore {
			b.spare -= n
			all = append(all, &question{bucket: b, descriptor: b.descriptor, n: n})
		}
	}
	return all
}

// each calls do for all, some at the same time, and waits.
func each(all []*question, do func(*question)) {
	next := make(chan *question)
	var work sync.WaitGroup
	for range min(parallel, len(all)) {
		work.Go(func() {
			for q := range next {
				do(q)
			}
		})
	}
	for _, q := range all {
		next <- q
	}
	close(next)
	work.Wait()
}

// ask has the engine count the hits of questions.
func (s *Service) ask(ctx context.Context, all []*question) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	each(all, func(q *question) {
		if err := q.ask(ctx, s.engine, s.opts.Now()); err != nil {
			q.failed = true
			if s.opts.OnError != nil && ctx.Err() == nil {
				s.opts.OnError(ctx, err)
			}
		}
	})
}

func (q *question) request() *ratelimit.Request {
	n := uint64(q.n)
	return &ratelimit.Request{Domain: q.bucket.key.domain, Descriptors: []ratelimit.Descriptor{{Entries: q.descriptor, HitsAddend: &n, Claim: !q.bucket.open}}}
}

// ask has the engine count the hits.
func (q *question) ask(ctx context.Context, engine *ratelimit.Engine, now time.Time) error {
	d, err := engine.Decide(ctx, q.request())
	if err != nil {
		return err
	}
	status := &d.Statuses[0]
	_, hit := d.Applied(0)
	charge := d.Charge(0)
	over := status.Code == ratelimit.OverLimit
	q.remaining, q.algorithm = int64(status.Remaining), status.Algorithm
	switch {
	case !status.Limited:
		q.free = true
		return nil
	case hit != nil:
		q.since, q.until = time.Unix(hit.Window, 0), time.Unix(hit.End(), 0)
		if above := int64(min(hit.Count, 1<<62)) - int64(status.RequestsPerUnit); above > 0 {
			q.got, over = max(q.n-above, 0), true
			break
		}
		q.got = q.n
	case charge != nil && status.Algorithm == ratelimit.SlidingWindow:
		q.since, q.until = time.UnixMicro(charge.Params[0]), time.UnixMicro(charge.Params[4])
	case charge != nil:
		q.until = forever
	default: // the over-limit cache or a failure policy has decided
		q.until = now.Truncate(time.Second).Add(status.Reset())
	}
	if charge != nil && charge.Allowed || hit == nil && charge == nil && !over {
		q.got = q.n
	}
	over = over || charge != nil && !charge.Allowed
	q.free = over && d.Code == ratelimit.OK
	return nil
}

// giveBack gives hits back.
func (s *Service) giveBack(ctx context.Context, all []*question) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	each(all, func(q *question) {
		// An error leaves the hits counted.
		if _, err := s.engine.Refund(ctx, q.request()); err != nil && s.opts.OnError != nil && ctx.Err() == nil {
			s.opts.OnError(ctx, err)
		}
	})
}
