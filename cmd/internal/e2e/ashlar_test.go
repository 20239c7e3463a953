//go:build unix

package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEditedLimits does what a new user does next: copy the limits, start with them,
// edit them, and start again.
func TestEditedLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.yaml")
	decide := func(limits string) string {
		require.NoError(t, os.WriteFile(file, []byte(limits), 0o600))
		p := start(t, nil, "ashlar", "-http-port", "0", "-grpc-port", "0", "-catalog-port", "0", "-debug-port", "0", "-limits", dir)
		addr := p.says(p.stdout, `gRPC +([0-9.:]+)\n(?s:.*)all files in `)[1]
		defer p.stop()
		return decision(t, addr, "shop", "client=ann")
	}
	require.Equal(t, "OK", decide(yearly))
	require.Equal(t, "OVER_LIMIT", decide("domain: shop\ndescriptors:\n  - key: client\n    rate_limit: {unit: year, requests_per_unit: 0}\n"))

	require.NoError(t, os.WriteFile(file, []byte("domain: shop\ndescriptors:\n  - kee: client\n  - key: x\n    rate_limit: {unit: moon}\n"), 0o600))
	p := run(t, 1, "ashlar", "-http-port", "0", "-grpc-port", "0", "-catalog-port", "0", "-debug-port", "0", "-limits", dir)
	require.Regexp(t, `mine\.yaml:3:5: .*unknown key 'kee'`, p.stderr.String())
	require.Regexp(t, `mine\.yaml:5:24: invalid rate limit unit 'moon'`, p.stderr.String())
}
