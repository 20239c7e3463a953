package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
	"github.com/ashlar-go/ashlar/inventory/storetest"
)

// TestPooler: a store keeps the contract behind a PgBouncer in transaction mode, with the plain URL.
func TestPooler(t *testing.T) {
	if testing.Short() {
		t.Skip("TestServer is the short form")
	}
	t.Parallel()
	server := shared.Server(t)
	empty := server.Database(t)
	store, err := postgres.Open(t.Context(), empty, storetest.Schema(), nil)
	require.NoError(t, err)
	require.NoError(t, store.Close())
	sqlstoretest.CheckContract(t, func(t testing.TB) records.Store {
		return openSchema(t, server.Pooler(t, server.Copy(t, empty)), storetest.Schema(), nil)
	})
}
