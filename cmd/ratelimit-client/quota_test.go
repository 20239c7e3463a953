package main

import (
	"strings"
	"testing"

	rlqs "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
)

func TestQuotas(t *testing.T) {
	_, addr := start(t)
	base := []string{"-dial_string", addr, "-domain", "demo", "-quota", "-n", "1", "-descriptors"}
	code, out, errs := runClient(t, append(base, "client=a\n", "-descriptors", "free=x")...)
	require.Zero(t, code, errs)
	require.ElementsMatch(t, []string{"client=a?: 2 requests for 10s", "free=x: all requests for 10s"}, strings.Split(strings.TrimSpace(out), "\n"))

	code, out, errs = runClient(t, append(base, "login=x", "-json")...)
	require.Zero(t, code, errs)
	var m rlqs.RateLimitQuotaResponse
	require.NoError(t, protojson.Unmarshal([]byte(out), &m))
	require.EqualValues(t, 1, m.BucketAction[1].GetQuotaAssignmentAction().RateLimitStrategy.GetTokenBucket().MaxTokens)
	code, out, errs = runClient(t, append(base, "login=x")...)
	require.Zero(t, code, errs)
	require.Equal(t, "login=x: no requests for 10s\n", out, "the other client has it until it ends")
}

// silent is a service that assigns nothing.
type silent struct {
	rlqs.UnimplementedRateLimitQuotaServiceServer
}

func (silent) StreamRateLimitQuotas(s rlqs.RateLimitQuotaService_StreamRateLimitQuotasServer) error {
	<-s.Context().Done()
	return nil
}

func TestQuotaFailures(t *testing.T) {
	_, addr := start(t)
	off, mute := grpc.NewServer(), grpc.NewServer()
	rlqs.RegisterRateLimitQuotaServiceServer(mute, silent{})
	for _, c := range []struct {
		addr   string
		args   []string
		code   int
		stderr string
	}{
		{addr, []string{"-domain", "nope"}, 1, "NotFound"},
		{listen(t, off), []string{"-domain", "demo"}, 1, "QUOTA_ENABLED"},
		{listen(t, mute), []string{"-domain", "demo", "-timeout", "50ms"}, 1, "within 50ms"},
		{"127.0.0.1:1", []string{"-domain", "demo"}, 1, "Unavailable"},
		{addr, []string{"-domain", "demo", "-get"}, 2, "-quota"},
		{addr, []string{"-domain", "demo", "-fail"}, 2, "-quota"},
	} {
		code, _, errs := runClient(t, append(c.args, "-dial_string", c.addr, "-quota", "-descriptors", "client=ann")...)
		require.Equal(t, c.code, code, "%v: %s", c.args, errs)
		require.Contains(t, errs, c.stderr)
	}
}
