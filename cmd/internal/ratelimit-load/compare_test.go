package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestCompare: ratios are those to the first target, and the CPU of several processes is added.
func TestCompare(t *testing.T) {
	pid := os.Getpid()
	targets := fmt.Sprintf("base=%s:%d,twice=%s:%d+%d,ours=%s", startBaseline(t), pid, startBaseline(t), pid, pid, startBaseline(t))
	code, stdout, stderr := program(t.Context(), "-compare "+targets+" -rounds 3 -calls 1500 -duration 1m -warmup 20ms -keys 50 -concurrency 8 -connections 2")
	require.Equal(t, 0, code, stderr)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, 5, stdout)
	assert.Equal(t, "medians of 3 rounds; ratios to base", lines[0])
	base, twice, ours := strings.Fields(lines[2]), strings.Fields(lines[3]), strings.Fields(lines[4])
	for _, i := range []int{2, 4, 6, 8} {
		assert.Equal(t, "1.000", base[i], "the first is its own measure")
	}
	assert.Equal(t, "-", ours[3], "the CPU of no process")
	ratio, err := strconv.ParseFloat(twice[4], 64)
	require.NoError(t, err)
	assert.Greater(t, ratio, 1.1, "the same process named twice costs about twice as much")
	assert.Equal(t, "0", twice[9], "none failed")
}

func TestCompareInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var calls atomic.Uint64
	counting := startService(t, &service{response: func(context.Context, *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
		if calls.Add(1) == 150 { // one probe, 100 calls of the first round, and into the second
			cancel()
		}
		return responseWith(ratelimitv3.RateLimitResponse_OK), nil
	}})
	targets := "a=" + startBaseline(t) + ",b=" + counting
	flags := " -connections 1 -warmup 0 -duration 1m -calls 100 -rounds 1000"
	code, stdout, stderr := program(ctx, "-compare "+targets+flags)
	require.Equal(t, 0, code, stderr)
	assert.Contains(t, stdout, "medians of 1 rounds, interrupted", "the round under way is dropped")
}

func TestCompareInterruptedBeforeTheFirstRound(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stopping := startService(t, &service{response: func(context.Context, *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
		defer cancel()
		return responseWith(ratelimitv3.RateLimitResponse_OK), nil
	}})
	code, stdout, stderr := program(ctx, "-compare a="+startBaseline(t)+",b="+stopping+" -connections 1 -warmup 0 -duration 1m")
	assert.Equal(t, 0, code)
	assert.Empty(t, stdout)
	if stderr != "" { // empty if the probe's own response came too late to be taken
		assert.Contains(t, stderr, "nothing to compare")
	}
}

// TestCompareTargetThatFails has a service that fails after the probe.
func TestCompareTargetThatFails(t *testing.T) {
	var probed atomic.Bool
	failing := startService(t, &service{response: func(context.Context, *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
		if probed.Swap(true) {
			return nil, status.Error(codes.Unavailable, "store is gone")
		}
		return responseWith(ratelimitv3.RateLimitResponse_OK), nil
	}})
	code, _, stderr := program(t.Context(), "-compare a="+startBaseline(t)+",b="+failing+" -connections 1 -warmup 0 -calls 50 -duration 1m")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, `round 1: target "b": no call was completed`)
}

func TestCompareTargetNotThere(t *testing.T) {
	code, _, stderr := program(t.Context(), "-compare a="+startBaseline(t)+",b=127.0.0.1:1 -warmup 0")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, `target "b": first call to 127.0.0.1:1: Unavailable`)
}

// TestMediansOfRatios has three rounds in which the machine gets slower: the
// second target always takes twice the CPU of the first in the same round, and
// only a ratio within rounds finds that.
func TestMediansOfRatios(t *testing.T) {
	t.Parallel()
	c := &comparison{rounds: []round{
		{{100, 10, 1, 2}, {50, 20, 2, 2}},
		{{60, 16, 2, 3}, {30, 32, 4, 6}},
		{{10, 90, 4, 8}, {90, 180, 8, 4}},
	}}
	absolute, ratio := c.medians(1)
	assert.Equal(t, figures{50, 32, 4, 4}, absolute)
	assert.Equal(t, figures{0.5, 2, 2, 1}, ratio)
}

func TestMedian(t *testing.T) {
	t.Parallel()
	assert.InDelta(t, 3, median([]float64{9, 3, 1}), 0)
	assert.InDelta(t, 2.5, median([]float64{9, 3, 2, 1}), 0)
	assert.True(t, math.IsNaN(median(nil)))
}

func TestTurns(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []int{0, 1, 2}, turns(0, 3))
	assert.Equal(t, []int{2, 1, 0}, turns(1, 3))
	assert.Equal(t, []int{0, 1, 2}, turns(2, 3))
}
