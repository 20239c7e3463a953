// Grpcserver mounts the rate limit service in a gRPC server that is yours, beside
// another service. The rules are plain Go values.
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

// limits is what a YAML file would say, as data.
func limits() []ratelimit.Domain {
	return []ratelimit.Domain{{Name: "shop", Rules: []ratelimit.Rule{
		{Key: "user", Limit: new(ratelimit.Per(3, ratelimit.Minute))},
		{Key: "user", Value: "partner-*", Limit: new(ratelimit.Per(1000, ratelimit.Second))},
	}}}
}

func serve(ctx context.Context, addr string) error {
	rules, err := ratelimit.Compile(limits(), nil)
	if err != nil {
		return err // names each rule that makes no sense
	}
	engine := ratelimit.New(memstore.New(nil), nil)
	engine.Use(rules) // again at any time: calls under way keep the old ones

	// With the codec a decision costs less. All other services are served as ever.
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
		health.Close()                              // those who watch it would stay for ever
		time.AfterFunc(10*time.Second, server.Stop) // and so would calls that never end
		server.GracefulStop()
	})
	if err := server.Serve(listener); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil // Ctrl-C came before Serve
}

func main() {
	addr := flag.String("addr", "127.0.0.1:8083", "listen on `host:port`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait
	if err := serve(ctx, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "grpcserver:", err)
		os.Exit(1)
	}
}
