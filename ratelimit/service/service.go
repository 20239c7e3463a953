package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Options are the optional parts of a Service. Nil, like each zero field, means the
// default.
type Options struct {
	// Headers, if not nil, adds the tightest limit of a request to the response headers.
	Headers *ratelimit.HeaderNames
	// AllHeaders adds to the response headers, for each descriptor with a limit, ratelimit-limit-<unit>s and
	// ratelimit-remaining-<unit>s, such as ratelimit-limit-minutes.
	AllHeaders bool
	// RequestHeaders, if not nil, adds the tightest limit to the headers that the caller sends to its upstream.
	RequestHeaders *ratelimit.HeaderNames
	// DynamicMetadata adds the request, and the metadata of the rules that it matched, to
	// the response. The latter requires Options.Metadata of the engine.
	DynamicMetadata bool
	// MaxDescriptors limits the descriptors of a request, and 16 times that many entries
	// in all of them together. Requests with more are invalid, because a few bytes on the
	// wire become many more in memory. Default: 1,000.
	MaxDescriptors int
	// MaxEntries limits the entries of a descriptor. Default: ratelimit.MaxDepth, since no
	// rule is deeper.
	MaxEntries int
	// MaxBodyBytes limits the body of a JSON request. Default: 1 MiB. For gRPC, use
	// grpc.MaxRecvMsgSize, whose default is 4 MiB.
	MaxBodyBytes int64
	// Timeout limits a decision, if it is above 0. Calls that a store keeps waiting for longer fail with
	// DeadlineExceeded. Failure policies decide what fails before that: give the store a shorter time limit.
	Timeout time.Duration
	// MaxConcurrent limits the decisions in progress, if it is above 0. Further calls fail at once, with
	// ResourceExhausted.
	MaxConcurrent int
	// OnError, if not nil, is called with the error of every request that could be read
	// and was not decided, to log and count it. It must not block.
	OnError func(ctx context.Context, err error)
	// OnDecision, if not nil, is called with each decision, to log it. It must not block and
	// not retain the request, the decision or their strings.
	OnDecision func(ctx context.Context, r *ratelimit.Request, d *ratelimit.Decision)
	// Calls, if not nil, records the duration of each gRPC call, from the decoded request
	// to the response.
	Calls Recorder
	// Spans, if not nil, traces each decision. Package tracing implements it.
	Spans Spans
}

// Recorder records durations. It must be safe for concurrent use and must not block.
type Recorder interface{ Record(time.Duration) }

// Service implements the v3 rate limit service with an Engine. It is an ordinary
// RateLimitServiceServer, and needs less time per call if it is registered by Register on a
// server with Codec.
type Service struct {
	ratelimitv3.UnimplementedRateLimitServiceServer // methods of future versions

	engine *ratelimit.Engine
	opts   Options
	bounds bounds
	calls  sync.Pool // of *call
	// permits holds a value for each decision in progress; nil without MaxConcurrent.
	permits chan struct{}
}

var _ ratelimitv3.RateLimitServiceServer = (*Service)(nil)

// New returns a Service over engine. opts may be nil.
func New(engine *ratelimit.Engine, opts *Options) *Service {
	s := &Service{engine: engine, opts: *cmp.Or(opts, &Options{})}
	s.opts.MaxBodyBytes = cmp.Or(s.opts.MaxBodyBytes, 1<<20)
	s.bounds = newBounds(&s.opts)
	if s.opts.MaxConcurrent > 0 {
		s.permits = make(chan struct{}, s.opts.MaxConcurrent)
	}
	s.calls.New = func() any { return &call{bounds: s.bounds} }
	return s
}

// ShouldRateLimit decides a request. Its errors are gRPC statuses, see [Status].
func (s *Service) ShouldRateLimit(ctx context.Context, in *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	if s.opts.Calls != nil {
		defer s.record(time.Now())
	}
	r := s.reserving(incoming(ctx))
	out, err := s.decide(ctx, in, r)
	if err != nil {
		return nil, Status(ctx, err).Err()
	}
	r.send(ctx)
	return out, nil
}

func (s *Service) record(start time.Time) { s.opts.Calls.Record(time.Since(start)) }

// decide decides a request of the generated type. Its errors are those of the engine.
func (s *Service) decide(ctx context.Context, in *ratelimitv3.RateLimitRequest, r *reserving) (*ratelimitv3.RateLimitResponse, error) {
	c := s.call()
	defer s.release(c)
	if err := c.convert(in); err != nil {
		return nil, s.failed(ctx, err)
	}
	if err := s.run(ctx, c, r); err != nil {
		return nil, err
	}
	return s.response(c), nil
}

