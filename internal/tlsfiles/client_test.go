package tlsfiles_test

import (
	"crypto/tls"
	"crypto/x509"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/internal/tlsfiles"
)

// plain starts a server that does not use this package.
func plain(t *testing.T, own issued, clients *authority) string {
	t.Helper()
	pair, err := tls.X509KeyPair(own.cert, own.key)
	require.NoError(t, err)
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if clients != nil {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		config.ClientCAs.AddCert(clients.cert)
	}
	return listen(t, config)
}

func clientConfig(t *testing.T, files tlsfiles.ClientFiles) *tls.Config {
	t.Helper()
	config, err := tlsfiles.ClientConfig(files, noLog(t))
	require.NoError(t, err)
	return config
}

// Each setting of a client accepts certain servers.
func TestClientVerifies(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, limit func(*tls.Config) *tls.Config) {
		ca, stranger, dir := newAuthority(t, "ca"), newAuthority(t, "stranger"), t.TempDir()
		trusted := write(t, dir, "ca", ca.pem)
		elsewhere := func(c *x509.Certificate) { c.IPAddresses = nil } // not for the host dialled
		servers := map[string]string{
			"right":     plain(t, ca.issue(t, nil, "right.example"), nil),
			"elsewhere": plain(t, ca.issue(t, elsewhere, "right.example"), nil),
			"stranger":  plain(t, stranger.issue(t, nil, "right.example"), nil),
			"expired":   plain(t, ca.issue(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, "right.example"), nil),
			"no server": plain(t, ca.issue(t, func(c *x509.Certificate) {
				c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
			}, "right.example"), nil),
		}
		for name, row := range map[string]struct {
			files tlsfiles.ClientFiles
			fine  string // the servers that are accepted
		}{
			"authority":          {tlsfiles.ClientFiles{CACert: trusted}, "right"},
			"authority and name": {tlsfiles.ClientFiles{CACert: trusted, SAN: "right.example"}, "right elsewhere"},
			"another name":       {tlsfiles.ClientFiles{CACert: trusted, SAN: "wrong.example"}, ""},
			"an address":         {tlsfiles.ClientFiles{CACert: trusted, SAN: "127.0.0.1"}, "right"},
			"any name":           {tlsfiles.ClientFiles{CACert: trusted, SkipHostnameVerification: true}, "right elsewhere"},
			"system":             {tlsfiles.ClientFiles{}, ""},
			"system, any name":   {tlsfiles.ClientFiles{SkipHostnameVerification: true}, ""},
		} {
			config := limit(clientConfig(t, row.files))
			for server, addr := range servers {
				_, err := visit(addr, config)
				if strings.Contains(row.fine, server) {
					require.NoError(t, err, "%s: %s", name, server)
					continue
				}
				var rejected *tls.CertificateVerificationError
				require.ErrorAs(t, err, &rejected, "%s: %s", name, server)
			}
		}
	})
}

// Without verification of the name, the chain is still verified, with intermediates and
// for resumed sessions.
func TestSkipHostnameVerification(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, limit func(*tls.Config) *tls.Config) {
		root, dir := newAuthority(t, "root"), t.TempDir()
		middle := root.intermediate(t, "middle")
		own := middle.issue(t, func(c *x509.Certificate) { c.IPAddresses = nil })
		own.cert = append(own.cert, middle.pem...)
		clock := new(clock)
		config, err := tlsfiles.ClientConfig(tlsfiles.ClientFiles{
			CACert: write(t, dir, "ca", root.pem), SkipHostnameVerification: true,
		}, &tlsfiles.Options{Now: clock.now})
		require.NoError(t, err)
		config = limit(config)
		config.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		addr := plain(t, own, nil)
		_, err = visit(addr, config)
		require.NoError(t, err)
		state, err := visit(addr, config)
		require.NoError(t, err)
		require.True(t, state.DidResume)

		clock.pass(2 * time.Hour) // for the client only
		_, err = visit(addr, config)
		require.Error(t, err)
	})
}

