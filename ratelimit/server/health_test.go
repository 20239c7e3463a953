package server_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// states queries health over HTTP and over gRPC with both names, and requires that they agree.
func (r *running) healthy() bool {
	r.t.Helper()
	code, body := r.get("/healthcheck")
	healthy := code == 200
	if healthy {
		require.Equal(r.t, "OK", body)
	} else {
		require.Equal(r.t, 500, code)
		require.Empty(r.t, body)
	}
	ready, message := r.get("/readyz")
	require.Equal(r.t, map[bool]int{true: 200, false: 503}[healthy], ready, message)
	alive, _ := r.get("/livez")
	require.Equal(r.t, 200, alive)
	want := map[bool]healthv1.HealthCheckResponse_ServingStatus{true: 1, false: 2}[healthy]
	for _, name := range []string{"", "ratelimit"} {
		out, err := healthv1.NewHealthClient(r.dial()).Check(r.t.Context(), &healthv1.HealthCheckRequest{Service: name})
		require.NoError(r.t, err)
		require.Equal(r.t, want, out.GetStatus(), "service %q", name)
	}
	return healthy
}

// Health depends on the configuration (REFERENCE.md, 8.3).
func TestHealthOfConfiguration(t *testing.T) {
	r := prepare(t, broken(), map[string]string{
		"FORCE_START_WITHOUT_INITIAL_CONFIG": "true", "HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED": "true",
	}).start()
	require.False(t, r.healthy(), "nothing is loaded")
	r.write("a.yaml", goodConfig)
	r.write("b.yaml", "domain: b\n")
	r.write("c.yaml", "domain: c\n")
	watch, err := healthv1.NewHealthClient(r.dial()).Watch(t.Context(), &healthv1.HealthCheckRequest{Service: "ratelimit"})
	require.NoError(t, err)
	for {
		state, err := watch.Recv()
		require.NoError(t, err)
		if state.GetStatus() == healthv1.HealthCheckResponse_SERVING {
			break
		}
	}
	require.True(t, r.healthy(), "a domain is loaded")
	before := r.count(loadError)
	r.write("a.yaml", "domain: [\n")
	r.becomes("the broken file is counted", func() bool { return r.count(loadError) > before })
	require.True(t, r.healthy(), "the loaded configuration stays active")
	r.end()
}

// Without the setting, health does not depend on the configuration.
func TestHealthWithoutConfiguration(t *testing.T) {
	r := prepare(t, broken(), map[string]string{"FORCE_START_WITHOUT_INITIAL_CONFIG": "true"}).start()
	require.True(t, r.healthy())
	r.end()
}

// TestProbesBeforeServing: while a server waits for its configuration, the debug port says that it is alive and not ready. An
// operator sees a pod that is not ready and does not restart.
func TestProbesBeforeServing(t *testing.T) {
	r := prepare(t, broken(), map[string]string{"DEBUG_CONSOLE": "false"}).run()
	r.becomes("the debug port is open", func() bool { return r.srv.Addresses().Debug != nil })
	probe := func(path string) int {
		code, _, _ := r.do("GET", r.srv.Addresses().Debug, path, "any.example", "")
		return code
	}
	require.Equal(t, 200, probe("/livez"))
	require.Equal(t, 503, probe("/readyz"))
	for _, name := range []string{"a.yaml", "b.yaml", "c.yaml"} {
		r.write(name, strings.Replace(goodConfig, "domain: d", "domain: "+name[:1], 1))
	}
	r.await()
	require.Equal(t, 200, probe("/readyz"))
	r.end()
}
