// Package grpclimit puts limits in front of the handlers of a gRPC server.
//
// [PerKey] is one limit with a counter for each key:
//
//	limiter, err := ratelimit.NewLimiter("clients", memstore.MustNew(nil), ratelimit.Per(100, ratelimit.Minute), nil)
//	// ...
//	limit := grpclimit.PerKey(limiter, grpclimit.Peer, nil)
//	server := grpc.NewServer(grpc.ChainUnaryInterceptor(limit.Unary), grpc.ChainStreamInterceptor(limit.Stream))
//
// [PerCall] holds calls to the rules of an engine. A stream counts once, when it is
// opened; with [PerMessage] each message that it receives counts instead. A call over its limit fails with ResourceExhausted, and its status has the time to
// retry after (google.rpc.RetryInfo).
//
// Under a limit of ratelimit.Concurrency a call holds its permit until its handler has returned,
// and a stream until it has ended. Whether the handler succeeds, fails or panics makes no
// difference.
//
// # Design notes
//
// As in package httplimit, a call passes when the decision fails, unless
// Options.FailClosed is set, and a call whose client has gone away neither passes nor
// counts as a failure. Calls that pass for that reason are never silent: Options.OnError gets the
// error, or else the log. A domain that the rules do not have is no failure: the engine logs it.
//
// PerMessage counts what clients send, because that is what a server has to be protected from. It
// refuses and does not wait: a stream that waits holds its memory and its place among the streams
// of a connection. Counting what the server sends is an option, for streams that clients pay by the
// message.
package grpclimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ashlar-go/ashlar/internal/clientkey"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/internal/unenforced"
)

// Options configure an Interceptor. The zero value, like nil, is ready for use.
type Options struct {
	// Headers are the names of the response headers that report a limit, sent with
	// every response if a limit was applied. Default: RateLimit-Limit,
	// RateLimit-Remaining and RateLimit-Reset.
	Headers ratelimit.HeaderNames
	// NoHeaders omits them.
	NoHeaders bool
	// CountSent makes PerMessage count the messages that a stream sends too.
	CountSent bool
	// FailClosed fails calls with Unavailable when the decision fails: the store failed, or the
	// engine has no rules yet. By default such calls pass, uncounted and without headers.
	FailClosed bool
	// OnError, if not nil, is called with the *ratelimit.Error of each failed decision,
	// but not for calls whose context is done, and when the permits that a call held under limits
	// of ratelimit.Concurrency can't be released: then they expire. It must
	// be safe for concurrent use and return soon: the call waits. Default: slog.Default gets one
	// warning a minute for each kind of error, which says what to do.
	OnError func(ctx context.Context, fullMethod string, err error)
}

// Interceptor limits the calls of a server. Unary and Stream are its interceptors.
type Interceptor struct {
	opts    Options
	decide  func(ctx context.Context, fullMethod string) (*ratelimit.Decision, error)
	mistake error // of the caller, which fails every call
	log     unenforced.Log

	perMessage bool // whether messages of streams count, instead of streams
}

// PerKey returns an Interceptor that holds calls to one limit, with a counter for each
// key. The key function returns the key of a call: [Peer], [Metadata] or the caller's
// own. A call with an empty key is not limited. A key of more than 256 bytes is replaced by
// a hash. If limiter or key is nil, every call fails with Internal, and the reason is logged once a
// minute. opts may be nil.
func PerKey(limiter *ratelimit.Limiter, key func(ctx context.Context, fullMethod string) string, opts *Options) *Interceptor {
	const needs = "grpclimit.PerKey needs a key function, and a limiter that ratelimit.NewLimiter returned without an error"
	return newInterceptor(opts, limiter != nil && key != nil, needs, func(ctx context.Context, fullMethod string) (*ratelimit.Decision, error) {
		k := key(ctx, fullMethod)
		if k == "" {
			return &ratelimit.Decision{}, nil
		}
		d := new(ratelimit.Decision)
		return d, limiter.AllowInto(ctx, clientkey.Short(k), 1, d)
	})
}

// PerCall returns an Interceptor that holds calls to the rules of one domain. The
// function describe returns the descriptors that the rules are matched with; a call
// without any is not limited. If engine or describe is nil or domain is empty, every call fails with
// Internal, and the reason is logged once a minute. opts may be nil.
func PerCall(engine *ratelimit.Engine, domain string, describe func(ctx context.Context, fullMethod string) []ratelimit.Descriptor, opts *Options) *Interceptor {
	const needs = "grpclimit.PerCall needs an engine, a domain and a function that describes calls"
	return newInterceptor(opts, engine != nil && describe != nil && domain != "", needs, func(ctx context.Context, fullMethod string) (*ratelimit.Decision, error) {
		descriptors := describe(ctx, fullMethod)
		if len(descriptors) == 0 {
			return &ratelimit.Decision{}, nil
		}
		return engine.Decide(ctx, &ratelimit.Request{Domain: domain, Descriptors: descriptors})
	})
}

