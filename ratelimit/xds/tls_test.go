package xds_test

import (
	"crypto/tls"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/ashlar-go/ashlar/internal/certstest"
)

// trusting returns a client's TLS configuration.
func trusting(a *certstest.Authority, name string, own ...tls.Certificate) *tls.Config {
	return &tls.Config{RootCAs: a.Pool(), ServerName: name, Certificates: own, MinVersion: tls.VersionTLS12}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ours, theirs := certstest.NewAuthority(t), certstest.NewAuthority(t)
	plain := &tls.Config{Certificates: []tls.Certificate{ours.Issue("config.example")}, MinVersion: tls.VersionTLS12}
	mutual := plain.Clone()
	mutual.ClientAuth, mutual.ClientCAs = tls.RequireAndVerifyClientCert, ours.Pool()
	cases := []struct {
		name           string
		server, client *tls.Config
		want           string // in the error; empty for success
	}{
		{"TLS", plain, trusting(ours, "config.example"), ""},
		{"mutual TLS", mutual, trusting(ours, "config.example", ours.Issue("client")), ""},
		{"no client certificate", mutual, trusting(ours, "config.example"), "certificate required"},
		{"foreign client certificate", mutual, trusting(ours, "config.example", theirs.Issue("client")), "tls: "},
		{"another name", plain, trusting(ours, "other.example"), "not other.example"},
		{"foreign server certificate", plain, trusting(theirs, "config.example"), "certificate signed by unknown authority"},
		{"plain text to a TLS server", plain, nil, "code = Unavailable"},
		{"TLS to a plain text server", nil, trusting(ours, "config.example"), "TLS handshake"},
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
			// After a rejected client certificate, the client may first notice that the
			// connection was closed.
			for !strings.Contains(connectionFailure(t, r).Error(), c.want) {
			}
			require.Empty(t, r.updates)
		})
	}
}
