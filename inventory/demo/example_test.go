package demo_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Fill a store with a small network and look up a device.
func ExampleFill() {
	ctx := context.Background()
	store := records.NewMemStore(inventory.Schema())
	counts, err := demo.Fill(ctx, store, &demo.Options{Devices: 100, Now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)})
	fmt.Println(counts, err)

	q := (&records.Query{Resource: records.Of[inventory.Device](inventory.Schema())}).Where("hostname", "ber1-acc-01")
	page, err := store.List(ctx, q)
	for _, rec := range page.Records {
		d := rec.(*inventory.Device)
		fmt.Println(d.Hostname, d.IP, d.Role, d.Vendor, err)
	}
	// Output:
	// map[addresses:68 audit-logs:37 cable-ends:348 cables:174 device-types:24 devices:100 events:20 front-ports:84 interfaces:353 links:136 locations:14 metrics:144 port-templates:54 prefixes:27 racks:11 rear-ports:14 tagged-vlans:39 terminations:2 vlans:18 vrfs:3] <nil>
	// ber1-acc-01 172.16.0.10 access-switch Cisco <nil>
}
