package quota

import (
	"math"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// record counts reported requests in the engine's statistics. Those that shadow mode let pass are counted when they are
// claimed, which tells how many were over the limit. s.mu is held.
func (s *Service) record(b *bucket, allowed, denied uint64) {
	if b.counted == nil {
		return
	}
	if b.open {
		allowed = 0
	}
	remaining := uint64(math.MaxUint64) // unknown
	if !b.asked.IsZero() {
		remaining = uint64(max(b.remaining, 0))
	}
	s.engine.Record(&ratelimit.Request{Domain: b.key.domain, Descriptors: []ratelimit.Descriptor{{Entries: b.counted}}}, allowed, denied, remaining)
}

// Assignment is what a client may use of a bucket.
type Assignment struct {
	Bucket []ratelimit.Entry // the entries of the BucketId, sorted by key
	Client string            // its address; empty if it has left
	Quota  string            // "tokens", "all", "none", or "waiting" for the first one
	Tokens int64             // of Quota "tokens"
	// Demand is the requests a second that the client reports.
	Demand float32
	Ends   time.Time // zero while it is on its way
}

// Assignments returns at most n assignments of the rule with a path, as in [ratelimit.LimitView], in no order, and how many there are.
func (s *Service) Assignments(domain string, path []ratelimit.Entry, n int) (all []Assignment, count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Now()
	add := func(a Assignment) {
		if count++; count <= n {
			all = append(all, a)
		}
	}
	for key, b := range s.buckets {
		if key.domain != domain || !slices.Equal(b.path, path) {
			continue
		}
		for _, e := range b.leases {
			a := Assignment{Bucket: b.id, Client: e.stream.client, Quota: [...]string{"waiting", "all", "none", "tokens", ""}[e.kind], Tokens: e.size, Demand: float32(e.demand)}
			if !e.sent.IsZero() {
				a.Ends = e.begun().Add(e.ttl)
			}
			add(a)
		}
		for _, o := range prune(slices.Clone(b.orphans), now) {
			add(Assignment{Bucket: b.id, Quota: "tokens", Tokens: o.usable, Ends: o.ends})
		}
	}
	return all, count
}
