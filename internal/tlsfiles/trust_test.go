package tlsfiles_test

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/tlsfiles"
)

// mutual is a server that requires client certificates.
type mutual struct {
	*tlsfiles.Server
	ca   *authority // of the server's own certificate, which clients know
	dir  string
	addr string
}

func newMutual(t *testing.T, san string, trusted ...[]byte) *mutual {
	t.Helper()
	m := &mutual{ca: newAuthority(t, "server ca"), dir: t.TempDir()}
	own := m.ca.issue(t, nil)
	s, err := tlsfiles.NewServer(tlsfiles.Files{
		Cert:      write(t, m.dir, "crt", own.cert),
		Key:       write(t, m.dir, "key", own.key),
		ClientCA:  write(t, m.dir, "ca", trusted...),
		ClientSAN: san,
	}, noLog(t))
	require.NoError(t, err)
	m.Server, m.addr = s, listen(t, s.Config("h2"))
	return m
}

// trust replaces the authorities.
func (m *mutual) trust(t *testing.T, trusted ...[]byte) {
	t.Helper()
	write(t, m.dir, "ca", trusted...)
	changed, err := m.Reload()
	require.NoError(t, err)
	require.True(t, changed)
}

func TestClientCertificates(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, limit func(*tls.Config) *tls.Config) {
		trusted, stranger := newAuthority(t, "trusted"), newAuthority(t, "stranger")
		m := newMutual(t, "", trusted.pem)
		_, err := visit(m.addr, limit(client(t, m.ca, trusted.issue(t, nil))))
		require.NoError(t, err)

		for name, own := range map[string][]issued{
			"none":                nil,
			"another authority's": {stranger.issue(t, nil)},
			"expired":             {trusted.issue(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })},
			"not for clients": {trusted.issue(t, func(c *x509.Certificate) {
				c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
			})},
		} {
			config := limit(client(t, m.ca, own...))
			if len(own) > 0 { // sent even if the server requests those of others
				config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
					return &config.Certificates[0], nil
				}
			}
			_, err := visit(m.addr, config)
			require.ErrorContains(t, err, "remote error: tls:", name)
		}
	})
}

func TestClientSAN(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, limit func(*tls.Config) *tls.Config) {
		trusted := newAuthority(t, "trusted")
		m := newMutual(t, "envoy.example.com", trusted.pem)
		for _, row := range []struct {
			names  []string
			change func(*x509.Certificate)
			in     bool
		}{
			{names: []string{"envoy.example.com"}, in: true},
			{names: []string{"other.example.com", "ENVOY.example.com"}, in: true},
			{names: []string{"*.example.com"}, in: true},
			{names: []string{"other.example.com"}},
			{names: []string{"envoy.example.com.evil.example"}},
			{names: []string{"*.envoy.example.com", "example.com"}},
			{names: nil},
			// The common name does not count as a DNS name.
			{change: func(c *x509.Certificate) { c.Subject.CommonName = "envoy.example.com" }},
			{change: func(c *x509.Certificate) { c.EmailAddresses = []string{"envoy.example.com"} }},
		} {
			_, err := visit(m.addr, limit(client(t, m.ca, trusted.issue(t, row.change, row.names...))))
			if row.in {
				require.NoError(t, err, "%q", row.names)
			} else {
				require.ErrorContains(t, err, "bad certificate", "%q", row.names)
			}
		}
		// The right name from the wrong authority.
		stranger := newAuthority(t, "stranger")
		_, err := visit(m.addr, limit(client(t, m.ca, stranger.issue(t, nil, "envoy.example.com"))))
		require.Error(t, err)
	})
}

