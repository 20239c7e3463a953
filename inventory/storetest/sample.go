package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

// generation is how many records of each resource a world has.
const generation = 4

// id is that of the record n of a resource, in the order of n.
func id(r *inventory.Resource, n int) string {
	return fmt.Sprintf("018f4c2e-7b1a-7c3d-%04x-%012x", 0x8000+slices.Index(inventory.StoredResources(), r), n)
}

// moment is a time n minutes and n microseconds into a day.
func moment(n int) time.Time {
	return time.Date(2026, 1, 31, 12, n, 0, n*1000, time.UTC)
}

// full is the record n of a resource, with a value in each field that is kept. It refers to
// records up to generation, and no two of these have a key in common.
func full(r *inventory.Resource, n int) inventory.Record {
	return made(r, n, func(*inventory.Field) bool { return true })
}

// bare is the record n of a resource with no value that can be left out.
func bare(r *inventory.Resource, n int) inventory.Record {
	return made(r, n, func(f *inventory.Field) bool { return f.Required })
}

// made is a record with values in some of its fields.
func made(r *inventory.Resource, n int, wanted func(*inventory.Field) bool) inventory.Record {
	rec := r.New()
	refs := map[string]int{}
	for _, f := range r.Fields() {
		switch {
		case f.Column == "" || !wanted(f):
		case f.Ref != nil:
			setRef(f, rec, n+refs[f.Ref.To])
			refs[f.Ref.To]++
		default:
			setValue(f, rec, n)
		}
	}
	*rec.Meta() = inventory.Base{ID: id(r, n), CreatedAt: moment(n), UpdatedAt: moment(2 * n), Version: 1}
	return checked(rec)
}

// checked is a record in the form in which stores get them.
func checked(rec inventory.Record) inventory.Record {
	must("check a record of the suite", inventory.Check(rec))
	return rec
}

// setRef has a record refer to the record n, or one of the same generation.
func setRef(f *inventory.Field, rec inventory.Record, n int) {
	to, _ := inventory.Named(f.Ref.To)
	f.Set(rec, id(to, (n-1)%generation+1))
}

func setValue(f *inventory.Field, rec inventory.Record, n int) {
	low := 0.0
	if f.Min != nil {
		low = *f.Min
	}
	switch f.Kind {
	case inventory.Text:
		f.Set(rec, sampleText(f, n))
	case inventory.Int:
		f.Set(rec, int64(low)+int64(n))
	case inventory.Float:
		f.Set(rec, low+float64(n)+0.1)
	case inventory.Bool:
		f.Set(rec, n%2 == 1)
	case inventory.Time:
		f.Set(rec, moment(3*n))
	case inventory.List:
		f.Set(rec, []string{fmt.Sprint("b ", n), "a", `,"[]{}\'`})
	case inventory.Object:
		if changes, ok := f.Pointer(rec).(*inventory.Changes); ok {
			*changes = inventory.Changes{"mtu": {Before: nil, After: 1500.5}, "tags": {Before: []string{"ä"}, After: "'"}}
		}
	}
}

// sampleText is text n of a format.
func sampleText(f *inventory.Field, n int) string {
	switch f.Format {
	case "enum":
		return f.Enum[n%len(f.Enum)]
	case "ip":
		return fmt.Sprintf("10.%d.%d.1", n>>8&255, n&255)
	case "cidr":
		return fmt.Sprintf("10.%d.%d.0/24", n>>8&255, n&255)
	case "interface-ip":
		return fmt.Sprintf("2001:db8::%x/64", n)
	case "mac":
		return fmt.Sprintf("00:1a:2b:3c:%02x:%02x", n>>8&255, n&255)
	case "email":
		return fmt.Sprintf("o'user%d@example.org", n)
	case "timezone":
		return fmt.Sprint("Etc/GMT+", n)
	case "speed":
		return inventory.FormatSpeed(int64(n) + 1) // what its number of Mbps is, which begins at 1
	case "text":
		return fmt.Sprintf("Line %d\r\n\tLine — two\n ", n)
	}
	return fmt.Sprintf(` %s %d Ω😀'"%%_\?$1:a `, f.Column, n)
}

// world puts a generation of each resource into the store.
func (p *probe) world() (all []inventory.Record) {
	for _, r := range inventory.StoredResources() {
		all = append(all, generationOf(r)...)
	}
	p.change("create a world", func(tx inventory.Tx) error {
		for _, rec := range all {
			if err := tx.Create(p.ctx, rec); err != nil {
				return err
			}
		}
		return nil
	})
	return all
}

func generationOf(r *inventory.Resource) []inventory.Record {
	var all []inventory.Record
	for n := range generation {
		all = append(all, full(r, n+1))
	}
	return all
}
