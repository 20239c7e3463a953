package sqlstore

import (
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
)

// sortKey is a column to sort by.
type sortKey struct {
	*inventory.Field
	desc bool
}

// sortKeys are those of a query that decide anything, and then the id: what comes behind it, or
// behind a column that came before, decides nothing.
func sortKeys(q *inventory.Query) []sortKey {
	var keys []sortKey
	seen := map[string]bool{}
	for _, key := range q.Sort {
		if !seen[key.Field.Column] {
			keys = append(keys, sortKey{key.Field, key.Desc})
		}
		seen[key.Field.Column] = true
		if key.Field.Column == "id" {
			return keys
		}
	}
	id, _ := q.Resource.Field("id")
	return append(keys, sortKey{id, false})
}

// orderBy has null before all values.
func (d *Dialect) orderBy(keys []sortKey) string {
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = k.Column + d.direction(k)
	}
	return " ORDER BY " + strings.Join(parts, ", ")
}

func (d *Dialect) direction(k sortKey) string {
	switch {
	case k.desc && k.Nullable:
		return " DESC" + d.NullsLast
	case k.desc:
		return " DESC"
	case k.Nullable:
		return d.NullsFirst
	}
	return ""
}

// place is where a page begins: the values of the keys, as they are kept.
func place(q *inventory.Query, keys []sortKey) []any {
	values := make([]any, len(keys))
	for i, k := range keys {
		values[i] = valueAt(q, k)
		if values[i] == nil && k.Kind == inventory.Text && !k.Nullable {
			values[i] = ""
		}
	}
	return values
}

func valueAt(q *inventory.Query, k sortKey) any {
	if k.Column == "id" {
		return q.After.ID
	}
	for i, key := range q.Sort {
		if key.Field.Column == k.Column && i < len(q.After.Values) {
			return q.After.Values[i]
		}
	}
	return nil
}

// arm is a part of a page: what its records meet, and the order in which an index has them.
type arm struct {
	conditions []string
	keys       []sortKey
}

// arms are the parts that the records behind a place are in. No record is in two of them, and
// each can be looked up in an index by itself, which a condition with OR can't.
func (b *builder) arms(q *inventory.Query, keys []sortKey) []arm {
	at := place(q, keys)
	if row := b.row(keys, at); row != "" {
		return []arm{{[]string{row}, keys}}
	}
	var arms []arm
	var before []string
	order := slices.Clone(keys)
	for i, k := range keys {
		for _, behind := range b.behind(k, at[i]) {
			a := arm{append(slices.Clone(before), behind), slices.Clone(order)}
			if strings.HasSuffix(behind, isNull) {
				a.keys[i].desc = false // they are all equal, and the index has them like this
			}
			arms = append(arms, a)
		}
		if at[i] == nil {
			order[i].desc = false
		}
		if i < len(keys)-1 {
			before = append(before, b.at(k, at[i]))
		}
	}
	if len(arms) == 0 {
		return []arm{{[]string{never}, keys}}
	}
	return arms
}

const isNull = " IS NULL"

// at is the condition that a column has a value, or none.
func (b *builder) at(k sortKey, value any) string {
	if value == nil {
		return k.Column + isNull
	}
	return k.Column + " = " + b.arg(value)
}

// row compares whole rows, where all keys go up and none may be null.
func (b *builder) row(keys []sortKey, at []any) string {
	columns, values := make([]string, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		if k.desc || k.Nullable || at[i] == nil {
			return ""
		}
		columns[i] = k.Column
	}
	for i := range keys {
		values[i] = b.arg(at[i])
	}
	if len(keys) == 1 {
		return columns[0] + " > " + values[0]
	}
	return "(" + strings.Join(columns, ", ") + ") > (" + strings.Join(values, ", ") + ")"
}

// behind are the conditions, one or two, that a column comes after a value.
func (b *builder) behind(k sortKey, value any) []string {
	switch {
	case value == nil && k.desc:
		return nil // null is the last
	case value == nil:
		return []string{k.Column + " IS NOT NULL"}
	case !k.desc:
		return []string{k.Column + " > " + b.arg(value)}
	case k.Nullable:
		return []string{k.Column + " < " + b.arg(value), k.Column + isNull}
	}
	return []string{k.Column + " < " + b.arg(value)}
}
