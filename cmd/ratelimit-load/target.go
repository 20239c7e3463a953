package main

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

const (
	// method is the gRPC method under load.
	method = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
	// probeTimeout bounds the first call on a connection, its dialling included.
	probeTimeout = 3 * time.Second
)

// A target is a service to load, with the processes whose CPU time it costs.
type target struct {
	name  string // in a comparison, else empty
	addr  string
	pids  []int
	conns []*grpc.ClientConn
}

// connect opens n connections and proves each with one call, which is answered
// before connect returns. A service that is not there, or answers with an error,
// is an error within probeTimeout.
func (t *target) connect(ctx context.Context, n int, probe []byte) error {
	for range n {
		conn, err := dial(t.addr)
		if err != nil {
			return fmt.Errorf("%s is no address to call: %w; want host:port", t.addr, err)
		}
		t.conns = append(t.conns, conn)
		if err := t.probe(ctx, conn, probe); err != nil {
			return err
		}
	}
	return nil
}

func (t *target) probe(ctx context.Context, conn *grpc.ClientConn, request []byte) error {
	first, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	x := &exchange{request: request}
	if err := conn.Invoke(first, method, x, x); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("first call to %s: %s: %s; want a v3 rate limit service that answers there",
			t.addr, status.Code(err), status.Convert(err).Message())
	}
	return nil
}

// close closes the connections. What that may report does not matter any more.
func (t *target) close() {
	for _, conn := range t.conns {
		_ = conn.Close()
	}
	t.conns = nil
}

// dial makes a connection with everything switched off that a call does not
// need. It dials on the first call.
func dial(addr string) (*grpc.ClientConn, error) {
	return grpc.NewClient(addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(byteCodec{})),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableHealthCheck(),
		grpc.WithNoProxy(),
		grpc.WithIdleTimeout(0), // a target that waits for its round stays connected
	)
}
