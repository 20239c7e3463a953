package sqlstore

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/plan"
)

// table holds the SQL of one resource, derived from its description.
type table struct {
	*records.Resource
	name     string
	columns  []*column
	position map[string]int        // of a column, by its name
	keys     []int                 // the columns with a column of keys, after the others in a new row
	counted  []int                 // the columns whose values are counted
	indexes  map[string]plan.Index // of a column and the id, by the column
	leading  map[string]plan.Index // of a key that begins with a reference, by its column
	pairs    []facetPair           // the columns whose pairs of values are counted
	uniques  []records.Unique
	chained  bool // the audit log, whose entries have positions

	selected  string         // the columns, for SELECT
	returning string         // the id and the counted columns, for RETURNING
	get       string         // selects one record
	version   string         // selects the version of one record
	locked    string         // selects and locks the version of one record
	remove    string         // deletes a version of a record
	inserts   map[int]string // adds a number of records

	latest *latestTable // the latest records; nil if the resource has no such table
}

// column is a column of a table and the field that it stores.
type column struct {
	*records.Field
	key bool // part of a unique key, or a reference, which an update may violate
}

// table returns the table of a resource, as the schema of the executor has it: the resource may
// be of an equal or an earlier schema.
func (e *executor) table(r *records.Resource) *table {
	if own, ok := e.schema.Named(r.Name); ok {
		r = own
	}
	if t, ok := e.tables.Load(r); ok {
		return t.(*table)
	}
	t, _ := e.tables.LoadOrStore(r, newTable(r, &e.dialect))
	return t.(*table)
}

func newTable(r *records.Resource, d *Dialect) *table {
	t := &table{Resource: r, name: r.Table(), position: map[string]int{}, uniques: r.Uniques(), indexes: map[string]plan.Index{}, leading: map[string]plan.Index{}, inserts: map[int]string{}}
	_, t.chained = r.New().(*records.AuditLog)
	var names []string
	returning := []string{"id"}
	for _, f := range r.Fields() {
		if f.Column == "" {
			continue
		}
		t.position[f.Column] = len(t.columns)
		if f.Counted {
			t.counted = append(t.counted, len(t.columns))
			returning = append(returning, f.Column)
		}
		if name, covered := d.fieldIndex(r, f); name != "" {
			index := plan.Index{Name: name, Columns: append([]string{orderColumn(f), "id"}, covered...)}
			t.indexes[f.Column], t.indexes[orderColumn(f)] = index, index
		}
		for _, u := range t.uniques {
			if f.Ref != nil && leads(r, f, u) {
				t.leading[f.Column] = plan.Index{Name: uniqueName(r, u)}
			}
		}
		if f.Keyed() {
			t.keys = append(t.keys, len(t.columns))
		}
		t.columns = append(t.columns, &column{Field: f, key: f.Ref != nil || t.inKey(f)})
		names = append(names, f.Column)
	}
	for _, p := range pairsOf(r) {
		for i, j := range t.counted {
			switch t.columns[j].Field {
			case p.a:
				p.i = i
			case p.b:
				p.j = i
			}
		}
		t.pairs = append(t.pairs, p)
	}
	one := " WHERE id = " + d.Parameter + "1"
	t.selected = strings.Join(names, ", ")
	t.returning = " RETURNING " + strings.Join(returning, ", ")
	t.get = "SELECT " + t.selected + " FROM " + t.name + one
	t.version = "SELECT version FROM " + t.name + one
	t.locked = t.version + d.ForUpdate
	for _, i := range t.keys {
		names = append(names, KeyColumn(t.columns[i].Field))
	}
	for _, n := range chunks {
		rows := make([]string, n)
		for i := range rows {
			row := make([]string, len(names))
			for j := range row {
				row[j] = d.placeholder(i*len(names) + j + 1)
			}
			rows[i] = "(" + strings.Join(row, ", ") + ")"
		}
		t.inserts[n] = "INSERT INTO " + t.name + " (" + strings.Join(names, ", ") + ") VALUES " + strings.Join(rows, ", ")
	}
	if r.Latest != nil {
		t.latest = newLatestTable(t, d)
		t.returning += ", " + t.latest.per.Column
	}
	t.remove = "DELETE FROM " + t.name + one + " AND version = " + d.Parameter + "2" + t.returning
	return t
}

