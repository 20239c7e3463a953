package inventory_test

import (
	"net/url"
	"testing"

	"github.com/ashlar-go/ashlar/inventory"
)

func BenchmarkCheck(b *testing.B) {
	d := full()
	b.ReportAllocs()
	for b.Loop() {
		if err := inventory.Check(d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseQuery(b *testing.B) {
	values := url.Values{"hostname__startswith": {"core"}, "status": {"active"}, "sortby": {"vendor:asc", "hostname:desc"}, "limit": {"20"}}
	r := inventory.Of[inventory.Device]()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := inventory.ParseQuery(r, values); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	v := inventory.New(inventory.NewMemStore(), nil)
	d := device("a")
	if err := v.Create(b.Context(), jane(), d); err != nil {
		b.Fatal(err)
	}
	vendors, n := []string{"Juniper", "Cisco"}, 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		edit := inventory.Edit{ID: d.ID, Apply: func(rec inventory.Record) error {
			rec.(*inventory.Device).Vendor = vendors[n%2]
			return nil
		}}
		if _, err := v.Update(b.Context(), jane(), inventory.Of[inventory.Device](), edit); err != nil {
			b.Fatal(err)
		}
	}
}
