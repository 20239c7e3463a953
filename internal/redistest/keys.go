package redistest

import (
	"crypto/tls"
	"testing"

	"github.com/ashlar-go/ashlar/internal/certstest"
)

// keys are what servers and clients of a test need to trust each other.
type keys struct {
	cert, key, ca string // paths
	client        *tls.Config
}

// writeKeys makes certificates for the loopback address and for localhost.
func writeKeys(t testing.TB) *keys {
	t.Helper()
	authority, dir := certstest.NewAuthority(t), t.TempDir()
	k := &keys{ca: authority.WriteCA(dir, "ca.pem")}
	k.cert, k.key = authority.Write(dir, "server", "localhost")
	k.client = &tls.Config{
		MinVersion:   tls.VersionTLS12,
		RootCAs:      authority.Pool(),
		Certificates: []tls.Certificate{authority.Issue("client")},
	}
	return k
}

// args have a server speak TLS on this port and no other, with its own kind too.
func (k *keys) args(port string) []string {
	return []string{
		"--port", "0", "--tls-port", port, "--tls-replication", "yes", "--tls-cluster", "yes",
		"--tls-cert-file", k.cert, "--tls-key-file", k.key, "--tls-ca-cert-file", k.ca,
	}
}
