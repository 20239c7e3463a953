package inventory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// A device is created, updated and found, and the changes are in the audit log.
func Example() {
	ctx := context.Background()
	store := records.NewMemStore(inventory.Schema())
	v := records.New(store, nil)
	by := records.Caller{Name: "jane"}
	devices := records.Of[inventory.Device](store.Schema())

	d := &inventory.Device{Hostname: "core-1", IP: "192.0.2.1", Model: "QFX5120", Vendor: "Juniper", OS: "Junos", Status: inventory.DeviceActive}
	if err := v.Create(ctx, by, d); err != nil {
		fmt.Println(err)
		return
	}
	change := records.Patch{"status": json.RawMessage(`"maintenance"`)}
	changed, err := v.Update(ctx, by, devices, records.Edit{ID: d.ID, Apply: devices.Patch(change)})
	fmt.Println(err, changed[0].Meta().Version)

	q, err := records.ParseQuery(devices, url.Values{"hostname__startswith": {"CORE"}, "status": {"maintenance"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := store.List(ctx, q)
	fmt.Println(err, page.Total, page.Records[0].(*inventory.Device).Hostname)

	entries, err := store.List(ctx, &records.Query{Resource: records.Of[records.AuditLog](inventory.Schema())})
	for _, e := range entries.Records {
		fmt.Println(err, e.(*records.AuditLog).Action)
	}
	// Output:
	// <nil> 2
	// <nil> 1 core-1
	// <nil> create
	// <nil> update
}

// The example of the package comment.
func ExampleNew() {
	ctx := context.Background()
	v := records.New(records.NewMemStore(inventory.Schema()), nil)
	site := &inventory.Location{Name: "Berlin 1", City: "Berlin", Country: "DE", Address: "Allee 1"}
	err := v.Create(ctx, records.Caller{Name: "jane"}, site)
	fmt.Println(err, records.ValidID(site.ID), site.Version)
	// Output:
	// <nil> true 1
}

// An error names every invalid field.
func Example_check() {
	vlans := records.Of[inventory.VLAN](inventory.Schema())
	err := vlans.Check(&inventory.VLAN{VLANID: 5000, SubnetCIDR: "192.0.2.0/24", GatewayIP: "198.51.100.1"})
	fmt.Println(err)
	// Output:
	// Invalid VLAN: vlan_id must be from 1 to 4094; name must not be empty; gateway_ip must be an address of the subnet 192.0.2.0/24
}

// A resource describes its fields, for API documents and databases.
func ExampleResource_Fields() {
	for _, f := range records.Of[inventory.VLAN](inventory.Schema()).Fields() {
		fmt.Println(f.Name, f.Kind, f.Required, f.Nullable, f.Sortable())
	}
	// Output:
	// id text false false true
	// created_at time false false true
	// updated_at time false false true
	// version int false false true
	// vlan_id int true false true
	// name text true false true
	// description text false false true
	// status text false false true
	// location_id text false true true
	// subnet_cidr text false false true
	// gateway_ip text false false true
}

// An enumeration lists its values, so that errors can name them.
func ExampleParseEnum() {
	status, err := records.ParseEnum[inventory.DeviceStatus]("Maintenance")
	fmt.Println(status == inventory.DeviceMaintenance, err)
	_, err = records.ParseEnum[inventory.DeviceStatus]("broken")
	fmt.Println(err)
	// Output:
	// true <nil>
	// must be one of active, offline, maintenance, provisioning, decommissioned
}

func ExampleParseSpeed() {
	for _, text := range []string{"10Gbps", "2.5 gbps", "1.6Tbps", "fast"} {
		mbps, err := records.ParseSpeed(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(text, "is", mbps, "Mbps")
	}
	// Output:
	// 10Gbps is 10000 Mbps
	// 2.5 gbps is 2500 Mbps
	// 1.6Tbps is 1600000 Mbps
	// must be auto, or a number and a unit such as 10Gbps, 2.5G, 100Mbit or 64kbps; a number without a unit is in Mbps
}
