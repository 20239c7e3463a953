package service

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Options are the choices of a Service.
type Options struct {
	// Headers, if not nil, adds the tightest limit of a request to the response
	// headers of the answer.
	Headers *ratelimit.HeaderNames
	// DynamicMetadata adds the request and the metadata of the rules it passed to
	// the answer. The engine must have Options.Metadata set for the latter.
	DynamicMetadata bool
	// MaxDescriptors is how many descriptors a request may have; each may have as many
	// entries as rules can be deep, ratelimit.MaxDepth. What has more is refused as
	// invalid: a few bytes on the wire make each of them, and many more in memory.
	// Default, when 0: 1,000.
	MaxDescriptors int
	// MaxBodyBytes is how long the body of a /json request may be. Default, when 0:
	// 1 MiB. For gRPC the server's own option rules: grpc.MaxRecvMsgSize, 4 MiB by
	// default.
	MaxBodyBytes int64
	// OnError, if not nil, is told of every request that could be read and was not
	// decided: the place to log and to count. It must not block.
	OnError func(ctx context.Context, err error)
	// Calls, if not nil, takes how long each gRPC call took from its request decoded to
	// its answer ready.
	Calls Recorder
	// Spans, if not nil, traces each decision; package tracing has one.
	Spans Spans
}

// Recorder takes durations. Any number of goroutines may call it; it must not block.
type Recorder interface{ Record(time.Duration) }

// Service answers the v3 rate limit service protocol from an Engine. It is an
// ordinary RateLimitServiceServer; registered by its own Register and with its
// Codec on the server, it costs less.
type Service struct {
	engine   *ratelimit.Engine
	headers  *ratelimit.HeaderNames
	metadata bool
	maxBody  int64
	most     int // descriptors in a request
	onError  func(context.Context, error)
	recorder Recorder
	spans    Spans
	calls    sync.Pool // of *call
}

var _ ratelimitv3.RateLimitServiceServer = (*Service)(nil)

// New returns a Service over engine. opts may be nil.
func New(engine *ratelimit.Engine, opts *Options) *Service {
	if opts == nil {
		opts = &Options{}
	}
	s := &Service{
		engine:   engine,
		headers:  opts.Headers,
		metadata: opts.DynamicMetadata,
		maxBody:  cmp.Or(opts.MaxBodyBytes, 1<<20),
		most:     cmp.Or(opts.MaxDescriptors, 1000),
		onError:  opts.OnError,
		recorder: opts.Calls,
		spans:    opts.Spans,
	}
	s.calls.New = func() any { return &call{most: s.most} }
	return s
}

// ShouldRateLimit decides one request. Errors are gRPC statuses: see [Status].
func (s *Service) ShouldRateLimit(ctx context.Context, in *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	if s.recorder != nil {
		defer s.record(time.Now())
	}
	out, err := s.decide(ctx, in)
	if err != nil {
		return nil, Status(ctx, err).Err()
	}
	return out, nil
}

func (s *Service) record(start time.Time) { s.recorder.Record(time.Since(start)) }

// decide answers one request of the generated types, with the engine's error.
func (s *Service) decide(ctx context.Context, in *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	c := s.call()
	defer s.release(c)
	if err := c.convert(in); err != nil {
		return nil, s.failed(ctx, err)
	}
	if err := s.run(ctx, c); err != nil {
		return nil, err
	}
	return s.response(c), nil
}

// run has the engine decide. A panic in its over-limit cache or statistics fails the call.
func (s *Service) run(ctx context.Context, c *call) (err error) {
	if s.spans != nil {
		var end func(error)
		ctx, end = s.span(ctx, c)
		defer func() { end(err) }()
	}
	defer func() {
		if p := recover(); p != nil {
			err = s.failed(ctx, fmt.Errorf("panic while deciding: %v\n%s", p, debug.Stack()))
		}
	}()
	if err := s.engine.DecideInto(ctx, &c.request, &c.decision); err != nil {
		return s.failed(ctx, err)
	}
	return nil
}

func (s *Service) failed(ctx context.Context, err error) error {
	if s.onError != nil {
		s.onError(ctx, err)
	}
	return err
}

// call is the memory of one call, kept for the next.
type call struct {
	request   ratelimit.Request
	decision  ratelimit.Decision
	entries   []ratelimit.Entry
	overrides []ratelimit.Override
	hits      []uint64
	most      int // descriptors
}

// A call that was made large by one request is not kept for small ones.
const keepEntries = 1 << 10

func (s *Service) call() *call { return s.calls.Get().(*call) }

func (s *Service) release(c *call) {
	if cap(c.entries) > keepEntries || cap(c.request.Descriptors) > keepEntries {
		return
	}
	c.reset()
	s.calls.Put(c)
}

// reset lets go of the request's strings, which may lie in a buffer that is about
// to be used for something else.
func (c *call) reset() {
	clear(c.entries)
	clear(c.request.Descriptors)
	c.entries, c.overrides, c.hits = c.entries[:0], c.overrides[:0], c.hits[:0]
	c.request = ratelimit.Request{Descriptors: c.request.Descriptors[:0]}
}
