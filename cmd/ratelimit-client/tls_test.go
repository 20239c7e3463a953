package main

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
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// identity makes a certificate that is its own authority, good for server and client,
// and returns the files of certificate and key.
func identity(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "test"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
	return cert, key
}

func TestMutualTLS(t *testing.T) {
	serverCert, serverKey := identity(t)
	clientCert, clientKey := identity(t)
	pair, err := tls.LoadX509KeyPair(serverCert, serverKey)
	require.NoError(t, err)
	clients := x509.NewCertPool()
	text, err := os.ReadFile(clientCert)
	require.NoError(t, err)
	require.True(t, clients.AppendCertsFromPEM(text))
	_, addr := start(t, grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
	})))
	ask := []string{"-dial_string", addr, "-domain", "demo", "-descriptors", "client=bob"}

	code, out, errs := call(t, append(ask, "-grpc-use-tls", "-grpc-server-ca-file", serverCert, "-grpc-cert-file", clientCert, "-grpc-key-file", clientKey)...)
	require.Zero(t, code, "%s%s", out, errs)
	require.Contains(t, out, "\nresponse: overall_code:OK ")

	for why, args := range map[string][]string{
		"no TLS":                    ask,
		"a server nobody vouches":   append(ask, "-grpc-use-tls", "-grpc-cert-file", clientCert, "-grpc-key-file", clientKey),
		"no client certificate":     append(ask, "-grpc-use-tls", "-grpc-server-ca-file", serverCert),
		"a strange certificate":     append(ask, "-grpc-use-tls", "-grpc-server-ca-file", serverCert, "-grpc-cert-file", serverCert, "-grpc-key-file", serverKey),
		"another server's identity": append(ask, "-grpc-use-tls", "-grpc-server-ca-file", clientCert, "-grpc-cert-file", clientCert, "-grpc-key-file", clientKey),
	} {
		code, out, _ := call(t, args...)
		require.Equal(t, 1, code, why)
		require.Contains(t, out, "\nrequest error: rpc error: code = Unavailable ", why)
	}
}

func TestBadTLSFiles(t *testing.T) {
	cert, key := identity(t)
	missing := filepath.Join(t.TempDir(), "missing.pem")
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"-grpc-cert-file", cert}, 2, []string{"without -grpc-use-tls"}},
		{[]string{"-grpc-use-tls", "-grpc-cert-file", cert}, 2, []string{"go together"}},
		{[]string{"-grpc-use-tls", "-grpc-server-ca-file", missing}, 1, []string{"-grpc-server-ca-file", missing}},
		{[]string{"-grpc-use-tls", "-grpc-server-ca-file", key}, 1, []string{key, "holds no PEM certificate"}},
		{[]string{"-grpc-use-tls", "-grpc-cert-file", cert, "-grpc-key-file", missing}, 1, []string{"-grpc-key-file", missing}},
		{[]string{"-grpc-use-tls", "-grpc-cert-file", key, "-grpc-key-file", key}, 1, []string{"-grpc-cert-file"}},
	} {
		code, out, errs := call(t, append([]string{"-domain", "d", "-descriptors", "a=b"}, c.args...)...)
		require.Equal(t, c.code, code, "%q: %s", c.args, errs)
		require.Empty(t, out)
		for _, says := range c.says {
			require.Contains(t, errs, says)
		}
	}
}
