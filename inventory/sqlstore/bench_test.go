package sqlstore_test

import (
	"database/sql"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

// fill creates a number of devices, a thousand in a call.
func fill(b *testing.B, store records.Store, rows int) {
	b.Helper()
	for n := 0; n < rows; n += records.MaxItems {
		if err := sqlstoretest.Create(b, store, sqlstoretest.Devices(n, min(n+records.MaxItems, rows))...); err != nil {
			b.Fatal(err)
		}
	}
}

// benchRead compares an empty store with handwritten statements in the same run, with 10,000
// devices or ASHLAR_BENCH_ROWS.
func benchRead[T any](b *testing.B, store records.Store, baseline *baseline[T]) {
	b.Helper()
	rows := 10_000
	if n, err := strconv.Atoi(os.Getenv("ASHLAR_BENCH_ROWS")); err == nil {
		rows = n
	}
	fill(b, store, rows)
	b.Run("get one", func(b *testing.B) {
		stmt := prepare(b, baseline.DB, "SELECT "+columns+" FROM devices WHERE id = "+baseline.Parameter(1))
		n, m := 0, 0 // both read the same ids
		compare(b, func() {
			n = (n + 7919) % rows
			if _, err := store.Get(b.Context(), records.Of[inventory.Device](inventory.Schema()), sqlstoretest.ID(n)); err != nil {
				b.Fatal(err)
			}
		}, func() {
			m = (m + 7919) % rows
			baseline.run(b, stmt, false, sqlstoretest.ID(m))
		})
	})
	for _, r := range baseline.reads(rows) {
		b.Run(r.name, func(b *testing.B) {
			stmt := prepare(b, baseline.DB, r.text)
			compare(b, func() {
				if page, err := store.List(b.Context(), r.query); err != nil || len(page.Records) == 0 {
					b.Fatal("no records:", err)
				}
			}, func() { baseline.run(b, stmt, r.query.Count, r.args...) })
		})
	}
}

// compare runs both alternately. x-baseline is the ratio of their times.
func compare(b *testing.B, store, baseline func()) {
	b.Helper()
	var spent [2]time.Duration
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		for i := range 2 {
			which := (n + i) % 2 // the second one benefits from caches
			begin := time.Now()
			[...]func(){store, baseline}[which]()
			spent[which] += time.Since(begin)
		}
	}
	b.ReportMetric(float64(spent[0].Microseconds())/float64(b.N), "us-store")
	b.ReportMetric(float64(spent[0])/float64(spent[1]), "x-baseline")
}

