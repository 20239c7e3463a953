package sqlstore

import (
	"reflect"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
)

// table is what the store knows of one resource, made from its description.
type table struct {
	*inventory.Resource
	name     string
	columns  []*column
	position map[string]int // of a column, by its name
	tallies  []int          // the columns that are counted
	refs     []reference    // what refers to this table
	uniques  []inventory.Unique

	selected string         // the columns, for SELECT and RETURNING
	get      string         // one record
	version  string         // the version of one record
	locked   string         // the same, and nobody else may change it
	remove   string         // a version of a record, returning what is counted
	counted  string         // the columns that are counted, for RETURNING
	inserts  map[int]string // for so many records
}

// reference is a column of another table that has ids of this one.
type reference struct {
	from   *table
	column *column
}

// tables are those of all resources.
func tables(d *Dialect) map[*inventory.Resource]*table {
	all := map[*inventory.Resource]*table{}
	for _, r := range inventory.StoredResources() {
		all[r] = newTable(r, d)
	}
	for _, r := range inventory.StoredResources() {
		for _, c := range all[r].columns {
			if c.Ref == nil {
				continue
			}
			to, _ := inventory.Named(c.Ref.To)
			all[to].refs = append(all[to].refs, reference{all[r], c})
		}
	}
	return all
}

func newTable(r *inventory.Resource, d *Dialect) *table {
	t := &table{Resource: r, name: r.Table(), position: map[string]int{}, uniques: r.Uniques()}
	var names, counted []string
	for _, f := range r.Fields() {
		if f.Column == "" {
			continue
		}
		key := f.Ref != nil || slices.ContainsFunc(t.uniques, func(u inventory.Unique) bool { return slices.Contains(u.Fields, f.Name) })
		t.position[f.Column] = len(t.columns)
		if f.Counted {
			t.tallies = append(t.tallies, len(t.columns))
			counted = append(counted, f.Column)
		}
		t.columns = append(t.columns, &column{Field: f, key: key})
		names = append(names, f.Column)
	}
	one := " WHERE id = " + d.Parameter + "1"
	t.selected = strings.Join(names, ", ")
	t.counted = strings.Join(append([]string{"id"}, counted...), ", ")
	t.get = "SELECT " + t.selected + " FROM " + t.name + one
	t.version = "SELECT version FROM " + t.name + one
	t.locked = t.version + d.ForUpdate
	t.remove = "DELETE FROM " + t.name + one + " AND version = " + d.Parameter + "2 RETURNING " + t.counted
	t.inserts = map[int]string{}
	for _, n := range chunks {
		t.inserts[n] = writeInsert(t, d, n)
	}
	return t
}

// bind are the values of a record, in the order of the columns.
func (t *table) bind(rec inventory.Record, d *Dialect, into []any) ([]any, error) {
	v := reflect.ValueOf(rec).Elem()
	for _, c := range t.columns {
		cell, err := c.bind(v, d)
		if err != nil {
			return nil, err
		}
		into = append(into, cell)
	}
	return into, nil
}

// record makes one of the cells of a row.
func (t *table) record(cells []any) (inventory.Record, error) {
	rec := t.New()
	v := reflect.ValueOf(rec).Elem()
	for i, c := range t.columns {
		if err := c.set(v, cells[i]); err != nil {
			return nil, err
		}
	}
	return rec, nil
}

// unique is the unique key of a constraint, by its name or its columns. It is the primary
// one if ok is false.
func (t *table) unique(f *Fault) (key inventory.Unique, ok bool) {
	for _, u := range t.uniques {
		if slices.Equal(f.Columns, u.Fields) || f.Constraint == UniqueName(t.Resource, u) {
			return u, true
		}
	}
	return key, false
}

// UniqueName is what a migration has to call the index of a unique key.
func UniqueName(r *inventory.Resource, u inventory.Unique) string {
	return r.Table() + "_" + strings.Join(u.Fields, "_") + "_key"
}

// ReferenceName is what a migration has to call the foreign key of a field.
func ReferenceName(r *inventory.Resource, f *inventory.Field) string {
	return r.Table() + "_" + f.Column + "_fkey"
}
