package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// The packages below open databases and end here. A program that has handles with settings of its own makes the store
// over them, and sqlite.New and postgres.New check one that it shares. One handle may do both, write and read.
func ExampleNew() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		fmt.Println(err)
		return
	}
	db.SetMaxOpenConns(1) // each connection to a database in memory would have one of its own
	store, err := sqlstore.New(ctx, db, db, sqlite.Dialect(), inventory.Schema(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close() // and db
	page, err := store.List(ctx, &records.Query{Resource: records.Of[inventory.Device](inventory.Schema()), Count: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Total, "devices")
	// Output: 0 devices
}

// A hook writes a row of the program in the transaction of a change. A refused change leaves no row.
func ExampleSQL() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", ":memory:?_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection to a database in memory would have one of its own
	if _, err := db.ExecContext(ctx, "CREATE TABLE orders (hostname TEXT NOT NULL)"); err != nil {
		fmt.Println(err)
		return
	}
	schema, err := inventory.NewSchema(records.OnChange("devices", func(ctx context.Context, tx records.Tx, before, after records.Record) error {
		if before != nil {
			return nil // not a new device
		}
		own, err := sqlstore.SQL(tx)
		if err == nil {
			_, err = own.ExecContext(ctx, "INSERT INTO orders (hostname) VALUES (?)", after.(*inventory.Device).Hostname)
		}
		return err
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	store, err := sqlite.New(ctx, db, schema, &sqlstore.Options{Namespace: "inventory"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close() // db stays open
	network := records.New(store, nil)
	for _, hostname := range []string{"core1", "core2", "core1"} {
		if err := network.Create(ctx, records.Caller{}, &inventory.Device{Hostname: hostname}); err != nil {
			fmt.Println(hostname, records.KindOf(err) == records.Conflict)
		}
	}
	var orders, devices int
	err = db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM inventory_devices)").Scan(&orders, &devices)
	fmt.Println(orders, "orders,", devices, "devices", err)
	// Output:
	// core1 true
	// 2 orders, 2 devices <nil>
}

// A list says by which index it reads its page. What the plans are is documented in internal/plan.
func ExampleStore_Explain() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory, inventory.Schema(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	devices := records.Of[inventory.Device](inventory.Schema())
	for _, hostname := range []string{"core1", "core2"} {
		d := &inventory.Device{Hostname: hostname, Vendor: "Juniper"}
		if err := records.New(store, nil).Create(ctx, records.Caller{}, d); err != nil {
			fmt.Println(err)
			return
		}
	}
	for _, vendor := range []string{"Juniper", "Cisco"} {
		q := (&records.Query{Resource: devices, Limit: 20}).Where("vendor", vendor)
		text, err := store.Explain(ctx, q)
		plan, _, _ := strings.Cut(text, "\n")
		fmt.Println(vendor+":", plan, err)
	}
	// Output:
	// Juniper: in order: devices_vendor_95498351_idx <nil>
	// Cisco: no record matches <nil>
}
