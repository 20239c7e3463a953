//go:build unix

package e2e_test

import (
	"encoding/json"
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
	program := envoyProgram(t)
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

// TestEnvoyIstio gives Envoy the patches of the EnvoyFilter for Istio, in front of a ratelimitd with the limits of
// the ConfigMap beside it, here per year.
func TestEnvoyIstio(t *testing.T) {
	if testing.Short() {
		t.Skip("TestEnvoy is the short form")
	}
	t.Parallel()
	type patch struct {
		Patch struct {
			Value map[string]any `yaml:"value"`
		} `yaml:"patch"`
	}
	objects := decodeAll[struct {
		Data map[string]string `yaml:"data"`
		Spec struct {
			Patches []patch `yaml:"configPatches"`
		} `yaml:"spec"`
	}](t, content(t, filepath.Join(checkout, "deploy", "istio.yaml")))
	limits := strings.ReplaceAll(objects[1].Data["ingress.yaml"], "minute", "year")
	s := serve(t, map[string]string{"ingress.yaml": limits}, nil)
	flow := func(v any) string {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		return string(text)
	}
	patches := objects[0].Spec.Patches
	e := startEnvoy(t, []envoyListener{{
		Name: "ingress", Domains: []string{}, Before: []string{flow(patches[0].Patch.Value)},
		Routes: []string{`{match: {prefix: /}, route: {cluster: backend}}`}, RateLimits: flow(patches[1].Patch.Value["rate_limits"]),
	}}, []envoyCluster{{Name: "outbound|8081||ratelimitd.ratelimit.svc.cluster.local", Addrs: []string{s.grpc}}})
	for _, c := range []struct {
		path  string
		limit int
	}{{"/Login?x", 5}, {"/", 60 - 6}} {
		for i := range c.limit + 1 {
			code, _ := e.get(t, "ingress", c.path)
			require.Equal(t, i == c.limit, code == http.StatusTooManyRequests, "%s, request %d", c.path, i)
		}
	}
}
