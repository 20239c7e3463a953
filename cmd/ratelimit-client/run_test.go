package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// fake answers over limit, remembers what it was asked, and refuses domain "bad".
type fake struct{ asked *ratelimitv3.RateLimitRequest }

func (f *fake) ShouldRateLimit(_ context.Context, in *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	f.asked = in
	if in.GetDomain() == "bad" {
		return nil, status.Error(codes.InvalidArgument, "no such thing")
	}
	return &ratelimitv3.RateLimitResponse{
		OverallCode: ratelimitv3.RateLimitResponse_OVER_LIMIT,
		Statuses: []*ratelimitv3.RateLimitResponse_DescriptorStatus{{
			Code:               ratelimitv3.RateLimitResponse_OVER_LIMIT,
			CurrentLimit:       &ratelimitv3.RateLimitResponse_RateLimit{Name: "a: b  {c", RequestsPerUnit: 5, Unit: 2},
			DurationUntilReset: durationpb.New(39e9),
		}},
	}, nil
}

func start(t *testing.T) (*fake, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f, g := &fake{}, grpc.NewServer()
	ratelimitv3.RegisterRateLimitServiceServer(g, f)
	var done sync.WaitGroup
	done.Go(func() { g.Serve(l) })
	t.Cleanup(func() { g.Stop(); done.Wait() })
	return f, l.Addr().String()
}

func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Run(t.Context(), "ratelimit-client", run, cli.Env{Args: args, Stdout: &out, Stderr: &errs})
	return code, out.String(), errs.String()
}

func TestOneDecision(t *testing.T) {
	f, addr := start(t)
	code, out, errs := call(t, "-dial_string", addr, "-domain", "demo", "-descriptors", "client=bob,path=/a=b", "-descriptors", "x=", "-hits_addend", "3")
	require.Zero(t, code, "a refusal is an answer, not a failure: %s", errs)
	require.Equal(t, `Flag: --descriptors="client=bob,path=/a=b x="
Flag: --dial_string="`+addr+`"
Flag: --domain="demo"
Flag: --grpc-cert-file=""
Flag: --grpc-key-file=""
Flag: --grpc-server-ca-file=""
Flag: --grpc-use-tls="false"
Flag: --hits_addend="3"
Flag: --timeout="5s"
response: overall_code:OVER_LIMIT statuses:{ code:OVER_LIMIT current_limit:{ name:"a: b  {c" requests_per_unit:5 unit:MINUTE } duration_until_reset:{ seconds:39 } }
`, out)
	asked, err := protojson.Marshal(f.asked)
	require.NoError(t, err)
	require.JSONEq(t, `{"domain":"demo","hitsAddend":3,"descriptors":[
		{"entries":[{"key":"client","value":"bob"},{"key":"path","value":"/a=b"}]},
		{"entries":[{"key":"x"}]}]}`, string(asked))
}

func TestFailures(t *testing.T) {
	_, addr := start(t)
	nowhere, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nowhere.Close()
	missing := filepath.Join(t.TempDir(), "missing.pem")
	ok := []string{"-domain", "d", "-descriptors", "a=b"}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"-dial_string", addr, "-domain", "bad", "-descriptors", "a=b"}, 1, "request error: rpc error: code = InvalidArgument desc = no such thing"},
		{append([]string{"-dial_string", nowhere.Addr().String()}, ok...), 1, "request error"},
		{[]string{"-domain", "d", "-descriptors", "ab"}, 2, "invalid descriptor list"},
		{[]string{"-domain", "d", "-descriptors", "=b"}, 2, "invalid descriptor list"},
		{[]string{"-domain", "d"}, 2, "-descriptors is missing"},
		{[]string{"-descriptors", "a=b"}, 2, "-domain is missing"},
		{append(ok, "extra"), 2, `unexpected argument "extra"`},
		{append([]string{"-hits_addend", "4294967296"}, ok...), 2, "too large"},
		{append([]string{"-grpc-cert-file", missing}, ok...), 2, "without -grpc-use-tls"},
		{append([]string{"-grpc-use-tls", "-grpc-cert-file", missing}, ok...), 2, "go together"},
		{append([]string{"-grpc-use-tls", "-grpc-server-ca-file", missing}, ok...), 1, missing},
	} {
		code, _, errs := call(t, c.args...)
		require.Equal(t, c.code, code, "%v: %s", c.args, errs)
		require.Contains(t, errs, c.says, "%v", c.args)
	}
}

func TestDescriptorsFlagIsAValue(t *testing.T) {
	var d descriptorsFlag
	require.NoError(t, d.Set("a=1,b=2"))
	require.Equal(t, "a=1,b=2", d.String())
	require.False(t, errors.Is(d.Set("c"), nil))
	require.Len(t, d.list, 1, "a bad one leaves the good ones alone")
}