func TestClientCertificateIsSent(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, limit func(*tls.Config) *tls.Config) {
		ca, dir := newAuthority(t, "ca"), t.TempDir()
		guest := ca.issue(t, nil)
		addr := plain(t, ca.issue(t, nil), ca)
		files := tlsfiles.ClientFiles{CACert: write(t, dir, "ca", ca.pem)}
		_, err := visit(addr, limit(clientConfig(t, files)))
		require.Error(t, err)
		files.Cert, files.Key = write(t, dir, "crt", guest.cert), write(t, dir, "key", guest.key)
		_, err = visit(addr, limit(clientConfig(t, files)))
		require.NoError(t, err)
	})
}

// witness starts a server that reports the certificates of its clients.
func witness(t *testing.T, ca *authority) (addr string, shown <-chan []byte) {
	t.Helper()
	own := ca.issue(t, nil)
	pair, err := tls.X509KeyPair(own.cert, own.key)
	require.NoError(t, err)
	seen := make(chan []byte, 1)
	return listen(t, &tls.Config{
		Certificates: []tls.Certificate{pair},
		ClientAuth:   tls.RequireAnyClientCert,
		MinVersion:   tls.VersionTLS12,
		VerifyConnection: func(state tls.ConnectionState) error {
			seen <- state.PeerCertificates[0].Raw
			return nil
		},
	}), seen
}

// A new pair is used from the next handshake on. One that can't be used is logged once,
// and the previous one is used.
func TestClientCertificateIsReloaded(t *testing.T) {
	t.Parallel()
	ca, dir, log := newAuthority(t, "ca"), t.TempDir(), new(logtest.Log)
	first, second := ca.issue(t, nil), ca.issue(t, nil)
	addr, seen := witness(t, ca)
	config, err := tlsfiles.ClientConfig(tlsfiles.ClientFiles{
		CACert: write(t, dir, "ca", ca.pem),
		Cert:   write(t, dir, "crt", first.cert),
		Key:    write(t, dir, "key", first.key),
	}, &tlsfiles.Options{Log: log.Logger()})
	require.NoError(t, err)
	shown := func() []byte {
		t.Helper()
		_, err := visit(addr, config)
		require.NoError(t, err)
		return <-seen
	}
	require.Equal(t, first.der, shown())
	require.Empty(t, log.String())

	write(t, dir, "crt", second.cert)
	for range 3 {
		require.Equal(t, first.der, shown())
	}
	require.Equal(t, 1, log.Count("level=WARN"), log.String())
	require.Contains(t, log.String(), filepath.Join(dir, "key"))

	write(t, dir, "key", second.key)
	require.Equal(t, second.der, shown())

	write(t, dir, "key", first.key)
	require.Equal(t, second.der, shown())
	require.Equal(t, 2, log.Count("level=WARN"), "logged again after a valid one")
}

func TestHandshakesDuringRotation(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t, "ca"), t.TempDir()
	first, second := ca.issue(t, nil), ca.issue(t, nil)
	addr := plain(t, ca.issue(t, nil), ca)
	config, err := tlsfiles.ClientConfig(tlsfiles.ClientFiles{
		CACert: write(t, dir, "ca", ca.pem),
		Cert:   write(t, dir, "crt", first.cert),
		Key:    write(t, dir, "key", first.key),
	}, &tlsfiles.Options{Log: new(logtest.Log).Logger()})
	require.NoError(t, err)
	done := make(chan struct{})
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() { visitUntil(t, done, addr, config) })
	}
	for i := range 20 {
		own := []issued{second, first}[i%2]
		write(t, dir, "crt", own.cert)
		write(t, dir, "key", own.key)
	}
	close(done)
	group.Wait()
}

func TestServerNameErrors(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"fe80::1%eth0", "[::1]", "*.example.com", "a b", "."} {
		_, err := tlsfiles.ClientConfig(tlsfiles.ClientFiles{SAN: name}, noLog(t))
		require.ErrorContains(t, err, "DNS name", "%q", name)
	}
	for _, name := range []string{"10.0.0.7", "::1", "fe80::1", "localhost", "config.example.com"} {
		_, err := tlsfiles.ClientConfig(tlsfiles.ClientFiles{SAN: name}, noLog(t))
		require.NoError(t, err, "%q", name)
	}
}

func TestContradictingClientSettings(t *testing.T) {
	t.Parallel()
	_, err := tlsfiles.ClientConfig(tlsfiles.ClientFiles{SAN: "right.example", SkipHostnameVerification: true}, nil)
	require.ErrorContains(t, err, "not verified")
}
