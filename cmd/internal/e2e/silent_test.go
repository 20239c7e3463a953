//go:build unix

package e2e_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSilentConnections checks that who connects and says nothing cannot keep a
// server from ending.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"shop.yaml": yearly}, map[string]string{"SHUTDOWN_TIMEOUT": "1s"})
	for _, addr := range []string{s.grpc, s.http} {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer conn.Close()
	}
	require.Equal(t, "OK", decision(t, s.grpc, "shop", "client=ann"), "the connections before this one are accepted by now")
	s.terminate()
}
