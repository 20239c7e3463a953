package xds_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

// inPipe makes a client use dial instead of the network, which a synctest bubble lacks.
func inPipe(opts xds.Options, dial func(context.Context) (net.Conn, error)) *xds.Options {
	opts.Log = slog.New(slog.DiscardHandler)
	opts.DialOptions = append(opts.DialOptions, grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) }))
	return &opts
}

// bubble runs a client in a synctest bubble and ends it.
func bubble(t *testing.T, opts *xds.Options, updates *[]*xds.Update, during func(failures <-chan error)) {
	t.Helper()
	client, err := xds.New("passthrough:///server", opts)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	failures := make(chan error, 1000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		client.Run(ctx,
			func(u *xds.Update) error { *updates = append(*updates, u); return nil },
			func(err error) { failures <- err })
	}()
	defer func() { cancel(); <-done }()
	during(failures)
}

// serveInBubble starts a scripted server in a synctest bubble.
func serveInBubble(talk func(discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error) (l *pipeListener, stop func()) {
	l = newPipeListener()
	srv := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(srv, scripted{talk: talk})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	return l, func() {
		srv.Stop()
		<-done
	}
}

// Until the server was reached once, the first wait is RetryInterval.
func TestScheduleOfMissingServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		opts := inPipe(xds.Options{}, func(context.Context) (net.Conn, error) {
			at = append(at, time.Since(began))
			return nil, errors.New("no server")
		})
		var waits []time.Duration
		bubble(t, opts, &[]*xds.Update{}, func(failures <-chan error) {
			for range 10 {
				err := <-failures
				require.ErrorContains(t, err, "no server")
				waits = append(waits, waitOf(t, err).Round(100*time.Millisecond))
			}
		})
		require.Equal(t, "[3s 4.5s 6.8s 10.1s 15.2s 22.8s 34.2s 51.3s 1m0s 1m0s]", text(waits))
		for i := 1; i < len(waits); i++ {
			require.InDelta(t, waits[i-1].Seconds(), (at[i] - at[i-1]).Seconds(), 0.1, "attempts follow the waits")
		}
	})
}

// Once the server was reached, waits grow from Backoff.Initial even if it responds before
// it ends each stream. They start over after a useful stream.
func TestScheduleOfServerThatEndsStreams(t *testing.T) {
	t.Parallel()
	script := []struct {
		absent, responds bool
		lasts            time.Duration
		wait             string
	}{
		{absent: true, wait: "3s"},
		{absent: true, wait: "4.5s"},
		{responds: true, wait: "10s"},
		{responds: true, wait: "15s"},
		{absent: true, wait: "22.5s"},
		{responds: true, lasts: 10 * time.Second, wait: "10s"},
		{lasts: 10 * time.Second, wait: "15s"},
		{lasts: 59 * time.Second, wait: "22.5s"},
		{lasts: 60 * time.Second, wait: "10s"},
		{responds: true, wait: "15s"},
	}
	synctest.Test(t, func(t *testing.T) {
		attempt := -1
		l, stop := serveInBubble(func(s discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
			step := script[attempt]
			if step.responds {
				if err := s.Send(response("v")); err != nil {
					return err
				}
			}
			<-time.After(step.lasts)
			return nil
		})
		defer stop()
		opts := inPipe(xds.Options{}, func(ctx context.Context) (net.Conn, error) {
			attempt++
			if attempt == len(script) || script[attempt].absent {
				return nil, errors.New("no server")
			}
			return l.dial(ctx)
		})
		bubble(t, opts, &[]*xds.Update{}, func(failures <-chan error) {
			for i, step := range script {
				require.Equal(t, step.wait, waitOf(t, <-failures).String(), "attempt %d", i)
			}
		})
	})
}

// A silent server is detected by keepalive pings.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, stop := serveInBubble(func(s discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
			if err := s.Send(response("v")); err != nil {
				return err
			}
			<-s.Context().Done()
			return nil
		})
		defer stop()
		var updates []*xds.Update
		bubble(t, inPipe(xds.Options{}, l.dial), &updates, func(failures <-chan error) {
			synctest.Wait()
			began := time.Now()
			l.frozen.Store(true)
			err := <-failures
			require.ErrorContains(t, err, "keepalive ping failed")
			require.InDelta(t, (5*time.Minute + 20*time.Second).Seconds(), time.Since(began).Seconds(), 1)
		})
		require.Len(t, updates, 1)
	})
}

// A server that accepts connections and sends nothing is detected after 20 seconds.
func TestConnectTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ends []net.Conn
		defer func() {
			for _, end := range ends {
				end.Close()
			}
		}()
		opts := inPipe(xds.Options{}, func(context.Context) (net.Conn, error) {
			client, server := net.Pipe()
			ends = append(ends, server)
			return client, nil
		})
		bubble(t, opts, &[]*xds.Update{}, func(failures <-chan error) {
			began := time.Now()
			err := <-failures
			require.InDelta(t, 20, time.Since(began).Seconds(), 0.1)
			require.Regexp(t, "configuration server passthrough:///server: .*; next attempt in 3s", err.Error())
		})
	})
}

// With Jitter, waits are between half of the schedule and all of it.
func TestScheduleWithJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts := inPipe(xds.Options{
			RetryInterval: time.Second,
			Backoff:       xds.Backoff{Factor: 1, Max: 4 * time.Second, Jitter: true},
		}, func(context.Context) (net.Conn, error) { return nil, errors.New("no server") })
		bubble(t, opts, &[]*xds.Update{}, func(failures <-chan error) {
			random := false
			for _, longest := range []time.Duration{1, 2, 4, 4, 4, 4} {
				wait := waitOf(t, <-failures)
				require.LessOrEqual(t, wait, longest*time.Second)
				require.GreaterOrEqual(t, wait, longest*time.Second/2)
				random = random || wait != longest*time.Second
			}
			require.True(t, random)
		})
	})
}
