package main

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// runJSON runs the generator and decodes its report.
func runJSON(t *testing.T, ctx context.Context, arguments string) (r report, code int) {
	t.Helper()
	code, stdout, stderr := program(ctx, arguments)
	require.NoError(t, json.Unmarshal([]byte(stdout), &r), "stdout %q, stderr %q", stdout, stderr)
	return r, code
}

func TestClosedLoopCounts(t *testing.T) {
	var calls atomic.Uint64
	addr := startService(t, &service{response: func(context.Context, *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
		switch n := calls.Add(1); {
		case n == 1: // the probe
			return responseWith(ratelimitv3.RateLimitResponse_OK), nil
		case n%4 == 0:
			return nil, status.Error(codes.ResourceExhausted, "busy")
		default:
			return responseWith(ratelimitv3.RateLimitResponse_Code(n % 4 % 3)), nil // 1 OK, 2 over, 3 unknown
		}
	}})
	r, code := runJSON(t, t.Context(), "-addr "+addr+" -warmup 0 -duration 1m -calls 400 -concurrency 4 -connections 1")
	assert.Equal(t, 0, code)
	assert.EqualValues(t, 401, calls.Load(), "one probe and the calls asked for")
	assert.EqualValues(t, 300, r.Calls)
	assert.EqualValues(t, []uint64{100, 100, 100}, []uint64{r.OK, r.OverLimit, r.Unknown})
	assert.Equal(t, map[string]uint64{"ResourceExhausted": 100}, r.Errors)
	assert.False(t, r.Interrupted, "the count was reached, nothing cut it short")
	assert.GreaterOrEqual(t, r.P99, r.P50)
	assert.GreaterOrEqual(t, r.Max, r.P99)
}

func TestOpenLoopKeepsRate(t *testing.T) {
	addr := startBaseline(t)
	r, code := runJSON(t, t.Context(), "-addr "+addr+" -rate 400 -calls 200 -duration 1m -warmup 0")
	assert.Equal(t, 0, code)
	assert.EqualValues(t, 200, r.Calls)
	assert.GreaterOrEqual(t, r.Seconds, 0.497, "the calls are spread over the time, not sent at once")
}

// startSlow serves calls that take 20 ms each, or more on a slow machine.
func startSlow(t *testing.T) string {
	return startService(t, &service{response: func(ctx context.Context, _ *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
		pause(ctx, 20*time.Millisecond)
		return responseWith(ratelimitv3.RateLimitResponse_OK), nil
	}})
}

// TestOpenLoopShowsOmission has a service that takes 20 ms for each call, one at
// a time, and 15 calls that are due within 15 ms: the last goes out when 14 have
// ended, after 280 ms. A latency taken from the sending would be 20 ms for all.
func TestOpenLoopShowsOmission(t *testing.T) {
	r, _ := runJSON(t, t.Context(), "-addr "+startSlow(t)+" -rate 1000 -calls 15 -duration 1m -warmup 0 -concurrency 1 -connections 1")
	assert.EqualValues(t, 15, r.Calls)
	assert.Greater(t, r.Max, 285_000.0, "the wait for a free worker is part of the latency")
}

// TestStalledServiceIsGivenUp has a service that responses the probe and then never.
func TestStalledServiceIsGivenUp(t *testing.T) {
	t.Parallel()
	var probed atomic.Bool
	addr := startService(t, &service{response: func(ctx context.Context, _ *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
		if probed.Swap(true) {
			<-ctx.Done()
		}
		return responseWith(ratelimitv3.RateLimitResponse_OK), nil
	}})
	r, code := runJSON(t, t.Context(), "-addr "+addr+" -warmup 0 -duration 1s -concurrency 3 -connections 1")
	assert.Equal(t, 1, code, "no response at all is a failure")
	assert.Positive(t, r.Unfinished, "of the calls that the workers had in flight")
	assert.LessOrEqual(t, r.Unfinished, uint64(3))
	assert.Empty(t, r.Errors, "what the generator itself gave up on is no error of the service")
	assert.Less(t, r.Seconds, 30.0)
}

func TestInterruptedPrintsWhatItHas(t *testing.T) {
	for _, loop := range []string{"", " -rate 100"} {
		ctx, cancel := context.WithCancel(t.Context())
		var calls atomic.Uint64
		addr := startService(t, &service{response: func(context.Context, *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
			if calls.Add(1) == 20 {
				cancel()
			}
			return responseWith(ratelimitv3.RateLimitResponse_OK), nil
		}})
		r, code := runJSON(t, ctx, "-addr "+addr+" -warmup 0 -duration 1h"+loop)
		assert.Equal(t, 0, code, "to be stopped is no failure")
		assert.True(t, r.Interrupted)
		assert.GreaterOrEqual(t, r.Calls+r.Unfinished, uint64(15))
	}
}

func TestTargetNotThere(t *testing.T) {
	for name, address := range map[string]string{
		"refused":       "127.0.0.1:1",
		"not a service": startOther(t),
	} {
		start := time.Now()
		code, stdout, stderr := program(t.Context(), "-addr "+address)
		assert.Equal(t, 1, code, name)
		assert.Empty(t, stdout, name)
		assert.Contains(t, stderr, "ratelimit-load: first call to "+address, name)
		assert.Contains(t, stderr, "check that a v3 rate limit service", name)
		assert.Less(t, time.Since(start), 2*probeTimeout, name)
	}
}

// startOther serves gRPC without the method.
func startOther(t *testing.T) string {
	return startService(t, &service{response: func(context.Context, *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
		return nil, status.Error(codes.Unimplemented, "unknown service")
	}})
}

func TestInterruptedBeforeTheFirstCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, stdout, stderr := program(ctx, "-addr 127.0.0.1:1")
	assert.Equal(t, 0, code)
	assert.Empty(t, stdout+stderr)
}

func TestProcessNotThere(t *testing.T) {
	code, _, stderr := program(t.Context(), "-warmup 0 -compare a="+startBaseline(t)+":2147483647,b="+startBaseline(t))
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "no process 2147483647")
}
