package httpx

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// ServeOptions configures [Serve]. Nil and zero fields mean the defaults.
type ServeOptions struct {
	ReadHeaderTimeout time.Duration // for the header of a request; default 10 s
	ReadTimeout       time.Duration // for a whole request with its body; default 30 s
	WriteTimeout      time.Duration // from the end of the header to the end of the response; default 60 s
	WriteStallTimeout time.Duration // for the client to accept 64 KiB of a response; default 10 s
	IdleTimeout       time.Duration // between two requests of a connection; default 2 min
	MaxHeaderBytes    int           // default 16 KiB

	// MaxConnections is the maximum number of open connections, by default 1024.
	// MaxConnectionsPerAddress is that of one client address, by default 128; it does not apply to
	// TrustedProxies. [LimitListener] describes which connection is closed at a limit.
	MaxConnections           int
	MaxConnectionsPerAddress int
	TrustedProxies           []netip.Prefix
	// MaxStreams is the maximum number of concurrent requests of an HTTP/2 connection.
	// Default: 100.
	MaxStreams int

	// DrainDelay is the time for which the server continues after ctx ends, so that load balancers notice
	// a failing health check. Default: none.
	DrainDelay time.Duration
	// DrainTimeout is the time that active requests may take after that. Default: 20 s.
	DrainTimeout time.Duration

	// TLS, if set, makes the server use TLS, HTTP/2 included. It must have certificates.
	TLS *tls.Config
	// Log receives errors of net/http. Default: slog.Default().
	Log *slog.Logger
}

// Serve serves requests on the listener until ctx ends, then waits for active requests and
// returns nil. It closes the listener. The error is that of the listener, an invalid TLS
// configuration, or that requests did not finish within DrainTimeout and were cut off.
//
// The contexts of requests have the values of ctx, but do not end with it.
func Serve(ctx context.Context, l net.Listener, h http.Handler, opts *ServeOptions) error {
	o := *cmp.Or(opts, &ServeOptions{})
	l = onceClosed{l, sync.OnceValue(l.Close)}
	defer l.Close() // net/http closes it unless the settings are invalid
	conns := newConnections(l, &ConnectionLimits{
		Total: o.MaxConnections, PerAddress: o.MaxConnectionsPerAddress, Exempt: o.TrustedProxies,
		WriteStall: o.WriteStallTimeout, Log: o.Log,
	})
	conns.reported = true
	if c := o.TLS; c != nil && len(c.Certificates) == 0 && c.GetCertificate == nil && c.GetConfigForClient == nil {
		return fmt.Errorf("serve on %s: TLS has no certificates: set Certificates, GetCertificate or GetConfigForClient", l.Addr())
	}
	server := o.server(ctx, h, conns)
	failed := make(chan error, 1)
	go func() {
		if o.TLS != nil {
			failed <- server.ServeTLS(conns, "", "")
		} else {
			failed <- server.Serve(conns)
		}
	}()
	select {
	case err := <-failed:
		_ = server.Close()
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	err := o.drain(ctx, server, failed)
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// onceClosed is a listener that may be closed more than once.
type onceClosed struct {
	net.Listener
	close func() error
}

// Close closes the listener once.
func (l onceClosed) Close() error { return l.close() }

// The bytes of request bodies that net/http buffers for HTTP/2, per connection and stream.
const (
	connectionWindow = 128 << 10
	streamWindow     = 64 << 10
)

func (o *ServeOptions) server(ctx context.Context, h http.Handler, conns *connections) *http.Server {
	return &http.Server{
		Handler:           followBodies(h),
		ReadHeaderTimeout: cmp.Or(o.ReadHeaderTimeout, 10*time.Second),
		ReadTimeout:       cmp.Or(o.ReadTimeout, 30*time.Second),
		WriteTimeout:      cmp.Or(o.WriteTimeout, time.Minute),
		IdleTimeout:       cmp.Or(o.IdleTimeout, 2*time.Minute),
		MaxHeaderBytes:    cmp.Or(o.MaxHeaderBytes, 16<<10),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          min(cmp.Or(o.MaxStreams, 100), math.MaxInt32),
			MaxReceiveBufferPerConnection: connectionWindow,
			MaxReceiveBufferPerStream:     streamWindow,
		},
		TLSConfig:   o.TLS.Clone(), // net/http modifies it
		ErrorLog:    slog.NewLogLogger(cmp.Or(o.Log, slog.Default()).Handler(), slog.LevelWarn),
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ConnContext: conns.connContext,
		ConnState:   conns.connState,
		// The handler answers OPTIONS *, with the headers and limits of all other responses.
		DisableGeneralOptionsHandler: true,
	}
}

// drain waits for DrainDelay, unless the server fails, and shuts it down.
func (o *ServeOptions) drain(ctx context.Context, server *http.Server, failed chan error) error {
	if o.DrainDelay > 0 {
		delay := time.NewTimer(o.DrainDelay)
		defer delay.Stop()
		select {
		case <-delay.C:
		case err := <-failed:
			failed <- err // Serve reads it
		}
	}
	timeout := cmp.Or(o.DrainTimeout, 20*time.Second)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		_ = server.Close()
		return fmt.Errorf("requests did not finish within %v and were cut off: %w", timeout, err)
	}
	return nil
}
