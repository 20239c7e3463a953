package sqlstore

import (
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
)

// A tally is how many records of a resource have a value in a field, or how many there are
// at all (no field). It is kept in slots, whose sum it is.
const talliesTable = "tallies"

// tallyKey names a tally.
type tallyKey struct {
	resource, field, value string
}

// tallyRange is the tallies that make the total of a query.
type tallyRange struct {
	tallyKey          // without a value
	values   []string // those that count, or
	not      bool     // those that do not
}

// tallyOf is what of the tallies a query is the total of. It is false if it is none: the
// records have to be counted.
func (t *table) tallyOf(q *inventory.Query) (r tallyRange, ok bool) {
	if q.Text != "" || len(q.Filters) > 1 {
		return r, false
	}
	if len(q.Filters) == 0 {
		return tallyRange{tallyKey{resource: t.name}, []string{""}, false}, true
	}
	return t.tallyOfFilter(&q.Filters[0])
}

func (t *table) tallyOfFilter(f *inventory.Filter) (r tallyRange, ok bool) {
	if !f.Field.Counted {
		return r, false
	}
	values := []any{f.Value}
	r = tallyRange{tallyKey: tallyKey{resource: t.name, field: f.Field.Column}}
	switch f.Op {
	case inventory.Eq:
	case inventory.Ne:
		r.not = true
	case inventory.In:
		values = f.Value.([]any)
	case inventory.IsNull:
		values, r.not = []any{nil}, !f.Value.(bool)
	default:
		return r, false
	}
	for _, v := range values {
		if empty(f.Field, v) {
			return r, false
		}
		r.values = append(r.values, (&column{Field: f.Field}).tallied(v))
	}
	return r, true
}

// has reports whether a tally is one of the range.
func (r *tallyRange) has(key tallyKey) bool {
	return key.resource == r.resource && key.field == r.field && slices.Contains(r.values, key.value) != r.not
}

// total is a SELECT of the total of a query: from the tallies, or by counting.
func (b *builder) total(q *inventory.Query) string {
	if r, ok := b.tallyOf(q); ok && b.only == "" {
		return b.sum(&r)
	}
	return "SELECT count(*) FROM " + b.name + where(b.conditions(q, nil))
}

// sum is a SELECT of the sum of a range.
func (b *builder) sum(r *tallyRange) string {
	if len(r.values) == 0 {
		return "SELECT 0"
	}
	parameters := make([]string, len(r.values))
	for i, v := range r.values {
		parameters[i] = b.arg(v)
	}
	in := " IN ("
	if r.not {
		in = " NOT IN ("
	}
	return "SELECT CAST(coalesce(sum(n), 0) AS bigint) FROM " + talliesTable + " WHERE resource = '" + r.resource +
		"' AND field = '" + r.field + "' AND value" + in + strings.Join(parameters, ", ") + ")"
}
