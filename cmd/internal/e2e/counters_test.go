//go:build unix

package e2e_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
)

// TestCounters reads, gives back and resets the counters of a ratelimitd with ratelimit-client.
func TestCounters(t *testing.T) {
	t.Parallel()
	const token = "0123456789abcdef"
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(token+"\n"), 0o600))
	for name, environOf := range map[string]func() map[string]string{
		"embedded": func() map[string]string { return map[string]string{"LOCAL_CACHE_SIZE_IN_BYTES": "1000000"} },
		"Redis":    func() map[string]string { return map[string]string{"REDIS_URL": redistest.Start(t, nil).Addr} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environ := environOf()
			maps.Copy(environ, map[string]string{"ADMIN_TOKEN_FILE": file})
			s := serve(t, map[string]string{"shop.yaml": yearly}, environ)
			counters := func(want int, flags ...string) string {
				args := append([]string{"-dial_string", s.grpc, "-domain", "shop", "-descriptors", "client=ann"}, flags...)
				p := start(t, map[string]string{"ADMIN_TOKEN": token}, "ratelimit-client", args...)
				require.Equal(t, want, p.code(), "%q: %s", flags, p.stderr)
				return p.stdout.String()
			}
			for _, want := range []string{"OK", "OK", "OK", "OVER_LIMIT"} {
				require.Equal(t, want, decision(t, s.grpc, "shop", "client=ann"))
			}
			require.Contains(t, counters(0, "-get"), "client=ann: 4 used, limit 3/year, 0 remaining, resets in ")
			require.Contains(t, counters(0, "-give-back", "2"), "client=ann: 2 given back, now 2 used, limit 3/year, 1 remaining, resets in ")
			require.Equal(t, "OK", decision(t, s.grpc, "shop", "client=ann"))
			require.Contains(t, counters(0, "-reset"), "client=ann: reset, now 0 used, limit 3/year, 3 remaining, resets in ")
			require.Equal(t, "OK", decision(t, s.grpc, "shop", "client=ann"))
			require.Equal(t, 2, strings.Count(s.stderr.String(), `msg="counters changed"`))
			require.NotContains(t, s.stderr.String(), token)
			s.terminate()
		})
	}
}
