package service

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime/debug"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/clientkey"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// CountersService is the name of the gRPC service of [Counters].
const CountersService = "ashlar.ratelimit.v1.Counters"

// CountersOptions are the options of a Counters. Token is required.
type CountersOptions struct {
	// Token must be sent by callers; it has at least httpx.MinTokenBytes bytes. Use random ones.
	Token string
	// OnDenied, if not nil, is called for each call that is not authorized, with the status of
	// the response. It must not block. Calls may be many.
	OnDenied func(ctx context.Context, address string, err error)
	// Now is the clock of the minutes in which calls without the token are counted. Default:
	// the system's.
	Now func() time.Time
	// OnCall, if not nil, is called after each authorized call with a valid message, to log it.
	OnCall func(ctx context.Context, c *CountersCall)
}

// CountersCall is a call of a Counters. It is valid until OnCall returns.
type CountersCall struct {
	Method  string // Get, Reset or GiveBack
	Address string // of the caller, with the port; "unix" for a unix socket
	Request *ratelimit.Request
	States  []ratelimit.CounterState // of each descriptor; nil after an error
	Err     error                    // after which some counters may have been changed
}

// Counters is a gRPC service for operators, CountersService, whose methods Get, Reset and GiveBack
// read and change the counters of a request's descriptors: see [ratelimit.Engine.Counters],
// ResetCounters and GiveBack. Messages are those of ShouldRateLimit; the response's dynamic metadata
// has a list "counters" with the members "used" and "algorithm", in the order of the descriptors.
//
// A call needs the metadata "authorization: Bearer <token>" (RFC 6750), and is refused unless its
// connection is encrypted or within the machine: TLS, or a unix socket or a loopback address without a
// proxy ([httpx.Forwarded]). Errors are those of [Status], and:
//
//	Unauthenticated      no token, or not the right one
//	ResourceExhausted    the same, after 10 such calls of this address in a minute
//	FailedPrecondition   the connection is not private, or the counter store lacks the operation
type Counters struct {
	service *Service
	opts    CountersOptions
	guard   *httpx.TokenGuard
}

// Counters returns a service for the counters of the engine. It fails if the token is too short.
func (s *Service) Counters(opts *CountersOptions) (*Counters, error) {
	guard, err := httpx.NewTokenGuard(opts.Token, opts.Now)
	if err != nil {
		return nil, err
	}
	c := &Counters{service: s, opts: *opts, guard: guard}
	c.opts.Token = ""
	return c, nil
}

// Register registers the service on a gRPC server. Unary interceptors run after the token was checked.
func (c *Counters) Register(r grpc.ServiceRegistrar) {
	r.RegisterService(&grpc.ServiceDesc{
		ServiceName: CountersService,
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			c.method("Get", (*ratelimit.Engine).Counters),
			c.method("Reset", (*ratelimit.Engine).ResetCounters),
			c.method("GiveBack", (*ratelimit.Engine).Refund),
		},
		Metadata: countersFile,
	}, c)
}

// operation is a method of the engine.
type operation func(*ratelimit.Engine, context.Context, *ratelimit.Request) ([]ratelimit.CounterState, error)

// method returns a method that decodes its message only after it has checked the token.
func (c *Counters) method(name string, run operation) grpc.MethodDesc {
	handle := func(_ any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		address, err := c.authorize(ctx)
		if err != nil {
			if c.opts.OnDenied != nil {
				c.opts.OnDenied(ctx, address, err)
			}
			return nil, err
		}
		in := new(ratelimitv3.RateLimitRequest)
		if err := decode(in); err != nil {
			return nil, err
		}
		call := func(ctx context.Context, in any) (any, error) {
			out, err := c.call(ctx, name, address, run, in.(*ratelimitv3.RateLimitRequest))
			switch {
			case errors.Is(err, errors.ErrUnsupported):
				return nil, status.Error(codes.FailedPrecondition, err.Error())
			case err != nil:
				return nil, Status(ctx, err).Err()
			}
			return out, nil
		}
		if interceptor == nil {
			return call(ctx, in)
		}
		return interceptor(ctx, in, &grpc.UnaryServerInfo{Server: c, FullMethod: "/" + CountersService + "/" + name}, call)
	}
	return grpc.MethodDesc{MethodName: name, Handler: handle}
}

// authorize returns the caller's address, and an error unless the call has the token.
func (c *Counters) authorize(ctx context.Context) (address string, err error) {
	address, key, private := caller(ctx)
	token := ""
	if values := metadata.ValueFromIncomingContext(ctx, "authorization"); len(values) == 1 {
		token = httpx.BearerToken(values[0])
	}
	switch err = c.guard.Check(key, private, token); {
	case errors.Is(err, httpx.ErrTokenFailures):
		err = status.Error(codes.ResourceExhausted, err.Error())
	case errors.Is(err, httpx.ErrTokenExposed):
		err = status.Error(codes.FailedPrecondition, "the connection is not private: use TLS, a unix socket or a loopback address, without a proxy")
	case err != nil:
		err = status.Error(codes.Unauthenticated, err.Error()+": send it as metadata, authorization: Bearer <token>")
	}
	return address, err
}

// caller returns the address of a call's peer, the key of its failures, and whether nobody can read
// what it sends.
func caller(ctx context.Context) (address, key string, private bool) {
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return "unknown", "", false
	}
	headers, _ := metadata.FromIncomingContext(ctx)
	direct := !httpx.Forwarded(headers)
	if p.Addr.Network() == "unix" {
		return "unix", "unix", direct
	}
	address = p.Addr.String()
	key, ok = clientkey.Network(address)
	if info, has := p.AuthInfo.(interface {
		GetCommonAuthInfo() credentials.CommonAuthInfo
	}); has && info.GetCommonAuthInfo().SecurityLevel == credentials.PrivacyAndIntegrity {
		private = direct
	} else if ip, err := netip.ParseAddrPort(address); err == nil {
		private = direct && ip.Addr().Unmap().IsLoopback()
	}
	return address, key, private && ok
}

// call runs an operation. A panic in the engine's over-limit cache fails the call.
func (c *Counters) call(ctx context.Context, method, address string, run operation, in *ratelimitv3.RateLimitRequest) (out *ratelimitv3.RateLimitResponse, err error) {
	request := c.service.call()
	defer c.service.release(request)
	if err := request.convert(in); err != nil {
		return nil, err
	}
	report := &CountersCall{Method: method, Address: address, Request: &request.request}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in %s: %v\n%s", method, p, debug.Stack())
		}
		if report.Err = err; c.opts.OnCall != nil {
			c.opts.OnCall(ctx, report)
		}
	}()
	if report.States, err = run(c.service.engine, ctx, &request.request); err != nil {
		return nil, err
	}
	return countersResponse(report.States), nil
}

func countersResponse(states []ratelimit.CounterState) *ratelimitv3.RateLimitResponse {
	out := &ratelimitv3.RateLimitResponse{OverallCode: ratelimitv3.RateLimitResponse_OK}
	list := make([]any, len(states))
	for i := range states {
		s := &states[i]
		if s.Code == ratelimit.OverLimit {
			out.OverallCode = ratelimitv3.RateLimitResponse_OVER_LIMIT
		}
		out.Statuses = append(out.Statuses, descriptorStatus(&s.Status))
		counter := map[string]any{}
		if s.Limited {
			counter["used"], counter["algorithm"] = float64(s.Used), s.Algorithm.String()
		}
		list[i] = counter
	}
	out.DynamicMetadata = jsonValue(map[string]any{"counters": list}).GetStructValue()
	return out
}