// benchFill creates devices in an empty store, a thousand in a call.
func benchFill(b *testing.B, store records.Store) {
	b.Helper()
	n := 0
	for b.Loop() {
		if err := sqlstoretest.Create(b, store, sqlstoretest.Devices(n, n+records.MaxItems)...); err != nil {
			b.Fatal(err)
		}
		n += records.MaxItems
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}

// benchCreate creates 1,000 devices in a call, with their audit log entries.
func benchCreate(b *testing.B, store records.Store) {
	b.Helper()
	v := records.New(store, nil)
	n := 0
	for b.Loop() {
		all := sqlstoretest.Devices(n, n+records.MaxItems)
		for _, rec := range all {
			*rec.Meta() = records.Base{}
		}
		if err := v.Create(b.Context(), records.Caller{Name: "jane"}, all...); err != nil {
			b.Fatal(err)
		}
		n += records.MaxItems
	}
}

// benchUpdate updates 100 records of an empty store in a call, with their audit entries.
func benchUpdate(b *testing.B, store records.Store) {
	b.Helper()
	fill(b, store, 1000)
	v := records.New(store, nil)
	n := 0
	for b.Loop() {
		n++
		edits := make([]records.Edit, 100)
		for i := range edits {
			edits[i] = records.Edit{ID: sqlstoretest.ID(i), Apply: func(rec records.Record) error {
				rec.(*inventory.Device).Notes = "note " + strconv.Itoa(n)
				return nil
			}}
		}
		if _, err := v.Update(b.Context(), records.Caller{Name: "jane"}, records.Of[inventory.Device](inventory.Schema()), edits...); err != nil {
			b.Fatal(err)
		}
	}
}

// baseline runs handwritten statements in one kind of database. T is the type in which the
// driver scans times.
type baseline[T any] struct {
	DB        *sql.DB
	Parameter func(n int) string    // returns the nth parameter of a statement, from 1: "?" or "$1"
	Unindexed string                // precedes a column for which no index is to be used; may be empty
	Time      func(t time.Time) any // a time as an argument
}

const columns = "id, created_at, updated_at, version, hostname, ip, model, vendor, os, os_version, status, role, serial_number, rack_position, location_id, last_seen, tags, notes"

const total = ", (SELECT CAST(sum(n) AS bigint) FROM tallies WHERE resource = 'devices' AND field = "

// read is a query and the handwritten statement for it.
type read struct {
	name  string
	query *records.Query
	text  string
	args  []any
}

func (f *baseline[T]) reads(rows int) []read {
	devices := records.Of[inventory.Device](inventory.Schema())
	hostname, _ := devices.Field("hostname")
	created, _ := devices.Field("created_at")
	far := sqlstoretest.Devices(rows*9/10, rows*9/10+1)[0].Meta()
	sorted := func(q *records.Query, f *records.Field) *records.Query {
		q.Sort = []records.SortKey{{Field: f}}
		return q
	}
	return []read{
		{
			"list 20 filtered, sorted, counted", sorted((&records.Query{Resource: devices, Limit: 20, Count: true}).Where("vendor", "vendor 3"), hostname),
			"SELECT " + columns + total + "'vendor' AND value = " + f.Parameter(1) + ") FROM devices WHERE " + f.Unindexed + "vendor = " + f.Parameter(2) + " ORDER BY hostname LIMIT 21",
			[]any{"vendor 3", "vendor 3"},
		},
		{
			"list 100, counted", &records.Query{Resource: devices, Limit: 100, Count: true},
			"SELECT " + columns + total + "'') FROM devices ORDER BY id LIMIT 101", nil,
		},
		{
			"deep by id", &records.Query{Resource: devices, Limit: 20, After: &records.Place{ID: far.ID}},
			"SELECT " + columns + " FROM devices WHERE id > " + f.Parameter(1) + " ORDER BY id LIMIT 21",
			[]any{far.ID},
		},
		{
			"deep by time", sorted(&records.Query{Resource: devices, Limit: 20, After: &records.Place{ID: far.ID, Values: []any{far.CreatedAt}}}, created),
			"SELECT " + columns + " FROM devices WHERE (created_at, id) > (" + f.Parameter(1) + ", " + f.Parameter(2) + ") ORDER BY created_at, id LIMIT 21",
			[]any{f.Time(far.CreatedAt), far.ID},
		},
		{
			"count all", &records.Query{Resource: devices, Limit: 1, Count: true},
			"SELECT " + columns + total + "'') FROM devices ORDER BY id LIMIT 2", nil,
		},
		{
			"count one field", (&records.Query{Resource: devices, Limit: 1, Count: true}).Where("status", "active"),
			"SELECT " + columns + total + "'status' AND value = 'active') FROM devices WHERE status = 'active' ORDER BY id LIMIT 2", nil,
		},
	}
}

func prepare(b *testing.B, db *sql.DB, text string) *sql.Stmt {
	b.Helper()
	stmt, err := db.PrepareContext(b.Context(), text) // #nosec G701 -- the text is one of this file
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = stmt.Close() })
	return stmt
}

// run runs a statement and scans its rows.
func (f *baseline[T]) run(b *testing.B, stmt *sql.Stmt, counted bool, args ...any) {
	b.Helper()
	rows, err := stmt.QueryContext(b.Context(), args...)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	var all []*inventory.Device
	var created, updated T
	var seen *T
	var total int64
	var tags string
	for rows.Next() {
		d := &inventory.Device{}
		into := []any{
			&d.ID, &created, &updated, &d.Version, &d.Hostname, &d.IP, &d.Model, &d.Vendor, &d.OS, &d.OSVersion, &d.Status,
			&d.Role, &d.SerialNumber, &d.RackPosition, &d.LocationID, &seen, &tags, &d.Notes,
		}
		if counted {
			into = append(into, &total)
		}
		if err := rows.Scan(into...); err != nil {
			b.Fatal(err)
		}
		all = append(all, d)
	}
	if rows.Err() != nil || len(all) == 0 || counted && total == 0 {
		b.Fatal("no records:", rows.Err())
	}
}
