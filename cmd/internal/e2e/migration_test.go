//go:build unix

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/markdown"
	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/internal/servertest"
)

// TestMigrationCommands runs the commands of the step "Compare without traffic" of OPERATIONS.md: one
// instance sees the count of the other, under the key that ratelimit-check prints.
func TestMigrationCommands(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, nil)
	servertest.Find(t, "redis-cli")
	limits := map[string]string{"shop.yaml": strings.ReplaceAll(yearly, "requests_per_unit: 3", "requests_per_unit: 5")}
	environ := map[string]string{"BACKEND_TYPE": "redis", "REDIS_URL": redis.Addr, "REDIS_SOCKET_TYPE": "tcp", "REDIS_POOL_ON_EMPTY_BEHAVIOR": "WAIT"}
	one, other := serve(t, limits, environ), serve(t, limits, environ)
	page, err := markdown.Read(os.DirFS(checkout), "cmd/ratelimitd/OPERATIONS.md")
	require.NoError(t, err)
	var lines []string
	for _, b := range page.BlocksOf("sh") {
		if strings.Contains(b.Lines[0], " old:8081 ") {
			lines = b.Lines
		}
	}
	require.Len(t, lines, 4, "the block with the four commands")
	host, port, _ := strings.Cut(redis.Addr, ":")
	replace := strings.NewReplacer("old:8081", one.grpc, "new:8081", other.grpc,
		"/srv/runtime_data/current/config", filepath.Join(directory(t, limits), "config"), "-h redis.internal", "-h "+host+" -p "+port)
	var out []string
	for _, line := range lines {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", replace.Replace(line))
		cmd.Env = append(os.Environ(), "PATH="+binaries+":"+os.Getenv("PATH"))
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", line, text)
		out = append(out, string(text))
	}
	left := regexp.MustCompile(`(\d+) remaining`)
	require.Equal(t, "4 remaining", left.FindString(out[0]), out[0])
	require.Equal(t, left.FindString(out[0]), left.FindString(out[1]), "the counter is one")
	counter := regexp.MustCompile(`counter +(\S+)`).FindStringSubmatch(out[2])
	require.NotNil(t, counter, out[2])
	require.Equal(t, counter[1], strings.TrimSpace(out[3]))
}
