package quota_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	rlqs "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/quota"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// counted counts the commands that Redis would get: one for each counter of a call.
type counted struct {
	*memstore.Store
	commands *atomic.Int64
}

func (c counted) Add(ctx context.Context, hits []ratelimit.Hit) error {
	c.commands.Add(int64(len(hits)))
	return c.Store.Add(ctx, hits)
}

func (c counted) Subtract(ctx context.Context, hits []ratelimit.Hit) error {
	c.commands.Add(int64(len(hits)))
	return c.Store.Subtract(ctx, hits)
}

// TestCost has 100 clients make a million decisions a second in 1,000 buckets at two servers, and report each second: at most 5,000
// messages a second at the servers, and 500 commands for the counters.
func TestCost(t *testing.T) {
	clients, buckets := 100, 1000
	if testing.Short() || scaletest.Race() {
		clients, buckets = 20, 100
	}
	synctest.Test(t, func(t *testing.T) {
		const rate, seconds = 10, 60 // hits of a bucket at a client in a second
		var commands, messages, admitted, refused atomic.Int64
		store := counted{memstore.MustNew(nil), &commands}
		limit := ratelimit.Limit{RequestsPerUnit: uint32(clients * rate * 60 * 2), Unit: ratelimit.Minute}
		rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "shop", Rules: []ratelimit.Rule{{Key: "client", Limit: &limit}}}}, nil)
		require.NoError(t, err)
		var servers []*quota.Service
		for range 2 {
			engine, err := ratelimit.New(store, nil)
			require.NoError(t, err)
			require.NoError(t, engine.Use(rules))
			service, err := quota.New(engine, nil)
			require.NoError(t, err)
			defer service.Close()
			servers = append(servers, service)
		}
		var work sync.WaitGroup
		defer work.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i := range clients {
			work.Go(func() {
				c := &reporter{ctx: ctx, reports: make(chan *rlqs.RateLimitQuotaUsageReports), messages: &messages, left: make([]int64, buckets)}
				time.Sleep(rand.N(time.Second))
				work.Go(func() { _ = servers[i%2].StreamRateLimitQuotas(c) })
				for ctx.Err() == nil {
					m := &rlqs.RateLimitQuotaUsageReports{Domain: "shop"}
					c.mu.Lock()
					for b := range c.left {
						allowed := min(c.left[b], rate)
						c.left[b] -= allowed
						admitted.Add(allowed)
						refused.Add(rate - allowed)
						m.BucketQuotaUsages = append(m.BucketQuotaUsages, &rlqs.RateLimitQuotaUsageReports_BucketQuotaUsage{
							BucketId: &rlqs.BucketId{Bucket: map[string]string{"client": fmt.Sprint(b)}}, NumRequestsAllowed: uint64(allowed), NumRequestsDenied: uint64(rate - allowed),
						})
					}
					c.mu.Unlock()
					select {
					case c.reports <- m:
						messages.Add(1)
					case <-ctx.Done():
					}
					select {
					case <-time.After(time.Second):
					case <-ctx.Done():
					}
				}
			})
		}
		time.Sleep(70 * time.Second) // the first window ends, in which the demand is not known
		for _, n := range []*atomic.Int64{&commands, &messages, &admitted, &refused} {
			n.Store(0)
		}
		time.Sleep(seconds * time.Second)
		t.Logf("%d clients, %d buckets, a second: %d decisions, %d refused, %d messages, %d commands", clients, buckets,
			(admitted.Load()+refused.Load())/seconds, refused.Load()/seconds, messages.Load()/seconds, commands.Load()/seconds)
		require.LessOrEqual(t, messages.Load()/seconds, int64(50*clients))
		require.LessOrEqual(t, 2*commands.Load()/seconds, int64(buckets))
		require.Less(t, refused.Load()*100, admitted.Load(), "demand is half of the limit")
	})
}

// reporter is a stream of a client.
type reporter struct {
	grpc.ServerStream
	ctx      context.Context
	reports  chan *rlqs.RateLimitQuotaUsageReports
	messages *atomic.Int64

	mu   sync.Mutex
	left []int64 // tokens
}

func (r *reporter) SendHeader(metadata.MD) error { return nil }

func (r *reporter) Context() context.Context { return r.ctx }

func (r *reporter) Recv() (*rlqs.RateLimitQuotaUsageReports, error) {
	select {
	case m := <-r.reports:
		return m, nil
	case <-r.ctx.Done():
		return nil, io.EOF
	}
}

func (r *reporter) Send(m *rlqs.RateLimitQuotaResponse) error {
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	r.messages.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	deny := map[string]bool{}
	for _, a := range m.BucketAction {
		id, assignment := a.BucketId.Bucket["client"], a.GetQuotaAssignmentAction()
		var b int
		if _, err := fmt.Sscan(id, &b); err != nil {
			return err
		}
		switch bucket := assignment.GetRateLimitStrategy().GetTokenBucket(); {
		case bucket == nil:
			deny[id], r.left[b] = true, 0
		case deny[id]: // not a renewed one
			r.left[b] = int64(bucket.MaxTokens)
		}
	}
	return nil
}
