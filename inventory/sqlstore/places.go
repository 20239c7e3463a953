package sqlstore

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/plan"
)

// The records of some places (records.Query.Only) are found in two ways: from the records, each of which is
// followed to its place, and from the places, by the indexes of the references. Which is faster depends on how
// many records there are, and how many of them a page needs (executor.choosePlaces).

// places is the condition that records of a resource belong to some places. table is the name or the alias of
// their table.
func (b *builder) places(only *records.Places, r *records.Resource, table string) string {
	switch {
	case !r.Placed() && only.Own == "" || r.Placed() && len(only.IDs) == 0:
		return never
	case !r.Placed():
		return "id = " + b.arg(only.Own)
	}
	var all, present []string
	optional := true
	for _, name := range r.Within {
		f, _ := r.Field(name)
		condition := b.placesThrough(f, only, table)
		if !f.Required && name != "id" {
			present = append(present, table+"."+f.Column+" IS NOT NULL")
			if len(r.Within) > 1 {
				condition = "(" + table + "." + f.Column + isNull + " OR " + condition + ")"
			}
		} else {
			optional = false
		}
		all = append(all, condition)
	}
	if optional && len(present) > 1 {
		all = append(all, "("+strings.Join(present, " OR ")+")")
	}
	return strings.Join(all, " AND ")
}

// placesThrough returns the condition that a field is a place, or refers to a record that belongs to some. The index
// of the field is used only if the database chooses.
func (b *builder) placesThrough(f *records.Field, only *records.Places, table string) string {
	column := table + "." + f.Column
	if isPlace(f) {
		if table != local(b.name) || b.placing != (placing{}) {
			column = b.dialect.Unindexed + column
		}
		return column + b.inPlaces(only)
	}
	to, alias := f.Ref.Resource(), b.placeAlias()
	return "EXISTS (SELECT 1 FROM " + to.Table() + " AS " + alias + " WHERE " + alias + ".id = " + column + " AND " + b.places(only, to, alias) + b.dialect.OneByOne + ")"
}

// isPlace reports whether the value of a field of [records.Definition].Within is a place.
func isPlace(f *records.Field) bool { return f.Ref == nil || f.Ref.Resource().IsPlace() }

// placeAlias returns an alias for a referenced record.
func (b *builder) placeAlias() string {
	b.aliases++
	return "place" + strconv.Itoa(b.aliases)
}

// inPlaces follows a column to compare it with the places. All comparisons of a statement share the parameters.
func (b *builder) inPlaces(only *records.Places) string {
	if b.placeList == "" {
		parameters := make([]string, len(only.IDs))
		for i, id := range only.IDs {
			parameters[i] = b.arg(id)
		}
		for range 1<<bits.Len(uint(len(parameters)-1)) - len(parameters) { // so that there are few different statements
			parameters = append(parameters, parameters[0])
		}
		b.placeList = " IN (" + strings.Join(parameters, ", ") + ")"
	}
	return b.placeList
}

// reset begins another statement.
func (b *builder) reset() { b.args, b.placeList = nil, "" }

// ofPlaces follows FROM to read all records of a query.
func (b *builder) ofPlaces(q *records.Query) string {
	if b.placing.page == plan.FromPlaces {
		return "(" + b.fromPlaces(q, local(b.name)+".*") + ") AS placed"
	}
	return b.name + where(b.conditions(q, 0))
}

// fromPlaces is a SELECT of columns of the records of a query, which it finds from their places.
func (b *builder) fromPlaces(q *records.Query, columns string) string {
	return strings.Join(b.reach(q.Only, b.Resource, b.name, columns, func() (all []string) {
		for i := range q.Filters {
			all = append(all, b.condition(&q.Filters[i], b.dialect.Unindexed+q.Filters[i].Field.Column))
		}
		if q.Text != "" {
			all = append(all, b.search(q.Text))
		}
		return all
	}), " UNION ALL ")
}

// reach returns SELECTs of columns of the records in some places, each record once: one SELECT for each
// reference that may be the first one that a record has. further returns further conditions.
func (b *builder) reach(only *records.Places, r *records.Resource, table, columns string, further func() []string) (selects []string) {
	var missing []string
	for i, name := range r.Within {
		f, _ := r.Field(name)
		first, conditions := "", slices.Clone(missing)
		if isPlace(f) {
			conditions = append(conditions, f.Column+b.inPlaces(only))
		} else {
			to, alias := f.Ref.Resource(), b.placeAlias()
			first = "(" + strings.Join(b.reach(only, to, to.Table(), "id AS "+alias, nil), " UNION ALL ") + ") AS " + alias + "s"
			conditions = append(conditions, f.Column+" = "+alias)
		}
		for _, name := range r.Within[i+1:] {
			other, _ := r.Field(name)
			condition := b.placesThrough(other, only, local(table))
			if !other.Required {
				condition = "(" + local(table) + "." + other.Column + isNull + " OR " + condition + ")"
			}
			conditions = append(conditions, condition)
		}
		if further != nil {
			conditions = append(conditions, further()...)
		}
		if first == "" {
			selects = append(selects, "SELECT "+columns+" FROM "+table+where(conditions))
		} else {
			selects = append(selects, "SELECT "+columns+" FROM "+fmt.Sprintf(b.dialect.JoinEach, first, table, strings.Join(conditions, " AND "), local(table)))
		}
		if f.Required || name == "id" {
			break
		}
		missing = append(missing, b.dialect.Unindexed+f.Column+isNull)
	}
	return selects
}
