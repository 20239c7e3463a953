package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
)

// checkFailingBulk: failed calls with several items release their connections and locks. With
// two connections there would soon be none.
func checkFailingBulk(t *testing.T, url string) {
	store := open(t, url, &postgres.Options{MaxConns: 2})
	require.NoError(t, create(t, store, makeDevices(0, 2)...))
	v, devices := inventory.New(store, nil), inventory.Of[inventory.Device]()
	rename := func(rec inventory.Record) error { rec.(*inventory.Device).Hostname = "same"; return nil }
	for range 10 {
		_, err := v.Update(t.Context(), inventory.Caller{}, devices,
			inventory.Edit{ID: deviceID(0), Apply: rename}, inventory.Edit{ID: deviceID(1), Apply: rename})
		require.Equal(t, inventory.Conflict, inventory.KindOf(err))
		_, err = v.Update(t.Context(), inventory.Caller{}, devices,
			inventory.Edit{ID: deviceID(0), Apply: rename}, inventory.Edit{ID: deviceID(9), Apply: rename})
		require.Equal(t, inventory.NotFound, inventory.KindOf(err))
		err = v.Delete(t.Context(), inventory.Caller{}, devices, inventory.Edit{ID: deviceID(0)}, inventory.Edit{ID: deviceID(9)})
		require.Equal(t, inventory.NotFound, inventory.KindOf(err))
	}
	_, err := v.Update(t.Context(), inventory.Caller{}, devices, inventory.Edit{ID: deviceID(0), Apply: rename})
	require.NoError(t, err)
}
