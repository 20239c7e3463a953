package main

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/logtest"
)

// TestServeOnCall: a registry has probes and metrics, and serves for -drain-delay after the end of its context: the
// operator sees 503 at /readyz, and 200 at /livez.
func TestServeOnCall(t *testing.T) {
	out, ctx, ended := &logtest.Log{}, t.Context(), make(chan error, 1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	args := []string{"serve", "-addr", "127.0.0.1:0", "-metrics-addr", "127.0.0.1:0", "-drain-delay", "2s", "-log-format", "json", filepath.Join("testdata", "old.json")}
	go func() { ended <- run(ctx, cli.Env{Args: args, Stdout: out, Stderr: io.Discard}) }()
	addresses := regexp.MustCompile(`API +http://([^/]+)/`)
	require.Eventually(t, func() bool { return out.Count("metrics  http") == 1 }, 20*time.Second, 5*time.Millisecond)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(url string) (int, string) {
		response, err := client.Get(url)
		if err != nil {
			return 0, ""
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(text)
	}
	api := "http://" + addresses.FindStringSubmatch(out.String())[1]
	metrics := "http://" + regexp.MustCompile(`metrics +http://([^/]+)/`).FindStringSubmatch(out.String())[1] + "/metrics"
	for _, path := range []string{"/livez", "/readyz", "/v0.1/servers"} {
		code, _ := get(api + path)
		require.Equal(t, 200, code, path)
	}
	_, page := get(metrics)
	require.Contains(t, page, `manifest_http_requests_total{code="200",method="get"} 1`)
	require.Contains(t, page, "manifest_build_info{")
	stop()
	require.Eventually(t, func() bool { code, _ := get(api + "/readyz"); return code == 503 }, time.Second, time.Millisecond)
	code, _ := get(api + "/livez")
	require.Equal(t, 200, code)
	require.NoError(t, <-ended)
}
