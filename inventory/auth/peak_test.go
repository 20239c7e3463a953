package auth_test

import (
	"os"
	"os/exec"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

// TestPeakMemory measures the memory of a process in which 60 logins arrive at once, which would take
// 1.1 GB together: it is that of two of them, and of what the garbage collector has not freed yet.
func TestPeakMemory(t *testing.T) {
	t.Parallel()
	const child = "ASHLAR_TEST_PEAK_MEMORY"
	if os.Getenv(child) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPeakMemory$", "-test.v") // #nosec G204 G702 -- this test
		cmd.Env = append(os.Environ(), child+"=1", "GOGC=100")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "MiB in use at most", "the child has not measured")
		t.Log(strings.TrimSpace(string(out)))
		return
	}
	h, err := auth.NewHasher(&auth.HasherOptions{Concurrent: 2})
	require.NoError(t, err)
	stored, err := h.Hash(t.Context(), "correct horse")
	require.NoError(t, err)
	var mu sync.Mutex
	var peak uint64
	var logins sync.WaitGroup
	for range 60 {
		logins.Go(func() {
			ok, err := h.Verify(t.Context(), stored, "correct horse")
			assert.True(t, ok)
			assert.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			now := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
			metrics.Read(now)
			peak = max(peak, now[0].Value.Uint64())
		})
	}
	logins.Wait()
	t.Logf("%d MiB in use at most", peak>>20)
	assert.Less(t, peak, uint64(4*2*19)<<20)
}
