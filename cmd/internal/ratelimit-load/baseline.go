package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
)

// baselineDrain is the time that active calls have after the baseline is stopped.
const baselineDrain = 2 * time.Second

// baseline is the cheapest grpc-go server with generated code: it decodes the request and encodes a
// constant response, without options, interceptors or state.
type baseline struct {
	ratelimitv3.UnimplementedRateLimitServiceServer
}

// baselineResponse is that of a service with a matching rule.
var baselineResponse = &ratelimitv3.RateLimitResponse{
	OverallCode: ratelimitv3.RateLimitResponse_OK,
	Statuses: []*ratelimitv3.RateLimitResponse_DescriptorStatus{{
		Code: ratelimitv3.RateLimitResponse_OK,
		CurrentLimit: &ratelimitv3.RateLimitResponse_RateLimit{
			RequestsPerUnit: 1_000_000,
			Unit:            ratelimitv3.RateLimitResponse_RateLimit_MINUTE,
		},
		LimitRemaining: 999_999,
	}},
}

// ShouldRateLimit returns the constant response.
func (baseline) ShouldRateLimit(context.Context, *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	return baselineResponse, nil
}

// serveBaseline listens on addr, prints address and process id, and serves until ctx ends.
func serveBaseline(ctx context.Context, addr string, w io.Writer) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("-serve-baseline: %w", err)
	}
	if _, err := fmt.Fprintf(w, "baseline listens on %s, pid %d\n", listener.Addr(), os.Getpid()); err != nil {
		return err
	}
	server := grpc.NewServer()
	ratelimitv3.RegisterRateLimitServiceServer(server, baseline{})
	stopped := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(stopped)
		// Not for ever: a client that never finishes sending its request would hold the server.
		defer time.AfterFunc(baselineDrain, server.Stop).Stop()
		server.GracefulStop()
	})
	err = server.Serve(listener)
	if !cancel() {
		<-stopped
	}
	return err
}
