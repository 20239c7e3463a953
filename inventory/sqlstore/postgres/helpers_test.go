package postgres_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

func deviceID(n int) string { return sqlstoretest.ID(n) }

func makeDevices(n, m int) []inventory.Record { return sqlstoretest.Devices(n, m) }

func create(t testing.TB, store inventory.Store, records ...inventory.Record) error {
	t.Helper()
	return sqlstoretest.Create(t, store, records...)
}
