package postgres_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

// What all tests here use, by short names.

func benchID(n int) string { return sqlstoretest.ID(n) }

func fleet(n, m int) []inventory.Record { return sqlstoretest.Fleet(n, m) }

func create(t testing.TB, store inventory.Store, records ...inventory.Record) error {
	t.Helper()
	return sqlstoretest.Create(t, store, records...)
}
