//go:build unix

package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// isolated returns flags of ashlar that select free ports and a temporary directory.
func isolated(t *testing.T) []string {
	args := []string{"-data", filepath.Join(t.TempDir(), "data"), "-devices", "20"}
	for _, port := range []string{"-port", "-inventory-port", "-catalog-port", "-http-port", "-grpc-port", "-debug-port"} {
		args = append(args, port, "0")
	}
	return args
}

// TestEditedLimits starts ashlar with limits of the user, edits them, and starts it again.
func TestEditedLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.yaml")
	decide := func(limits string) string {
		require.NoError(t, os.WriteFile(file, []byte(limits), 0o600))
		p := start(t, nil, "ashlar", append(isolated(t), "-limits", dir)...)
		addr := p.waitFor(p.stdout, `gRPC +([0-9.:]+)\n(?s:.*)all files in `)[1]
		defer p.stop()
		return decision(t, addr, "shop", "client=ann")
	}
	require.Equal(t, "OK", decide(yearly))
	require.Equal(t, "OVER_LIMIT", decide("domain: shop\ndescriptors:\n  - key: client\n    rate_limit: {unit: year, requests_per_unit: 0}\n"))

	require.NoError(t, os.WriteFile(file, []byte("domain: shop\ndescriptors:\n  - kee: client\n  - key: x\n    rate_limit: {unit: moon}\n"), 0o600))
	p := run(t, 1, "ashlar", append(isolated(t), "-limits", dir)...)
	require.Regexp(t, `mine\.yaml:3:5: .*unknown key 'kee'`, p.stderr.String())
	require.Regexp(t, `mine\.yaml:5:24: invalid rate limit unit 'moon'`, p.stderr.String())
}

// TestReadmeShowsTheWelcome checks that the README shows the output of the program, except for ports,
// the sign-in code and the path of the password.
func TestReadmeShowsTheWelcome(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(checkout, "README.md"))
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```text\n(ashlar is running.*?)```").FindSubmatch(readme)
	require.NotNil(t, shown)
	w := startServer(t, "go run ./cmd/ashlar")
	printed, _, _ := strings.Cut(w.stdout.String(), "\nTry in another terminal")
	for port, addr := range w.addrs {
		printed = regexp.MustCompile(regexp.QuoteMeta(addr)+`\b`).ReplaceAllString(printed, "127.0.0.1:"+port)
	}
	own := regexp.MustCompile(`code=[A-Z2-7]{26}|its password .*`)
	require.Len(t, own.FindAllString(printed, -1), 2, printed)
	require.Equal(t, own.ReplaceAllString(string(shown[1]), "***"), own.ReplaceAllString(printed, "***"))
	w.stop()
}
