package main

import (
	"bytes"
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// TestWarnsWithoutLimit checks that a service without a rule for the requests is reported, once for
// each target.
func TestWarnsWithoutLimit(t *testing.T) {
	without := startService(t, &service{response: func(context.Context, *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
		return &ratelimitv3.RateLimitResponse{
			OverallCode: ratelimitv3.RateLimitResponse_OK,
			Statuses:    []*ratelimitv3.RateLimitResponse_DescriptorStatus{{Code: ratelimitv3.RateLimitResponse_OK}},
		}, nil
	}})
	base := startBaseline(t)
	warning := "ratelimit-load: warning: no response of " + without + ` has a limit: check that domain "shop" has a rule for key "client" (-domain, -entry)` + "\n"
	few := " -calls 20 -duration 1m -warmup 0 -concurrency 1 -connections 1 -domain shop -entry client"
	code, _, stderr := program(t.Context(), "-addr "+without+few)
	require.Zero(t, code)
	require.Equal(t, warning, stderr)
	_, _, stderr = program(t.Context(), "-addr "+base+few)
	require.Empty(t, stderr)
	_, _, stderr = program(t.Context(), "-compare a="+base+",b="+without+few+" -rounds 2")
	require.Equal(t, warning, stderr)
}

func TestHasLimit(t *testing.T) {
	t.Parallel()
	type status = ratelimitv3.RateLimitResponse_DescriptorStatus
	for want, statuses := range map[bool][][]*status{
		true: {
			{{Code: 2, CurrentLimit: &ratelimitv3.RateLimitResponse_RateLimit{}}},
			{{}, {LimitRemaining: math.MaxUint32}},
		},
		false: {nil, {{}}, {{Code: 1}, {Code: 1}}},
	} {
		for _, s := range statuses {
			encoded, err := proto.Marshal(&ratelimitv3.RateLimitResponse{OverallCode: 1, Statuses: s})
			require.NoError(t, err)
			require.Equal(t, want, hasLimit(encoded), "%v", s)
		}
	}
}

// TestProgress checks that a line is printed after two seconds and then every five seconds.
func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := &progress{env: cli.Env{Stderr: &out}, phase: "measuring"}
		s := &stretch{load: &load{calls: 500, progress: p}, start: time.Now(), duration: 10 * time.Second}
		s.tickets.Store(600)
		stop := p.watch(s)
		time.Sleep(8 * time.Second)
		stop()
		require.Equal(t, "ratelimit-load: measuring: 2s of 10s, 500 calls, 250 a second\n"+
			"ratelimit-load: measuring: 7s of 10s, 500 calls, 71 a second\n", out.String())
	})
}
