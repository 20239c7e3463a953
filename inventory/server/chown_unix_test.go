//go:build unix

package server_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/server"
)

// TestRotateLinkedKeyFile checks that a rotation changes the target of a link, and keeps its mode
// and its owner: servers of a group may read it.
func TestRotateLinkedKeyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link := filepath.Join(dir, "jwt.key"), filepath.Join(dir, "link")
	key := bytes.Repeat([]byte("k"), 40)
	require.NoError(t, os.WriteFile(file, key, 0o600))
	require.NoError(t, os.Chmod(file, 0o640))
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(file, 1234, 1235))
	}
	before, err := os.Stat(file)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(file, link))
	_, err = server.RotateKey(t.Context(), settings(t, map[string]string{"JWT_SECRET_FILE": link}), false, nil)
	require.NoError(t, err)
	after, err := os.Lstat(file)
	require.NoError(t, err)
	assert.NotEqual(t, key, read(t, file, nil))
	assert.Equal(t, before.Mode(), after.Mode())
	if owner, ok := before.Sys().(*syscall.Stat_t); ok {
		changed := after.Sys().(*syscall.Stat_t)
		assert.Equal(t, []uint32{owner.Uid, owner.Gid}, []uint32{changed.Uid, changed.Gid})
	}
}
