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

// floorDrain is how long the floor lets calls end once it is told to stop.
const floorDrain = 2 * time.Second

// A floor is the least that a plain grpc-go server with the generated code costs:
// it decodes the request, looks at nothing, and encodes one constant answer. It
// has no options, no interceptors and no state on purpose.
type floor struct {
	ratelimitv3.UnimplementedRateLimitServiceServer
	answer *ratelimitv3.RateLimitResponse
}

// newFloor returns a floor that answers OK with one status, which has a limit as
// the answer of a service with a matching rule has.
func newFloor() *floor {
	return &floor{answer: &ratelimitv3.RateLimitResponse{
		OverallCode: ratelimitv3.RateLimitResponse_OK,
		Statuses: []*ratelimitv3.RateLimitResponse_DescriptorStatus{{
			Code: ratelimitv3.RateLimitResponse_OK,
			CurrentLimit: &ratelimitv3.RateLimitResponse_RateLimit{
				RequestsPerUnit: 1_000_000,
				Unit:            ratelimitv3.RateLimitResponse_RateLimit_MINUTE,
			},
			LimitRemaining: 999_999,
		}},
	}}
}

// ShouldRateLimit returns the constant answer.
func (f *floor) ShouldRateLimit(context.Context, *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	return f.answer, nil
}

// serveFloor listens on addr, says where and as which process on w, and serves
// until ctx ends.
func serveFloor(ctx context.Context, addr string, w io.Writer) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("-serve-floor: %w", err)
	}
	if _, err := fmt.Fprintf(w, "floor listens on %s, pid %d\n", listener.Addr(), os.Getpid()); err != nil {
		return err
	}
	server := grpc.NewServer()
	ratelimitv3.RegisterRateLimitServiceServer(server, newFloor())
	stopped := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(stopped)
		stopFloor(server)
	})
	err = server.Serve(listener)
	if !cancel() {
		<-stopped
	}
	return err
}

// stopFloor lets calls end, but not for longer than the drain time: a client that
// never finishes sending its request would hold it for ever.
func stopFloor(server *grpc.Server) {
	defer time.AfterFunc(floorDrain, server.Stop).Stop()
	server.GracefulStop()
}
