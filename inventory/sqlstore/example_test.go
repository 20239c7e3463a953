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

// The packages below open databases and end here. A program that has a pool of connections
// already, with settings of its own, makes the store over it. One handle may do both, write
// and read.
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
