package grpclimit

import (
	"cmp"
	"context"
	"io"
	"sync"

	"google.golang.org/grpc"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// PerMessage returns an Interceptor that holds messages to one limit, with a counter for each key:
// each message that a stream receives is a hit, and a unary call is one. Opening a stream is none.
// With [Options].CountSent each message that a stream sends is a hit too.
//
// A message over the limit does not reach the handler: receiving it fails with ResourceExhausted and
// the time to retry after, and so does the stream when the handler returns, whatever it returns. The
// messages before have been handled, so a client continues in a new stream. The headers of a stream
// do not report the limit, because they are sent only once.
//
// Under a limit of ratelimit.Concurrency a message that was received holds its permit until the
// handler receives the next one or the stream ends, and one that is sent until it is.
//
// Arguments are those of [PerKey]. To limit how many streams are opened as well, chain another
// Interceptor.
func PerMessage(limiter *ratelimit.Limiter, key func(ctx context.Context, fullMethod string) string, opts *Options) *Interceptor {
	i := PerKey(limiter, key, opts)
	i.perMessage = true
	return i
}

// messages is a stream whose messages are counted.
type messages struct {
	grpc.ServerStream
	limit      *Interceptor
	fullMethod string

	mu   sync.Mutex
	held *ratelimit.Decision // about the message received last, nil for none
	end  error               // why the stream ends; afterwards nothing is held
}

// streamMessages runs the handler of a stream whose messages are limited.
func (i *Interceptor) streamMessages(srv any, stream grpc.ServerStream, fullMethod string, handler grpc.StreamHandler) error {
	m := &messages{ServerStream: stream, limit: i, fullMethod: fullMethod}
	defer func() { _ = m.hold(nil, io.EOF) }() // a goroutine of the handler may still receive
	err := handler(srv, m)
	return cmp.Or(m.hold(nil, nil), err)
}

// RecvMsg implements grpc.ServerStream.
func (m *messages) RecvMsg(msg any) error {
	if err := m.hold(nil, nil); err != nil {
		return err
	}
	if err := m.ServerStream.RecvMsg(msg); err != nil {
		return err
	}
	return m.hold(m.limit.check(m.Context(), m.fullMethod, false))
}

// SendMsg implements grpc.ServerStream.
func (m *messages) SendMsg(msg any) error {
	if m.limit.opts.CountSent {
		d, err := m.limit.check(m.Context(), m.fullMethod, false)
		if err != nil {
			return m.hold(nil, err)
		}
		defer m.limit.release(m.Context(), m.fullMethod, d)
	}
	return m.ServerStream.SendMsg(msg)
}

// hold holds the permits of d instead of those before, which are released, and ends the stream if
// end is not nil. It returns why the stream ends.
func (m *messages) hold(d *ratelimit.Decision, end error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.limit.release(m.Context(), m.fullMethod, m.held)
	if m.end = cmp.Or(m.end, end); m.end != nil {
		m.limit.release(m.Context(), m.fullMethod, d)
		d = nil
	}
	m.held = d
	return m.end
}
