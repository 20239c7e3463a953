//go:build unix

package e2e_test

import (
	"net"
	"net/http"
	"testing"
	"sync"
	"sync/atomic"
	"time"

	rlqs "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// quotaFilter returns the filter rate_limit_quota with a bucket for each value of the header x-client.
func quotaFilter(cluster, interval, options string) string {
	return `{name: quota, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.rate_limit_quota.v3.RateLimitQuotaFilterConfig,
  domain: shop, rlqs_server: {envoy_grpc: {cluster_name: ` + cluster + `}},
  bucket_matchers: {on_no_match: {action: {name: bucket, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.rate_limit_quota.v3.RateLimitQuotaBucketSettings,
    bucket_id_builder: {bucket_id_builder: {client: {custom_value: {name: client, typed_config: {"@type": type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput, header_name: x-client}}}}},
    reporting_interval: ` + interval + options + `}}}}}}`
}

// quotaStub is a quota service whose streams are those of the test.
type quotaStub struct {
	rlqs.UnimplementedRateLimitQuotaServiceServer
	reports chan quotaReport
	streams chan rlqs.RateLimitQuotaService_StreamRateLimitQuotasServer
	end     chan error
}

type quotaReport struct {
	*rlqs.RateLimitQuotaUsageReports
	at time.Time
}

func (s *quotaStub) StreamRateLimitQuotas(stream rlqs.RateLimitQuotaService_StreamRateLimitQuotasServer) error {
	s.streams <- stream
	failed := make(chan error, 1)
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				failed <- err
				return
			}
			s.reports <- quotaReport{m, time.Now()}
		}
	}()
	select {
	case err := <-s.end:
		return err
	case err := <-failed:
		return err
	}
}

