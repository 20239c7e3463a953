// Package service implements the v3 rate limit service protocol, over gRPC and as JSON over
// HTTP, with a [ratelimit.Engine]. It mounts in any gRPC server and any router:
//
//	s := service.New(engine, nil)
//	ratelimitv3.RegisterRateLimitServiceServer(grpcServer, s)
//	mux.Handle("/json", s.JSON())
//
// A server that serves nothing else needs less time per call with the package's codec (see
// [Service.Register]):
//
//	grpcServer := grpc.NewServer(grpc.ForceServerCodecV2(service.Codec()))
//	s.Register(grpcServer)
//
// [Health] reports over gRPC and HTTP whether the service should receive calls:
//
//	health := service.NewHealth(nil)
//	health.Register(grpcServer)
//	mux.Handle("/healthcheck", health)
//	health.Set(true)
//
// [Counters] lets operators with a token read and change counters over gRPC.
//
// Both transports use one table of errors and statuses, see [Status] and [Service.JSON]. A
// panic in a counter store counts as a failure of that store.
//
// # Design notes
//
// The engine does not depend on protocol buffers. This package converts the generated
// types, and the codec avoids even that: it decodes requests into the engine's type and
// encodes decisions. The generated code handles whatever the codec does not support
// exactly, and fuzz tests compare the two.
//
// Strings that the codec decodes refer to the transport's buffer, which is retained until
// the response has been sent. Engine and stores retain no strings of a request.
//
// A descriptor with is_negative_hits refunds its hits: see ratelimit.Descriptor.Refund. Through the
// protocol that is also how a permit of a concurrency limit is released.
package service
