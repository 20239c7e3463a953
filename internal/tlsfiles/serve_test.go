package tlsfiles_test

import (
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/tlsfiles"
)

// mutualFiles returns the files of a server and of a client that trust each other.
func mutualFiles(t *testing.T) (tlsfiles.Files, tlsfiles.ClientFiles) {
	t.Helper()
	ca, dir := newAuthority(t, "ca"), t.TempDir()
	own, guest := ca.issue(t, nil, "server.example"), ca.issue(t, nil, "client.example")
	trusted := write(t, dir, "ca", ca.pem)
	server := tlsfiles.Files{ClientCA: trusted, ClientSAN: "client.example"}
	server.Cert, server.Key = write(t, dir, "crt", own.cert), write(t, dir, "key", own.key)
	client := tlsfiles.ClientFiles{CACert: trusted, SAN: "server.example"}
	client.Cert, client.Key = write(t, dir, "ccrt", guest.cert), write(t, dir, "ckey", guest.key)
	return server, client
}

// net/http negotiates HTTP/2 in the handshake like gRPC.
func TestHTTP(t *testing.T) {
	t.Parallel()
	files, clientFiles := mutualFiles(t)
	s, err := tlsfiles.NewServer(files, noLog(t))
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{TLSConfig: s.Config("h2", "http/1.1"), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.TLS.PeerCertificates[0].DNSNames[0])
	})}
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(l, "", "") }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
	})
	transport := &http.Transport{TLSClientConfig: clientConfig(t, clientFiles), ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+l.Addr().String(), nil)
	require.NoError(t, err)
	response, err := transport.RoundTrip(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "client.example", string(body))
	require.Equal(t, 2, response.ProtoMajor)
}
