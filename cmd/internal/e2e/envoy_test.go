//go:build unix

package e2e_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/servertest"
)

// TestEnvoy starts Envoy with the configuration of the compose file in front of a ratelimitd with the
// limits beside it: requests above a limit are refused.
func TestEnvoy(t *testing.T) {
	t.Parallel()
	program := os.Getenv("ASHLAR_ENVOY")
	if program == "" {
		require.NotEqual(t, "1", os.Getenv("ASHLAR_REQUIRE_SERVICES"), "ASHLAR_ENVOY must name Envoy")
		t.Skip("THIS TEST DID NOT RUN: ASHLAR_ENVOY does not name Envoy")
	}
	compose := filepath.Join(checkout, "deploy", "compose")
	s := serve(t, map[string]string{"front.yaml": content(t, filepath.Join(compose, "limits", "front.yaml"))}, nil)
	_, grpcPort, _ := net.SplitHostPort(s.grpc)
	front, upstream := servertest.FreePort(t), servertest.FreePort(t)
	text := strings.NewReplacer("address: ratelimitd, port_value: 8081", "address: 127.0.0.1, port_value: "+grpcPort, "0.0.0.0", "127.0.0.1",
		"10000", front, "10001", upstream).Replace(content(t, filepath.Join(compose, "envoy.yaml")))
	file := filepath.Join(t.TempDir(), "envoy.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	startBinary(t, checkout, nil, program, "-c", file, "--use-dynamic-base-id", "--log-level", "error")
	for path, limit := range map[string]int{"/login": 5, "/": 60} {
		get := func() int {
			code, _ := httpDo(t, http.MethodGet, "http://127.0.0.1:"+front+path, "")
			return code
		}
		eventually(t, "Envoy responds", func() bool { return get() == http.StatusOK })
		refused := 0
		for range 2*limit + 1 { // a minute may end in between
			if get() == http.StatusTooManyRequests {
				refused++
			}
		}
		require.Positive(t, refused, path)
	}
}
