package sqlstore_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/postgrestest"
)

// benchBoth runs a benchmark on an empty database of each kind.
func benchBoth(b *testing.B, f func(b *testing.B, d *database)) {
	b.Helper()
	b.Run("sqlite", func(b *testing.B) { f(b, newSQLite(b)) })
	b.Run("postgres", func(b *testing.B) { f(b, newPostgres(b)) })
}

func BenchmarkRead(b *testing.B) {
	benchBoth(b, func(b *testing.B, d *database) {
		if d.kind == "sqlite" {
			benchRead(b, d.open(b), &baseline[int64]{
				DB: d.raw(b), Unindexed: "+",
				Parameter: func(int) string { return "?" },
				Time:      func(t time.Time) any { return t.UnixMicro() },
			})
			return
		}
		benchRead(b, d.open(b), &baseline[time.Time]{
			DB:        d.raw(b),
			Parameter: func(n int) string { return "$" + strconv.Itoa(n) },
			Time:      func(t time.Time) any { return t },
		})
	})
}

func BenchmarkFill(b *testing.B) {
	benchBoth(b, func(b *testing.B, d *database) { benchFill(b, d.open(b)) })
}

func BenchmarkCreate(b *testing.B) {
	benchBoth(b, func(b *testing.B, d *database) { benchCreate(b, d.open(b)) })
}

func BenchmarkUpdate(b *testing.B) {
	benchBoth(b, func(b *testing.B, d *database) { benchUpdate(b, d.open(b)) })
}

func BenchmarkWriters(b *testing.B) {
	benchBoth(b, func(b *testing.B, d *database) { benchWriters(b, d.open(b)) })
	b.Run("postgres with fsync", func(b *testing.B) {
		benchWriters(b, (&database{"postgres", postgrestest.Start(b, "fsync=on").Database(b)}).open(b))
	})
}

func BenchmarkCascades(b *testing.B) {
	benchBoth(b, func(b *testing.B, d *database) { benchCascades(b, d.open(b)) })
}
