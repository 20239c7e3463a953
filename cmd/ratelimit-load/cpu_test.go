package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCPUOfThisProcess burns CPU until the account has grown by five ticks.
func TestCPUOfThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		_, err := openProcfs(procRoot)
		require.ErrorContains(t, err, "needs the proc file system of Linux")
		return
	}
	proc, err := openProcfs(procRoot)
	require.NoError(t, err)
	before, err := proc.cpu(os.Getpid())
	require.NoError(t, err)
	start := time.Now()
	for after := before; after < before+5*proc.tick; {
		after, err = proc.cpu(os.Getpid())
		require.NoError(t, err)
		require.Less(t, time.Since(start), time.Minute, "the CPU time of a busy process does not grow")
	}
}

// fakeProc writes a proc file system with one process, 7.
func fakeProc(t *testing.T, stat string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{"self/auxv": auxv(6, 4096, 17, 100, 0, 0), "7/stat": stat} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o600))
	}
	return root
}

// auxv is an auxiliary vector of native words.
func auxv(words ...uint64) string {
	var b []byte
	for _, word := range words {
		if strconv.IntSize == 32 {
			b = binary.NativeEndian.AppendUint32(b, uint32(word))
		} else {
			b = binary.NativeEndian.AppendUint64(b, word)
		}
	}
	return string(b)
}

func TestStat(t *testing.T) {
	t.Parallel()
	proc, err := openProcfs(fakeProc(t, "7 (a) R 1 (b)) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0\n"))
	require.NoError(t, err)
	got, err := proc.cpu(7)
	require.NoError(t, err)
	assert.Equal(t, 2*time.Second, got, "150 and 50 ticks of 10 ms, whatever the name contains")

	_, err = proc.cpu(8)
	assert.EqualError(t, err, "no process 8 to read the CPU time of")
}

func TestBadStat(t *testing.T) {
	t.Parallel()
	for stat, want := range map[string]string{
		"":                                       "0 fields behind the name, want at least 13",
		"7 (a) S 1 2 3":                          "4 fields behind the name",
		"7 (a) S 1 2 3 4 5 6 7 8 9 10 x 50 0 0":  "utime: ",
		"7 (a) S 1 2 3 4 5 6 7 8 9 10 50 -1 0 0": "stime: ",
	} {
		proc, err := openProcfs(fakeProc(t, stat))
		require.NoError(t, err)
		_, err = proc.cpu(7)
		assert.ErrorContains(t, err, want)
	}
}

func TestNoProc(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	_, err := newMeter(empty, []int{1})
	require.ErrorContains(t, err, "CPU per call (-pids) needs the proc file system of Linux")

	m, err := newMeter(empty, nil)
	require.NoError(t, err, "no process is watched")
	times, err := m.read(nil)
	require.NoError(t, err)
	assert.Empty(t, times)

	require.NoError(t, os.MkdirAll(filepath.Join(empty, "self"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(empty, "self", "auxv"), nil, 0o600))
	_, err = openProcfs(empty)
	assert.ErrorContains(t, err, "no AT_CLKTCK")
}
