// Command grpcserver registers the rate limit service in a gRPC server, beside another service.
// The rules are Go values.
//
//	go run ./examples/grpcserver
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/service"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// limits returns the rules, which could also be loaded from a YAML file.
func limits() []ratelimit.Domain {
	return []ratelimit.Domain{{Name: "shop", Rules: []ratelimit.Rule{
		{Key: "user", Limit: new(ratelimit.Per(3, ratelimit.Minute))},
		{Key: "user", Value: "partner-*", Limit: new(ratelimit.Per(1000, ratelimit.Second))},
	}}}
}

func serve(ctx context.Context, addr string) error {
	rules, err := ratelimit.Compile(limits(), nil)
	if err != nil {
		return err // lists each invalid rule
	}
	engine := ratelimit.MustNew(memstore.MustNew(nil), nil)
	if err := engine.Use(rules); err != nil { // can be called again: calls in flight use the previous rules
		return err
	}

	// The codec makes decisions cheaper. It does not affect other services.
	server := grpc.NewServer(grpc.ForceServerCodecV2(service.Codec()))
	service.New(engine, nil).Register(server)
	health := service.NewHealth(nil)
	health.Register(server)
	health.Set(true)

	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on %[1]s; Ctrl-C ends it. Try, more than three times:\n\n  go run ./cmd/ratelimit-client -dial_string %[1]s -domain shop -descriptors user=ann\n\n", listener.Addr())
	context.AfterFunc(ctx, func() {
		health.Close()                              // ends watches, which never end by themselves
		time.AfterFunc(10*time.Second, server.Stop) // cancels calls that take too long
		server.GracefulStop()
	})
	if err := server.Serve(listener); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil // interrupted before Serve
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8083", "listen on `host:port`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	if err := serve(ctx, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "grpcserver:", err)
		os.Exit(1)
	}
}
