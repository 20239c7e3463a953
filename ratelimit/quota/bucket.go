package quota

import (
	"math"
	"slices"
	"time"

	rlqs "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/ashlar-go/ashlar/ratelimit"
)

const (
	// firstInterval is the interval of reports before the second one: that of Envoy 1.40.
	firstInterval = 5 * time.Second
	maxInterval   = 30 * time.Second
	// reserve is the time whose demand an assignment covers beyond the next report.
	reserve = 2 * time.Second
	// early is how long before its tokens are used up a client gets more.
	early = 1500 * time.Millisecond
	// batch is the time for whose demand a claim is made beyond what is assigned, so that there are fewer of them.
	batch = 6 * time.Second
	// few is the number of hits from which on all that is left is assigned at once.
	few = 64
	// maxTokens bounds an assignment.
	maxTokens = 1 << 31
	// maxHits bounds what one report may count.
	maxHits = 1 << 40
)

// bucket has what clients share: the requests with one BucketId in a domain.
type bucket struct {
	key        bucketKey
	id         []ratelimit.Entry // the BucketId, sorted by key
	descriptor []ratelimit.Entry // nil if nothing is claimed
	counted    []ratelimit.Entry // the descriptor in statistics; nil if there is no limit
	path       []ratelimit.Entry // of the rule
	refuse     bool              // the limit can't be assigned
	open       bool              // everything passes: no limit, an unlimited one or shadow mode

	leases  []*lease
	orphans []orphan
	fresh   bool // in Service.fresh

	until     time.Time // end of the window of what is claimed
	ready     time.Time // when its hits may be claimed for assignments
	remaining int64     // of the window, when it was last asked
	asked     time.Time
	spare     int64 // claimed and not assigned
	missing   int64 // granted and not claimed
	debt      int64 // admitted by clients and not claimed
	algorithm ratelimit.Algorithm
}

// lease is the part of a bucket that one stream has.
type lease struct {
	bucket *bucket
	stream *stream

	// granted is what was claimed in this window for the client and not confirmed: no report has said that it was used,
	// or that it can't be any more.
	granted int64
	before  int64         // the same of earlier windows: what reports may still say of these
	last    int64         // what may be left of the newest assignment
	older   []orphan      // what may be left of those before, until a report has confirmed that the newest has arrived
	whole   bool          // a report came after the newest assignment had arrived: the next is about that alone
	kind    kind          // of the newest assignment
	size    int64         // its tokens
	ttl     time.Duration // of the newest assignment
	sent    time.Time     // when it was sent; zero before that
	renewed time.Time     // when it was sent again
	version uint32        // changes with each assignment
	window  time.Time     // the end of the window that it was for

	demand   float64       // hits a second
	interval time.Duration // between the last two reports
	reported time.Time
	reports  int
	hit      time.Time // when the last report with hits came
	want     int64     // in a round
}

// orphan is an assignment that the service can't change, or of which it doesn't know whether the client has a newer one.
type orphan struct {
	usable int64
	ends   time.Time
}

type kind uint8

const (
	none kind = iota
	allow
	deny
	tokens
	abandon
)

// report notes the hits of a client since its last report.
func (e *lease) report(allowed, denied uint64, now time.Time, delay time.Duration) {
	used, refused := int64(min(allowed, maxHits)), int64(min(denied, maxHits))
	if e.reports++; e.reports > 1 {
		e.interval = min(max(now.Sub(e.reported), 100*time.Millisecond), maxInterval)
		rate := float64(used+refused) / e.interval.Seconds()
		e.demand = max(rate, e.demand/2)
	}
	e.reported = now
	if used+refused > 0 {
		e.hit = now
	}
	b := e.bucket
	if excess := used - e.granted - e.before; excess > 0 && !b.open {
		b.debt = min(b.debt+min(excess, max(b.remaining/2, 1)), maxTokens) // no more than it could have got
	} else if b.open {
		b.debt = min(b.debt+used, maxTokens)
	}
	e.before -= min(max(used-e.granted, 0), e.before)
	e.granted = max(e.granted-used, 0)
	if !e.arrived(now, delay) {
		return
	}
	if e.whole {
		e.last = max(e.last-used, 0)
	}
	e.whole, e.older = true, e.older[:0]
	if e.granted > e.last { // what it had before was replaced
		b.release(e.granted - e.last)
		e.granted = e.last
	}
}

// usable is what the client may still use.
func (e *lease) usable(now time.Time, delay time.Duration) (n int64) {
	if now.Before(e.ends(now, delay)) {
		n = e.last
	}
	return n + usable(e.older, now)
}

