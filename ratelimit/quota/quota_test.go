package quota_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	rlqs "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/quota"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// bench is a service with rules of a file.
type bench struct {
	*testing.T
	engine  *ratelimit.Engine
	service *quota.Service
}

func newBench(t *testing.T, rules string, opts *quota.Options) *bench {
	t.Helper()
	engine, err := ratelimit.New(memstore.MustNew(nil), nil)
	require.NoError(t, err)
	b := &bench{T: t, engine: engine}
	b.use(rules)
	b.service, err = quota.New(engine, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.service.Close()) })
	return b
}

func (b *bench) use(text string) {
	b.Helper()
	c, err := config.Parse([]config.File{{Name: "shop.yaml", Data: []byte(text)}}, nil)
	require.NoError(b, err)
	require.NoError(b, b.engine.Use(c.Ruleset))
}

// used returns the hits that are counted for a client.
func (b *bench) used(client string) uint64 {
	b.Helper()
	states, err := b.engine.Counters(b.Context(), &ratelimit.Request{Domain: "shop", Descriptors: []ratelimit.Descriptor{{Entries: []ratelimit.Entry{{Key: "client", Value: client}}}}})
	require.NoError(b, err)
	return states[0].Used
}

// open opens a stream, which the test's end ends.
func (b *bench) open() *testStream {
	ctx, cancel := context.WithCancel(b.Context())
	s := &testStream{ctx: ctx, cancel: cancel, in: make(chan *rlqs.RateLimitQuotaUsageReports), out: make(chan *rlqs.RateLimitQuotaResponse, 100), ended: make(chan error, 1)}
	go func() { s.ended <- b.service.StreamRateLimitQuotas(s) }()
	return s
}

type testStream struct {
	grpc.ServerStream
	ctx    context.Context
	cancel func()
	in     chan *rlqs.RateLimitQuotaUsageReports
	out    chan *rlqs.RateLimitQuotaResponse
	ended  chan error
}

func (s *testStream) Context() context.Context                  { return s.ctx }
func (s *testStream) SendHeader(metadata.MD) error              { return nil }
func (s *testStream) Send(m *rlqs.RateLimitQuotaResponse) error { s.out <- m; return nil }

