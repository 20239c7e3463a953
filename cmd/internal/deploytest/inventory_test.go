package deploytest_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	inventory "github.com/ashlar-go/ashlar/inventory/server"
)

// opened opens an inventory server and returns it with its output.
func opened(t *testing.T, environ map[string]string) (srv *inventory.Server, output string) {
	t.Helper()
	s, err := inventory.Parse(environ, nil)
	require.NoError(t, err)
	var printed bytes.Buffer
	srv, err = inventory.New(t.Context(), s, &inventory.Options{Log: slog.New(slog.DiscardHandler), Output: &printed})
	require.NoError(t, err)
	return srv, printed.String()
}

func status(srv *inventory.Server, path string) int {
	w := httptest.NewRecorder()
	srv.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code
}

// TestInventoryPaths checks that the server has all documented paths, and that the health check needs
// no token.
func TestInventoryPaths(t *testing.T) {
	t.Parallel()
	srv, output := opened(t, map[string]string{"DATABASE_URL": filepath.Join(t.TempDir(), "inventory.db")})
	require.Contains(t, output, `the first admin is "admin"`)
	for _, path := range inventoryd().paths {
		require.NotEqual(t, http.StatusNotFound, status(srv, path), path)
	}
	require.Equal(t, http.StatusOK, status(srv, "/healthz"))
	require.Equal(t, http.StatusUnauthorized, status(srv, "/audit-logs"))
	require.NoError(t, srv.Close())
}

// TestInventoryBackup checks that a server can start with a backup made while another one runs, as
// documented.
func TestInventoryBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	environ := map[string]string{"DATABASE_URL": filepath.Join(dir, "inventory.db"), "ADMIN_PASSWORD": "a long sentence is a good password"}
	srv, output := opened(t, environ)
	require.Empty(t, output, "a password that was given is not shown")
	s, err := inventory.Parse(environ, nil)
	require.NoError(t, err)
	restored := filepath.Join(dir, "copy.db")
	require.NoError(t, inventory.Backup(t.Context(), s, restored))
	require.Error(t, inventory.Backup(t.Context(), s, restored), "the file must not be there yet")
	require.NoError(t, srv.Close())

	srv, output = opened(t, map[string]string{"DATABASE_URL": restored})
	require.Empty(t, output, "there is an admin already")
	require.Equal(t, http.StatusOK, status(srv, "/healthz"))
	require.NoError(t, srv.Close())

	s, err = inventory.Parse(map[string]string{"DATABASE_URL": "postgres://user:hunter2@host/database"}, nil)
	require.NoError(t, err)
	err = inventory.Backup(t.Context(), s, filepath.Join(dir, "other.db"))
	require.ErrorContains(t, err, "pg_dump")
	require.NotContains(t, err.Error(), "hunter2")
}
