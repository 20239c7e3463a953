package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	catalog "github.com/ashlar-go/ashlar/bookcatalog/sqlstore/sqlite"
	"github.com/ashlar-go/ashlar/manifest/registry"
	"github.com/ashlar-go/ashlar/manifest/registry/registrytest"
	"github.com/ashlar-go/ashlar/manifest/registry/sqlite"
)

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	registrytest.Run(t, func(t *testing.T) registry.Store { return open(t, filepath.Join(t.TempDir(), "registry.db")) })
}

// TestReopen: two handles see the changes of each other, and a file has its entries when it is opened again.
func TestReopen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "registry.db")
	one, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	other := open(t, path)
	e := registrytest.Entry("a.b/c", "1.0.0", "text", registrytest.Start())
	require.NoError(t, one.Mirrored(t.Context(), []registry.Entry{*e}, []byte("here")))
	got, err := other.Get(t.Context(), "a.b/c", "latest")
	require.NoError(t, err)
	require.Equal(t, "1.0.0", got.Version)
	require.NoError(t, other.Publish(t.Context(), registrytest.Entry("a.b/c", "2.0.0", "text", registrytest.Start()), registry.Limits{Versions: 1000, Bytes: 64 << 20}))
	require.NoError(t, one.Close())
	again := open(t, path)
	got, err = again.Get(t.Context(), "a.b/c", "latest")
	require.NoError(t, err)
	require.Equal(t, "2.0.0", got.Version)
	position, err := again.MirrorPosition(t.Context())
	require.NoError(t, err)
	require.Equal(t, "here", string(position))
}

// TestOpenFails: a file of something else is not changed.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	books := filepath.Join(dir, "books.db")
	c, err := catalog.Open(t.Context(), books)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, []byte("this is no database, but a text that is long enough to be one"), 0o600))
	for path, want := range map[string]string{books: "another database", text: text, "": "name a file", filepath.Join(dir, "none", "x.db"): "none"} {
		s, err := sqlite.Open(t.Context(), path)
		if err == nil {
			_ = s.Close()
		}
		require.ErrorContains(t, err, want)
	}
}
