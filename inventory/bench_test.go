package inventory_test

import (
	"net/url"
	"testing"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

func BenchmarkCheck(b *testing.B) {
	d := full()
	b.ReportAllocs()
	for b.Loop() {
		if err := resourceOf(d).Check(d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseQuery(b *testing.B) {
	values := url.Values{"hostname__startswith": {"core"}, "status": {"active"}, "sortby": {"vendor:asc", "hostname:desc"}, "limit": {"20"}}
	r := records.Of[inventory.Device](schema)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := records.ParseQuery(r, values); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	v := records.New(records.NewMemStore(schema), nil)
	d := device("a")
	if err := v.Create(b.Context(), jane(), d); err != nil {
		b.Fatal(err)
	}
	vendors, n := []string{"Juniper", "Cisco"}, 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		edit := records.Edit{ID: d.ID, Apply: func(rec records.Record) error {
			rec.(*inventory.Device).Vendor = vendors[n%2]
			return nil
		}}
		if _, err := v.Update(b.Context(), jane(), records.Of[inventory.Device](schema), edit); err != nil {
			b.Fatal(err)
		}
	}
}
