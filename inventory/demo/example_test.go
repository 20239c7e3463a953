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
	fmt.Printf("%+v %v\n", counts, err)

	q := (&records.Query{Resource: records.Of[inventory.Device](inventory.Schema())}).Where("hostname", "ber1-acc-01")
	page, err := store.List(ctx, q)
	for _, rec := range page.Records {
		d := rec.(*inventory.Device)
		fmt.Println(d.Hostname, d.IP, d.Role, d.Vendor, err)
	}
	// Output:
	// {Locations:13 Racks:10 DeviceTypes:25 PortTemplates:56 Devices:100 Interfaces:366 VLANs:13 TaggedVLANs:45 VRFs:3 Prefixes:25 Addresses:89 RearPorts:12 FrontPorts:72 Terminations:4 Links:139 Cables:180 CableEnds:360 Metrics:144 Events:20} <nil>
	// ber1-acc-01 172.16.0.10 access-switch Cisco <nil>
}
