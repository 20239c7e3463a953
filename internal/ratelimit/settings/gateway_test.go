package settings_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
)

// The environments of the deployments that Envoy Gateway generates are accepted. The one variable that nothing reads
// has a warning that says why it is not needed.
func TestEnvironmentsOfEnvoyGateway(t *testing.T) {
	samples := os.Getenv("ASHLAR_SAMPLES")
	if samples == "" {
		t.Skip("ASHLAR_SAMPLES names no directory of samples")
	}
	files, err := filepath.Glob(filepath.Join(samples, "envoy-gateway", "deployments", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	variable := regexp.MustCompile(`(?m)^\s*- name: ([A-Z_]+)\n\s*value: (.*)$`)
	tried := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		environ := environment{}
		for _, m := range variable.FindAllStringSubmatch(string(data), -1) {
			environ[m[1]] = strings.Trim(m[2], `"`)
		}
		if len(environ) == 0 {
			continue
		}
		tried++
		if environ["REDIS_TYPE"] == "sentinel" { // beside the address of one server, with which the reference service ends too
			require.Len(t, refused(t, environ), 1)
			delete(environ, "REDIS_TYPE")
		}
		parse(t, environ)
		for _, w := range settings.Warnings(environ) {
			require.NotContains(t, w.Text, "unknown", file)
			if w.Variable != "USE_STATSD" && w.Variable != "BACKEND_TYPE" {
				require.Equal(t, "GRPC_SERVER_TLS_CA_CERT", w.Variable, file)
			}
		}
	}
	require.Greater(t, tried, 10)
}
