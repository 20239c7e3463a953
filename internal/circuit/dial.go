package circuit

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"
)

const (
	// redialAfter is when another connection is tried beside one that is still being opened.
	redialAfter = 100 * time.Millisecond
	// maxRedial limits all but the first, so that there are few at once.
	maxRedial = 300 * time.Millisecond
)

// Dial returns the first connection that dial establishes, or its first error. It calls dial
// again every 100 milliseconds, because a packet that was lost is repeated only after a
// second, and sends a new one at once. dial must return soon after its context has ended.
func Dial(ctx context.Context, dial func(context.Context) (net.Conn, error)) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result)
	try := func(limited context.Context) {
		conn, err := dial(limited)
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			return // others are being opened
		}
		select {
		case results <- result{conn, err}:
		case <-ctx.Done():
			if err == nil {
				_ = conn.Close()
			}
		}
	}
	again := time.NewTicker(redialAfter)
	defer again.Stop()
	go try(ctx)
	for {
		select {
		case r := <-results:
			return r.conn, r.err
		case <-again.C:
			go func() {
				limited, cancel := context.WithTimeout(ctx, maxRedial)
				defer cancel()
				try(limited)
			}()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// DialTLS is like Dial, and begins TLS unless config is nil. transport carries conn. A config
// without ServerName stands for the host of addr.
func DialTLS(ctx context.Context, config *tls.Config, addr string, dial func(context.Context) (net.Conn, error)) (conn, transport net.Conn, err error) {
	if transport, err = Dial(ctx, dial); err != nil || config == nil {
		return transport, transport, err
	}
	if host, _, err := net.SplitHostPort(addr); err == nil && config.ServerName == "" {
		config = config.Clone()
		config.ServerName = strings.TrimSuffix(host, ".")
	}
	encrypted := tls.Client(transport, config)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		_ = transport.Close() // closing TLS might have to wait for the peer
		return nil, nil, fmt.Errorf("TLS: %w", err)
	}
	return encrypted, transport, nil
}