func usable(all []orphan, now time.Time) (n int64) {
	for _, o := range all {
		if now.Before(o.ends) {
			n += o.usable
		}
	}
	return n
}

// arrived reports whether the newest assignment had arrived when a report was sent that came now.
func (e *lease) arrived(now time.Time, delay time.Duration) bool {
	return !e.sent.IsZero() && now.Sub(e.sent) >= delay
}

// ends returns when the client can't use any assignment any more.
func (e *lease) ends(now time.Time, delay time.Duration) time.Time {
	if e.sent.IsZero() {
		return now.Add(e.ttl + delay) // it may be on its way
	}
	return e.begun().Add(e.ttl + delay)
}

func (b *bucket) remove(e *lease) {
	b.leases = slices.DeleteFunc(b.leases, func(o *lease) bool { return o == e })
}

// maxOrphans bounds what is known of each.
const maxOrphans = 16

// orphan adds what a client that leaves may still use.
func (b *bucket) orphan(all []orphan) {
	b.orphans = append(b.orphans, slices.DeleteFunc(all, func(o orphan) bool { return o.usable == 0 })...)
	if n := len(b.orphans); n > maxOrphans {
		sum := orphan{}
		for _, o := range b.orphans {
			sum.usable += o.usable
			if o.ends.After(sum.ends) {
				sum.ends = o.ends
			}
		}
		b.orphans = append(b.orphans[:0], sum)
	}
}

// usable is what clients may still use.
func (b *bucket) usable(now time.Time, delay time.Duration) (n int64) {
	for _, e := range b.leases {
		n += e.usable(now, delay)
	}
	return n + usable(b.orphans, now)
}

// release returns n hits of this window that no client can use.
func (b *bucket) release(n int64) {
	missing := min(n, b.missing)
	b.missing -= missing
	b.spare += n - missing
}

// enter begins a window, in which claimed hits were claimed for what clients may still use.
func (b *bucket) enter(claimed int64, now time.Time, delay time.Duration) {
	total := b.usable(now, delay)
	b.missing, b.spare = max(total-claimed, 0), max(claimed-total, 0)
	for _, e := range b.leases {
		e.before, e.granted = e.before+e.granted, e.usable(now, delay)
	}
}

// prune removes what has ended.
func prune(all []orphan, now time.Time) []orphan {
	return slices.DeleteFunc(all, func(o orphan) bool { return !now.Before(o.ends) })
}

// needs returns how many tokens the lease should have: its demand until the report after the next.
func (e *lease) needs(now time.Time) int64 {
	share := e.bucket.share()
	switch {
	case e.reports >= 2:
		ahead := min(e.interval+reserve, max(e.bucket.until.Sub(now), 0))
		return max(int64(min(math.Ceil(e.demand*ahead.Seconds()), maxTokens)), 1)
	case share > few: // its demand is unknown
		return share / 4
	}
	return max(share, 1)
}

// due reports whether the lease needs another assignment, and what may be left of its own if the client had its demand.
func (e *lease) due(now time.Time) (due bool, left float64) {
	if e.kind == tokens {
		left = float64(e.size) - e.demand*now.Sub(e.sent).Seconds()
	}
	short := e.bucket.share() < e.needs(now)
	switch {
	case e.kind == none:
		return true, 0
	case e.sent.IsZero(): // it is on its way
		return false, left
	case e.window != e.bucket.until, e.kind == deny && e.bucket.share() > 0, e.tooLarge(now):
		return true, left
	case e.kind == tokens && (left <= 0 || !short && left <= e.demand*early.Seconds()): // if they are short it would waste some
		return true, left
	}
	return e.expiring(now), left
}

// tooLarge reports whether the client has far more than it needs.
func (e *lease) tooLarge(now time.Time) bool {
	return e.kind == tokens && e.reports > 2 && e.size > 4*e.needs(now)
}

// expiring reports whether the newest assignment ends soon.
func (e *lease) expiring(now time.Time) bool { return now.Sub(e.begun()) >= e.ttl/2 }

// begun returns when the time of the newest assignment began.
func (e *lease) begun() time.Time {
	if e.renewed.After(e.sent) {
		return e.renewed
	}
	return e.sent
}

// renewable reports whether the time of the newest assignment can begin again before it ends.
func (e *lease) renewable(now time.Time, delay time.Duration) bool {
	return e.kind == tokens && e.bucket.algorithm != ratelimit.TokenBucket && !e.sent.IsZero() && e.window == e.bucket.until && now.Add(2*delay).Before(e.begun().Add(e.ttl))
}

