package sqlstore

import (
	"context"
	"fmt"
	"math"
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

// placing selects the way to the page and the total of a query.
type placing struct {
	page, count plan.Way
	by          *records.Field // whose index finds the records; nil is any
}

// maxRoots bounds the count of records whose places are not counted.
const maxRoots = 10_000

// root is a field with a place. The records of a resource are reached from the records of its roots.
type root struct {
	of *records.Resource
	f  *records.Field
}

// rootsOf returns the roots of a resource, and the number of ways that lead to its records.
func rootsOf(r *records.Resource) (roots []root, ways int) {
	for _, name := range r.Within {
		f, _ := r.Field(name)
		if isPlace(f) {
			roots, ways = append(roots, root{r, f}), ways+1
		} else {
			more, n := rootsOf(f.Ref.Resource())
			for _, m := range more {
				if !slices.Contains(roots, m) {
					roots = append(roots, m)
				}
			}
			ways += n
		}
		if f.Required || name == "id" {
			break
		}
	}
	return roots, ways
}

// choosePlaces sets how the records of some places are found.
func (e *executor) choosePlaces(ctx context.Context, b *builder, q *records.Query) error {
	if q.Only == nil || !b.Placed() || len(q.Only.IDs) == 0 {
		return nil
	}
	if i := slices.IndexFunc(q.Filters, func(f records.Filter) bool { return b.inNetwork(&f) && b.indexes[f.Field.Column].Name != "" }); i >= 0 {
		b.placing = placing{plan.FromRecords, plan.FromRecords, q.Filters[i].Field}
		return nil
	}
	found := b.plan.Search != "" || slices.ContainsFunc(q.Filters, func(f records.Filter) bool {
		return (f.Op == records.Eq || f.Op == records.In) && (f.Field.Column == "id" || f.Field.Ref != nil || b.firstOfKey(f.Field))
	})
	if found { // few records match anyway
		b.placing = placing{page: plan.FromRecords, count: plan.FromRecords}
		return nil
	}
	if len(b.Within) == 1 && isPlace(b.fieldOf(b.Within[0])) && len(q.Only.IDs) == 1 && len(q.Sort) == 0 {
		return nil // the index of the place has its records in the order of their ids
	}
	n, err := e.placeNumbers(ctx, b, q.Only)
	if err != nil {
		return err
	}
	part := 1.0 // of the records in the places that match
	for range q.Filters {
		part /= plan.MatchingPart
	}
	if q.Text != "" {
		part /= plan.MatchingPart
	}
	wanted := float64(max(q.Offset, 0)) + float64(q.Limit) + 1
	if q.Limit <= 0 || len(q.Sort) > 0 && !b.ordered(q.Sort[0].Field) {
		wanted = math.Inf(1)
	}
	b.placing.page = n.Choose(wanted/part, true)
	wanted = math.Inf(1)
	if q.Estimate {
		wanted = float64(b.mostCounted(q)) + 1
	}
	b.placing.count = n.Choose(wanted/part, false)
	if b.placing.page == plan.FromRecords && (b.placing.count == plan.FromPlaces || !q.Count) && len(q.Sort) > 0 && b.ordered(q.Sort[0].Field) {
		b.placing.by = q.Sort[0].Field
	}
	return nil
}

// placeNumbers reads the numbers of records.
func (e *executor) placeNumbers(ctx context.Context, b *builder, only *records.Places) (*plan.Places, error) {
	c := &builder{shared: e.shared, table: b.table}
	roots, ways := rootsOf(b.Resource)
	numbers := []string{"(" + c.sum(e.table(b.Resource).countsOfAll()) + ")"}
	for _, r := range roots {
		of := e.table(r.of)
		numbers = append(numbers, "("+c.sum(of.countsOfAll())+")")
		if counts, ok := of.countsFor(&records.Filter{Field: r.f, Op: records.In, Value: anys(only.IDs)}); ok {
			numbers = append(numbers, "("+c.sum(&counts)+")")
		} else {
			numbers = append(numbers, "(SELECT count(*) FROM (SELECT 1 FROM "+of.name+" WHERE "+r.f.Column+c.inPlaces(only)+" LIMIT "+strconv.Itoa(maxRoots)+") AS near)")
		}
	}
	n := &plan.Places{References: float64(ways)}
	err := e.each(ctx, len(numbers), func(row []any) error {
		at := func(i int) float64 { v, _ := row[i].(int64); return float64(v) }
		n.Records = max(at(0), 1)
		for i := range roots {
			all, near := max(at(2*i+1), 1), at(2*i+2)
			n.Roots, n.Near = n.Roots+all, n.Near+near
			n.Share = max(n.Share, near/all)
		}
		n.Share = max(n.Share, 1/n.Records)
		return nil
	}, "SELECT "+strings.Join(numbers, ", "), c.args...)
	return n, err
}
