package main

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCPUOfThisProcess burns CPU until the account has grown by five units.
func TestCPUOfThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		_, err := cpu(os.Getpid())
		require.ErrorContains(t, err, "/proc")
		return
	}
	before, err := cpu(os.Getpid())
	require.NoError(t, err)
	start := time.Now()
	for after := before; after < before+5*cpuUnit; {
		after, err = cpuOf([]int{os.Getpid()})
		require.NoError(t, err)
		require.Less(t, time.Since(start), time.Minute, "the CPU time of a busy process does not grow")
	}
	_, err = cpuOf([]int{1 << 30})
	require.ErrorContains(t, err, "no process 1073741824")
}

func TestStat(t *testing.T) {
	t.Parallel()
	units, err := statUnits([]byte("7 (a) R 1 (b)) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0\n"))
	require.NoError(t, err)
	assert.EqualValues(t, 200, units, "whatever the name contains")
	for stat, want := range map[string]string{
		"":                                       "0 fields",
		"7 (a) S 1 2 3":                          "4 fields",
		"7 (a) S 1 2 3 4 5 6 7 8 9 10 x 50 0 0":  "utime",
		"7 (a) S 1 2 3 4 5 6 7 8 9 10 50 -1 0 0": "stime",
	} {
		_, err = statUnits([]byte(stat))
		assert.ErrorContains(t, err, want)
	}
}