func (s *testStream) Recv() (*rlqs.RateLimitQuotaUsageReports, error) {
	select {
	case m := <-s.in:
		return m, nil
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

func usage(allowed, denied uint64, id ...string) *rlqs.RateLimitQuotaUsageReports_BucketQuotaUsage {
	bucket := map[string]string{}
	for i := 0; i < len(id); i += 2 {
		bucket[id[i]] = id[i+1]
	}
	return &rlqs.RateLimitQuotaUsageReports_BucketQuotaUsage{BucketId: &rlqs.BucketId{Bucket: bucket}, NumRequestsAllowed: allowed, NumRequestsDenied: denied}
}

func (s *testStream) report(domain string, all ...*rlqs.RateLimitQuotaUsageReports_BucketQuotaUsage) {
	s.in <- &rlqs.RateLimitQuotaUsageReports{Domain: domain, BucketQuotaUsages: all}
}

// next returns the next assignment: "allow", "deny", "abandon" or its tokens.
func (s *testStream) next(t *testing.T) string {
	t.Helper()
	select {
	case m := <-s.out:
		a := m.BucketAction[len(m.BucketAction)-1]
		if a.GetAbandonAction() != nil {
			return "abandon"
		}
		strategy := a.GetQuotaAssignmentAction().GetRateLimitStrategy()
		switch tokens := strategy.GetTokenBucket(); {
		case tokens != nil:
			if len(m.BucketAction) > 1 {
				require.Equal(t, typev3.RateLimitStrategy_DENY_ALL, m.BucketAction[len(m.BucketAction)-2].GetQuotaAssignmentAction().GetRateLimitStrategy().GetBlanketRule(), "Envoy would keep a share of its tokens")
			}
			return fmt.Sprint(tokens.MaxTokens)
		case strategy.GetBlanketRule() == typev3.RateLimitStrategy_DENY_ALL:
			return "deny"
		}
		return "allow"
	case <-time.After(time.Hour):
		require.Fail(t, "no assignment")
		return ""
	}
}

const testRules = `domain: shop
descriptors:
- key: client
  value: free
  rate_limit: {unlimited: true}
- key: client
  value: shadow
  shadow_mode: true
  rate_limit: {requests_per_unit: 5, unit: hour}
- key: client
  value: busy
  rate_limit: {requests_per_unit: 2, unit: minute, limit_type: concurrency}
- key: client
  value: big
  rate_limit: {requests_per_unit: 1000, unit: hour}
- key: client
  value: sliding
  rate_limit: {requests_per_unit: 9, unit: hour, algorithm: sliding_window}
- key: client
  value: bucket
  rate_limit: {requests_per_unit: 7, unit: hour, algorithm: token_bucket}
- key: client
  rate_limit: {requests_per_unit: 10, unit: hour}
  descriptors:
  - key: path
    value: /a
    rate_limit: {requests_per_unit: 4, unit: hour}
`

// Each kind of rule assigns what Envoy enforces of it.
func TestAssignments(t *testing.T) {
	for _, c := range []struct {
		want string
		id   []string
	}{
		{"10", []string{"client", "ann"}},
		{"4", []string{"path", "/a", "client", "ann"}},
		{"allow", []string{"path", "/b", "client", "ann"}},
		{"allow", []string{"client", "free"}},
		{"allow", []string{"client", "shadow"}},
		{"deny", []string{"client", "busy"}},
		{"9", []string{"client", "sliding"}},
		{"7", []string{"client", "bucket"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newBench(t, testRules, nil).open()
			s.report("shop", usage(0, 1, c.id...))
			require.Equal(t, c.want, s.next(t), "%v", c.id)
			s.cancel()
		})
	}
}

// What is unused goes to other clients, and back to the counter.
func TestUnused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testRules, nil)
		ann, bob := b.open(), b.open()
		ann.report("shop", usage(0, 1, "client", "x"))
		require.Equal(t, "10", ann.next(t))
		bob.report("shop", usage(0, 1, "client", "x"))
		require.Equal(t, "deny", bob.next(t), "all is assigned")
		for range 4 { // ann needs one a report, at most
			time.Sleep(5 * time.Second)
			ann.report("shop", usage(0, 0, "client", "x"))
			bob.report("shop", usage(0, 9, "client", "x"))
		}
		for ann.next(t) != "1" { // it keeps what it has until bob wants some
		}
		for bob.next(t) == "deny" {
		}
		ann.report("shop", usage(0, 1, "client", "big"))
		bob.report("shop", usage(0, 1, "client", "big"))
		for range 4 {
			time.Sleep(5 * time.Second)
			ann.report("shop", usage(0, 0, "client", "big"))
			bob.report("shop", usage(5, 0, "client", "big"))
		}
		time.Sleep(2 * time.Second)
		require.LessOrEqual(t, b.used("big"), uint64(20+1+7+7+7), "20 were used, two clients have what they need, and so much is claimed for the next seconds")
		require.GreaterOrEqual(t, b.used("big"), uint64(20))
		ann.cancel()
		bob.cancel()
	})
}

// What was let pass in shadow mode, or before the first assignment, is counted.
func TestReportedHitsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testRules, nil)
		s := b.open()
		s.report("shop", usage(7, 0, "client", "shadow"), usage(1, 0, "client", "ann"))
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 7, b.used("shadow"))
		require.Equal(t, uint64(10), b.used("ann"))
		s.cancel()
	})
}

// A bucket without requests is abandoned, and what its client had comes back.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testRules, &quota.Options{Idle: 8 * time.Second})
		s := b.open()
		s.report("shop", usage(0, 1, "client", "ann"))
		for s.next(t) != "abandon" {
		}
		s.report("shop", usage(0, 1, "client", "ann"))
		require.NotEqual(t, "abandon", s.next(t))
		s.cancel()
	})
}

// New rules apply to assignments.
func TestNewRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testRules, nil)
		s := b.open()
		s.report("shop", usage(0, 1, "client", "ann"))
		require.Equal(t, "10", s.next(t))
		b.use("domain: shop\ndescriptors:\n- key: client\n  rate_limit: {unlimited: true}\n")
		require.Equal(t, "allow", s.next(t))
		s.cancel()
	})
}

