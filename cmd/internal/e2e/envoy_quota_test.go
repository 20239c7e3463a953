//go:build unix

package e2e_test

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rlqs "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/ashlar-go/ashlar/internal/redistest"
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
	for range 4 {
		time.Sleep(time.Second)
		act("a", tb(30, 1, year+2), 2*time.Second)
	}
	ok, no = n("plain", "a", 40)
	lg("5 of 30 used, renewed 4 times: ok %d refused %d", ok, no)
	for range 5 {
		both("a", 60*time.Second, blanket(typev3.RateLimitStrategy_DENY_ALL), tb(30000, 1, year+2))
		var wg sync.WaitGroup
		var admitted, denied atomic.Int64
		stop := make(chan bool)
		for range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for {
					select {
					case <-stop:
						return
					default:
					}
					a, b := n("plain", "a", 10)
					admitted.Add(int64(a))
					denied.Add(int64(b))
				}
			}()
		}
		for range 100 {
			time.Sleep(20 * time.Millisecond)
			both("a", 60*time.Second, blanket(typev3.RateLimitStrategy_DENY_ALL), tb(30000, 1, year+2))
		}
		close(stop)
		wg.Wait()
		lg("100 renewals under load: admitted %d denied %d", admitted.Load(), denied.Load())
		break
	}
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

const quotaRules = `domain: shop
descriptors:
- key: client
  value: free
  rate_limit: {unlimited: true}
- key: client
  value: shadow
  shadow_mode: true
  rate_limit: {requests_per_unit: 5, unit: year}
- key: client
  value: small
  rate_limit: {requests_per_unit: 3, unit: year}
- key: client
  rate_limit: {requests_per_unit: 1000, unit: second, unit_multiplier: 20}
`

// denyWithout has Envoy refuse requests without an assignment.
const denyWithout = `, no_assignment_behavior: {fallback_rate_limit: {blanket_rule: DENY_ALL}}, expired_assignment_behavior: {expired_assignment_behavior_timeout: 60s, fallback_rate_limit: {blanket_rule: DENY_ALL}}`

// TestEnvoyQuota has Envoy get quotas of ratelimitd: each rule limits as it would by the rate limit service.
func TestEnvoyQuota(t *testing.T) {
	if testing.Short() {
		t.Skip("TestEnvoy is the short form")
	}
	t.Parallel()
	s := serve(t, map[string]string{"shop.yaml": quotaRules}, map[string]string{"QUOTA_ENABLED": "true"})
	e := startEnvoy(t, []envoyListener{{
		Name: "front", Domains: []string{}, Before: []string{quotaFilter("limits", "1s", denyWithout)}, Routes: []string{`{match: {prefix: /}, route: {cluster: backend}}`},
	}}, []envoyCluster{{Name: "limits", Addrs: []string{s.grpc}}})
	get := func(client string, n int) (passed int) {
		for range n {
			if code, _ := e.get(t, "front", "/", "x-client: "+client); code == http.StatusOK {
				passed++
			} else {
				require.Equal(t, http.StatusTooManyRequests, code)
			}
		}
		return passed
	}
	for client, passed := range map[string]int{"free": 100, "shadow": 100, "small": 3} {
		get(client, 1)
		eventually(t, "the first quota", func() bool { return get(client, 1) == 1 })
		require.Equal(t, passed-1, get(client, 99), client)
	}
	counts := passedBy(t, 20*time.Second, time.Now().Truncate(20*time.Second).Add(60*time.Second), []*envoyProxy{e}, 200)
	for window, n := range counts {
		require.LessOrEqual(t, n, 1000, "window %d of %v", window, counts)
	}
	require.GreaterOrEqual(t, counts[1], 980, "%v", counts)
	require.GreaterOrEqual(t, counts[2], 980, "%v", counts)
}

// passedBy sends requests of the client ann through Envoys until a time, at a rate, and returns how many passed in each
// window. Those during which a window ended are not counted.
func passedBy(t *testing.T, window time.Duration, end time.Time, all []*envoyProxy, rate int) []int {
	t.Helper()
	const senders = 8
	begin := time.Now().Truncate(window)
	counts := make([]atomic.Int64, end.Sub(begin)/window+1)
	pause := time.Second * time.Duration(senders*len(all)) / time.Duration(rate)
	var wait sync.WaitGroup
	for _, e := range all {
		for range senders {
			wait.Go(func() {
				for next := time.Now(); next.Before(end); next = next.Add(pause) {
					time.Sleep(time.Until(next))
					before := time.Now().Truncate(window)
					code, _, err := e.send(t.Context(), http.MethodGet, "front", "/", "x-client: ann")
					if err == nil && code == http.StatusOK && time.Now().Truncate(window).Equal(before) {
						counts[before.Sub(begin)/window].Add(1)
					}
				}
			})
		}
	}
	wait.Wait()
	passed := make([]int, len(counts))
	for i := range counts {
		passed[i] = int(counts[i].Load())
	}
	return passed
}

// startQuotaEnvoy starts Envoy with the filter rate_limit_quota, which responds by itself.
func startQuotaEnvoy(t *testing.T, servers ...string) *envoyProxy {
	return startEnvoy(t, []envoyListener{{
		Name: "front", Domains: []string{}, Before: []string{quotaFilter("limits", "1s", denyWithout)}, Routes: []string{`{match: {prefix: /}, direct_response: {status: 200}}`},
	}}, []envoyCluster{{Name: "limits", Addrs: servers}})
}

// TestEnvoyQuotaShared has three Envoys share a limit, with two instances of ratelimitd and one Redis.
func TestEnvoyQuotaShared(t *testing.T) {
	if testing.Short() {
		t.Skip("TestEnvoy is the short form")
	}
	envoyProgram(t)
	store := redistest.Start(t, nil)
	var servers []string
	for range 2 {
		s := serve(t, map[string]string{"shop.yaml": "domain: shop\ndescriptors:\n- key: client\n  rate_limit: {requests_per_unit: 100000, unit: minute}\n"}, map[string]string{
			"QUOTA_ENABLED": "true", "REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": store.Addr, "LOG_LEVEL": "error",
		})
		servers = append(servers, s.grpc)
	}
	var all []*envoyProxy
	for i := range 3 {
		all = append(all, startQuotaEnvoy(t, servers[i%2]))
	}
	counts := passedBy(t, time.Minute, time.Now().Truncate(time.Minute).Add(2*time.Minute), all, 2500)
	t.Log(counts)
	for window, n := range counts {
		require.LessOrEqual(t, n, 100_000, "window %d of %v", window, counts)
	}
	require.GreaterOrEqual(t, counts[1], 98_000, "%v", counts)
}
