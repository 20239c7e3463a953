package circuit

import (
	"context"
	"net"
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
