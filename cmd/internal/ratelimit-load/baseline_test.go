package main

import (
	"context"
	"net"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// TestBaselineAnswers calls the baseline with an ordinary client.
func TestBaselineAnswers(t *testing.T) {
	conn, err := grpc.NewClient(startBaseline(t), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	response, err := ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(t.Context(), &ratelimitv3.RateLimitRequest{Domain: "any"})
	require.NoError(t, err)
	assert.Equal(t, ratelimitv3.RateLimitResponse_OK, response.GetOverallCode())
	require.Len(t, response.GetStatuses(), 1)
	assert.Equal(t, ratelimitv3.RateLimitResponse_OK, response.GetStatuses()[0].GetCode())
	assert.NotNil(t, response.GetStatuses()[0].GetCurrentLimit())
}

func TestBaselineAddressTaken(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	code, stdout, stderr := program(context.Background(), "-serve-baseline "+listener.Addr().String())
	assert.Equal(t, 1, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "-serve-baseline: listen tcp "+listener.Addr().String())
}

// TestBaselineStopsWithAnOpenCall has a client that never sends its request. The call
// after it on the same connection proves that the baseline has it.
func TestBaselineStopsWithAnOpenCall(t *testing.T) {
	t.Parallel()
	addr, stop := runBaseline(t)
	conn, err := dial(addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.NewStream(context.Background(), &grpc.StreamDesc{ClientStreams: true}, method)
	require.NoError(t, err)
	require.NoError(t, conn.Invoke(t.Context(), method, []byte{}, &ratelimitv3.RateLimitResponse{}))

	start := time.Now()
	require.NoError(t, stop())
	assert.GreaterOrEqual(t, time.Since(start), baselineDrain, "the open call is given time")
	assert.Less(t, time.Since(start), baselineDrain+30*time.Second, "but not for ever")
}
