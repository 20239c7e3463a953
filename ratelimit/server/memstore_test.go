package server_test

import (
	"strings"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/internal/memcachetest"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

// Counters are on memcached nodes, with the setting names of the reference service.
func TestMemoryCacheStore(t *testing.T) {
	t.Parallel()
	a, b := memcachetest.Start(t, nil), memcachetest.Start(t, nil)
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"BACKEND_TYPE": "memcache", "MEMCACHE_HOST_PORT": a.Addr + "," + b.Addr,
	}).start()
	client := ratelimitv3.NewRateLimitServiceClient(r.dial())
	for i, want := range []ratelimitv3.RateLimitResponse_Code{1, 1, 2, 2} {
		out, err := client.ShouldRateLimit(t.Context(), ask("d", "x"))
		require.NoError(t, err)
		require.Equal(t, want, out.GetOverallCode(), "call %d", i)
	}
	require.True(t, r.healthy(), "unlike the reference service, which is never healthy with this store")

	// A key that memcached does not accept is an invalid request (REFERENCE.md, 6.2).
	_, err := client.ShouldRateLimit(t.Context(), ask("d", strings.Repeat("x", 300)))
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.ErrorContains(t, err, "250")
	_, err = client.ShouldRateLimit(t.Context(), ask("d", "a b"))
	require.Equal(t, codes.InvalidArgument, status.Code(err))

	for _, line := range []string{
		"ratelimit.memcache.keys_requested: 4\n", "ratelimit.memcache.multiget.__code=success: 4\n",
		"ratelimit.memcache.add.__code=success: 1\n", "ratelimit.memcache.hits_lost: 0\n",
	} {
		r.becomes("there is a line "+line, func() bool { // increments follow the responses
			_, page := r.getAt(r.addr.Debug, "/stats?filter=memcache")
			return strings.Contains(page, line)
		})
	}

	a.Kill()
	b.Kill()
	r.becomes("it is unhealthy", func() bool {
		code, _ := r.get("/healthcheck")
		return code == 500
	})
	_, err = client.ShouldRateLimit(t.Context(), ask("d", "x"))
	require.Equal(t, codes.Unavailable, status.Code(err))
	r.end()
}

func TestMemoryCacheStoreThatIsNotThere(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"BACKEND_TYPE": "memcache", "MEMCACHE_SRV": "_limits._tcp.nowhere.invalid"})
	_, err := server.New(t.Context(), r.set, nil)
	require.ErrorContains(t, err, "_limits._tcp.nowhere.invalid")
	require.ErrorContains(t, err, "MEMSTORE_")
}
