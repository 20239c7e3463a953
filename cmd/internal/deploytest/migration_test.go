package deploytest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/internal/servertest"
)

// TestMigrationCommands runs the commands of the step "Compare without traffic" of the page: one
// instance sees the count of the other, under the key that ratelimit-check prints.
func TestMigrationCommands(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, nil)
	servertest.Find(t, "redis-cli")
	environ := map[string]string{
		"BACKEND_TYPE": "redis", "REDIS_URL": redis.Addr, "REDIS_SOCKET_TYPE": "tcp", "REDIS_POOL_ON_EMPTY_BEHAVIOR": "WAIT",
		"GRPC_SERVER_USE_TLS": "false",
	}
	one, other := launch(t, environ), launch(t, environ)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte(limits), 0o644))

	var lines []string
	page := ratelimitd().page(t)
	for _, b := range page.BlocksOf("sh") {
		if strings.Contains(b.Lines[0], " old:8081 ") {
			lines = b.Lines
		}
	}
	require.Len(t, lines, 4, "the block with the four commands")
	host, port, _ := strings.Cut(redis.Addr, ":")
	replace := strings.NewReplacer(
		"old:8081", one.addresses.GRPC.String(), "new:8081", other.addresses.GRPC.String(),
		"/srv/runtime_data/current/config", dir, "-h redis.internal", "-h "+host+" -p "+port,
	)
	var out []string
	for _, line := range lines {
		words, err := split(replace.Replace(line))
		require.NoError(t, err)
		out = append(out, command(t, words))
	}
	left := regexp.MustCompile(`(\d+) remaining`)
	require.Equal(t, "4 remaining", left.FindString(out[0]), out[0])
	require.Equal(t, left.FindString(out[0]), left.FindString(out[1]), "the counter is one")
	counter := regexp.MustCompile(`counter +(\S+)`).FindStringSubmatch(out[2])
	require.NotNil(t, counter, out[2])
	require.Equal(t, counter[1], strings.TrimSpace(out[3]))
}

// command runs a command, and programs of this module with go run.
func command(t *testing.T, words []string) string {
	t.Helper()
	if exists("cmd/" + words[0]) {
		words = append([]string{"go", "run", "./cmd/" + words[0]}, words[1:]...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout) // it may have to be compiled
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = checkout
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}
