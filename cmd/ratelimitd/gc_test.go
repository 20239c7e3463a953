package main

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTuneGC: the collector lets the heap grow by the ballast, also after further cycles, and is left alone if the
// user has tuned it.
func TestTuneGC(t *testing.T) {
	live := func() int64 {
		runtime.GC()
		runtime.GC()
		s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64())
	}
	before := live()
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		tuneGC(map[string]string{name: "1"})
	}
	require.Less(t, live(), before+ballastBytes/2)
	tuneGC(nil)
	require.Greater(t, live(), before+ballastBytes/2)
	require.Greater(t, live(), before+ballastBytes/2)
}
