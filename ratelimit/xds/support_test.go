package xds_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long something that must happen may take on a busy machine.
const patience = 30 * time.Second

// quick is a client's options for tests in which it has to try again.
func quick() *xds.Options {
	return &xds.Options{
		RetryInterval: 5 * time.Millisecond,
		Backoff:       xds.Backoff{Initial: 5 * time.Millisecond, Max: 50 * time.Millisecond},
	}
}

// receive waits for something that must come.
func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		require.FailNow(t, "did not come: "+what)
		panic("unreachable")
	}
}

// controlPlane is the control plane library's own server with its snapshot cache.
type controlPlane struct {
	t        *testing.T
	cache    cache.SnapshotCache
	requests chan *discoveryv3.DiscoveryRequest
	headers  chan metadata.MD
}

func newControlPlane(t *testing.T) *controlPlane {
	return &controlPlane{
		t:        t,
		cache:    cache.NewSnapshotCache(true, cache.IDHash{}, nil),
		requests: make(chan *discoveryv3.DiscoveryRequest, 10_000),
		headers:  make(chan metadata.MD, 10_000),
	}
}

// set makes configs what the node "default" gets.
func (c *controlPlane) set(version string, configs ...*ratelimitv3.RateLimitConfig) {
	c.setFor("default", version, configs...)
}

func (c *controlPlane) setFor(node, version string, configs ...*ratelimitv3.RateLimitConfig) {
	c.t.Helper()
	resources := make([]types.Resource, len(configs))
	for i := range configs {
		resources[i] = configs[i]
	}
	s, err := cache.NewSnapshot(version, map[resource.Type][]types.Resource{resource.RateLimitConfigType: resources})
	require.NoError(c.t, err)
	require.NoError(c.t, c.cache.SetSnapshot(context.Background(), node, s))
}

// serve starts a server on an address and returns its address and what stops it;
// the end of the test stops it, too.
func (c *controlPlane) serve(addr string, opts ...grpc.ServerOption) (at string, stop func()) {
	callbacks := server.CallbackFuncs{
		StreamOpenFunc: func(ctx context.Context, _ int64, _ string) error {
			md, _ := metadata.FromIncomingContext(ctx)
			c.headers <- md
			return nil
		},
		StreamRequestFunc: func(_ int64, r *discoveryv3.DiscoveryRequest) error {
			c.requests <- r
			return nil
		},
		StreamClosedFunc: func(int64, *corev3.Node) {},
	}
	ctx, cancel := context.WithCancel(context.Background())
	ads := server.NewServer(ctx, c.cache, callbacks)
	at, stopServer := serve(c.t, addr, ads, opts...)
	return at, func() { cancel(); stopServer() }
}

// address is one that nobody else comes to listen on while there is no server, as may
// happen to a port.
func address(t *testing.T) string {
	t.Helper()
	return "unix:" + filepath.Join(t.TempDir(), "socket")
}

// serve starts an ADS server. One that was there before may have left the address only
// just now.
func serve(t *testing.T, addr string, ads discoveryv3.AggregatedDiscoveryServiceServer, opts ...grpc.ServerOption) (at string, stop func()) {
	t.Helper()
	var l net.Listener
	network, where := "tcp", addr
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		network, where = "unix", path
	}
	require.Eventually(t, func() (ok bool) {
		var err error
		l, err = new(net.ListenConfig).Listen(t.Context(), network, where)
		return err == nil
	}, patience, 10*time.Millisecond)
	s := grpc.NewServer(opts...)
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(s, ads)
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Serve(l) })
	stop = func() { s.Stop(); wg.Wait() }
	t.Cleanup(stop)
	if network == "unix" {
		return addr, stop
	}
	return l.Addr().String(), stop
}

// request waits for the next request of which something holds.
func (c *controlPlane) request(what string, is func(*discoveryv3.DiscoveryRequest) bool) *discoveryv3.DiscoveryRequest {
	c.t.Helper()
	for {
		if r := receive(c.t, c.requests, what); is(r) {
			return r
		}
	}
}

// acknowledged waits for the acknowledgement of a version.
func (c *controlPlane) acknowledged(version string) {
	c.t.Helper()
	c.request("acknowledgement of "+version, func(r *discoveryv3.DiscoveryRequest) bool {
		return r.GetVersionInfo() == version && r.GetResponseNonce() != "" && r.GetErrorDetail() == nil
	})
}

// refused waits for a refusal.
func (c *controlPlane) refused() *discoveryv3.DiscoveryRequest {
	c.t.Helper()
	return c.request("refusal", func(r *discoveryv3.DiscoveryRequest) bool { return r.GetErrorDetail() != nil })
}

// scripted is an ADS server that does what a function says.
type scripted struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	talk func(discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error
}

func (s scripted) StreamAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return s.talk(stream)
}

// running is a client that runs until the end of the test.
type running struct {
	updates  chan *xds.Update
	failures chan error
	stop     func() // and wait
}

func start(t *testing.T, target string, opts *xds.Options) *running {
	t.Helper()
	client, err := xds.New(target, opts)
	require.NoError(t, err)
	r := &running{updates: make(chan *xds.Update, 10_000), failures: make(chan error, 10_000)}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		client.Run(ctx,
			func(u *xds.Update) error { r.updates <- u; return nil },
			func(err error) { r.failures <- err })
	})
	r.stop = func() { cancel(); wg.Wait() }
	t.Cleanup(r.stop)
	return r
}

// runWithoutFailed runs a client that nobody takes failures from.
func runWithoutFailed(t *testing.T, target string, opts *xds.Options) {
	t.Helper()
	client, err := xds.New(target, opts)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { client.Run(ctx, func(*xds.Update) error { return nil }, nil) })
	t.Cleanup(func() { cancel(); wg.Wait() })
}

// update waits for the next update.
func (r *running) update(t *testing.T) *xds.Update {
	t.Helper()
	return receive(t, r.updates, "update")
}

// failure waits for the next failure of one type.
func failure[E error](t *testing.T, r *running) E {
	t.Helper()
	for {
		if err, ok := receive(t, r.failures, "failure").(E); ok {
			return err
		}
	}
}

// domain is a resource named after its domain.
func domain(name string, rules ...*ratelimitv3.RateLimitDescriptor) *ratelimitv3.RateLimitConfig {
	return &ratelimitv3.RateLimitConfig{Name: name, Domain: name, Descriptors: rules}
}

// perMinute is a rule for a key.
func perMinute(key string, n uint32) *ratelimitv3.RateLimitDescriptor {
	return &ratelimitv3.RateLimitDescriptor{Key: key, RateLimit: &ratelimitv3.RateLimitPolicy{
		Unit: ratelimitv3.RateLimitUnit_MINUTE, RequestsPerUnit: n,
	}}
}

// bad is a rule with a fault.
func bad(key string) *ratelimitv3.RateLimitDescriptor {
	return &ratelimitv3.RateLimitDescriptor{Key: key, RateLimit: &ratelimitv3.RateLimitPolicy{RequestsPerUnit: 1}}
}
