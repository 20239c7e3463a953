package main

import (
	"os"
	"path/filepath"
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/ashlar-go/ashlar/ratelimit/service"
)

const adminToken = "0123456789abcdef"

// TestCounters compares the output of reading, giving back and resetting counters, in this order.
func TestCounters(t *testing.T) {
	_, addr := start(t)
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(adminToken+"\n"), 0o600))
	base := []string{"-dial_string", addr, "-domain", "demo", "-descriptors", "client=bob"}
	code, _, errs := runClient(t, append(base, "-hits", "5")...)
	require.Zero(t, code, errs)
	for _, c := range []struct {
		name    string
		environ map[string]string
		args    []string
		code    int
		stderr  string
	}{
		{"get", map[string]string{"ADMIN_TOKEN": adminToken}, []string{"-get"}, 0, ""},
		{"get-fail", map[string]string{"ADMIN_TOKEN_FILE": file}, []string{"-get", "-fail", "-color", "always"}, 1, ""},
		{"get-many", nil, []string{"-get", "-token-file", file, "-descriptors", "free=x", "-descriptors", "nope=\n", "-descriptors", "login=x"}, 0, ""},
		{"give-back", map[string]string{"ADMIN_TOKEN": "overridden"}, []string{"-give-back", "4", "-token-file", file}, 0, ""},
		{"get-json", map[string]string{"ADMIN_TOKEN": adminToken}, []string{"-get", "-json"}, 0, ""},
		{"reset", map[string]string{"ADMIN_TOKEN": adminToken, "ADMIN_TOKEN_FILE": "not read"}, []string{"-reset"}, 0, ""},
	} {
		code, out, errs := runClientWith(t, c.environ, append(base, c.args...)...)
		assert.Equal(t, c.code, code, c.name)
		assert.Equal(t, c.stderr, errs, c.name)
		golden(t, "counters-"+c.name, addr, out)
	}

	environ := map[string]string{"ADMIN_TOKEN": adminToken}
	bucket := []string{"-dial_string", addr, "-domain", "demo", "-descriptors", "bucket=x"}
	code, _, errs = runClient(t, append(bucket, "-hits", "9")...)
	require.Zero(t, code, errs)
	_, out, _ := runClientWith(t, environ, append(bucket, "-get")...)
	require.Equal(t, "bucket=x: 9 used, limit 60/minute, 1 remaining, resets in 9s, token_bucket\n", out)
	_, out, _ = runClientWith(t, environ, append(bucket, "-reset")...)
	require.Equal(t, "bucket=x: reset, now 0 used, limit 60/minute, 10 remaining, resets in 0s, token_bucket\n", out)

	code, out, errs = runClientWith(t, environ, "-dial_string", addr, "-domain", "demo", "-descriptors", "clients=bob", "-reset")
	require.Equal(t, 1, code)
	require.Equal(t, "clients=bob: no limit\n", out)
	require.Contains(t, errs, "no counter")
}

func TestCountersFailures(t *testing.T) {
	_, addr := start(t)
	environ := map[string]string{"ADMIN_TOKEN": adminToken}
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		environ map[string]string
		args    []string
		code    int
		errs    string
	}{
		{environ, []string{"-get", "-reset"}, 2, "only one"},
		{environ, []string{"-give-back", "0"}, 2, "-give-back 0"},
		{environ, []string{"-give-back", "4294967296"}, 2, "invalid -give-back 4294967296"},
		{environ, []string{"-give-back", "-1"}, 2, `"-1" for "--give-back"`},
		{environ, []string{"-reset", "-hits", "3"}, 2, "use -give-back"},
		{environ, []string{"-reset", "-n", "3"}, 2, "-reset"},
		{environ, []string{"-rest"}, 2, "did you mean -reset?"},
		{nil, []string{"-token-file", missing}, 2, "-token-file"},
		{nil, []string{"-get"}, 2, "ADMIN_TOKEN"},
		{nil, []string{"-get", "-token-file", missing}, 2, missing},
		{map[string]string{"ADMIN_TOKEN": "a\nb"}, []string{"-get"}, 2, "blanks"},
		{environ, []string{"-get", "-dial_string", "limits.example:8081"}, 2, "unencrypted"},
		{map[string]string{"ADMIN_TOKEN": "not-the-right-one"}, []string{"-get"}, 1, "Unauthenticated"},
	} {
		code, out, errs := runClientWith(t, c.environ, append([]string{"-dial_string", addr, "-domain", "demo", "-descriptors", "client=bob"}, c.args...)...)
		assert.Equal(t, c.code, code, "%q: %s", c.args, errs)
		assert.Empty(t, out, "%q", c.args)
		assert.Contains(t, errs, c.errs, "%q", c.args)
		assert.NotContains(t, errs, adminToken)
	}
}

// TestCountersAreOff checks the hint if the service has no token.
func TestCountersAreOff(t *testing.T) {
	g := grpc.NewServer()
	ratelimitv3.RegisterRateLimitServiceServer(g, service.New(nil, nil))
	addr := listen(t, g)
	code, _, errs := runClientWith(t, map[string]string{"ADMIN_TOKEN": adminToken}, "-dial_string", addr, "-domain", "d", "-descriptors", "a=b", "-get")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "start it with ADMIN_TOKEN")
}
