package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGCPercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 1500, 1 << 20: 1500, 4 << 20: 300, 8 << 20: 100, 16 << 20: 100, 1 << 30: 100} {
		require.Equal(t, want, gcPercent(live), "live heap of %d bytes", live)
	}
}

// The collector is tuned again after each cycle, and left alone if the user has tuned it.
func TestTuneGC(t *testing.T) {
	original := debug.SetGCPercent(70)
	defer debug.SetGCPercent(original)
	current := func() int {
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		tuneGC(map[string]string{name: "1"})
		require.Equal(t, 70, current())
	}
	tuneGC(nil)
	require.Greater(t, current(), 100, "the live heap of a test is small")
	large := make([]byte, 2*minHeap)
	require.Eventually(t, func() bool {
		runtime.GC()
		return current() == 100
	}, time.Minute, time.Millisecond)
	runtime.KeepAlive(large)
}
