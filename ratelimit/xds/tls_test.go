package xds_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, pool: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "authority"},
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	a.cert, a.key = a.sign(template)
	a.pool.AddCert(a.cert)
	return a
}

// sign signs with the authority's key, or, if it has none, with the new one.
func (a *authority) sign(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(a.t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	return cert, key
}

// issue makes a certificate for a DNS name.
func (a *authority) issue(name string) tls.Certificate {
	cert, key := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{name},
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

// trusting is a client's TLS configuration.
func (a *authority) trusting(name string, own ...tls.Certificate) *tls.Config {
	return &tls.Config{RootCAs: a.pool, ServerName: name, Certificates: own, MinVersion: tls.VersionTLS12}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	plain := &tls.Config{Certificates: []tls.Certificate{ours.issue("config.example")}, MinVersion: tls.VersionTLS12}
	mutual := plain.Clone()
	mutual.ClientAuth, mutual.ClientCAs = tls.RequireAndVerifyClientCert, ours.pool
	cases := []struct {
		name           string
		server, client *tls.Config
		want           string // in the error; empty for success
	}{
		{"TLS", plain, ours.trusting("config.example"), ""},
		{"mutual TLS", mutual, ours.trusting("config.example", ours.issue("client")), ""},
		{"no client certificate", mutual, ours.trusting("config.example"), "certificate required"},
		{"foreign client certificate", mutual, ours.trusting("config.example", theirs.issue("client")), "tls: "},
		{"another name", plain, ours.trusting("other.example"), "certificate is valid for config.example, not other.example"},
		{"foreign server certificate", plain, theirs.trusting("config.example"), "certificate signed by unknown authority"},
		{"plain text to a TLS server", plain, nil, "code = Unavailable"},
		{"TLS to a plain text server", nil, ours.trusting("config.example"), "first record does not look like a TLS handshake"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := newControlPlane(t)
			server.set("v1", domain("mongo"))
			var opts []grpc.ServerOption
			if c.server != nil {
				opts = append(opts, grpc.Creds(credentials.NewTLS(c.server)))
			}
			addr, _ := server.serve("127.0.0.1:0", opts...)
			o := quick()
			o.TLS = c.client
			r := start(t, addr, o)
			if c.want == "" {
				r.update(t)
				server.acknowledged("v1")
				return
			}
			// Of a refused client certificate the first that is seen may be that the
			// connection broke.
			for !strings.Contains(failure[*xds.ConnectionError](t, r).Error(), c.want) {
			}
			require.Empty(t, r.updates)
		})
	}
}
