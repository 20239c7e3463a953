// Package service answers the v3 rate limit service protocol, over gRPC and as
// JSON over HTTP, from a [ratelimit.Engine]. It mounts in any gRPC server and any
// router:
//
//	s := service.New(engine, nil)
//	ratelimitv3.RegisterRateLimitServiceServer(grpcServer, s)
//	mux.Handle("/json", s.JSON())
//
// A server that is made for this one service is cheaper to run with the package's
// own codec (see [Service.Register]):
//
//	grpcServer := grpc.NewServer(grpc.ForceServerCodecV2(service.Codec()))
//	s.Register(grpcServer)
//
// [Health] tells over gRPC and HTTP whether calls are welcome:
//
//	health := service.NewHealth(nil)
//	health.Register(grpcServer)
//	mux.Handle("/healthcheck", health)
//	health.Set(true)
//
// Errors follow one table for both transports, see [Status] and [Service.JSON]. A
// panic in a counter store counts as a failure of that store.
//
// # Design notes
//
// The engine knows nothing of protocol buffers. The generated types are converted
// at this edge, and the codec skips even that: it decodes the bytes into the
// engine's request and encodes its decision. What the codec does not know to the
// last bit, it leaves to the generated code, and a fuzz test holds the two against
// each other; so it can be fast without being another opinion on the protocol.
//
// Strings that the codec decodes point into the transport's buffer, which is kept
// until the call has been answered. Neither engine nor stores keep strings of a
// request, so nothing outlives it.
//
// Two fields of newer versions of the protocol are refused where they would change
// the meaning: is_negative_hits and a unit_multiplier other than 1. To ignore them
// would count what the caller wanted given back, or over the wrong window.
package service
