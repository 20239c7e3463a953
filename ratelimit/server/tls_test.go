package server_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/internal/certstest"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

// secured is a server with mutual TLS.
type secured struct {
	*running
	dir              string
	servers, clients *certstest.Authority
}

func secure(t *testing.T) *secured {
	t.Helper()
	s := &secured{dir: t.TempDir(), servers: certstest.NewAuthority(t), clients: certstest.NewAuthority(t)}
	cert, key := s.servers.Write(s.dir, "server", "limits.example")
	s.running = prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"GRPC_SERVER_USE_TLS": "true", "GRPC_SERVER_TLS_CERT": cert, "GRPC_SERVER_TLS_KEY": key,
		"GRPC_CLIENT_TLS_CACERT": s.clients.WriteCA(s.dir, "clients.pem"), "GRPC_CLIENT_TLS_SAN": "proxy.example",
	}).start()
	return s
}

// call makes a call on a new connection, from a client that trusts an authority.
func (s *secured) call(trusts *certstest.Authority, own ...tls.Certificate) error {
	s.t.Helper()
	creds := credentials.NewTLS(&tls.Config{RootCAs: trusts.Pool(), ServerName: "limits.example", Certificates: own})
	conn, err := grpc.NewClient(s.addr.GRPC.String(), grpc.WithTransportCredentials(creds))
	require.NoError(s.t, err)
	defer conn.Close()
	_, err = ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(s.t.Context(), ask("d", "x"))
	return err
}

func TestMutualTLS(t *testing.T) {
	s := secure(t)
	require.NoError(t, s.call(s.servers, s.clients.Issue("proxy.example")))
	for why, err := range map[string]error{
		"no certificate":        s.call(s.servers),
		"another authority's":   s.call(s.servers, s.servers.Issue("proxy.example")),
		"another name":          s.call(s.servers, s.clients.Issue("other.example")),
		"server is not trusted": s.call(s.clients, s.clients.Issue("proxy.example")),
	} {
		require.Equal(t, codes.Unavailable, status.Code(err), why)
	}
	s.end()
}

// A new certificate and new client authorities take effect without a restart; invalid
// files change nothing.
func TestCertificatesAreReloaded(t *testing.T) {
	t.Parallel()
	s := secure(t)
	proxy := s.clients.Issue("proxy.example")
	next := certstest.NewAuthority(t)
	next.Write(s.dir, "server", "limits.example")
	s.becomes("the new certificate is served", func() bool { return s.call(next, proxy) == nil })
	require.Error(t, s.call(s.servers, proxy), "the old one is not accepted")

	before := s.count("certs.load_failures") // perhaps one, of a certificate that was there before its key
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "server.key"), []byte("not a key"), 0o600))
	s.becomes("the failure is counted", func() bool { return s.count("certs.load_failures") > before })
	require.Contains(t, s.log.String(), "server.key")
	require.NotContains(t, s.log.String(), "not a key")
	require.NoError(t, s.call(next, proxy), "the previous certificate stays active")

	next.Write(s.dir, "server", "limits.example")
	others := certstest.NewAuthority(t)
	others.WriteCA(s.dir, "clients.pem")
	s.becomes("the new client authority is trusted", func() bool { return s.call(next, others.Issue("proxy.example")) == nil })
	require.Error(t, s.call(next, proxy), "the old one is not accepted")
	s.end()
}

func TestBadCertificates(t *testing.T) {
	dir := t.TempDir()
	cert, _ := certstest.NewAuthority(t).Write(dir, "server")
	_, otherKey := certstest.NewAuthority(t).Write(dir, "other")
	r := prepare(t, map[string]string{"d.yaml": goodConfig}, map[string]string{
		"GRPC_SERVER_USE_TLS": "true", "GRPC_SERVER_TLS_CERT": cert, "GRPC_SERVER_TLS_KEY": otherKey,
	})
	_, err := server.New(t.Context(), r.set, nil)
	require.ErrorContains(t, err, "GRPC_SERVER_TLS_KEY")
	require.ErrorContains(t, err, otherKey)
}