// share returns how much of the rest of the window may be assigned in a round.
func (b *bucket) share() int64 {
	if left := b.remaining + b.spare; left > few {
		return left / 2
	}
	return b.remaining + b.spare
}

// ahead returns how many hits the next claims in the window will be for.
func (b *bucket) ahead(now time.Time) int64 {
	demand := 0.0
	for _, e := range b.leases {
		demand += e.demand
	}
	return int64(min(demand*max(min(batch, b.until.Sub(now)), 0).Seconds(), maxTokens))
}

// distribute gives the leases that want tokens equal parts of what there is, those that want less first.
func distribute(leases []*lease, have int64, give func(*lease, int64)) {
	slices.SortStableFunc(leases, func(a, b *lease) int { return int(a.want - b.want) })
	for i, e := range leases {
		n := min(e.want, (have+int64(len(leases)-i)-1)/int64(len(leases)-i))
		have -= n
		give(e, n)
	}
}

// assign makes the lease's client get an assignment of n tokens that were claimed.
func (e *lease) assign(k kind, n int64, ttl time.Duration, now time.Time, delay time.Duration) {
	if ends := e.ends(now, delay); e.last > 0 && now.Before(ends) {
		e.older = append(prune(e.older, now), orphan{e.last, ends})
	}
	e.kind, e.size, e.last, e.ttl, e.sent, e.whole = k, n, n, ttl, time.Time{}, false
	e.version++
	e.window = e.bucket.until
	e.granted += n
	e.send(action{e, e.version, k, n, ttl, false})
}

// renew makes the time of the newest assignment begin again. The client keeps its tokens.
func (e *lease) renew(ttl time.Duration, now time.Time) {
	e.renewed, e.ttl = now, ttl
	e.send(action{e, e.version, tokens, e.size, ttl, true})
}

// send has the stream send the action.
func (e *lease) send(a action) {
	st := e.stream
	st.pending[e.bucket.key] = a
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// action is an assignment to send.
type action struct {
	lease   *lease
	version uint32
	kind    kind
	n       int64
	ttl     time.Duration
	renew   bool
}

// messages returns the action. New tokens follow a rule that refuses all: without it Envoy would give the new bucket the
// same share of its tokens that is left of the last one, and an equal one the same tokens.
func (a *action) messages() []*rlqs.RateLimitQuotaResponse_BucketAction {
	id := make(map[string]string, len(a.lease.bucket.id))
	for _, e := range a.lease.bucket.id {
		id[e.Key] = e.Value
	}
	message := func(strategy *typev3.RateLimitStrategy) *rlqs.RateLimitQuotaResponse_BucketAction {
		return &rlqs.RateLimitQuotaResponse_BucketAction{
			BucketId: &rlqs.BucketId{Bucket: id},
			BucketAction: &rlqs.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction_{QuotaAssignmentAction: &rlqs.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction{
				AssignmentTimeToLive: durationpb.New(a.ttl), RateLimitStrategy: strategy,
			}},
		}
	}
	blanket := func(rule typev3.RateLimitStrategy_BlanketRule) *rlqs.RateLimitQuotaResponse_BucketAction {
		return message(&typev3.RateLimitStrategy{Strategy: &typev3.RateLimitStrategy_BlanketRule_{BlanketRule: rule}})
	}
	switch a.kind {
	case allow:
		return []*rlqs.RateLimitQuotaResponse_BucketAction{blanket(typev3.RateLimitStrategy_ALLOW_ALL)}
	case abandon:
		return []*rlqs.RateLimitQuotaResponse_BucketAction{{
			BucketId:     &rlqs.BucketId{Bucket: id},
			BucketAction: &rlqs.RateLimitQuotaResponse_BucketAction_AbandonAction_{AbandonAction: &rlqs.RateLimitQuotaResponse_BucketAction_AbandonAction{}},
		}}
	}
	var all []*rlqs.RateLimitQuotaResponse_BucketAction
	if !a.renew {
		all = append(all, blanket(typev3.RateLimitStrategy_DENY_ALL))
	}
	if a.kind == tokens {
		all = append(all, message(&typev3.RateLimitStrategy{Strategy: &typev3.RateLimitStrategy_TokenBucket{TokenBucket: &typev3.TokenBucket{
			MaxTokens: uint32(a.n), TokensPerFill: wrapperspb.UInt32(1), FillInterval: durationpb.New(never),
		}}}))
	}
	return all
}

// never is the time in which a bucket gets a token: a year, the longest that Envoy knows.
const never = 365 * 24 * time.Hour
