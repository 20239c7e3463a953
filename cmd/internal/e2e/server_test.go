//go:build unix

package e2e_test

import (
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// yearly is a domain that allows each client three requests per year, because a year rarely ends while
// the tests run.
const yearly = `domain: shop
descriptors:
  - key: client
    rate_limit: {unit: year, requests_per_unit: 3}
  - key: load
    rate_limit: {unit: year, requests_per_unit: 4000000000}
`

// server is a running ratelimitd.
type server struct {
	*process
	grpc, http, debug string // addresses
}

// directory returns a RUNTIME_ROOT with files in its config directory.
func directory(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, "config", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

// settings returns the settings of a ratelimitd on free ports, merged with more.
func settings(root string, more map[string]string) map[string]string {
	environ := map[string]string{
		"HOST": "127.0.0.1", "PORT": "0", "GRPC_HOST": "127.0.0.1", "GRPC_PORT": "0", "RUNTIME_ROOT": root,
		"DEBUG_HOST": "127.0.0.1", "DEBUG_PORT": "0", "DISABLE_STATS": "true",
	}
	maps.Copy(environ, more)
	return environ
}

// serve starts a ratelimitd with these files and waits until it listens.
func serve(t *testing.T, files, more map[string]string) *server {
	t.Helper()
	p := start(t, settings(directory(t, files), more), "ratelimitd")
	at := p.waitFor(p.stderr, `(?m)^ratelimitd: gRPC on ([^ ,\n]+), HTTP on ([^ ,\n]+), debug on ([^ ,\n]+).*\n`)
	return &server{process: p, grpc: at[1], http: at[2], debug: at[3]}
}

// ends waits for an orderly end: exit code 0 and no further output.
func (s *server) ends() {
	s.t.Helper()
	require.Zero(s.t, s.code(), "exit code of ratelimitd")
	require.Empty(s.t, s.stdout.String())
	require.NotContains(s.t, s.stderr.String(), "level=ERROR")
}

// terminate ends the server as a supervisor does.
func (s *server) terminate() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	s.ends()
}

// healthy reports the result of the health check, as a load balancer does.
func (s *server) healthy() bool {
	code, _ := httpDo(s.t, http.MethodGet, "http://"+s.http+"/healthcheck", "")
	return code == http.StatusOK
}

// decision returns the overall code that ratelimit-client prints.
func decision(t *testing.T, addr, domain string, descriptors ...string) string {
	t.Helper()
	args := []string{"-json", "-dial_string", addr, "-domain", domain}
	for _, d := range descriptors {
		args = append(args, "-descriptors", d)
	}
	p := run(t, 0, "ratelimit-client", args...)
	return p.waitFor(p.stdout, `(?m)^\{"overallCode":"(\w+)"`)[1]
}

// shopJSON returns a request of a client for POST /json.
func shopJSON(client string) string {
	return `{"domain":"shop","descriptors":[{"entries":[{"key":"client","value":"` + client + `"}]}]}`
}

// httpDo sends one request on a new connection. The code is 0 if the server does not respond.
func httpDo(t *testing.T, method, url, body string) (code int, content string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: timeout}
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}
