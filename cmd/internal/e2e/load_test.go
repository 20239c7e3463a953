//go:build unix

package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLoad counts ten keys from many concurrent callers and checks the sum: no hit may be lost or
// counted twice.
func TestLoad(t *testing.T) {
	t.Parallel()
	const keys, limit, calls, connections = 10, 100, 3000, 4
	s := serve(t, map[string]string{"load.yaml": fmt.Sprintf(
		"domain: load\ndescriptors:\n  - key: key\n    rate_limit: {unit: year, requests_per_unit: %d}\n", limit)}, nil)
	load := run(t, 0, "ratelimit-load", "-addr", s.grpc, "-warmup", "0s", "-duration", "2m", "-calls", fmt.Sprint(calls),
		"-keys", fmt.Sprint(keys), "-distribution", "sequence", "-connections", fmt.Sprint(connections))
	r := reportOf(t, load)
	require.Equal(t, uint64(calls), r.Calls)
	require.Empty(t, r.Errors)
	require.Zero(t, r.Unfinished)
	// Each connection sends one call for the first key before the measurement.
	require.Equal(t, uint64(keys*limit-connections), r.OK)
	require.Equal(t, uint64(calls-keys*limit+connections), r.OverLimit)
	s.terminate()

	load = run(t, 1, "ratelimit-load", "-addr", s.grpc)
	require.Contains(t, load.stderr.String(), "first call to "+s.grpc)
}

func TestInterruptedLoad(t *testing.T) {
	t.Parallel()
	s := serve(t, map[string]string{"shop.yaml": yearly}, nil)
	load := start(t, nil, "ratelimit-load", "-addr", s.grpc, "-domain", "shop", "-entry", "load",
		"-distribution", "hot", "-warmup", "0s", "-duration", "1h")
	eventually(t, "hundreds of calls", func() bool { return s.counted(t) > 500 })
	load.stop()
	r := reportOf(t, load)
	require.True(t, r.Interrupted)
	require.Positive(t, r.Calls)
	require.Empty(t, r.Errors)
	s.terminate()
}

// TestCompare compares a ratelimitd with the baseline, as documented.
func TestCompare(t *testing.T) {
	t.Parallel()
	baseline := start(t, nil, "ratelimit-load", "-serve-baseline", "127.0.0.1:0")
	at := baseline.waitFor(baseline.stdout, `(?m)^baseline listens on (\S+), pid (\d+)$`)
	s := serve(t, map[string]string{"shop.yaml": yearly}, nil)
	targets := fmt.Sprintf("baseline=%s,ours=%s", at[1], s.grpc)
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		targets = fmt.Sprintf("baseline=%s:%s,ours=%s:%d", at[1], at[2], s.grpc, s.cmd.Process.Pid)
	}
	load := run(t, 0, "ratelimit-load", "-compare", targets, "-rounds", "2", "-duration", "500ms", "-warmup", "0s", "-domain", "shop", "-entry", "load")
	lines := strings.Split(strings.TrimSpace(load.stdout.String()), "\n")
	require.Len(t, lines, 4, "%s", load.stdout)
	require.Equal(t, "medians of 2 rounds; ratios to baseline", lines[0])
	require.Regexp(t, `^ +baseline +[1-9]\d* +1\.000 `, lines[2])
	require.Regexp(t, `^ +ours +[1-9]\d* +\d+\.\d{3} `, lines[3])
	s.terminate()
	baseline.signal(syscall.SIGTERM)
	require.Zero(t, baseline.code())
}