func TestReloadClientCA(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, limit func(*tls.Config) *tls.Config) {
		before, after := newAuthority(t, "before"), newAuthority(t, "after")
		m := newMutual(t, "", before.pem)
		older, newer := limit(client(t, m.ca, before.issue(t, nil))), limit(client(t, m.ca, after.issue(t, nil)))
		admitted := func(c *tls.Config) bool { _, err := visit(m.addr, c); return err == nil }
		require.True(t, admitted(older))
		require.False(t, admitted(newer))

		m.trust(t, before.pem, after.pem) // the usual way: both for a while
		require.True(t, admitted(older))
		require.True(t, admitted(newer))

		m.trust(t, after.pem)
		require.False(t, admitted(older))
		require.True(t, admitted(newer))
	})
}

// A session can be resumed while its authority is trusted, also after a change of the server's
// certificate.
func TestResumption(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, limit func(*tls.Config) *tls.Config) {
		trusted := newAuthority(t, "trusted")
		m := newMutual(t, "envoy.example.com", trusted.pem)
		config := limit(client(t, m.ca, trusted.issue(t, nil, "envoy.example.com")))
		config.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		resumed := func() bool {
			t.Helper()
			state, err := visit(m.addr, config)
			require.NoError(t, err)
			return state.DidResume
		}
		require.False(t, resumed())
		require.True(t, resumed())
		require.True(t, resumed(), "again and again")

		renewed := m.ca.issue(t, nil)
		write(t, m.dir, "crt", renewed.cert)
		write(t, m.dir, "key", renewed.key)
		changed, err := m.Reload()
		require.NoError(t, err)
		require.True(t, changed)
		require.True(t, resumed())

		m.trust(t, trusted.pem, newAuthority(t, "another").pem)
		require.True(t, resumed(), "the client's authority is still trusted")
	})
}

// A session can't be resumed after its authority was removed.
func TestResumptionAfterAuthorityIsRemoved(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, limit func(*tls.Config) *tls.Config) {
		before, after := newAuthority(t, "before"), newAuthority(t, "after")
		m := newMutual(t, "", before.pem)
		config := limit(client(t, m.ca, before.issue(t, nil)))
		config.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		for range 2 {
			_, err := visit(m.addr, config)
			require.NoError(t, err)
		}
		m.trust(t, after.pem)
		for range 3 {
			_, err := visit(m.addr, config)
			require.ErrorContains(t, err, "remote error: tls:")
		}
		m.trust(t, before.pem)
		_, err := visit(m.addr, config)
		require.NoError(t, err)
	})
}

// A ticket is valid for the server that issued it, not for another one in the process with
// other authorities.
func TestTicketsOfAnotherServer(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, limit func(*tls.Config) *tls.Config) {
		one, two := newAuthority(t, "one"), newAuthority(t, "two")
		m := newMutual(t, "", one.pem)
		other := newMutual(t, "", two.pem)
		config := limit(client(t, m.ca, one.issue(t, nil)))
		config.RootCAs.AddCert(other.ca.cert)
		config.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		_, err := visit(m.addr, config)
		require.NoError(t, err)
		_, err = visit(other.addr, config)
		require.Error(t, err)
	})
}

// A session can't be resumed after the client's certificate has expired.
func TestResumptionAfterExpiry(t *testing.T) {
	t.Parallel()
	versions(t, func(t *testing.T, limit func(*tls.Config) *tls.Config) {
		ca, dir := newAuthority(t, "ca"), t.TempDir()
		own := ca.issue(t, nil)
		clock := new(clock)
		s, err := tlsfiles.NewServer(tlsfiles.Files{
			Cert:     write(t, dir, "crt", own.cert),
			Key:      write(t, dir, "key", own.key),
			ClientCA: write(t, dir, "ca", ca.pem),
		}, &tlsfiles.Options{Now: clock.now})
		require.NoError(t, err)
		addr := listen(t, s.Config())
		config := limit(client(t, ca, ca.issue(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(10 * time.Minute) })))
		config.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		_, err = visit(addr, config)
		require.NoError(t, err)
		state, err := visit(addr, config)
		require.NoError(t, err)
		require.True(t, state.DidResume)

		clock.pass(20 * time.Minute) // for the server only
		_, err = visit(addr, config)
		require.ErrorContains(t, err, "remote error: tls:")
	})
}
