package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// short ends after a count and not after a time: so many calls cost several ticks of CPU
// time on any machine, and are completed on a slow one too.
const short = " -calls 1000 -duration 1m -warmup 20ms -keys 50 -concurrency 8 -connections 2 "

// withoutNumbers replaces every number by N and runs of blanks by one.
func withoutNumbers(text string) string {
	text = regexp.MustCompile(`\d+(\.\d+)?`).ReplaceAllString(text, "N")
	return regexp.MustCompile(` +`).ReplaceAllString(text, " ")
}

const percentilesText = "pN N ms, pN N ms, pN N ms, pN N ms, max N ms"

func TestClosedLoopText(t *testing.T) {
	addr := startBaseline(t)
	code, stdout, stderr := program(t.Context(), fmt.Sprint("-addr ", addr, " -pids ", os.Getpid(), short))
	require.Equal(t, 0, code, stderr)
	assert.Equal(t, `target N.N:N, N connections, N in flight, closed loop
calls N in N s, N a second
responses OK N, OVER_LIMIT N, UNKNOWN N
errors none
latency `+percentilesText+`
cpu N us a call, process N
cpu N us a call, the generator
`, withoutNumbers(stdout))
}

func TestOpenLoopText(t *testing.T) {
	addr := startBaseline(t)
	code, stdout, stderr := program(t.Context(), "-addr "+addr+short+"-rate 2000 -calls 300")
	require.Equal(t, 0, code, stderr)
	assert.Contains(t, withoutNumbers(stdout), `N in flight, open loop at N a second
calls N in N s, N a second
responses OK N, OVER_LIMIT N, UNKNOWN N
errors none
latency `+percentilesText+`
sent late by `+percentilesText+`
missed N
`)
}

// runJSON runs the generator and decodes its report.
func runJSON(t *testing.T, ctx context.Context, arguments string) (r report, code int) {
	t.Helper()
	code, stdout, stderr := program(ctx, arguments+" -format json")
	require.NoError(t, json.Unmarshal([]byte(stdout), &r), "stdout %q, stderr %q", stdout, stderr)
	return r, code
}

func TestJSONFields(t *testing.T) {
	addr := startBaseline(t)
	_, stdout, _ := program(t.Context(), fmt.Sprint("-addr ", addr, " -pids ", os.Getpid(), short, "-rate 20000 -format json"))
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &fields))
	for _, name := range []string{
		"target", "connections", "concurrency", "seconds", "interrupted", "calls", "calls_per_second", "ok", "over_limit",
		"unknown", "errors", "unfinished", "latency_us", "schedule", "cpu", "generator_cpu_us_per_call",
	} {
		assert.Contains(t, fields, name)
	}
	for _, name := range []string{"p50", "p90", "p99", "p99_9", "max"} {
		assert.Contains(t, fields["latency_us"], name)
	}
	assert.Contains(t, fields["schedule"], "missed")
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
	assert.GreaterOrEqual(t, r.Latency.P99, r.Latency.P50)
	assert.GreaterOrEqual(t, r.Latency.Max, r.Latency.P999)
}

func TestOpenLoopKeepsRate(t *testing.T) {
	addr := startBaseline(t)
	r, code := runJSON(t, t.Context(), "-addr "+addr+" -rate 400 -calls 200 -duration 1m -warmup 0")
	assert.Equal(t, 0, code)
	require.NotNil(t, r.Schedule)
	assert.EqualValues(t, 200, r.Calls)
	assert.Zero(t, r.Schedule.Missed, "what is late is sent, as long as there is time")
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
	require.NotNil(t, r.Schedule)
	assert.EqualValues(t, 15, r.Calls)
	assert.Greater(t, r.Latency.Max, 285_000.0, "the wait for a free worker is part of the latency")
	assert.Greater(t, r.Schedule.Delay.Max, 265_000.0, "and is told apart as delay")
	assert.Less(t, r.Schedule.Delay.Max, r.Latency.Max)
}

// TestOpenLoopCountsMissed has the same service and 1000 calls a second for 0.3 s, of
// which 15 at most can go out.
func TestOpenLoopCountsMissed(t *testing.T) {
	r, _ := runJSON(t, t.Context(), "-addr "+startSlow(t)+" -rate 1000 -duration 300ms -warmup 0 -concurrency 1 -connections 1")
	require.NotNil(t, r.Schedule)
	assert.EqualValues(t, 300, r.Calls+r.Unfinished+r.Schedule.Missed, "all calls are accounted for")
	assert.LessOrEqual(t, r.Calls, uint64(15))
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
	code, _, stderr := program(t.Context(), "-pids 2147483647")
	assert.Equal(t, 1, code)
	assert.Equal(t, "ratelimit-load: no process 2147483647 to read the CPU time of\n", stderr)
}
