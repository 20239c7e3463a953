package certstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Authority is a certificate authority. Its methods report failures to the test.
type Authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority returns a new authority with a self-signed certificate.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t}
	template := a.template("authority")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	a.cert, a.key = a.sign(template)
	return a
}

// Pool returns a pool that contains the certificate of the authority only.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Issue issues a certificate for the DNS names and 127.0.0.1, for servers and for clients.
func (a *Authority) Issue(names ...string) tls.Certificate {
	a.t.Helper()
	template := a.template("leaf")
	template.DNSNames = names
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	cert, key := a.sign(template)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
}

// WriteCA writes the certificate of the authority to a PEM file in dir.
func (a *Authority) WriteCA(dir, name string) (path string) {
	a.t.Helper()
	return a.write(dir, name, "CERTIFICATE", a.cert.Raw)
}

// Write issues a certificate and writes it and its key to PEM files in dir,
// "<name>.pem" and "<name>.key". Existing files are replaced.
func (a *Authority) Write(dir, name string, names ...string) (cert, key string) {
	a.t.Helper()
	issued := a.Issue(names...)
	der, err := x509.MarshalPKCS8PrivateKey(issued.PrivateKey)
	require.NoError(a.t, err)
	return a.write(dir, name+".pem", "CERTIFICATE", issued.Certificate[0]), a.write(dir, name+".key", "PRIVATE KEY", der)
}

func (a *Authority) write(dir, name, kind string, der []byte) string {
	a.t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(a.t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return path
}

func (a *Authority) template(name string) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(a.t, err)
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
	}
}

// sign issues a certificate for a new key. The first one, of the authority, is self-signed.
func (a *Authority) sign(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
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

// Files are PEM files for servers of 127.0.0.1 and localhost, and the configuration of a client that they accept.
type Files struct {
	Cert, Key, CA string // paths
	Client        *tls.Config
}

// NewFiles returns the files of a new authority.
func NewFiles(t testing.TB) *Files {
	t.Helper()
	a, dir := NewAuthority(t), t.TempDir()
	f := &Files{CA: a.WriteCA(dir, "ca.pem"), Client: &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: a.Pool(), Certificates: []tls.Certificate{a.Issue("client")},
	}}
	f.Cert, f.Key = a.Write(dir, "server", "localhost")
	return f
}
