package grpclimit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/grpclimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

// talk serves streams in both directions, and returns a function that opens one.
func talk(t *testing.T, limit *grpclimit.Interceptor, handler func(grpc.ServerStream) error, opts ...grpc.ServerOption) func(context.Context) grpc.ClientStream {
	t.Helper()
	desc := grpc.StreamDesc{StreamName: "Talk", ClientStreams: true, ServerStreams: true, Handler: func(_ any, s grpc.ServerStream) error { return handler(s) }}
	server := grpc.NewServer(append(opts, grpc.ChainStreamInterceptor(limit.Stream))...)
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "test.Chat", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{desc}}, nil)
	conn := dial(t, server)
	return func(ctx context.Context) grpc.ClientStream {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		t.Cleanup(cancel)
		stream, err := conn.NewStream(ctx, &desc, "/test.Chat/Talk")
		require.NoError(t, err)
		return stream
	}
}

// exchange sends a message and returns the error of the reply.
func exchange(stream grpc.ClientStream) error {
	_ = stream.SendMsg(&healthpb.HealthCheckRequest{}) // the error is that of the stream, which RecvMsg returns
	return stream.RecvMsg(&healthpb.HealthCheckResponse{})
}

// echo replies to each message until receiving fails, and returns that error.
func echo(s grpc.ServerStream) error {
	for {
		if err := s.RecvMsg(&healthpb.HealthCheckRequest{}); err != nil {
			return err
		}
		if err := s.SendMsg(&healthpb.HealthCheckResponse{}); err != nil {
			return err
		}
	}
}

// Each message is a hit, in one stream or in several.
func TestPerMessage(t *testing.T) {
	for name, handler := range map[string]func(grpc.ServerStream) error{
		"returns the error": echo,
		"swallows it":       func(s grpc.ServerStream) error { _ = echo(s); return nil },
		"replaces it":       func(s grpc.ServerStream) error { _ = echo(s); return errors.New("oops") },
		"receives again":    func(s grpc.ServerStream) error { _ = echo(s); return echo(s) },
	} {
		t.Run(name, func(t *testing.T) {
			open := talk(t, grpclimit.PerMessage(limiter(t, memstore.MustNew(nil), 3), grpclimit.Peer, nil), handler)
			stream := open(t.Context())
			for range 2 {
				require.NoError(t, exchange(stream))
			}
			other := open(t.Context())
			require.NoError(t, exchange(other))
			for _, s := range []grpc.ClientStream{stream, other, open(t.Context())} {
				requireRejected(t, exchange(s), codes.ResourceExhausted, "too many requests: try again in 40 s", 40*time.Second)
			}
			header, err := stream.Header()
			require.NoError(t, err)
			require.Empty(t, header.Get("ratelimit-limit"))
		})
	}
}

// A stream of the server is one message of its client, unless sent messages count.
func TestSentMessages(t *testing.T) {
	for countSent, want := range map[bool]int{false: 3, true: 2} {
		client, _ := start(t, grpclimit.PerMessage(limiter(t, memstore.MustNew(nil), 3), grpclimit.Peer, &grpclimit.Options{CountSent: countSent}))
		stream, err := client.Watch(t.Context(), &healthpb.HealthCheckRequest{})
		require.NoError(t, err)
		for range want {
			_, err = stream.Recv()
			require.NoError(t, err)
		}
		_, err = stream.Recv()
		if countSent {
			requireRejected(t, err, codes.ResourceExhausted, "too many requests: try again in 40 s", 40*time.Second)
		} else {
			_, err := check(t, client)
			require.NoError(t, err, "a unary call is the second message of three")
		}
	}
}

// chargeFunc calls a function before each charge that is no release.
type chargeFunc struct {
	*memstore.Store
	before func()
}

func (s chargeFunc) Charge(ctx context.Context, charges []ratelimit.Charge) error {
	if len(charges) > 0 && !charges[0].Refund { // none asks for support
		s.before()
	}
	return s.Store.Charge(ctx, charges)
}

