package registry_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/manifest/registry"
	"github.com/ashlar-go/ashlar/manifest/registry/registrytest"
)

func TestMemStore(t *testing.T) {
	t.Parallel()
	registrytest.Run(t, func(*testing.T) registry.Store { return registry.NewMemStore(nil) })
}

// TestMemStoreFull: the size is limited, and replacing entries does not use it up.
func TestMemStoreFull(t *testing.T) {
	t.Parallel()
	m := registry.NewMemStore(&registry.MemOptions{MaxBytes: 4000})
	large := registrytest.Entry("a.b/c", "1.0.0", strings.Repeat("x", 1000), registrytest.Start())
	for range 10 {
		require.NoError(t, m.Mirrored(t.Context(), []registry.Entry{*large}, nil))
	}
	large.Version = "2.0.0"
	require.NoError(t, m.Publish(t.Context(), large, registry.Limits{Versions: 1000, Bytes: 64 << 20}))
	large.Version = "3.0.0"
	require.ErrorIs(t, m.Publish(t.Context(), large, registry.Limits{Versions: 1000, Bytes: 64 << 20}), registry.ErrFull)
	_, err := m.Get(t.Context(), "a.b/c", "3.0.0")
	require.ErrorIs(t, err, registry.ErrNotFound)
}
