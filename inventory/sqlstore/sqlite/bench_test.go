package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

func BenchmarkRead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "inventory.db")
	sqlstoretest.BenchRead(b, open(b, path), &sqlstoretest.Baseline[int64]{
		DB: raw(b, path), Unindexed: "+",
		Parameter: func(int) string { return "?" },
		Time:      func(t time.Time) any { return t.UnixMicro() },
	})
}

func BenchmarkFill(b *testing.B) {
	sqlstoretest.BenchFill(b, open(b, filepath.Join(b.TempDir(), "inventory.db")))
}

func BenchmarkCreate(b *testing.B) {
	sqlstoretest.BenchCreate(b, open(b, filepath.Join(b.TempDir(), "inventory.db")))
}

func BenchmarkUpdate(b *testing.B) {
	sqlstoretest.BenchUpdate(b, open(b, filepath.Join(b.TempDir(), "inventory.db")))
}

func BenchmarkWriters(b *testing.B) {
	sqlstoretest.BenchWriters(b, open(b, filepath.Join(b.TempDir(), "inventory.db")))
}

func BenchmarkCascades(b *testing.B) {
	sqlstoretest.BenchCascades(b, open(b, filepath.Join(b.TempDir(), "inventory.db")))
}
