package sqlstore

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/plan"
)

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
