package records

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Query selects the records of a list. The zero Query of a resource selects all of them,
// ordered by id, which is the order of creation.
//
// [ParseQuery] makes one from the parameters of a request. Code may also make one directly,
// and filter by hidden fields too.
type Query struct {
	Resource *Resource // required

	Filters []Filter  // all must match
	Text    string    // contained in one of the searched fields, or in an element of one; empty matches all
	Sort    []SortKey // before the id, which breaks ties in the direction of the last one

	Only *Places // the places that the records belong to; nil is any, and records without a place

	After         *Place // start after this position, whether a record is there or not
	Offset, Limit int64  // the number of records to skip and to return; no Limit returns all
	Count         bool   // whether to count the total
	Estimate      bool   // whether a count above MaxEstimate, or MaxPlacedEstimate, may end there

	// For transports; stores ignore these.
	Page   int      // from 1; 0 with a cursor
	Fields []*Field // the fields to return; nil is all
}

// MaxEstimate is the number of records at which a store may end a count if [Query.Estimate] is
// set.
const MaxEstimate = 10_000

// MaxPlacedEstimate is MaxEstimate for records that belong to places through other records, with
// [Query.Only]: each is followed to its place.
const MaxPlacedEstimate = 1000

// Op is a comparison of a field with a value.
type Op uint8

// The comparisons. Strings are compared byte by byte; Contains and StartsWith ignore ASCII
// case.
const (
	Eq         Op = iota // equal; for a List: has the value as an element
	Ne                   // not Eq, so true for a field without a value
	Contains             // contains the value
	StartsWith           // starts with the value
	In                   // equal to one of the values of a []any
	Gt                   // greater or later; false for a field without a value, like the next three
	Gte
	Lt
	Lte
	IsNull // the value is a bool: whether the field has no value (null or an empty string)
	Host   // the value is an IP address: equal to it, with or without a prefix length
	Within // the value is a netip.Prefix: an address in this network, whatever its own prefix length
	// AnyWithin is Within for one of the address fields of the resource ([Resource.Addresses]), of
	// which Field is the first.
	AnyWithin
	Covers // in a parameter, for In with all networks that contain the address or network
)

// suffix returns the part of a parameter name after the field and two underscores.
func (op Op) suffix() string {
	return [...]string{"", "ne", "contains", "startswith", "in", "gt", "gte", "lt", "lte", "isnull", "", "within", "within", "covers"}[op]
}

// String returns the comparison as in a parameter: "eq", "startswith".
func (op Op) String() string {
	switch op {
	case Eq:
		return "eq"
	case Host:
		return "host"
	}
	return op.suffix()
}

// Filter is a condition on one field.
type Filter struct {
	Field *Field
	Op    Op
	// Value has the Go type of the field's kind, in stored form; a string for a List; a []any
	// of such values for In; a bool for IsNull; a netip.Prefix for Within and AnyWithin.
	Value any
}

// SortKey is a field to sort by: its values in their order, or by [Field.OrderKey] if the field is
// [Field.Keyed]. Records without a value come first, in descending order last.
type SortKey struct {
	Field *Field
	Desc  bool
}

// Place is the position of a record with these values in the order of a query.
type Place struct {
	Values []any // of the fields of Sort; nil is no value
	ID     string
}

// Condition is a value of [Query.Where] for another comparison than equality, as in Condition{In, ids}.
type Condition struct {
	Op    Op
	Value any // as that of [Filter]
}

// Where adds the condition that a field equals a value, which has the Go type of the field's
// kind or is a [Condition]. A hidden field is named by its column. It panics for an unknown field.
func (q *Query) Where(field string, value any) *Query {
	f := q.Resource.KeyField(field)
	if f == nil {
		panic("inventory: " + q.Resource.Name + " has no field " + field)
	}
	c, ok := value.(Condition)
	if !ok {
		c = Condition{Eq, value}
	}
	q.Filters = append(q.Filters, Filter{f, c.Op, c.Value})
	return q
}

// WhereIn adds the condition that a text or reference has one of some values. It panics for an unknown field.
func (q *Query) WhereIn(field string, values []string) *Query {
	all := make([]any, len(values))
	for i, v := range values {
		all[i] = v
	}
	q.Where(field, all)
	q.Filters[len(q.Filters)-1].Op = In
	return q
}

