//go:build unix

package e2e_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSilentConnections checks that connections that send nothing do not delay the shutdown.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"shop.yaml": yearly}, map[string]string{"SHUTDOWN_TIMEOUT": "1s"})
	for _, addr := range []string{s.grpc, s.http} {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer conn.Close()
	}
	require.Equal(t, "OK", decision(t, s.grpc, "shop", "client=ann"), "the server must accept the connections before this one")
	s.terminate()
}
