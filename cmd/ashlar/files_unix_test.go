//go:build unix

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
)

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}

// TestModes checks that the data directory and its files belong to their owner only, whatever the
// umask, and that looser modes are repaired and reported.
func TestModes(t *testing.T) {
	for _, umask := range []int{0, 0o777} {
		dir := filepath.Join(t.TempDir(), "data")
		old := syscall.Umask(umask)
		n := &network{dir: dir, port: &port{}}
		var log bytes.Buffer
		err := errors.Join(n.claim(&log), n.prepare(&log), (&limits{settings: settings.Default()}).useSample(dir, false), n.close())
		syscall.Umask(old)
		require.NoError(t, err)
		require.Empty(t, log.String())
		password := filepath.Join(dir, passwordFile)
		own := []string{password, filepath.Join(dir, lockFile), filepath.Join(dir, limitsDir, sampleFile)}
		restricted := func() {
			t.Helper()
			require.Equal(t, fs.FileMode(0o700), modeOf(t, dir))
			require.Equal(t, fs.FileMode(0o700), modeOf(t, filepath.Join(dir, limitsDir)))
			for _, file := range own {
				require.Equal(t, fs.FileMode(0o600), modeOf(t, file), file)
			}
		}
		restricted()

		require.NoError(t, errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Join(dir, limitsDir), 0o755)))
		for _, file := range own {
			require.NoError(t, os.Chmod(file, 0o644))
		}
		again := &network{dir: dir, port: &port{}}
		require.NoError(t, errors.Join(again.claim(&log), again.prepare(&log), again.close()))
		require.Equal(t, n.password, again.password)
		restricted()
		require.Equal(t, 5, strings.Count(log.String(), "others could read"), log.String())
	}
}

// TestSharedDirectory checks that a directory with files of others is not changed, but refused.
func TestSharedDirectory(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "letter.txt"), nil, 0o644))
	code, text := fail(t, append(anywhere(t), "-data", dir)...)
	require.Equal(t, cli.ExitFailure, code)
	require.Contains(t, text, "directory of its own")
	require.Equal(t, fs.FileMode(0o755), modeOf(t, dir))
	require.NoFileExists(t, filepath.Join(dir, passwordFile))
	require.NoFileExists(t, filepath.Join(dir, lockFile))
}
