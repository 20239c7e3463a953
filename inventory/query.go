package inventory

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Query says which records of a resource a list has. The zero Query of a resource is all
// of them, in the order of their ids, which is the order in which they were created.
//
// [ParseQuery] makes one from the parameters of a request; code makes one as it
// likes, and may filter by hidden fields too.
type Query struct {
	Resource *Resource // required

	Filters []Filter  // all of which must hold
	Text    string    // is found in one of the fields that are searched, if it is not empty
	Sort    []SortKey // before the id, which settles what is equal

	After         *Place // begin behind a place, which need not be there
	Offset, Limit int64  // how many to leave out, and how many to return; no Limit is all
	Count         bool   // the total is wanted

	// What a transport shows: stores have no use for these.
	Page   int      // from 1; 0 behind a cursor
	Fields []*Field // what is wanted of each record; nil is everything
}

// Op is a comparison of a field with a value.
type Op uint8

// The comparisons. Texts are compared as they are, except that Contains and StartsWith
// take the letters A to Z and a to z for the same.
const (
	Eq         Op = iota // has the value; a List: has an element of the value
	Ne                   // is not Eq, so that it is true where there is no value
	Contains             // the value is part of the text
	StartsWith           // the text begins with the value
	In                   // has one of the values of a []any
	Gt                   // is larger or later; false where there is no value, like the next three
	Gte
	Lt
	Lte
	IsNull // the value is a bool: there is no value (null, or an empty text), or there is one
)

// suffix is how a parameter names the comparison, behind the field and two underscores.
func (op Op) suffix() string {
	return [...]string{"", "ne", "contains", "startswith", "in", "gt", "gte", "lt", "lte", "isnull"}[op]
}

// String is the comparison as in a parameter: "eq", "startswith".
func (op Op) String() string {
	if op == Eq {
		return "eq"
	}
	return op.suffix()
}

// Filter is a condition on one field.
type Filter struct {
	Field *Field
	Op    Op
	// Value is of the Go type of the field's kind and in its form; a string for a List;
	// a []any of such for In; a bool for IsNull.
	Value any
}

// SortKey is a field to sort by. Records without a value come first, and last in
// descending order.
type SortKey struct {
	Field *Field
	Desc  bool
}

// Place is a place in the order of a query: that of a record with these values.
type Place struct {
	Values []any // of the fields of Sort, nil for no value
	ID     string
}

// Where adds a condition that a field has a value. The value is of the Go type of the
// field's kind. It panics if there is no such field.
func (q *Query) Where(field string, value any) *Query {
	f, ok := q.Resource.byName[field]
	if !ok {
		panic("inventory: " + q.Resource.name + " has no field " + field)
	}
	q.Filters = append(q.Filters, Filter{f, Eq, value})
	return q
}

// PlaceOf is the place of a record in the order of the query.
func (q *Query) PlaceOf(rec Record) *Place {
	p := &Place{ID: rec.Meta().ID, Values: make([]any, len(q.Sort))}
	for i, key := range q.Sort {
		p.Values[i] = key.Field.Value(rec)
	}
	return p
}

// Compare is negative if a comes before b in the order of the query, positive if it comes
// after b, and 0 only for places with the same id.
func (q *Query) Compare(a, b *Place) int {
	for i, key := range q.Sort {
		order := compareValues(a.Values[i], b.Values[i])
		if key.Desc {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return strings.Compare(a.ID, b.ID)
}

// Select picks the records of the query from all there are of its resource, and puts them
// in order. It is for stores that have their records at hand, and says what the others
// must do. It changes the order within records.
func (q *Query) Select(records []Record) *Page {
	found := slices.DeleteFunc(records, func(rec Record) bool { return !q.Matches(rec) })
	slices.SortFunc(found, func(a, b Record) int { return q.Compare(q.PlaceOf(a), q.PlaceOf(b)) })
	page := &Page{}
	if q.Count {
		page.Total = int64(len(found))
	}
	if q.After != nil {
		before := func(rec Record) bool { return q.Compare(q.PlaceOf(rec), q.After) <= 0 }
		found = slices.DeleteFunc(found, before)
	}
	found = found[min(max(q.Offset, 0), int64(len(found))):]
	if q.Limit > 0 && q.Limit < int64(len(found)) {
		found, page.More = found[:q.Limit], true
	}
	page.Records = found
	return page
}

// Matches reports whether a record is one that the query asks for.
func (q *Query) Matches(rec Record) bool {
	for i := range q.Filters {
		if !q.Filters[i].matches(rec) {
			return false
		}
	}
	return q.Text == "" || slices.ContainsFunc(q.Resource.fields, func(f *Field) bool {
		return f.Search && contains(f.Value(rec), q.Text)
	})
}

func (c *Filter) matches(rec Record) bool {
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
	case In:
		return slices.ContainsFunc(c.Value.([]any), func(v any) bool { return equal(value, v) })
	case IsNull:
		return (value == nil) == c.Value.(bool)
	}
	return value != nil && c.Op.holds(compareValues(value, c.Value))
}

// holds reports whether an order is one that the comparison asks for.
func (op Op) holds(order int) bool {
	switch op {
	case Gt:
		return order > 0
	case Gte:
		return order >= 0
	case Lt:
		return order < 0
	case Lte:
		return order <= 0
	}
	return false
}

// equal reports whether a field has a value, or an element of it.
func equal(value, want any) bool {
	if list, ok := value.([]string); ok {
		return slices.ContainsFunc(list, func(s string) bool { return s == want })
	}
	return compareValues(value, want) == 0
}

func contains(value, part any) bool {
	text, ok := value.(string)
	return ok && strings.Contains(FoldASCII(text), FoldASCII(part.(string)))
}

// FoldASCII makes the letters A to Z small and leaves all others: it is how
// [Contains], [StartsWith] and [Query.Text] compare. Every database can do that much,
// and do it the same way.
func FoldASCII(s string) string {
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, s)
}

// ops are the comparisons that a field can be filtered with.
func (f *Field) ops() []Op {
	var ops []Op
	switch {
	case f.Kind == List:
		return []Op{Eq}
	case !f.Scalar():
		return nil
	case f.Kind == Bool:
		ops = []Op{Eq}
	case f.Kind == Text && f.Format == "uuid":
		ops = []Op{Eq, Ne, In}
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

// Parameters are the names of all parameters that a list of the resource can be filtered
// with, and how each is read: "hostname", "hostname__contains". They are made for
// documents; [ParseQuery] has no need of them.
func (r *Resource) Parameters() []Parameter {
	var all []Parameter
	for _, f := range r.fields {
		for _, op := range f.ops() {
			all = append(all, Parameter{parameter(f, op), f, op})
		}
	}
	return all
}

// Parameter is one that a list can be filtered with.
type Parameter struct {
	Name  string
	Field *Field
	Op    Op
}

func parameter(f *Field, op Op) string {
	if op == Eq {
		return f.Name
	}
	return f.Name + "__" + op.suffix()
}

// String is the filter as in a query, for logs of programs that make their own.
func (c Filter) String() string {
	value := c.Value
	if t, ok := value.(time.Time); ok {
		value = t.Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%s=%v", parameter(c.Field, c.Op), value)
}
