package grpclimit_test

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/grpclimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// A tenant may have one report in progress. The permit is released when the handler has returned.
func ExamplePerKey_concurrency() {
	limiter, err := ratelimit.NewLimiter("reports", memstore.MustNew(nil), ratelimit.Limit{
		Algorithm: ratelimit.Concurrency, RequestsPerUnit: 1, Unit: ratelimit.Hour,
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	tenant := func(context.Context, string) string { return "acme" }
	limit := grpclimit.PerKey(limiter, tenant, &grpclimit.Options{NoHeaders: true})

	call := func(handler grpc.UnaryHandler) {
		_, err := limit.Unary(context.Background(), nil, &grpc.UnaryServerInfo{FullMethod: "/reports.v1.Reports/Make"}, handler)
		fmt.Println(err)
	}
	for range 2 {
		call(func(context.Context, any) (any, error) {
			call(nil) // while the first is in progress
			return nil, nil
		})
	}
	// Output:
	// rpc error: code = ResourceExhausted desc = too many requests: try again in 1 s
	// <nil>
	// rpc error: code = ResourceExhausted desc = too many requests: try again in 1 s
	// <nil>
}

// A tenant may send 100 messages a second, in as many streams as it likes.
func ExamplePerMessage() {
	limiter, err := ratelimit.NewLimiter("messages", memstore.MustNew(nil), ratelimit.Per(100, ratelimit.Second), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	limit := grpclimit.PerMessage(limiter, grpclimit.Metadata("x-tenant"), nil)
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(limit.Unary), grpc.ChainStreamInterceptor(limit.Stream))
	defer server.Stop()
	// Register services and serve.
}