func newInterceptor(opts *Options, complete bool, needs string, decide func(context.Context, string) (*ratelimit.Decision, error)) *Interceptor {
	i := &Interceptor{decide: decide, opts: *cmp.Or(opts, &Options{})}
	if !complete {
		i.mistake = errors.New(needs)
	}
	return i
}

// Unary is a grpc.UnaryServerInterceptor.
func (i *Interceptor) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	d, err := i.check(ctx, info.FullMethod, !i.opts.NoHeaders)
	if err != nil {
		return nil, err
	}
	defer i.release(ctx, info.FullMethod, d)
	return handler(ctx, req)
}

// Stream is a grpc.StreamServerInterceptor.
func (i *Interceptor) Stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if i.perMessage && i.mistake == nil {
		return i.streamMessages(srv, stream, info.FullMethod, handler)
	}
	d, err := i.check(stream.Context(), info.FullMethod, !i.opts.NoHeaders)
	if err != nil {
		return err
	}
	defer i.release(stream.Context(), info.FullMethod, d)
	return handler(srv, stream)
}

// release releases the permits of a call, if there is a decision about it.
func (i *Interceptor) release(ctx context.Context, fullMethod string, d *ratelimit.Decision) {
	if d == nil {
		return
	}
	if err := d.Release(ctx); err != nil {
		i.report(ctx, fullMethod, "grpclimit: permits of calls that have ended are not released until they expire", err)
	}
}

// report passes an error to OnError, or else logs it.
func (i *Interceptor) report(ctx context.Context, fullMethod, effect string, err error) {
	if i.opts.OnError != nil {
		i.opts.OnError(ctx, fullMethod, err)
		return
	}
	i.log.Warn(effect, err)
}

// check returns the status error of a call that is not to be handled, and the decision about one
// that holds permits.
func (i *Interceptor) check(ctx context.Context, fullMethod string, headers bool) (*ratelimit.Decision, error) {
	if i.mistake != nil {
		i.log.Warn("grpclimit: every call fails with Internal", i.mistake)
		return nil, status.Error(codes.Internal, "invalid rate limit")
	}
	d, err := i.decide(ctx, fullMethod)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	case err != nil && i.opts.FailClosed:
		i.report(ctx, fullMethod, "grpclimit: calls are refused because their rate limit is unknown", err)
		return nil, rejection(codes.Unavailable, "rate limit unavailable", time.Second)
	case err != nil:
		i.report(ctx, fullMethod, "grpclimit: calls pass without a rate limit", err)
		return &ratelimit.Decision{}, nil
	}
	if s := d.Tightest(); s != nil && headers {
		md := metadata.MD{}
		for _, f := range i.opts.Headers.Fields(s) {
			md.Set(f.Name, strconv.FormatUint(f.Value, 10))
		}
		// SetHeader fails only if another interceptor has sent the headers already.
		_ = grpc.SetHeader(ctx, md)
	}
	if d.Code == ratelimit.OverLimit {
		return nil, rejection(codes.ResourceExhausted, "too many requests", d.RetryAfter())
	}
	return d, nil
}

func rejection(code codes.Code, message string, retryAfter time.Duration) error {
	seconds := (retryAfter + time.Second - 1) / time.Second
	s := status.New(code, fmt.Sprintf("%s: try again in %d s", message, seconds))
	if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retryAfter)}); err == nil {
		s = detailed
	}
	return s.Err()
}

// Peer is a key function: the client's address without the port, an IPv6 address as its
// /64 network. Behind a proxy all clients share the proxy's address.
func Peer(ctx context.Context, _ string) string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return ""
	}
	addr := p.Addr.String()
	if host, ok := clientkey.Network(addr); ok {
		return host
	}
	return addr
}

// Metadata returns a key function for the first value of a name in the incoming
// metadata. A call without it is not limited. Clients can choose the value: use names
// that something trusted sets or has checked.
func Metadata(name string) func(ctx context.Context, fullMethod string) string {
	return func(ctx context.Context, _ string) string {
		if values := metadata.ValueFromIncomingContext(ctx, name); len(values) > 0 {
			return values[0]
		}
		return ""
	}
}
