package service

import (
	"context"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
)

// Register registers s on a gRPC server as the generated
// RegisterRateLimitServiceServer does, but so that [Codec] can do its work:
//
//	srv := grpc.NewServer(grpc.ForceServerCodecV2(service.Codec()))
//	s.Register(srv)
//
// On a server without the codec, or with a unary interceptor, which expects the
// generated types, it works as the generated one does.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	desc := ratelimitv3.RateLimitService_ServiceDesc
	desc.Methods = []grpc.MethodDesc{{MethodName: "ShouldRateLimit", Handler: handle}}
	r.RegisterService(&desc, s)
}

func handle(srv any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	s := srv.(*Service)
	if interceptor != nil {
		return s.intercepted(ctx, decode, interceptor)
	}
	in := &wireRequest{call: s.call()}
	defer in.free(s)
	if err := decode(in); err != nil {
		return nil, err
	}
	return s.answer(ctx, in)
}

// answer decides what the codec decoded into the call, or else the generated type
// that another codec decoded.
func (s *Service) answer(ctx context.Context, in *wireRequest) (any, error) {
	if !in.decoded && in.err == nil {
		return s.ShouldRateLimit(ctx, &in.RateLimitRequest)
	}
	if s.recorder != nil {
		defer s.record(time.Now())
	}
	if in.err != nil {
		return nil, Status(ctx, s.failed(ctx, in.err)).Err()
	}
	c := in.call
	if err := s.run(ctx, c); err != nil {
		return nil, Status(ctx, err).Err()
	}
	if s.metadata {
		return s.response(c), nil
	}
	return wireResponse(s.appendResponse(nil, &c.decision)), nil
}

// intercepted is the generated handler.
func (s *Service) intercepted(ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	in := new(ratelimitv3.RateLimitRequest)
	if err := decode(in); err != nil {
		return nil, err
	}
	info := &grpc.UnaryServerInfo{Server: s, FullMethod: ratelimitv3.RateLimitService_ShouldRateLimit_FullMethodName}
	return interceptor(ctx, in, info, func(ctx context.Context, req any) (any, error) {
		return s.ShouldRateLimit(ctx, req.(*ratelimitv3.RateLimitRequest))
	})
}