func TestExp(t *testing.T) {
	stub := &quotaStub{reports: make(chan quotaReport, 10000), streams: make(chan rlqs.RateLimitQuotaService_StreamRateLimitQuotasServer, 10), end: make(chan error)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer()
	rlqs.RegisterRateLimitQuotaServiceServer(g, stub)
	go g.Serve(l)
	t.Cleanup(g.Stop)
	clusters := []envoyCluster{{Name: "limits", Addrs: []string{l.Addr().String()}}}
	route := []string{`{match: {prefix: /}, route: {cluster: backend}}`}
	mk := func(name, interval, opts string) envoyListener {
		return envoyListener{Name: name, Domains: []string{}, Before: []string{quotaFilter("limits", interval, opts)}, Routes: route}
	}
	deny := `{fallback_rate_limit: {blanket_rule: DENY_ALL}}`
	e := startEnvoy(t, []envoyListener{
		mk("plain", "1s", ""),
	}, clusters)
	_ = deny
	n := func(listener, client string, k int) (ok, refused int) {
		for range k {
			code, _ := e.get(t, listener, "/", "x-client: "+client)
			if code == http.StatusOK {
				ok++
			} else {
				refused++
			}
		}
		return
	}
	start := time.Now()
	lg := func(f string, a ...any) { t.Logf("%6.3f "+f, append([]any{time.Since(start).Seconds()}, a...)...) }
	drain := func(wait time.Duration) {
		for end := time.After(wait); ; {
			select {
			case r := <-stub.reports:
				t.Logf("   report %6.3f domain=%q %v", r.at.Sub(start).Seconds(), r.Domain, r.BucketQuotaUsages)
			case <-end:
				return
			}
		}
	}
	ok, no := n("plain", "a", 3)
	lg("plain, no assignment: ok %d refused %d", ok, no)
	stream := <-stub.streams
	drain(2500 * time.Millisecond)
	act := func(client string, s *typev3.RateLimitStrategy, ttl time.Duration) {
		require.NoError(t, stream.Send(&rlqs.RateLimitQuotaResponse{BucketAction: []*rlqs.RateLimitQuotaResponse_BucketAction{{
			BucketId: &rlqs.BucketId{Bucket: map[string]string{"client": client}},
			BucketAction: &rlqs.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction_{QuotaAssignmentAction: &rlqs.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction{
				AssignmentTimeToLive: durationpb.New(ttl), RateLimitStrategy: s}},
		}}}))
		time.Sleep(100 * time.Millisecond)
	}
	tb := func(max, fill uint32, every time.Duration) *typev3.RateLimitStrategy {
		return &typev3.RateLimitStrategy{Strategy: &typev3.RateLimitStrategy_TokenBucket{TokenBucket: &typev3.TokenBucket{MaxTokens: max, TokensPerFill: wrapperspb.UInt32(fill), FillInterval: durationpb.New(every)}}}
	}
	blanket := func(r typev3.RateLimitStrategy_BlanketRule) *typev3.RateLimitStrategy {
		return &typev3.RateLimitStrategy{Strategy: &typev3.RateLimitStrategy_BlanketRule_{BlanketRule: r}}
	}
	const year = 365 * 24 * time.Hour
	both := func(client string, ttl time.Duration, all ...*typev3.RateLimitStrategy) {
		r := &rlqs.RateLimitQuotaResponse{}
		for _, s := range all {
			r.BucketAction = append(r.BucketAction, &rlqs.RateLimitQuotaResponse_BucketAction{
				BucketId: &rlqs.BucketId{Bucket: map[string]string{"client": client}},
				BucketAction: &rlqs.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction_{QuotaAssignmentAction: &rlqs.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction{
					AssignmentTimeToLive: durationpb.New(ttl), RateLimitStrategy: s}}})
		}
		require.NoError(t, stream.Send(r))
		time.Sleep(100 * time.Millisecond)
	}
	act("a", tb(10, 1, year), 60*time.Second)
	ok, no = n("plain", "a", 4)
	act("a", tb(20, 1, year+1), 60*time.Second)
	ok, no = n("plain", "a", 30)
	lg("4 of 10 used, then 20: ok %d refused %d", ok, no)
	both("a", 60*time.Second, blanket(typev3.RateLimitStrategy_DENY_ALL), tb(20, 1, year+2))
	ok, no = n("plain", "a", 30)
	lg("deny and 20 in one message: ok %d refused %d", ok, no)
	both("a", 60*time.Second, blanket(typev3.RateLimitStrategy_DENY_ALL), tb(20, 1, year+2))
	ok, no = n("plain", "a", 30)
	lg("deny and the same 20 in one message: ok %d refused %d", ok, no)
	// renewal of ttl by the same
	both("a", 2*time.Second, blanket(typev3.RateLimitStrategy_DENY_ALL), tb(30, 1, year+2))
	n("plain", "a", 5)
	for range 4 { time.Sleep(time.Second); act("a", tb(30, 1, year+2), 2*time.Second) }
	ok, no = n("plain", "a", 40)
	lg("5 of 30 used, renewed 4 times: ok %d refused %d", ok, no)
	for range 5 { 
	both("a", 60*time.Second, blanket(typev3.RateLimitStrategy_DENY_ALL), tb(30000, 1, year+2))
	var wg sync.WaitGroup
	var admitted, denied atomic.Int64
	stop := make(chan bool)
	for range 4 { wg.Add(1); go func() { defer wg.Done(); for { select { case <-stop: return; default: }; a, b := n("plain", "a", 10); admitted.Add(int64(a)); denied.Add(int64(b)) } }() }
	for range 100 { time.Sleep(20*time.Millisecond); 
	both("a", 60*time.Second, blanket(typev3.RateLimitStrategy_DENY_ALL), tb(30000, 1, year+2)) }
	close(stop); wg.Wait()
	lg("100 renewals under load: admitted %d denied %d", admitted.Load(), denied.Load())
	break }
	drain(1200 * time.Millisecond)
	lg("no ttl field")
	require.NoError(t, stream.Send(&rlqs.RateLimitQuotaResponse{BucketAction: []*rlqs.RateLimitQuotaResponse_BucketAction{{
		BucketId: &rlqs.BucketId{Bucket: map[string]string{"client": "a"}},
		BucketAction: &rlqs.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction_{QuotaAssignmentAction: &rlqs.RateLimitQuotaResponse_BucketAction_QuotaAssignmentAction{
			RateLimitStrategy: blanket(typev3.RateLimitStrategy_DENY_ALL)}},
	}}}))
	time.Sleep(100 * time.Millisecond)
	ok, no = n("plain", "a", 5)
	lg("without ttl after 0.1s: ok %d refused %d", ok, no)
	// abandon
	act("a", blanket(typev3.RateLimitStrategy_DENY_ALL), 60*time.Second)
	ok, no = n("plain", "a", 5)
	require.NoError(t, stream.Send(&rlqs.RateLimitQuotaResponse{BucketAction: []*rlqs.RateLimitQuotaResponse_BucketAction{{
		BucketId:     &rlqs.BucketId{Bucket: map[string]string{"client": "a"}},
		BucketAction: &rlqs.RateLimitQuotaResponse_BucketAction_AbandonAction_{AbandonAction: &rlqs.RateLimitQuotaResponse_BucketAction_AbandonAction{}},
	}}}))
	lg("abandoned after refused %d", no)
	drain(2200 * time.Millisecond)
	ok, no = n("plain", "a", 2)
	lg("hit after abandon: ok %d refused %d", ok, no)
	drain(1200 * time.Millisecond)
	// unknown bucket
	act("zzz", blanket(typev3.RateLimitStrategy_DENY_ALL), 60*time.Second)
	ok, no = n("plain", "zzz", 2)
	lg("assigned before its first hit: ok %d refused %d", ok, no)
	drain(1200 * time.Millisecond)
}
