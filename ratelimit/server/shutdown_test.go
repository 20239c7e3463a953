package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/certstest"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

// A connection that has not completed its TLS or HTTP/2 handshake does not delay the
// shutdown: it has no calls that could finish.
func TestHandshakesDoNotDelayShutdown(t *testing.T) {
	authority, dir := certstest.NewAuthority(t), t.TempDir()
	cert, key := authority.Write(dir, "server", "localhost")
	for name, environ := range map[string]map[string]string{
		"plain": {},
		"TLS":   {"GRPC_SERVER_USE_TLS": "true", "GRPC_SERVER_TLS_CERT": cert, "GRPC_SERVER_TLS_KEY": key},
	} {
		t.Run(name, func(t *testing.T) {
			r := prepare(t, map[string]string{"d.yaml": goodConfig}, environ).start()
			silent, err := net.Dial("tcp", r.addr.GRPC.String())
			require.NoError(t, err)
			defer silent.Close()
			// The server accepts the first connection before it sends settings on the second.
			second, err := net.Dial("tcp", r.addr.GRPC.String())
			require.NoError(t, err)
			defer second.Close()
			if len(environ) > 0 {
				second = tls.Client(second, &tls.Config{RootCAs: authority.Pool(), ServerName: "localhost", NextProtos: []string{"h2"}})
			}
			_, err = second.Read(make([]byte, 1))
			require.NoError(t, err)
			began := time.Now()
			r.end()
			require.Less(t, time.Since(began), 3*time.Second)
		})
	}
}

// A server without a configured statsd logs no warning that statsd is missing.
func TestNoWarningsWithoutStatsd(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"DISABLE_STATS": "false", "LOG_LEVEL": "WARN"}).start()
	r.end()
	require.Empty(t, r.log.String())
}

func TestClose(t *testing.T) {
	unused := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"REDIS_URL": "127.0.0.1:1"})
	srv, err := server.New(t.Context(), unused.set, nil)
	require.NoError(t, err)
	require.True(t, srv.Healthy())
	require.NoError(t, srv.Close())
	require.NoError(t, srv.Close(), "again")
	require.ErrorContains(t, srv.Run(t.Context()), "called before")

	r := prepare(t, map[string]string{"d.yaml": goodConfig}, nil).start()
	require.NoError(t, r.srv.Close())
	require.NoError(t, r.wait())
	require.False(t, r.srv.Healthy())
}

func TestComponents(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED": "true"}).run()
	report := r.srv.AddComponent("quota database", false)
	r.await()
	code, _ := r.get("/healthcheck")
	require.Equal(t, 500, code)
	require.False(t, r.srv.Healthy())
	var names []string
	for _, c := range r.srv.Components() {
		names = append(names, c.Name)
		require.Equal(t, c.Name != "quota database", c.Healthy, "%+v", c)
		require.False(t, c.Since.IsZero())
	}
	require.Equal(t, []string{"termination", "configuration", "embedded counters", "quota database"}, names)
	report(true, "connected")
	require.True(t, r.healthy())
	require.Equal(t, "connected", r.srv.Components()[3].Reason)
	r.end()
	require.False(t, r.srv.Healthy())
	require.Equal(t, "the server is shutting down", r.srv.Components()[0].Reason)
	report(true, "connected")
	require.False(t, r.srv.Healthy(), "a server that is shutting down stays unhealthy")
}

// failingListener fails to accept, like a listener whose socket was closed.
type failingListener struct{ net.Listener }

func (failingListener) Accept() (net.Conn, error) { return nil, errors.New("accept: broken") }

// If a listener fails, the server ends without the drain delay, even if it is draining.
func TestFailedListenerEndsTheServer(t *testing.T) {
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{"SHUTDOWN_DRAIN_DELAY": "1h"})
	for _, draining := range []bool{false, true} {
		for _, failing := range []string{"gRPC", "HTTP"} {
			srv, err := server.New(t.Context(), r.set, &server.Options{Log: server.NewLogTo(r.log, r.set)})
			require.NoError(t, err)
			listeners := map[string]net.Listener{}
			for _, name := range []string{"gRPC", "HTTP"} {
				listeners[name], err = net.Listen("tcp", "127.0.0.1:0")
				require.NoError(t, err)
			}
			listeners[failing] = failingListener{listeners[failing]}
			ctx, cancel := context.WithCancel(t.Context())
			if draining {
				cancel()
			}
			err = server.ServeDecisions(srv, ctx, listeners["gRPC"], listeners["HTTP"], func() {})
			require.ErrorContains(t, err, "accept: broken", "%s, draining: %t", failing, draining)
			cancel()
			require.NoError(t, srv.Close())
		}
	}
}