// Errors of the service itself.
var (
	errBusy    = errors.New("too many requests at the same time: try again later")
	errTimeout = errors.New("the request could not be decided in time")
)

// run decides the call's request. A panic in the engine's over-limit cache or statistics
// fails the call.
func (s *Service) run(ctx context.Context, c *call, r *reserving) (err error) {
	if s.permits != nil {
		select {
		case s.permits <- struct{}{}:
			defer func() { <-s.permits }()
		default:
			return s.failed(ctx, errBusy)
		}
	}
	if s.opts.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.opts.Timeout, errTimeout)
		defer cancel()
	}
	if s.opts.Spans != nil {
		var end func(error)
		ctx, end = s.opts.Spans.StartSpan(ctx, decisionSpan, func() []slog.Attr { // copies of the request, whose memory is reused
			return []slog.Attr{slog.String("domain", strings.Clone(c.request.Domain)), slog.String("request string", requestText(&c.request))}
		})
		defer func() { end(err) }()
	}
	defer func() {
		if p := recover(); p != nil {
			err = s.failed(ctx, fmt.Errorf("panic while deciding: %v\n%s", p, debug.Stack()))
		}
	}()
	if err := r.decide(ctx, s.engine, c); err != nil {
		if errors.Is(context.Cause(ctx), errTimeout) {
			err = fmt.Errorf("%w: %w", errTimeout, err)
		}
		return s.failed(ctx, err)
	}
	if s.opts.OnDecision != nil {
		s.opts.OnDecision(ctx, &c.request, &c.decision)
	}
	return nil
}

func (s *Service) failed(ctx context.Context, err error) error {
	if s.opts.OnError != nil {
		s.opts.OnError(ctx, err)
	}
	return err
}

// call is the memory of a call, which the next one reuses.
type call struct {
	request   ratelimit.Request
	decision  ratelimit.Decision
	entries   []ratelimit.Entry
	overrides []ratelimit.Override
	hits      []uint64
	bounds    bounds
}

// maxPooledEntries limits the calls that are reused: a large request does not occupy memory
// for good.
const maxPooledEntries = 1 << 7

func (s *Service) call() *call { return s.calls.Get().(*call) }

func (s *Service) release(c *call) {
	if cap(c.entries) > maxPooledEntries || cap(c.request.Descriptors) > maxPooledEntries || cap(c.decision.Statuses) > maxPooledEntries {
		return
	}
	c.reset()
	s.calls.Put(c)
}

// reset removes the request's strings: they may refer to a buffer that is about to be
// reused.
func (c *call) reset() {
	clear(c.entries)
	clear(c.request.Descriptors)
	c.entries, c.overrides, c.hits = c.entries[:0], c.overrides[:0], c.hits[:0]
	c.request = ratelimit.Request{Descriptors: c.request.Descriptors[:0]}
}

// Register registers the service on a gRPC server like the generated
// RegisterRateLimitServiceServer, with a handler that uses [Codec]:
//
//	srv := grpc.NewServer(grpc.ForceServerCodecV2(service.Codec()))
//	s.Register(srv)
//
// Without the codec, and for unary interceptors, which expect the generated types, it
// behaves like the generated function.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	desc := ratelimitv3.RateLimitService_ServiceDesc
	desc.Methods = slices.Clone(desc.Methods)
	for i := range desc.Methods {
		if desc.Methods[i].MethodName == "ShouldRateLimit" {
			desc.Methods[i].Handler = handle
		}
	}
	r.RegisterService(&desc, s)
}

func handle(srv any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	s := srv.(*Service)
	if interceptor != nil { // as the generated handler does
		in := new(ratelimitv3.RateLimitRequest)
		if err := decode(in); err != nil {
			return nil, err
		}
		info := &grpc.UnaryServerInfo{Server: s, FullMethod: ratelimitv3.RateLimitService_ShouldRateLimit_FullMethodName}
		return interceptor(ctx, in, info, func(ctx context.Context, req any) (any, error) {
			return s.ShouldRateLimit(ctx, req.(*ratelimitv3.RateLimitRequest))
		})
	}
	in := &wireRequest{service: s}
	defer in.free()
	if err := decode(in); err != nil {
		return nil, err
	}
	return s.respond(ctx, in)
}

