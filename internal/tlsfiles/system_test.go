package tlsfiles_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/tlsfiles"
)

// The variables of a process with authorities of its own: the servers that it must trust or not,
// and the file of authorities to add.
const trustedVariable, untrustedVariable, addedVariable = "TLSFILES_TRUSTED", "TLSFILES_UNTRUSTED", "TLSFILES_ADDED"

// Clients trust the authorities of a file and those of the system.
func TestSystemAuthorities(t *testing.T) {
	if added := os.Getenv(addedVariable); added != "" {
		config, err := tlsfiles.ClientConfig(tlsfiles.ClientFiles{CACert: added, SAN: "localhost"}, noLog(t))
		require.NoError(t, err)
		for _, addr := range strings.Split(os.Getenv(trustedVariable), ",") {
			_, err := visit(addr, config.Clone())
			require.NoError(t, err)
		}
		_, err = visit(os.Getenv(untrustedVariable), config.Clone())
		require.ErrorContains(t, err, "unknown authority")
		return
	}
	t.Parallel()
	dir := t.TempDir()
	serve := func(a *authority) string {
		own := a.issue(t, func(c *x509.Certificate) { c.DNSNames = []string{"localhost"} })
		pair, err := tls.X509KeyPair(own.cert, own.key)
		require.NoError(t, err)
		return listen(t, &tls.Config{Certificates: []tls.Certificate{pair}})
	}
	system, added, other := newAuthority(t, "system"), newAuthority(t, "added"), newAuthority(t, "other")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSystemAuthorities$")
	cmd.Env = append(os.Environ(),
		"SSL_CERT_FILE="+write(t, dir, "system", system.pem), "SSL_CERT_DIR="+dir+"/none", addedVariable+"="+write(t, dir, "added", added.pem),
		trustedVariable+"="+serve(system)+","+serve(added), untrustedVariable+"="+serve(other))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
