package postgres_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

func BenchmarkRead(b *testing.B) {
	url := postgrestest.Start(b).Database(b)
	sqlstoretest.BenchRead(b, open(b, url, nil), &sqlstoretest.Baseline[time.Time]{
		DB:        raw(b, url),
		Parameter: func(n int) string { return "$" + strconv.Itoa(n) },
		Time:      func(t time.Time) any { return t },
	})
}

func BenchmarkFill(b *testing.B) {
	sqlstoretest.BenchFill(b, open(b, postgrestest.Start(b).Database(b), nil))
}

func BenchmarkCreate(b *testing.B) {
	sqlstoretest.BenchCreate(b, open(b, postgrestest.Start(b).Database(b), nil))
}

func BenchmarkUpdate(b *testing.B) {
	sqlstoretest.BenchUpdate(b, open(b, postgrestest.Start(b).Database(b), nil))
}

func BenchmarkWriters(b *testing.B) {
	for _, setting := range []string{"fsync=off", "fsync=on"} {
		b.Run(setting, func(b *testing.B) {
			sqlstoretest.BenchWriters(b, open(b, postgrestest.Start(b, setting).Database(b), nil))
		})
	}
}

func BenchmarkCascades(b *testing.B) {
	sqlstoretest.BenchCascades(b, open(b, postgrestest.Start(b).Database(b), nil))
}
