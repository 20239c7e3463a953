package main

import (
	"crypto/tls"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/ashlar-go/ashlar/internal/certstest"
)

func TestMutualTLS(t *testing.T) {
	dir := t.TempDir()
	servers, clients := certstest.NewAuthority(t), certstest.NewAuthority(t)
	serversCA, clientsCA := servers.WriteCA(dir, "servers.pem"), clients.WriteCA(dir, "clients.pem")
	clientCert, clientKey := clients.Write(dir, "client")
	untrustedCert, untrustedKey := servers.Write(dir, "untrusted")
	_, addr := start(t, grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{servers.Issue()}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients.Pool(),
	})))
	base := []string{"-dial_string", addr, "-domain", "demo", "-descriptors", "client=bob"}

	code, out, errs := runClient(t, append(base, "-grpc-use-tls", "-grpc-server-ca-file", serversCA, "-grpc-cert-file", clientCert, "-grpc-key-file", clientKey)...)
	require.Zero(t, code, "%s%s", out, errs)
	require.Contains(t, out, "allowed: limit ")

	for why, args := range map[string][]string{
		"no TLS":                       base,
		"server's CA is not trusted":   append(base, "-grpc-use-tls", "-grpc-cert-file", clientCert, "-grpc-key-file", clientKey),
		"no client certificate":        append(base, "-grpc-use-tls", "-grpc-server-ca-file", serversCA),
		"untrusted client certificate": append(base, "-grpc-use-tls", "-grpc-server-ca-file", serversCA, "-grpc-cert-file", untrustedCert, "-grpc-key-file", untrustedKey),
		"wrong CA for the server":      append(base, "-grpc-use-tls", "-grpc-server-ca-file", clientsCA, "-grpc-cert-file", clientCert, "-grpc-key-file", clientKey),
	} {
		code, _, errs := runClient(t, args...)
		require.Equal(t, 1, code, why)
		require.Contains(t, errs, "request error: rpc error: code = Unavailable ", why)
	}
}

func TestBadTLSFiles(t *testing.T) {
	dir := t.TempDir()
	cert, key := certstest.NewAuthority(t).Write(dir, "client")
	missing := filepath.Join(dir, "missing.pem")
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"-grpc-cert-file", cert}, 2, []string{"need -grpc-use-tls"}},
		{[]string{"-grpc-use-tls", "-grpc-cert-file", cert}, 2, []string{"must be set together"}},
		{[]string{"-grpc-use-tls", "-grpc-server-ca-file", missing}, 1, []string{"-grpc-server-ca-file", missing}},
		{[]string{"-grpc-use-tls", "-grpc-server-ca-file", key}, 1, []string{key, "no PEM certificate"}},
		{[]string{"-grpc-use-tls", "-grpc-cert-file", cert, "-grpc-key-file", missing}, 1, []string{"-grpc-key-file", missing}},
		{[]string{"-grpc-use-tls", "-grpc-cert-file", key, "-grpc-key-file", key}, 1, []string{"-grpc-cert-file"}},
	} {
		code, out, errs := runClient(t, append([]string{"-domain", "d", "-descriptors", "a=b"}, c.args...)...)
		require.Equal(t, c.code, code, "%q: %s", c.args, errs)
		require.Empty(t, out)
		for _, want := range c.want {
			require.Contains(t, errs, want)
		}
	}
}
