package storetest

import (
	"slices"

	"github.com/ashlar-go/ashlar/inventory"
)

func pageCases() []Case {
	return []Case{
		{"page/every field", "pages must neither overlap nor skip a record, whatever they are sorted by", checkPages, true},
		{"page/a place that is gone", "a cursor must hold while records come and go", checkPlaces, false},
		{"page/ids", "the order of the ids is that of creation, and settles what is equal", checkOrderOfIDs, false},
	}
}

// sortable are the fields that a list can be sorted by.
func sortable(r *inventory.Resource) []*inventory.Field {
	return slices.DeleteFunc(r.Fields(), func(f *inventory.Field) bool { return !f.Sortable() })
}

func checkPages(p *probe) {
	z := p.zoo.again()
	for _, r := range inventory.StoredResources() {
		for _, f := range sortable(r) {
			if common(r, f) {
				continue
			}
			for _, desc := range []bool{false, true} {
				sort := []inventory.SortKey{{Field: f, Desc: desc}}
				want := (&inventory.Query{Resource: r, Sort: sort}).Select(z.all(r)).Records
				p.walk(r, sort, want)
				q := &inventory.Query{Resource: r, Sort: sort, Limit: 3, Offset: int64(z.IntN(herd + 1)), Count: true}
				p.agrees(q, z.all(r))
			}
		}
	}
}

// walk demands that pages that follow each other by cursors have all the records.
func (p *probe) walk(r *inventory.Resource, sort []inventory.SortKey, want []inventory.Record) {
	const limit = 10
	q := &inventory.Query{Resource: r, Sort: sort, Limit: limit}
	for from := 0; from < len(want); from += limit {
		to := min(from+limit, len(want))
		samePage(show(q), p.list(q), &inventory.Page{Records: want[from:to], More: to < len(want)})
		q.After = q.PlaceOf(want[to-1])
	}
}

func checkPlaces(p *probe) {
	z := p.settle()
	r := inventory.Of[inventory.Event]()
	severity, _ := r.Field("severity")
	device, _ := r.Field("device_id")
	q := &inventory.Query{Resource: r, Count: true, Sort: []inventory.SortKey{{Field: severity, Desc: true}, {Field: device}}}
	gone := q.Select(z.all(r)).Records[herd/2]
	q.After = q.PlaceOf(gone)
	p.remove(gone)
	left := slices.DeleteFunc(z.all(r), func(rec inventory.Record) bool { return rec.Meta().ID == gone.Meta().ID })
	p.agrees(q, cloned(left))
	q.After.ID = id(r, 0) // which never was
	p.agrees(q, cloned(left))
	q.After.Values[1] = nil
	p.agrees(q, cloned(left))
	q.After.Values[0] = "zzz"
	p.agrees(q, cloned(left))
	q.After = &inventory.Place{Values: []any{nil, nil}, ID: id(r, 99)}
	p.agrees(q, cloned(left))
}

func checkOrderOfIDs(p *probe) {
	r := inventory.Of[inventory.Location]()
	var all []inventory.Record
	for _, n := range []int{0x10, 0x9, 0xa, 0xff, 0x1, 0x100, 0xf} {
		rec := bare(r, n)
		rec.Meta().CreatedAt, rec.Meta().UpdatedAt = moment(0), moment(0)
		all = append(all, rec)
		p.create(rec)
	}
	created, _ := r.Field("created_at")
	byID, _ := r.Field("id")
	for _, desc := range []bool{false, true} {
		p.agrees(&inventory.Query{Resource: r, Sort: []inventory.SortKey{{Field: created, Desc: desc}}}, cloned(all))
		p.agrees(&inventory.Query{Resource: r, Sort: []inventory.SortKey{{Field: byID, Desc: desc}, {Field: byID}}}, cloned(all))
	}
	q := &inventory.Query{Resource: r, Sort: slices.Repeat([]inventory.SortKey{{Field: created}, {Field: byID, Desc: true}}, 8), Limit: 3}
	q.After = q.PlaceOf(all[0])
	p.agrees(q, cloned(all))
}
