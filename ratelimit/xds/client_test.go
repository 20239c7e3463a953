package xds_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

func TestFirstConfigurationThenUpdates(t *testing.T) {
	t.Parallel()
	server := newControlPlane(t)
	server.set("v1", domain("mongo", perMinute("user", 5)))
	addr, _ := server.serve("127.0.0.1:0")
	r := start(t, addr, nil)

	first := r.update(t)
	require.Equal(t, "v1", first.Version)
	require.Equal(t, []string{"mongo"}, first.Resources)
	require.True(t, first.Ruleset.Has("mongo"))
	require.EqualValues(t, 5, first.Domains[0].Rules[0].Limit.RequestsPerUnit)
	server.acknowledged("v1")

	server.set("v2", domain("mongo", perMinute("user", 7)))
	require.EqualValues(t, 7, r.update(t).Domains[0].Rules[0].Limit.RequestsPerUnit)
	server.acknowledged("v2")
	require.Empty(t, r.failures)
}

// Each request has the fields that the protocol requires.
func TestRequests(t *testing.T) {
	t.Parallel()
	server := newControlPlane(t)
	server.setFor("edge", "v1", domain("mongo"))
	addr, _ := server.serve("127.0.0.1:0")
	opts := &xds.Options{
		NodeID:       "edge",
		NodeMetadata: map[string]string{"zone": "a", "empty": ""},
		Headers: []xds.Header{
			{Name: "X-Token", Value: "one"}, {Name: "x-token", Value: "two"}, {Name: "raw-bin", Value: "\x00\xff"},
		},
	}
	start(t, addr, opts).update(t)

	headers := receive(t, server.headers, "headers")
	require.Equal(t, []string{"one", "two"}, headers.Get("x-token"))
	require.Equal(t, []string{"\x00\xff"}, headers.Get("raw-bin"))

	first := receive(t, server.requests, "first request")
	require.Equal(t, "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig", first.GetTypeUrl())
	require.Equal(t, "edge", first.GetNode().GetId())
	require.Equal(t, map[string]any{"zone": "a", "empty": ""}, first.GetNode().GetMetadata().AsMap())
	require.Empty(t, first.GetResourceNames())
	require.Empty(t, first.GetVersionInfo())
	require.Empty(t, first.GetResponseNonce())
	require.Nil(t, first.GetErrorDetail())

	second := receive(t, server.requests, "acknowledgement")
	require.Equal(t, "v1", second.GetVersionInfo())
	require.Equal(t, "1", second.GetResponseNonce())
	require.Equal(t, first.GetTypeUrl(), second.GetTypeUrl())
	require.Nil(t, second.GetErrorDetail())
}

// An update is acknowledged after load has returned, not before.
func TestAcknowledgementFollowsUse(t *testing.T) {
	t.Parallel()
	server := newControlPlane(t)
	server.set("v1", domain("mongo"))
	addr, _ := server.serve("127.0.0.1:0")
	client, err := xds.New(addr, &xds.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	loading, loaded := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		client.Run(ctx, func(*xds.Update) error {
			close(loading)
			<-loaded
			return nil
		}, nil)
	})
	defer wg.Wait()
	defer cancel()
	receive(t, loading, "load")
	require.Len(t, server.requests, 1, "only the first request")
	close(loaded)
	server.acknowledged("v1")
}

func TestInvalidUpdateIsRejectedAndTheNextAccepted(t *testing.T) {
	t.Parallel()
	server := newControlPlane(t)
	server.set("v1", domain("mongo", perMinute("user", 5)))
	addr, _ := server.serve("127.0.0.1:0")
	r := start(t, addr, nil)
	r.update(t)
	server.acknowledged("v1")

	server.set("v2", domain("mongo", perMinute("user", 5), bad("path")), domain("redis", bad("")))
	request := server.rejected()
	faults := request.GetErrorDetail().GetMessage()
	requireLines(t, "mongo: descriptors[1].rate_limit.unit: ''\nredis: descriptors[0].key: empty\nredis: descriptors[0].rate_limit.unit: ''", errors.New(faults))
	require.EqualValues(t, codes.InvalidArgument, request.GetErrorDetail().GetCode())
	require.Equal(t, "v1", request.GetVersionInfo(), "the version in use")
	require.Equal(t, "2", request.GetResponseNonce())
	rejected := rejection(t, r)
	require.Equal(t, "v2", rejected.Version)
	require.ErrorContains(t, rejected, faults)
	var list config.Faults
	require.ErrorAs(t, rejected, &list)
	require.Len(t, list, 3)
	require.Equal(t, "descriptors[0].key", list[1].Path)
	require.Empty(t, r.updates, "nothing of it is in use")

	server.set("v3", domain("mongo", perMinute("user", 9)))
	require.Equal(t, "v3", r.update(t).Version)
	server.acknowledged("v3")
	require.Len(t, server.headers, 1, "all of it on one stream")
	require.Empty(t, r.failures, "the rejection is reported once")
}