// respond decides the request that our codec decoded into the call, or another codec into
// the generated type.
func (s *Service) respond(ctx context.Context, in *wireRequest) (any, error) {
	if !in.decoded && in.err == nil {
		return s.ShouldRateLimit(ctx, &in.RateLimitRequest)
	}
	if s.opts.Calls != nil {
		defer s.record(time.Now())
	}
	if in.err != nil {
		return nil, Status(ctx, s.failed(ctx, in.err)).Err()
	}
	c, r := in.call, s.reserving(incoming(ctx))
	if err := s.run(ctx, c, r); err != nil {
		return nil, Status(ctx, err).Err()
	}
	r.send(ctx)
	if s.opts.DynamicMetadata {
		return s.response(c), nil
	}
	return wireResponse(s.appendResponse(nil, &c.decision)), nil
}

// outcome is the status of a kind of error on each transport.
type outcome struct {
	grpc codes.Code
	http int
}

// outcomes maps kinds of errors to statuses (REFERENCE.md, 8.5).
var outcomes = map[ratelimit.ErrorKind]outcome{
	ratelimit.Invalid:      {codes.InvalidArgument, http.StatusBadRequest},
	ratelimit.NotReady:     {codes.Unavailable, http.StatusServiceUnavailable},
	ratelimit.StoreFailure: {codes.Unavailable, http.StatusServiceUnavailable},
}

// Status returns the gRPC status of an error of the engine:
//
//	InvalidArgument              the request is invalid: no domain, no descriptors, an invalid override
//	Unavailable                  the counter store failed, or no configuration is loaded; the message says which
//	Canceled, DeadlineExceeded   the store failed because ctx ended, or Options.Timeout
//	ResourceExhausted            Options.MaxConcurrent
//	Internal                     other errors
//
// The message never contains the cause, which may name hosts.
func Status(ctx context.Context, err error) *status.Status {
	if ratelimit.KindOf(err) == ratelimit.StoreFailure && ctx.Err() != nil {
		return status.FromContextError(ctx.Err())
	}
	o, message := classify(err)
	return status.New(o.grpc, message)
}

func classify(err error) (outcome, string) {
	switch {
	case errors.Is(err, errBusy):
		return outcome{codes.ResourceExhausted, http.StatusServiceUnavailable}, errBusy.Error()
	case errors.Is(err, errTimeout):
		return outcome{codes.DeadlineExceeded, http.StatusGatewayTimeout}, errTimeout.Error()
	}
	if e, ok := errors.AsType[*ratelimit.Error](err); ok {
		if o, known := outcomes[e.Kind]; known {
			return o, e.Message
		}
	}
	return outcome{codes.Internal, http.StatusInternalServerError}, "internal error"
}

// Spans starts spans. attrs is called only if the span is recorded. end ends the span, with
// the error of the operation or nil.
type Spans interface {
	StartSpan(ctx context.Context, name string, attrs func() []slog.Attr) (spanContext context.Context, end func(error))
}

// Names of spans (REFERENCE.md, 8.6).
const (
	decisionSpan = "ShouldRateLimit Execution"
	jsonSpan     = "NewJsonHandler Remaining Execution"
)

// requestText formats a request for people.
func requestText(r *ratelimit.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "domain:%q", r.Domain)
	for i := range r.Descriptors {
		d := &r.Descriptors[i]
		b.WriteString(" descriptors:{")
		for j, e := range d.Entries {
			if j > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "entries:{key:%q value:%q}", e.Key, e.Value)
		}
		if d.Limit != nil {
			fmt.Fprintf(&b, " limit:{requests_per_unit:%d unit:%s", d.Limit.RequestsPerUnit, strings.ToUpper(d.Limit.Unit.String()))
			if d.Limit.UnitMultiplier > 0 {
				fmt.Fprintf(&b, " unit_multiplier:{value:%d}", d.Limit.UnitMultiplier)
			}
			b.WriteByte('}')
		}
		if d.HitsAddend != nil {
			fmt.Fprintf(&b, " hits_addend:{value:%d}", *d.HitsAddend)
		}
		if d.Refund {
			b.WriteString(" is_negative_hits:true")
		}
		b.WriteByte('}')
	}
	if r.HitsAddend != 0 {
		fmt.Fprintf(&b, " hits_addend:%d", r.HitsAddend)
	}
	return b.String()
}
