package httpx

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// ServeOptions are the choices of [Serve]. Nil, like each zero field, means the default.
type ServeOptions struct {
	ReadHeaderTimeout time.Duration // for the header of a request; default 10 s
	ReadTimeout       time.Duration // for a whole request; default 30 s
	WriteTimeout      time.Duration // from the header read to the answer written; default 60 s
	IdleTimeout       time.Duration // between two requests of a connection; default 2 min
	MaxHeaderBytes    int           // default 64 KiB

	// DrainDelay is how long all goes on after ctx has ended, so that load balancers can
	// notice what a health check says. Default: none.
	DrainDelay time.Duration
	// DrainTimeout is how long requests under way may take after that. Default: 20 s.
	DrainTimeout time.Duration

	// TLS, if not nil, is what the server speaks, HTTP/2 included. It must have
	// certificates.
	TLS *tls.Config
	// Log takes what net/http has to complain about. Default: slog.Default.
	Log *slog.Logger
}

// Serve answers requests on the listener until ctx ends, then lets those under way
// finish and returns nil; it closes the listener. An error is that of the listener, or
// says that TLS can't be spoken like that, or that requests did not finish within
// DrainTimeout and were cut off.
//
// The contexts of requests keep the values of ctx, and not its end: that is when they
// are to finish.
func Serve(ctx context.Context, l net.Listener, h http.Handler, opts *ServeOptions) error {
	o := ServeOptions{}
	if opts != nil {
		o = *opts
	}
	l = onceClosed{l, sync.OnceValue(l.Close)}
	defer l.Close() // net/http does, but for settings that it can't begin with
	if c := o.TLS; c != nil && len(c.Certificates) == 0 && c.GetCertificate == nil && c.GetConfigForClient == nil {
		return fmt.Errorf("serve on %s: TLS has no certificates: set Certificates, GetCertificate or GetConfigForClient", l.Addr())
	}
	server := o.server(ctx, h)
	failed := make(chan error, 1)
	go func() {
		if o.TLS != nil {
			failed <- server.ServeTLS(l, "", "")
		} else {
			failed <- server.Serve(l)
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

// onceClosed is a listener that may be closed more than once, which not all may.
type onceClosed struct {
	net.Listener
	close func() error
}

// Close closes the listener if that has not been done.
func (l onceClosed) Close() error { return l.close() }

func (o *ServeOptions) server(ctx context.Context, h http.Handler) *http.Server {
	log := o.Log
	if log == nil {
		log = slog.Default()
	}
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: cmp.Or(o.ReadHeaderTimeout, 10*time.Second),
		ReadTimeout:       cmp.Or(o.ReadTimeout, 30*time.Second),
		WriteTimeout:      cmp.Or(o.WriteTimeout, time.Minute),
		IdleTimeout:       cmp.Or(o.IdleTimeout, 2*time.Minute),
		MaxHeaderBytes:    cmp.Or(o.MaxHeaderBytes, 64<<10),
		TLSConfig:         o.TLS.Clone(), // net/http writes to it
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
}

// drain ends a server that is running, unless it fails while it is waited for.
func (o *ServeOptions) drain(ctx context.Context, server *http.Server, failed chan error) error {
	if o.DrainDelay > 0 {
		delay := time.NewTimer(o.DrainDelay)
		defer delay.Stop()
		select {
		case <-delay.C:
		case err := <-failed:
			failed <- err // for Serve
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