// fieldOf returns a field by its name, which it has.
func (t *table) fieldOf(name string) *records.Field {
	f, _ := t.Field(name)
	return f
}

// inKey reports whether a field is part of a unique key.
func (t *table) inKey(f *records.Field) bool {
	return slices.ContainsFunc(t.uniques, func(u records.Unique) bool {
		return slices.ContainsFunc(u.Fields, func(name string) bool { return t.KeyField(name) == f }) || f.Name != "" && u.Without == f.Name
	})
}

// keyWithout reports whether a field that loses its value may violate a unique key.
func (t *table) keyWithout(f *records.Field) bool {
	return slices.ContainsFunc(t.uniques, func(u records.Unique) bool { return u.Without == f.Name })
}

// addedKey ends the names of the indexes of keys that parts of a schema add (records.UniqueKey).
const addedKey = "_added_key"

// uniqueName returns the name of the index of a unique key.
func uniqueName(r *records.Resource, u records.Unique) string {
	parts := append([]string{r.Table()}, u.Fields...)
	if u.Without != "" {
		parts = append(parts, "without", u.Without)
	}
	if u.Added {
		return shortened(strings.Join(parts, "_"), maxIdentifier-len(addedKey)) + addedKey
	}
	return identifier(append(parts, "key")...)
}

// ReferenceName returns the name of the foreign key of a field.
func ReferenceName(r *records.Resource, f *records.Field) string {
	return referenceName(r.Table(), f.Column)
}

func referenceName(table, column string) string { return local(identifier(table, column, "fkey")) }

// bind appends the values of a record, in the order of the columns, and its keys.
func (t *table) bind(rec records.Record, d *Dialect, args []any) ([]any, error) {
	from := len(args)
	v := reflect.ValueOf(rec).Elem()
	for _, c := range t.columns {
		arg, err := c.bind(rec, v, d)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	return t.appendKeys(args[from:], args), nil
}

// record returns the record of a row.
func (t *table) record(row []any) (records.Record, error) {
	rec := t.New()
	v := reflect.ValueOf(rec).Elem()
	for i, c := range t.columns {
		if err := c.set(rec, v, row[i]); err != nil {
			return nil, err
		}
	}
	return rec, nil
}

// bind returns the value of the field in a record, whose struct is given, as an argument of the
// driver.
func (c *column) bind(rec records.Record, in reflect.Value, d *Dialect) (any, error) {
	var v reflect.Value
	if c.Extra {
		v = reflect.ValueOf(c.Value(rec))
	} else if v = c.In(in); v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch {
	case v.IsValid():
	case c.Nullable:
		return nil, nil
	default: // a text or a list that is not in the struct
		v = reflect.Zero(extraTypes[c.Kind])
	}
	switch c.Kind {
	case records.Text:
		return v.String(), nil
	case records.Int:
		return v.Int(), nil
	case records.Float:
		return v.Float(), nil
	case records.Bool:
		return v.Bool(), nil
	case records.Time:
		if v.CanAddr() { // without a copy
			return d.Time(v.Addr().Interface().(*time.Time).UTC()), nil
		}
		return d.Time(v.Interface().(time.Time).UTC()), nil
	}
	if v.Kind() == reflect.Slice && v.Len() == 0 {
		return "[]", nil
	}
	if changes, ok := v.Interface().(records.Changes); ok {
		return d.textOfChanges(changes)
	}
	doc, err := json.Marshal(v.Interface())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Column, err)
	}
	return string(doc), nil
}

