package sqlite_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

func deviceID(n int) string { return sqlstoretest.ID(n) }

func makeDevices(n, m int) []records.Record { return sqlstoretest.Devices(n, m) }

func withBase[R records.Record](n int, rec R) R { return sqlstoretest.WithBase(n, rec) }

func create(t testing.TB, store records.Store, recs ...records.Record) error {
	t.Helper()
	return sqlstoretest.Create(t, store, recs...)
}
