//go:build unix

package e2e_test

import (
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecisions(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{
		"shop.yaml":      yearly,
		"more/bank.yaml": "domain: bank\ndescriptors:\n  - key: client\n    value: x*\n    rate_limit: {unit: year, requests_per_unit: 0}\n",
	}, nil)
	for i, want := range []string{"OK", "OK", "OK", "OVER_LIMIT"} {
		require.Equal(t, want, decision(t, s.grpc, "shop", "client=ann"), "call %d", i)
	}
	require.Equal(t, "OVER_LIMIT", decision(t, s.grpc, "shop", "client=bob", "client=ann"), "one of two descriptors is over its limit")
	require.Equal(t, "OVER_LIMIT", decision(t, s.grpc, "bank", "client=xavier"), "the second file")
	require.Equal(t, "OK", decision(t, s.grpc, "bank", "client=ann"), "a descriptor without a rule is allowed")
	require.Equal(t, "OK", decision(t, s.grpc, "nowhere", "client=ann"), "a domain without a file")

	code, response := httpDo(t, http.MethodPost, "http://"+s.http+"/json", shopJSON("ann"))
	require.Equal(t, http.StatusTooManyRequests, code, "HTTP and gRPC must share counters: %s", response)
	code, response = httpDo(t, http.MethodPost, "http://"+s.http+"/json", shopJSON("bob"))
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, response, `"limitRemaining":1`, "bob's second")
	code, response = httpDo(t, http.MethodPost, "http://"+s.http+"/json", `{"domain":1}`)
	require.Equal(t, http.StatusBadRequest, code)
	require.Contains(t, response, `"status":"error"`)
	require.True(t, s.healthy())
	s.terminate()
}

// TestBrokenConfiguration checks that all errors of the configuration are reported at once, and that
// the server waits for a valid configuration.
func TestBrokenConfiguration(t *testing.T) {
	t.Parallel()
	root := directory(t, map[string]string{
		"a.yaml":     "domain: a\ndescriptors:\n  - key: x\n    rate_limit: {unit: fortnight, requests_per_unit: 1}\n  - value: y\n",
		"b/c.yaml":   "domain: a\n",
		"d.yaml":     "domain: [\n",
		"right.yaml": yearly,
	})
	p := start(t, settings(root, nil), "ratelimitd")
	p.waitFor(p.stderr, `waiting for a configuration`)
	p.signal(syscall.SIGTERM)
	require.Zero(t, p.code(), "exit code after a signal while the server waits")
	require.Empty(t, p.stdout.String())
	text := p.stderr.String()
	for _, want := range []string{
		`a\.yaml:4:24: invalid rate limit unit 'fortnight'`,
		`a\.yaml:5:5: descriptor has empty key`,
		`b\.c\.yaml:1:9: duplicate domain 'a' in config file`,
		`d\.yaml:\d+:\d+: error loading config file`,
	} {
		require.Regexp(t, `(?m)^time=\S+ level=ERROR msg="error loading configuration" err="`+want, text)
	}
	require.NotContains(t, text, "right.yaml")
	require.NotContains(t, text, "goroutine", "an invalid configuration must not print a stack trace")
}

func TestNoConfiguration(t *testing.T) {
	t.Parallel()
	p := start(t, settings("/does/not/exist", nil), "ratelimitd")
	p.waitFor(p.stderr, `/does/not/exist/config.*RUNTIME_ROOT`)
	p.signal(syscall.SIGTERM)
	require.Zero(t, p.code())
}

func TestBadSettings(t *testing.T) {
	t.Parallel()
	for _, bad := range []map[string]string{
		{"PORT": "http", "SHADOW_MODE": "perhaps", "SHUTDOWN_TIMEOUT": "5"},
		{"GRPC_PORT": "65536", "NEAR_LIMIT_RATIO": "2", "LOG_LEVEL": "LOUD", "EMBEDDED_MAX_BYTES": "1"},
	} {
		p := start(t, settings(t.TempDir(), bad), "ratelimitd")
		require.Equal(t, 2, p.code())
		require.Empty(t, p.stdout.String())
		for name := range bad {
			require.Regexp(t, `(?m)^`+name+`: `, p.stderr.String())
		}
		require.Len(t, strings.Split(strings.TrimSpace(p.stderr.String()), "\n"), 1+len(bad), "a line for each:\n%s", p.stderr)
	}
}

func TestTakenPort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	root := directory(t, map[string]string{"shop.yaml": yearly})
	for _, name := range []string{"PORT", "GRPC_PORT", "DEBUG_PORT"} {
		p := start(t, settings(root, map[string]string{name: port}), "ratelimitd")
		require.Equal(t, 1, p.code())
		require.Contains(t, p.stderr.String(), l.Addr().String())
		require.Contains(t, p.stderr.String(), "set "+name+" to a free port")
	}
}