// set sets the field of a record, whose struct is given, to a value of the driver.
func (c *column) set(rec records.Record, in reflect.Value, value any) error {
	if value == nil {
		if !c.Nullable && c.Kind != records.Object {
			return fmt.Errorf("%s in the database is null, which its field does not allow", c.Column)
		}
		return nil
	}
	var v reflect.Value
	if c.Extra {
		v = reflect.New(extraTypes[c.Kind]).Elem()
	} else if v = c.In(in); v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if !c.setValue(v, value) {
		return fmt.Errorf("%s in the database is an invalid %s (%T)", c.Column, c.Kind, value)
	}
	if c.Extra && (value != "" || c.Kind != records.Text) {
		c.Set(rec, v.Interface())
	}
	return nil
}

// extraTypes are the Go types of the values of fields that are not in the struct.
var extraTypes = map[records.Kind]reflect.Type{
	records.Text: reflect.TypeFor[string](), records.Int: reflect.TypeFor[int64](), records.Float: reflect.TypeFor[float64](),
	records.Bool: reflect.TypeFor[bool](), records.Time: reflect.TypeFor[time.Time](), records.List: reflect.TypeFor[[]string](),
}

// setValue reports whether the value is valid for the column. Databases without types for
// them store a bool as a number, and a time as microseconds since 1970.
func (c *column) setValue(v reflect.Value, value any) bool {
	switch from := value.(type) {
	case string:
		return c.setString(v, from)
	case []byte:
		return c.setString(v, string(from))
	case int64:
		switch c.Kind {
		case records.Int:
			v.SetInt(from)
			return true
		case records.Float:
			v.SetFloat(float64(from))
			return true
		case records.Bool:
			v.SetBool(from != 0)
			return true
		case records.Time:
			*v.Addr().Interface().(*time.Time) = time.UnixMicro(from).UTC()
			return true
		}
	case float64:
		if c.Kind == records.Float {
			v.SetFloat(from)
			return true
		}
	case bool:
		if c.Kind == records.Bool {
			v.SetBool(from)
			return true
		}
	case time.Time:
		if c.Kind == records.Time {
			*v.Addr().Interface().(*time.Time) = from.UTC()
			return true
		}
	}
	return false
}

func (c *column) setString(v reflect.Value, s string) bool {
	switch c.Kind {
	case records.Text:
		v.SetString(s)
		return true
	case records.List:
		if list, ok := parseStrings(s); ok {
			v.Set(reflect.ValueOf(list))
			return true
		}
		return json.Unmarshal([]byte(s), v.Addr().Interface()) == nil
	case records.Object:
		doc, err := unpacked(s)
		return err == nil && json.Unmarshal(doc, v.Addr().Interface()) == nil
	}
	return false
}

// parseStrings parses a JSON array of strings without escapes, as nearly all lists are,
// several times faster than package json. It returns false for any other document.
func parseStrings(s string) (list []string, ok bool) {
	rest, ok := strings.CutPrefix(s, "[")
	if !ok || strings.ContainsRune(s, '\\') {
		return nil, false
	}
	for list = []string{}; rest != "]"; {
		if len(list) > 0 {
			if rest, ok = strings.CutPrefix(rest, ","); !ok {
				return nil, false
			}
			rest = strings.TrimPrefix(rest, " ")
		}
		if rest, ok = strings.CutPrefix(rest, `"`); !ok {
			return nil, false
		}
		var element string
		if element, rest, ok = strings.Cut(rest, `"`); !ok {
			return nil, false
		}
		list = append(list, element)
	}
	return list, true
}

// same reports whether two values of the driver are equal. It may return false for equal ones.
func same(a, b any) bool {
	if t, ok := a.(time.Time); ok {
		u, ok := b.(time.Time)
		return ok && t.Equal(u)
	}
	_, bytesA := a.([]byte)
	_, bytesB := b.([]byte)
	return !bytesA && !bytesB && a == b
}

// countKey returns the value of a row or of a filter as the table of counts has it: a string,
// which is empty for no value.
func (c *column) countKey(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case int64:
		if c.Kind == records.Bool {
			return strconv.FormatBool(v != 0)
		}
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatBool(v)
	case nil:
		return ""
	}
	return fmt.Sprint(value)
}
