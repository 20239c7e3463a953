package inventory_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestHostnames checks what hostnames and serial numbers are, and which are equal, also across locations.
func TestHostnames(t *testing.T) {
	t.Parallel()
	global, err := inventory.NewSchema(inventory.GloballyUniqueHostnames())
	ok(t, err)
	for _, s := range []*records.Schema{schema, global} {
		v := records.New(records.NewMemStore(s), nil)
		create := func(d *inventory.Device) error { return v.Create(t.Context(), records.Caller{}, d) }
		sites := []records.Record{location("a"), location("b")}
		ok(t, v.Create(t.Context(), records.Caller{}, sites...))
		at := func(site int, hostname string) *inventory.Device {
			return &inventory.Device{Hostname: hostname, LocationID: &sites[site].Meta().ID, SerialNumber: " N/A"}
		}
		first := at(0, " sw-1\u00a0")
		ok(t, create(first))
		equal(t, "the device", []string{first.Hostname, first.SerialNumber}, []string{"sw-1", ""})
		ok(t, create(at(0, "sw-01")))
		err := create(at(0, "SW-1"))
		equal(t, "the first field", fields(t, err, records.Conflict)[0], "hostname")
		if err := create(at(1, "SW-1")); s == global {
			isKind(t, err, records.Conflict)
		} else {
			ok(t, err)
		}
	}
}
