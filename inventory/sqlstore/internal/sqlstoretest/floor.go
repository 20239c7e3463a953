package sqlstoretest

import (
	"database/sql"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

// Floor is what a program would do by hand, in one kind of database. T is what the driver
// makes of times.
type Floor[T any] struct {
	DB        *sql.DB
	Parameter func(n int) string    // the nth of a statement, from 1: "?" or "$1"
	Unindexed string                // before a column for which no index is to be used; may be empty
	Time      func(t time.Time) any // a time as an argument
}

const columns = "id, created_at, updated_at, version, hostname, ip, model, vendor, os, os_version, status, role, serial_number, rack_position, location_id, last_seen, tags, notes"

const total = ", (SELECT CAST(sum(n) AS bigint) FROM tallies WHERE resource = 'devices' AND field = "

// read is what is measured: the query, and the statement that a program would have
// written by hand for it.
type read struct {
	name  string
	query *inventory.Query
	floor string
	args  []any
}

func (f *Floor[T]) reads(rows int) []read {
	devices := inventory.Of[inventory.Device]()
	hostname, _ := devices.Field("hostname")
	created, _ := devices.Field("created_at")
	far := Fleet(rows*9/10, rows*9/10+1)[0].Meta()
	sorted := func(q *inventory.Query, f *inventory.Field) *inventory.Query {
		q.Sort = []inventory.SortKey{{Field: f}}
		return q
	}
	return []read{
		{
			"list 20 filtered, sorted, counted", sorted((&inventory.Query{Resource: devices, Limit: 20, Count: true}).Where("vendor", "vendor 3"), hostname),
			"SELECT " + columns + total + "'vendor' AND value = " + f.Parameter(1) + ") FROM devices WHERE " + f.Unindexed + "vendor = " + f.Parameter(2) + " ORDER BY hostname LIMIT 21",
			[]any{"vendor 3", "vendor 3"},
		},
		{
			"list 100, counted", &inventory.Query{Resource: devices, Limit: 100, Count: true},
			"SELECT " + columns + total + "'') FROM devices ORDER BY id LIMIT 101", nil,
		},
		{
			"deep by id", &inventory.Query{Resource: devices, Limit: 20, After: &inventory.Place{ID: far.ID}},
			"SELECT " + columns + " FROM devices WHERE id > " + f.Parameter(1) + " ORDER BY id LIMIT 21",
			[]any{far.ID},
		},
		{
			"deep by time", sorted(&inventory.Query{Resource: devices, Limit: 20, After: &inventory.Place{ID: far.ID, Values: []any{far.CreatedAt}}}, created),
			"SELECT " + columns + " FROM devices WHERE (created_at, id) > (" + f.Parameter(1) + ", " + f.Parameter(2) + ") ORDER BY created_at, id LIMIT 21",
			[]any{f.Time(far.CreatedAt), far.ID},
		},
		{
			"count all", &inventory.Query{Resource: devices, Limit: 1, Count: true},
			"SELECT " + columns + total + "'') FROM devices ORDER BY id LIMIT 2", nil,
		},
		{
			"count one field", (&inventory.Query{Resource: devices, Limit: 1, Count: true}).Where("status", "active"),
			"SELECT " + columns + total + "'status' AND value = 'active') FROM devices WHERE status = 'active' ORDER BY id LIMIT 2", nil,
		},
	}
}

func prepare(b *testing.B, db *sql.DB, text string) *sql.Stmt {
	b.Helper()
	stmt, err := db.PrepareContext(b.Context(), text)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = stmt.Close() })
	return stmt
}

// byHand runs a statement and scans what it returns.
func (f *Floor[T]) byHand(b *testing.B, stmt *sql.Stmt, counted bool, args ...any) {
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
		b.Fatal("nothing there:", rows.Err())
	}
}
