package sqlstoretest

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

// fill puts so many devices into a store, a thousand at a time.
func fill(b *testing.B, store inventory.Store, rows int) {
	b.Helper()
	begin := time.Now()
	for n := 0; n < rows; n += inventory.MaxItems {
		batch := Fleet(n, min(n+inventory.MaxItems, rows))
		if err := store.Change(b.Context(), func(tx inventory.Tx) error { return tx.Create(b.Context(), batch...) }); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("filled with %d devices at %.0f a second", rows, float64(rows)/time.Since(begin).Seconds())
}

// benchRows is 10,000, or ASHLAR_BENCH_ROWS.
func benchRows(b *testing.B) int {
	b.Helper()
	text := os.Getenv("ASHLAR_BENCH_ROWS")
	if text == "" {
		return 10_000
	}
	rows, err := strconv.Atoi(text)
	if err != nil {
		b.Fatalf("ASHLAR_BENCH_ROWS: %v", err)
	}
	return rows
}

// BenchRead compares an empty store with the same statements, prepared and scanned by hand,
// in the same run, with 10,000 devices or ASHLAR_BENCH_ROWS.
func BenchRead[T any](b *testing.B, store inventory.Store, floor *Floor[T]) {
	b.Helper()
	rows := benchRows(b)
	fill(b, store, rows)
	b.Run("get one", func(b *testing.B) {
		stmt := prepare(b, floor.DB, "SELECT "+columns+" FROM devices WHERE id = "+floor.Parameter(1))
		n, m := 0, 0 // each goes through the same ids
		compare(b, func() {
			n = (n + 7919) % rows
			if _, err := store.Get(b.Context(), inventory.Of[inventory.Device](), ID(n)); err != nil {
				b.Fatal(err)
			}
		}, func() {
			m = (m + 7919) % rows
			floor.byHand(b, stmt, false, ID(m))
		})
	})
	for _, r := range floor.reads(rows) {
		b.Run(r.name, func(b *testing.B) {
			stmt := prepare(b, floor.DB, r.floor)
			compare(b, func() { list(b, store, r.query) }, func() { floor.byHand(b, stmt, r.query.Count, r.args...) })
		})
	}
}

func list(b *testing.B, store inventory.Store, q *inventory.Query) {
	b.Helper()
	if page, err := store.List(b.Context(), q); err != nil || len(page.Records) == 0 {
		b.Fatal("no records:", err)
	}
}

// BenchFill adds devices to an empty store, a thousand in a call.
func BenchFill(b *testing.B, store inventory.Store) {
	b.Helper()
	n := 0
	for b.Loop() {
		batch := Fleet(n, n+inventory.MaxItems)
		n += inventory.MaxItems
		if err := store.Change(b.Context(), func(tx inventory.Tx) error { return tx.Create(b.Context(), batch...) }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}

// BenchUpdate changes 100 records of an empty store in a call, with their entries in the
// audit log.
func BenchUpdate(b *testing.B, store inventory.Store) {
	b.Helper()
	fill(b, store, 1000)
	v := inventory.New(store, nil)
	n := 0
	for b.Loop() {
		n++
		edits := make([]inventory.Edit, 100)
		for i := range edits {
			edits[i] = inventory.Edit{ID: ID(i), Apply: func(rec inventory.Record) error {
				rec.(*inventory.Device).Notes = "note " + strconv.Itoa(n)
				return nil
			}}
		}
		if _, err := v.Update(b.Context(), inventory.Caller{Name: "jane"}, inventory.Of[inventory.Device](), edits...); err != nil {
			b.Fatal(err)
		}
	}
}