// An error of load rejects the update.
func TestRejectionByLoad(t *testing.T) {
	t.Parallel()
	server := newControlPlane(t)
	server.set("v1", domain("mongo"))
	addr, _ := server.serve("127.0.0.1:0")
	client, err := xds.New(addr, &xds.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	full := errors.New("no room\x00")
	failures := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		client.Run(ctx, func(*xds.Update) error { return full }, func(err error) { failures <- err })
	})
	defer wg.Wait()
	defer cancel()
	require.Equal(t, "no room\x00", server.rejected().GetErrorDetail().GetMessage())
	require.ErrorIs(t, receive(t, failures, "failure"), full)
}

func TestDomainsAreAddedAndRemoved(t *testing.T) {
	t.Parallel()
	server := newControlPlane(t)
	server.set("v1", domain("redis"), domain("mongo"), domain("api"))
	addr, _ := server.serve("127.0.0.1:0")
	r := start(t, addr, nil)
	u := r.update(t)
	require.Equal(t, []string{"api", "mongo", "redis"}, u.Resources)
	require.Equal(t, 3, u.Ruleset.Len())

	server.set("v2", domain("mongo"))
	u = r.update(t)
	require.Equal(t, 1, u.Ruleset.Len())
	require.False(t, u.Ruleset.Has("redis"))

	server.set("v3")
	u = r.update(t)
	require.Equal(t, 0, u.Ruleset.Len())
	server.acknowledged("v3")
}

func TestDuplicateDomain(t *testing.T) {
	t.Parallel()
	server := newControlPlane(t)
	one, two := domain("mongo", perMinute("a", 1)), domain("mongo", perMinute("b", 2))
	one.Name, two.Name = "1", "2"
	server.set("v1", one, two)
	addr, _ := server.serve("127.0.0.1:0")
	start(t, addr, nil)
	require.Regexp(t, "^2: domain: .*'mongo'.* 1: domain",
		server.rejected().GetErrorDetail().GetMessage())

	u := start(t, addr, &xds.Options{MergeDomains: true}).update(t)
	require.Equal(t, 1, u.Ruleset.Len())
	require.Equal(t, []string{"1", "2"}, u.Resources)
}

func TestServerRestart(t *testing.T) {
	t.Parallel()
	server := newControlPlane(t)
	server.set("v1", domain("mongo"))
	addr, stop := server.serve(address(t))
	r := start(t, addr, quick())
	r.update(t)
	server.acknowledged("v1")
	stop()
	require.Contains(t, connectionFailure(t, r).Error(), "configuration server "+addr+": ")

	again := newControlPlane(t)
	again.set("v2", domain("redis"))
	again.serve(addr)
	require.Equal(t, "v2", r.update(t).Version)
	first := receive(t, again.requests, "first request")
	require.Equal(t, "v1", first.GetVersionInfo(), "the version in use")
	require.Empty(t, first.GetResponseNonce(), "nonces belong to a stream")
	again.acknowledged("v2")
}

// A restarted control plane may use the version of another configuration.
func TestSameVersionIsLoadedAgain(t *testing.T) {
	t.Parallel()
	server := newControlPlane(t)
	server.set("1", domain("mongo"))
	addr, stop := server.serve(address(t))
	r := start(t, addr, quick())
	require.True(t, r.update(t).Ruleset.Has("mongo"))
	stop()
	again := newControlPlane(t)
	again.set("1", domain("redis"))
	again.serve(addr)
	require.True(t, r.update(t).Ruleset.Has("redis"))
}

func TestServerAbsentAtStart(t *testing.T) {
	t.Parallel()
	addr := address(t)
	r := start(t, addr, quick())
	for range 3 {
		require.Contains(t, connectionFailure(t, r).Error(), "no such file or directory")
	}
	server := newControlPlane(t)
	server.set("v1", domain("mongo"))
	server.serve(addr)
	require.Equal(t, "v1", r.update(t).Version)
}

// In any state, a client ends with its context, quickly and without reporting a failure.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close() // accepts no connections
	failing := scripted{talk: func(discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
		return errors.New("unavailable")
	}}
	server := newControlPlane(t)
	server.set("v1", domain("mongo"))
	streaming, _ := server.serve("127.0.0.1:0")
	ending, _ := serve(t, "127.0.0.1:0", failing)
	hour := &xds.Options{Backoff: xds.Backoff{Initial: time.Hour, Max: time.Hour}}

	t.Run("connecting", func(t *testing.T) {
		r := start(t, silent.Addr().String(), hour)
		conn, err := silent.Accept()
		require.NoError(t, err)
		defer conn.Close()
		r.stop()
		require.Empty(t, r.failures)
	})
	t.Run("waiting", func(t *testing.T) {
		r := start(t, ending, hour)
		require.Equal(t, time.Hour, waitOf(t, connectionFailure(t, r)))
		r.stop()
	})
	t.Run("streaming", func(t *testing.T) {
		r := start(t, streaming, hour)
		r.update(t)
		r.stop()
		require.Empty(t, r.failures)
	})
	t.Run("before it began", func(t *testing.T) {
		client, err := xds.New(streaming, nil)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		client.Run(ctx, func(*xds.Update) error { t.Error("loaded"); return nil }, func(err error) { t.Error(err) })
	})
}