// A permit is released when the next message is received, and however a stream ends.
func TestPermitsOfMessages(t *testing.T) {
	l, err := ratelimit.NewLimiter("messages", memstore.MustNew(nil), atOnce(), nil)
	require.NoError(t, err)
	limit := grpclimit.PerMessage(l, grpclimit.Peer, nil)
	ended := make(chan struct{})
	var hold func(grpc.ServerStream) error
	open := talk(t, limit, func(s grpc.ServerStream) error { return hold(s) }, grpc.ChainStreamInterceptor(
		func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			defer func() { ended <- struct{}{} }()
			return handler(srv, stream)
		}))
	inUse := func(want codes.Code) {
		t.Helper()
		require.Equal(t, want, status.Code(func() error {
			hold := func(s grpc.ServerStream) error { return s.RecvMsg(&healthpb.HealthCheckRequest{}) }
			stream := talk(t, limit, hold)(t.Context())
			return exchange(stream)
		}()))
	}
	hold = echo
	stream := open(t.Context())
	for range 3 { // one message after the other
		require.NoError(t, exchange(stream))
	}
	require.NoError(t, stream.CloseSend())
	<-ended

	received := make(chan struct{})
	for _, end := range []func(grpc.ServerStream) error{
		func(grpc.ServerStream) error { return nil },
		func(s grpc.ServerStream) error { <-s.Context().Done(); return s.Context().Err() },
	} {
		hold = func(s grpc.ServerStream) error {
			if err := s.RecvMsg(&healthpb.HealthCheckRequest{}); err != nil {
				return err
			}
			received <- struct{}{}
			<-received
			return end(s)
		}
		ctx, cancel := context.WithCancel(t.Context())
		stream := open(ctx)
		require.NoError(t, stream.SendMsg(&healthpb.HealthCheckRequest{}))
		<-received
		inUse(codes.ResourceExhausted)
		received <- struct{}{}
		cancel()
		<-ended
		inUse(codes.Unknown) // the stream ended without a reply
	}
}

// A message that a goroutine of the handler receives after the handler has returned keeps no permit.
func TestMessageAfterTheEnd(t *testing.T) {
	charging, returned, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	l, err := ratelimit.NewLimiter("messages", chargeFunc{memstore.MustNew(nil), func() {
		select {
		case charging <- struct{}{}:
			<-returned
		case <-returned:
		}
	}}, atOnce(), nil)
	require.NoError(t, err)
	limit := grpclimit.PerMessage(l, func(context.Context, string) string { return "key" }, nil)
	open := talk(t, limit, func(s grpc.ServerStream) error {
		go func() { done <- s.RecvMsg(&healthpb.HealthCheckRequest{}) }()
		<-charging
		return nil
	})
	require.Error(t, exchange(open(t.Context()))) // io.EOF: the handler has returned
	close(returned)
	require.Error(t, <-done)
	s, err := l.AllowN(t.Context(), "key", 1)
	require.NoError(t, err)
	require.True(t, s.Allowed(), "the permit is still held")
}

func TestMessagesFailClosed(t *testing.T) {
	store := storeFunc(func(context.Context) error { return errors.New("connection refused") })
	failed := 0
	opts := &grpclimit.Options{FailClosed: true, OnError: func(context.Context, string, error) { failed++ }}
	open := talk(t, grpclimit.PerMessage(limiter(t, store, 3), grpclimit.Peer, opts), echo)
	requireRejected(t, exchange(open(t.Context())), codes.Unavailable, "rate limit unavailable: try again in 1 s", time.Second)
	require.Equal(t, 1, failed)

	defaultLog(t)
	broken := talk(t, grpclimit.PerMessage(nil, grpclimit.Peer, nil), echo)
	require.Equal(t, codes.Internal, status.Code(exchange(broken(t.Context()))))
}
