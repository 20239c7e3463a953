package xds_test

import (
	"context"
	"log/slog"
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

// timeout bounds waits for what must happen, on a busy machine.
const timeout = 30 * time.Second

// quick returns options for tests with several attempts.
func quick() *xds.Options {
	return &xds.Options{
		RetryInterval: 5 * time.Millisecond,
		Backoff:       xds.Backoff{Initial: 5 * time.Millisecond, Max: 50 * time.Millisecond},
	}
}

// receive waits for a value.
func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(timeout):
		require.FailNow(t, "not received: "+what)
		panic("unreachable")
	}
}

// controlPlane is the server of the control plane library with its snapshot cache.
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

// set sets the configuration of the node "default".
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

// serve starts a server and returns its address and a function that stops it. The end of
// the test stops it too.
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

// address returns a socket path. Unlike a port, no other process can take it while there
// is no server.
func address(t *testing.T) string {
	t.Helper()
	return "unix:" + filepath.Join(t.TempDir(), "socket")
}

// serve starts an ADS server. It retries, because a previous server may have released the
// address just now.
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
	}, timeout, 10*time.Millisecond)
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

// request waits for the next request for which is returns true.
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

// rejected waits for a rejection.
func (c *controlPlane) rejected() *discoveryv3.DiscoveryRequest {
	c.t.Helper()
	return c.request("rejection", func(r *discoveryv3.DiscoveryRequest) bool { return r.GetErrorDetail() != nil })
}

// scripted is an ADS server that runs a function for each stream.
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
	var o xds.Options
	if opts != nil {
		o = *opts
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	client, err := xds.New(target, &o)
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

// runWithoutFailed runs a client without a function for failures.
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

// rejection waits for the next rejected update.
func rejection(t *testing.T, r *running) *xds.RejectedError {
	t.Helper()
	for {
		if rejected, ok := receive(t, r.failures, "rejection").(*xds.RejectedError); ok {
			return rejected
		}
	}
}

// connectionFailure waits for the next failure of a connection.
func connectionFailure(t *testing.T, r *running) error {
	t.Helper()
	for {
		err := receive(t, r.failures, "connection failure")
		if _, ok := err.(*xds.RejectedError); !ok {
			return err
		}
	}
}

// waitOf returns the wait that a connection failure announces.
func waitOf(t *testing.T, err error) time.Duration {
	t.Helper()
	_, text, _ := strings.Cut(err.Error(), "next attempt in ")
	wait, parseErr := time.ParseDuration(text)
	require.NoError(t, parseErr, err)
	return wait
}

// domain returns a resource with the name of its domain.
func domain(name string, rules ...*ratelimitv3.RateLimitDescriptor) *ratelimitv3.RateLimitConfig {
	return &ratelimitv3.RateLimitConfig{Name: name, Domain: name, Descriptors: rules}
}

// perMinute returns a rule for a key.
func perMinute(key string, n uint32) *ratelimitv3.RateLimitDescriptor {
	return &ratelimitv3.RateLimitDescriptor{Key: key, RateLimit: &ratelimitv3.RateLimitPolicy{
		Unit: ratelimitv3.RateLimitUnit_MINUTE, RequestsPerUnit: n,
	}}
}

// bad returns a rule with a fault.
func bad(key string) *ratelimitv3.RateLimitDescriptor {
	return &ratelimitv3.RateLimitDescriptor{Key: key, RateLimit: &ratelimitv3.RateLimitPolicy{RequestsPerUnit: 1}}
}
