package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/internal/servertest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
)

// TestReplicaLost: while a replica is silent or gone, reads go to the database itself, also at the start, and Ping
// passes. A standby is refused as the database itself.
//
// An operator sees it by inventory_database_replica_up, inventory_database_replica_fallbacks_total and the warning "the
// replica of the database does not respond"; readiness stays.
func TestReplicaLost(t *testing.T) {
	t.Parallel()
	primary := postgrestest.Start(t)
	url := primary.Database(t)
	standby := primary.Standby()
	primary.Exec(t, "ALTER SYSTEM SET synchronous_standby_names = ''")
	primary.Exec(t, "SELECT pg_reload_conf()")
	proxy := servertest.NewProxy(t, standby.Addr())
	opts := &postgres.Options{ReadURL: strings.Replace(url, primary.Addr(), proxy.Addr, 1), Store: &sqlstore.Options{Timeout: 4 * time.Second}}
	devices := records.Of[inventory.Device](inventory.Schema())
	store := open(t, url, opts)
	require.NoError(t, create(t, store, makeDevices(0, 1)...))
	replica := func(store *sqlstore.Store) bool {
		up, _ := store.Replica()
		return up
	}
	read := func(store *sqlstore.Store, times int) {
		for range times {
			_, err := store.Get(t.Context(), devices, deviceID(0))
			require.NoError(t, err)
			_, err = store.List(t.Context(), &records.Query{Resource: devices, Limit: 10, Count: true})
			require.NoError(t, err)
		}
		require.NoError(t, store.Ping(t.Context()))
	}
	require.Eventually(t, func() bool { // it lags
		_, err := store.Get(t.Context(), devices, deviceID(0))
		return err == nil
	}, time.Minute, time.Millisecond)
	require.True(t, replica(store))

	for _, fault := range []func(){func() { proxy.Set(servertest.Stall) }, func() { standby.Kill() }} {
		fault()
		begin := time.Now()
		read(store, 50)
		require.Less(t, time.Since(begin), time.Minute, "each read waits for the replica")
		require.False(t, replica(store))
		read(open(t, url, opts), 1)
		standby.Restart()
		proxy.Set(servertest.None)
		require.Eventually(t, func() bool { // it begins with what it has on disk
			_, err := store.Get(t.Context(), devices, deviceID(0))
			if err != nil {
				require.Equal(t, records.NotFound, records.KindOf(err), err)
			}
			return err == nil && replica(store)
		}, time.Minute, 10*time.Millisecond)
	}
	_, fallbacks := store.Replica()
	require.Greater(t, fallbacks, int64(50))

	_, err := postgres.Open(t.Context(), strings.Replace(url, primary.Addr(), standby.Addr(), 1), inventory.Schema(), nil)
	require.ErrorContains(t, err, "standby")
}
