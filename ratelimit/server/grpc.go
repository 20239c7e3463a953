package server

import (
	"errors"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/ashlar-go/ashlar/ratelimit/service"
)

// handshakeTimeout is how long a new connection may be silent. The library waits for
// such connections before it stops, whatever the deadline.
const handshakeTimeout = 5 * time.Second

// maxStreams bounds the calls that one connection can have under way. A proxy
// shares one connection among many requests, so the bound is high.
const maxStreams = 10_000

func (s *Server) grpcServer() *grpc.Server {
	opts := []grpc.ServerOption{
		grpc.ForceServerCodecV2(service.Codec()),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(handshakeTimeout),
		// The library spreads the age by 10% either way.
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionAge:      s.settings.GRPCMaxConnectionAge,
			MaxConnectionAgeGrace: s.settings.GRPCMaxConnectionAgeGrace,
		}),
	}
	if s.certs != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(s.certs.Config("h2"))))
	}
	if s.tracing != nil {
		opts = append(opts, grpc.StatsHandler(s.tracing.GRPC()))
	}
	g := grpc.NewServer(opts...)
	s.service.Register(g)
	s.probe.Register(g)
	return g
}

func serveGRPC(g *grpc.Server, l net.Listener) error {
	if err := g.Serve(l); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil // it was stopped before it began to serve
}
