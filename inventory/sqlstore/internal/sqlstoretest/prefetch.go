package sqlstoretest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
)

// CheckPrefetch says that what was read ahead is never older than what the transaction has
// done since, and that nothing else changes by reading ahead. The store must be empty, and its
// transactions inventory.Prefetchers.
func CheckPrefetch(t testing.TB, store inventory.Store) {
	t.Helper()
	devices := inventory.Of[inventory.Device]()
	require.NoError(t, Create(t, store, Fleet(0, 600)...))
	hostname := func(tx inventory.Tx, n int) string {
		rec, err := tx.Get(t.Context(), devices, ID(n))
		if err != nil {
			return err.Error()
		}
		return rec.(*inventory.Device).Hostname
	}
	require.NoError(t, store.Change(t.Context(), func(tx inventory.Tx) error {
		p, ok := tx.(inventory.Prefetcher)
		require.True(t, ok, "%T can't prefetch", tx)
		var names, ids []string
		for n := range 600 {
			names = append(names, hostname(tx, n))
			ids = append(ids, ID(n), ID(n), ID(n+1000)) // twice, and one that is not there
		}
		require.NoError(t, p.Prefetch(t.Context(), devices, ids))
		for n, want := range names[:500] {
			require.Equal(t, want, hostname(tx, n))
			require.Equal(t, want, hostname(tx, n), "and again")
		}
		require.Equal(t, inventory.Absent(devices).Error(), hostname(tx, 1000))

		renamed := Fleet(500, 501)[0].(*inventory.Device)
		renamed.Hostname, renamed.Version = "renamed", 2
		require.NoError(t, tx.Update(t.Context(), renamed, 1))
		require.Equal(t, "renamed", hostname(tx, 500))
		require.NoError(t, tx.Delete(t.Context(), devices, ID(501), 1))
		require.Equal(t, inventory.Absent(devices).Error(), hostname(tx, 501))
		require.Equal(t, names[502], hostname(tx, 502))

		require.NoError(t, p.Prefetch(t.Context(), devices, nil))
		require.Equal(t, names[503], hostname(tx, 503))
		return nil
	}))
}