func TestStatuses(t *testing.T) {
	long := make([]byte, 5000)
	for name, c := range map[string]struct {
		want   codes.Code
		report []*rlqs.RateLimitQuotaUsageReports
	}{
		"no domain":      {codes.InvalidArgument, []*rlqs.RateLimitQuotaUsageReports{{}}},
		"unknown domain": {codes.NotFound, []*rlqs.RateLimitQuotaUsageReports{{Domain: "x"}}},
		"another domain": {codes.InvalidArgument, []*rlqs.RateLimitQuotaUsageReports{{Domain: "shop"}, {Domain: "x"}}},
		"no entries":     {codes.InvalidArgument, []*rlqs.RateLimitQuotaUsageReports{{Domain: "shop", BucketQuotaUsages: []*rlqs.RateLimitQuotaUsageReports_BucketQuotaUsage{usage(0, 1)}}}},
		"no bucket":      {codes.InvalidArgument, []*rlqs.RateLimitQuotaUsageReports{{Domain: "shop", BucketQuotaUsages: []*rlqs.RateLimitQuotaUsageReports_BucketQuotaUsage{nil}}}},
		"long":           {codes.InvalidArgument, []*rlqs.RateLimitQuotaUsageReports{{Domain: "shop", BucketQuotaUsages: []*rlqs.RateLimitQuotaUsageReports_BucketQuotaUsage{usage(0, 1, "client", string(long))}}}},
		"buckets": {codes.ResourceExhausted, []*rlqs.RateLimitQuotaUsageReports{{Domain: "shop", BucketQuotaUsages: []*rlqs.RateLimitQuotaUsageReports_BucketQuotaUsage{
			usage(0, 1, "client", "a"), usage(0, 1, "client", "b"), usage(0, 1, "client", "c"), usage(0, 1, "client", "d"),
		}}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, testRules, &quota.Options{MaxBuckets: 3, MaxStreams: 1})
			s := b.open()
			synctest.Wait()
			require.Equal(t, codes.ResourceExhausted, status.Code(<-b.open().ended), "a second stream")
			for _, m := range c.report {
				s.in <- m
			}
			require.Equal(t, c.want, status.Code(<-s.ended), name)
			s.cancel()
			s = b.open() // there is room again
			s.report("shop", usage(0, 1, "client", "a"), usage(0, 1, "client", "b"))
			s.next(t)
			s.cancel()
			require.Equal(t, codes.Canceled, status.FromContextError(<-s.ended).Code())
		})
	}
}

// The buckets of all streams together are bounded too, and one that has too many ends alone. Times of clients have no effect.
func TestTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testRules, &quota.Options{MaxTotal: 2})
		ann, bob := b.open(), b.open()
		ann.report("shop", usage(0, 1, "client", "a"))
		ann.next(t)
		bob.report("shop", usage(0, 1, "client", "c"), usage(0, 1, "client", "d"))
		require.Equal(t, codes.ResourceExhausted, status.Code(<-bob.ended))
		for _, elapsed := range []time.Duration{-time.Hour, 0, math.MaxInt64} {
			u := usage(1, 0, "client", "a")
			u.TimeElapsed = durationpb.New(elapsed)
			ann.report("shop", u)
			time.Sleep(5 * time.Second)
		}
		ann.next(t)
		ann.cancel()
	})
}

// Reports with huge numbers neither free what was not assigned nor take more than a share.
func TestLies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "domain: shop\ndescriptors:\n- key: client\n  rate_limit: {requests_per_unit: 100000, unit: hour}\n", nil)
		liar, ann := b.open(), b.open()
		ann.report("shop", usage(0, 1, "client", "x"))
		ann.next(t)
		for range 3 {
			liar.report("shop", usage(math.MaxUint64, math.MaxUint64, "client", "x"))
			time.Sleep(time.Second)
		}
		require.Less(t, b.used("x"), uint64(100_000))
		ann.report("shop", usage(100, 0, "client", "x"))
		time.Sleep(5 * time.Second)
		ann.report("shop", usage(1000, 0, "client", "x"))
		time.Sleep(5 * time.Second)
		require.NotEqual(t, "deny", ann.next(t))
		liar.cancel()
		ann.cancel()
	})
}

func TestOptions(t *testing.T) {
	engine, err := ratelimit.New(memstore.MustNew(nil), nil)
	require.NoError(t, err)
	for _, o := range []*quota.Options{{TTL: -1}, {TTL: 1500 * time.Millisecond}, {Delay: time.Hour}, {Idle: -1}, {MaxStreams: -1}, {MaxBuckets: -1}, {MaxTotal: -1}, {Timeout: -1}} {
		_, err := quota.New(engine, o)
		require.Error(t, err, "%+v", o)
	}
}