// PlaceOf returns the position of a record in the order of the query.
func (q *Query) PlaceOf(rec Record) *Place {
	p := &Place{ID: rec.Meta().ID, Values: make([]any, len(q.Sort))}
	for i, key := range q.Sort {
		p.Values[i] = key.Field.Value(rec)
	}
	return p
}

// Compare returns a negative number if a comes before b in the order of the query, a
// positive one if a comes after b, and 0 only for positions with the same id.
func (q *Query) Compare(a, b *Place) int { return q.compareKeys(q.keysOf(a), q.keysOf(b)) }

// keysOf returns a position with the keys of its values, where there are any.
func (q *Query) keysOf(p *Place) *Place {
	keys := &Place{ID: p.ID, Values: slices.Clone(p.Values)}
	for i, key := range q.Sort {
		if v := keys.Values[i]; v != nil && key.Field.Keyed() {
			keys.Values[i] = key.Field.OrderKey(v)
		}
	}
	return keys
}

// compareKeys is Compare for the results of keysOf.
func (q *Query) compareKeys(a, b *Place) int {
	for i, key := range q.Sort {
		order := compareValues(a.Values[i], b.Values[i])
		if key.Desc {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	if q.IDDesc() {
		return strings.Compare(b.ID, a.ID)
	}
	return strings.Compare(a.ID, b.ID)
}

// IDDesc reports whether the ids, which break ties, descend. They have the direction of the last
// field of Sort, so that an index of a field and the id has both orders.
func (q *Query) IDDesc() bool { return len(q.Sort) > 0 && q.Sort[len(q.Sort)-1].Desc }

// Select applies the query to all records of its resource, except for Only ([Places.Within]). It
// serves stores in memory and defines what the other stores must return. It reorders records.
func (q *Query) Select(records []Record) *Page {
	found := slices.DeleteFunc(records, func(rec Record) bool { return !q.Matches(rec) })
	keys := make(map[Record]*Place, len(found)) // made once
	for _, rec := range found {
		keys[rec] = q.keysOf(q.PlaceOf(rec))
	}
	slices.SortFunc(found, func(a, b Record) int { return q.compareKeys(keys[a], keys[b]) })
	page := &Page{}
	if q.Count {
		page.Total = int64(len(found))
	}
	if q.After != nil {
		after := q.keysOf(q.After)
		found = slices.DeleteFunc(found, func(rec Record) bool { return q.compareKeys(keys[rec], after) <= 0 })
	}
	found = found[min(max(q.Offset, 0), int64(len(found))):]
	if q.Limit > 0 && q.Limit < int64(len(found)) {
		found, page.More = found[:q.Limit], true
	}
	page.Records = found
	return page
}

// Matches reports whether a record satisfies the filters and the search of the query.
func (q *Query) Matches(rec Record) bool {
	for i := range q.Filters {
		if !q.Filters[i].matches(q.Resource, rec) {
			return false
		}
	}
	return q.Text == "" || slices.ContainsFunc(q.Resource.fields, func(f *Field) bool {
		return f.Search && contains(f.Value(rec), q.Text)
	})
}

func (c *Filter) matches(r *Resource, rec Record) bool {
	if c.Op == AnyWithin {
		return slices.ContainsFunc(r.Addresses(), func(f *Field) bool { return f.contained(c.Value, f.Value(rec)) })
	}
	value := c.Field.Value(rec)
	switch c.Op {
	case Eq:
		return equal(value, c.Value)
	case Ne:
		return !equal(value, c.Value)
	case Contains:
		return contains(value, c.Value)
	case StartsWith:
		text, ok := value.(string)
		return ok && strings.HasPrefix(FoldASCII(text), FoldASCII(c.Value.(string)))
	case Host:
		text, ok := value.(string)
		return ok && (text == c.Value || strings.HasPrefix(text, c.Value.(string)+"/"))
	case In:
		return slices.ContainsFunc(c.Value.([]any), func(v any) bool { return equal(value, v) })
	case IsNull:
		return (value == nil) == c.Value.(bool)
	case Within:
		return c.Field.contained(c.Value, value)
	}
	order := compareValues(value, c.Value)
	return value != nil && [...]bool{Gt: order > 0, Gte: order >= 0, Lt: order < 0, Lte: order <= 0}[c.Op]
}

// equal reports whether a value equals another, or is a list with it.
func equal(value, want any) bool {
	if list, ok := value.([]string); ok {
		return slices.ContainsFunc(list, func(s string) bool { return s == want })
	}
	return compareValues(value, want) == 0
}

func contains(value, part any) bool {
	if list, ok := value.([]string); ok {
		return slices.ContainsFunc(list, func(s string) bool { return contains(s, part) })
	}
	text, ok := value.(string)
	return ok && strings.Contains(FoldASCII(text), FoldASCII(part.(string)))
}

// FoldASCII lowers the letters A to Z only. [Contains], [StartsWith] and [Query.Text] compare
// strings folded like this, because every database can do it in the same way.
func FoldASCII(s string) string {
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, s)
}

// ops returns the comparisons that filters of the field support.
func (f *Field) ops() []Op {
	var ops []Op
	switch {
	case f.Kind == List:
		return []Op{Eq}
	case !f.Scalar(), f.Name == "version": // which is for ETags, and which no index has
		return nil
	case f.Kind == Bool:
		ops = []Op{Eq}
	case f.Kind == Text && f.Format == "uuid":
		ops = []Op{Eq, Ne, In}
	case f.Kind == Text && f.Format == "date":
		ops = []Op{Eq, Ne, In, Gt, Gte, Lt, Lte}
	case f.Format == "network":
		ops = []Op{Eq, Ne, Contains, StartsWith, In, Within, Covers}
	case f.Address():
		ops = []Op{Eq, Ne, Contains, StartsWith, In, Within}
	case f.Kind == Text:
		ops = []Op{Eq, Ne, Contains, StartsWith, In}
	default:
		ops = []Op{Eq, Ne, In, Gt, Gte, Lt, Lte}
	}
	if f.Nullable || f.Kind == Text && !f.Required && f.Default == "" {
		ops = append(ops, IsNull)
	}
	return ops
}

// Parameters returns all filter parameters of a list of the resource: "hostname",
// "hostname__contains", and "within" if it has addresses. They are for documents.
func (r *Resource) Parameters() []Parameter {
	var all []Parameter
	for _, f := range r.fields {
		for _, op := range f.ops() {
			all = append(all, Parameter{parameter(f, op), f, op})
		}
	}
	if addresses := r.Addresses(); len(addresses) > 0 {
		all = append(all, Parameter{AnyWithin.suffix(), addresses[0], AnyWithin})
	}
	return all
}

// Parameter is a filter parameter of a list.
type Parameter struct {
	Name  string
	Field *Field
	Op    Op
}

func parameter(f *Field, op Op) string {
	switch op {
	case Eq, Host:
		return f.Name
	case AnyWithin:
		return op.suffix()
	}
	return f.Name + "__" + op.suffix()
}

// String returns the filter as in a query, for logs.
func (c Filter) String() string {
	value := c.Value
	if t, ok := value.(time.Time); ok {
		value = t.Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%s=%v", parameter(c.Field, c.Op), value)
}

// maxLightOffset is the number of records that a query may skip without being heavy.
const maxLightOffset = 10_000

// Heavy reports whether a store may have to read many records for a small page: for a search,
// a filter or an order that no index has, an order of several fields, an offset above 10,000,
// a total that has to be counted, or a limit to places. Transports run few of these at once, so that others don't
// wait for them.
func (q *Query) Heavy() bool {
	if q.Only != nil && !slices.ContainsFunc(q.Filters, q.few) {
		return true // the places of many records may be looked up
	}
	if q.Text != "" || q.Offset > maxLightOffset {
		return true
	}
	for i := range q.Filters {
		if !q.indexes(&q.Filters[i]) {
			return true
		}
	}
	for i, key := range q.Sort {
		if key.Field.Column == "id" {
			break // the fields after it have no effect
		}
		if i > 0 || !q.Resource.ordered(key.Field) {
			return true
		}
	}
	return q.Count && !q.countable()
}

// ordered reports whether stores have an index that begins with the field.
func (r *Resource) ordered(f *Field) bool {
	return r.Indexed(f) || f.Column == "id" ||
		slices.ContainsFunc(r.uniques, func(u Unique) bool { return u.Fields[0] == f.Name })
}

// indexes reports whether an index finds the records that match a filter.
func (q *Query) indexes(c *Filter) bool {
	switch c.Op {
	case Eq, Host, In, Gt, Gte, Lt, Lte:
		return q.Resource.ordered(c.Field)
	case Within:
		return q.Resource.Indexed(c.Field)
	case AnyWithin:
		return !slices.ContainsFunc(q.Resource.Addresses(), func(f *Field) bool { return !q.Resource.Indexed(f) })
	}
	return false
}

// countable reports whether the total is stored, or that of few records: those with one value
// of a unique key, or the parts of one record.
func (q *Query) countable() bool {
	if len(q.Filters) == 0 {
		return true
	}
	c := &q.Filters[0]
	if len(q.Filters) == 2 { // the pairs of values of two facets are counted
		other := &q.Filters[1]
		if c.Op == Eq && other.Op == Eq && c.Field.facet && other.Field.facet && c.Field != other.Field {
			return true
		}
	}
	return q.few(*c) || len(q.Filters) == 1 && c.Field.Counted && (c.Op == Eq || c.Op == In)
}

// few reports whether few records match a filter: those with one value of a unique key, or the
// parts of one record.
func (q *Query) few(c Filter) bool {
	return c.Op == Eq && (c.Field.Ref != nil && c.Field.Ref.Cascade || c.Field.Column == "id" ||
		slices.ContainsFunc(q.Resource.uniques, func(u Unique) bool {
			return len(u.Fields) == 1 && slices.Contains([]string{c.Field.Name, c.Field.Name + "_key"}, u.Fields[0])
		}))
}

// checkLatest checks the fields of Definition.Latest.
func (r *Resource) checkLatest() error {
	if r.Latest == nil {
		return nil
	}
	per, at := r.byName[r.Latest.Per], r.byName[r.Latest.At]
	switch {
	case per == nil || !per.Required || per.Ref == nil || !per.Ref.Cascade:
		return fmt.Errorf("%s has the latest record per %q: use a required reference with :cascade", r.Name, r.Latest.Per)
	case at == nil || at.Kind != Time:
		return fmt.Errorf("%s has the latest record at %q: use a time", r.Name, r.Latest.At)
	}
	for _, name := range r.Latest.Sorted {
		if f := r.byName[name]; f == nil || !f.Sortable() || f.Extra {
			return fmt.Errorf("%s sorts its latest records by %q: use a sortable field of the struct", r.Name, name)
		}
	}
	return nil
}

// SelectLatest returns the latest of some records ([Definition].Latest), in any order. It serves
// stores in memory and defines what the other stores must keep.
func (r *Resource) SelectLatest(all []Record) []Record {
	per, at := r.byName[r.Latest.Per], r.byName[r.Latest.At]
	q := &Query{Resource: r, Sort: []SortKey{{Field: at}}}
	latest := map[any]Record{}
	for _, rec := range all {
		value := per.Value(rec)
		if old := latest[value]; old == nil || q.Compare(q.PlaceOf(old), q.PlaceOf(rec)) < 0 {
			latest[value] = rec
		}
	}
	return slices.Collect(maps.Values(latest))
}

// HeavyLatest is Heavy for a list of the latest records: stores know how many there are, and index
// them by Latest.Sorted and the id.
func (q *Query) HeavyLatest() bool {
	if q.Text != "" || q.Offset > maxLightOffset {
		return true
	}
	if slices.ContainsFunc(q.Filters, func(c Filter) bool { return c.Field.Name == q.Resource.Latest.Per && c.Op == Eq }) {
		return false // there is one
	}
	switch {
	case len(q.Filters) > 0 || len(q.Sort) == 0 || q.Only != nil:
		return true
	case !slices.Contains(q.Resource.Latest.Sorted, q.Sort[0].Field.Name) || len(q.Sort) > 1 && q.Sort[1].Field.Column != "id":
		return true
	}
	return q.Sort[0].Desc != q.Sort[len(q.Sort)-1].Desc
}
