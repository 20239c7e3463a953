//go:build unix

package e2e_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/certstest"
)

// TestEnvoyTLS connects Envoy and ratelimitd by TLS, with and without certificates of clients.
func TestEnvoyTLS(t *testing.T) {
	if testing.Short() {
		t.Skip("TestEnvoy is the short form")
	}
	t.Parallel()
	dir, ours, others := t.TempDir(), certstest.NewAuthority(t), certstest.NewAuthority(t)
	ca, otherCA := ours.WriteCA(dir, "ca.pem"), others.WriteCA(dir, "other-ca.pem")
	cert, key := ours.Write(dir, "server", "ratelimitd.internal")
	environ := map[string]string{"GRPC_SERVER_USE_TLS": "true", "GRPC_SERVER_TLS_CERT": cert, "GRPC_SERVER_TLS_KEY": key, "LOG_LEVEL": "error"}
	one := serve(t, map[string]string{"shop.yaml": envoyRules}, environ)
	environ["GRPC_CLIENT_TLS_CACERT"], environ["GRPC_CLIENT_TLS_SAN"] = ca, "envoy.internal"
	mutual := serve(t, map[string]string{"shop.yaml": envoyRules}, environ)

	identity := func(authority *certstest.Authority, name string) string {
		cert, key := authority.Write(t.TempDir(), "client", name)
		return fmt.Sprintf("tls_certificates: [{certificate_chain: {filename: %s}, private_key: {filename: %s}}], ", cert, key)
	}
	context := func(ca, name, identity string) string {
		return fmt.Sprintf(`sni: %s, common_tls_context: {alpn_protocols: [h2], %svalidation_context: {trusted_ca: {filename: %s}, `+
			`match_typed_subject_alt_names: [{san_type: DNS, matcher: {exact: %s}}]}}`, name, identity, ca, name)
	}
	const name = "ratelimitd.internal"
	var listeners []envoyListener
	var clusters []envoyCluster
	want := map[string]int{}
	for i, c := range []struct {
		s    *server
		tls  string
		code int
	}{
		{one, context(ca, name, ""), 200},
		{one, context(otherCA, name, ""), 500},          // a server of another authority
		{one, context(ca, "another.internal", ""), 500}, // a server with another name
		{one, "", 500}, // no TLS
		{mutual, context(ca, name, identity(ours, "envoy.internal")), 200},
		{mutual, context(ca, name, ""), 500}, // no certificate
		{mutual, context(ca, name, identity(ours, "someone.internal")), 500},
		{mutual, context(ca, name, identity(others, "envoy.internal")), 500},
	} {
		id := fmt.Sprintf("case%d", i)
		listeners = append(listeners, envoyListener{Name: id, Service: id, Deny: true, Routes: []string{limitedBy("/load", byLoad)}})
		clusters = append(clusters, envoyCluster{Name: id, Addrs: []string{c.s.grpc}, TLS: c.tls, Health: c.code == http.StatusOK})
		want[id] = c.code
	}
	e, codes := startEnvoy(t, listeners, clusters), map[string]int{}
	for id := range want {
		codes[id], _ = e.get(t, id, "/load")
		if want[id] == http.StatusOK {
			eventually(t, "the health check succeeds", func() bool { return e.stat(`cluster.`+id+`.membership_healthy`) == 1 })
		}
	}
	require.Equal(t, want, codes)
	// Where gRPC clients need a certificate, clients of /json would have none.
	code, _ := httpDo(t, http.MethodPost, "http://"+mutual.http+"/json", shopJSON("ann"))
	require.Equal(t, http.StatusForbidden, code)
}
