package storetest

import (
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// checkProjections reads columns of all resources, and of the records behind references, and compares
// them with those of the model.
func checkProjections(f *fixture) {
	places := f.places()
	for _, r := range f.some(stored) {
		names := columnsOf(r, "")
		for _, name := range r.Within {
			if field, _ := r.Field(name); field.Ref != nil {
				names = append(names, columnsOf(field.Ref.Resource(), name+".")...)
			}
		}
		columns, err := records.Columns(r, names...)
		must("name columns of "+r.Name, err)
		for i := range 6 {
			q := f.query(r)
			q.Only = nil
			if i%2 == 1 {
				q.Only = records.NewPlaces(places[:min(i, len(places))], "")
			}
			var got, want []string
			must("read columns of "+r.Name, records.Project(f.ctx, f.store, q, names, func(values []string) error {
				got = append(got, strings.Join(values, "|"))
				return nil
			}))
			for _, rec := range f.model.within(q.Only, f.model.of(r)) {
				if q.Matches(rec) {
					want = append(want, strings.Join(f.model.values(rec, columns), "|"))
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				fail("the columns %s of %s are %q, want %q", strings.Join(names, ", "), show(q), got, want)
			}
		}
	}
}

// columnsOf returns the names of some text columns of a resource.
func columnsOf(r *records.Resource, prefix string) (names []string) {
	for _, field := range r.Fields() {
		if field.Kind == records.Text && field.Name != "" && field.Column != "" && len(names) < 4 {
			names = append(names, prefix+field.Name)
		}
	}
	return names
}

// values returns the values of columns.
func (m *model) values(rec records.Record, columns []records.Column) (values []string) {
	for _, c := range columns {
		source := rec
		if c.Through != nil {
			id, _ := c.Through.Value(rec).(string)
			source = m.records[id]
		}
		text := ""
		if source != nil {
			text, _ = c.Field.Value(source).(string)
		}
		values = append(values, text)
	}
	return values
}
