package sqlstore

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/plan"
)

const (
	// sharedPart is a guess: one of so many records has a frequent value of a shared field.
	sharedPart = 8
	// maxFewAddresses is plan.MaxFew for the addresses of a network.
	maxFewAddresses = 10_000

	unknown = -1 // number of records that no count and no index tells

	maxProbed = 1000 // records in an order that are compared with the filters, to see whether many match
	maxRead   = 400  // the same for a string, which takes longer
)

// choose returns the plan of a page for a database without statistics. The zero plan leaves it to the
// database.
func (e *executor) choose(ctx context.Context, t *table, q *records.Query) (p plan.Plan, err error) {
	if e.dialect.IndexedBy == "" || e.latest || q.Only != nil || q.Limit <= 0 {
		return p, nil
	}
	d := &plan.Query{Wanted: q.Limit + 1 + max(q.Offset, 0)}
	for i := range q.Filters {
		f := &q.Filters[i]
		column := f.Field.Column
		if t.inNetwork(f) {
			column = orderColumn(f.Field)
		}
		described := plan.Filter{Column: column, Records: unknown, Range: f.Op != records.Eq && f.Op != records.IsNull}
		if described.Guess = plannable(f) || t.inNetwork(f); described.Guess && !(partial(f.Field) && (f.Op == records.IsNull || f.Value == nil)) {
			described.Index = t.indexes[column]
		}
		if (f.Op == records.Eq || f.Op == records.In) && (column == "id" || described.Index.Name == "" && t.firstOfKey(f.Field)) {
			return p, nil // few records match
		}
		d.Filters = append(d.Filters, described)
	}
	keys := slices.DeleteFunc(sortKeys(q), func(k sortKey) bool { return isConstant(q, k.Field) })
	if !slices.ContainsFunc(d.Filters, func(f plan.Filter) bool { return f.Index.Name != "" }) && !t.scan(d) {
		if len(keys) > 2 && q.Text == "" {
			p.Index = t.leading[keys[0].Column].Name
		}
		return p, nil
	}
	if err := e.estimate(ctx, t, q, d); err != nil {
		return p, err
	}
	if e.tx == nil && (d.Matches == 0 || slices.ContainsFunc(d.Filters, func(f plan.Filter) bool { return f.Records == 0 })) {
		return plan.Plan{None: true}, nil
	}
	if q.Text != "" {
		d.Filters = append(d.Filters, plan.Filter{Records: d.Records})
	}
	switch {
	case len(keys) == 1:
		d.Order = plan.Order{Column: keys[0].Column, ByID: keys[0].Column == "id"}
	case len(keys) == 2:
		d.Order = plan.Order{Column: keys[0].Column, Index: t.inOrder(keys[0].Field), Probe: keys[0].desc == keys[1].desc}
	case len(keys) > 2: // the records of each reference are sorted
		d.Order = plan.Order{Column: keys[0].Column, Index: t.leading[keys[0].Column]}
	}
	return plan.Choose(d, func() (bool, error) { return e.probe(ctx, t, q, keys) })
}

// inOrder returns the index that has all records in the order of a field, if there is one.
func (t *table) inOrder(f *records.Field) plan.Index {
	if partial(f) {
		return plan.Index{}
	}
	return t.indexes[f.Column]
}

// scan lets filters that no index finds read all entries of the smallest index that has their columns. It returns false
// if there is none.
func (t *table) scan(q *plan.Query) bool {
	var least plan.Index
	for _, f := range t.Fields() {
		index := t.indexes[f.Column]
		lacks := slices.ContainsFunc(q.Filters, func(f plan.Filter) bool { return !f.Guess || !slices.Contains(index.Columns, f.Column) })
		if index.Name != "" && !lacks && !partial(f) && (least.Name == "" || len(index.Columns) < len(least.Columns)) {
			least = index
		}
	}
	for i := range q.Filters {
		f := &q.Filters[i]
		f.Index, f.Scan, f.Range = least, true, true
	}
	return len(q.Filters) > 0 && least.Name != ""
}

// plannable reports whether a filter is equality to a value, or to one of few.
func plannable(f *records.Filter) bool {
	values := []any{f.Value}
	switch f.Op {
	case records.Eq:
	case records.In:
		values = f.Value.([]any)
	case records.IsNull:
		return f.Value == true
	case records.Ne, records.Contains, records.StartsWith, records.Gt, records.Gte, records.Lt, records.Lte, records.Host, records.Within, records.AnyWithin:
		return false
	default:
		panic(unknownOp(f))
	}
	return f.Field.Kind != records.List && len(values) <= maxValues &&
		!slices.ContainsFunc(values, func(v any) bool { return v == nil && f.Op == records.In || emptyString(f.Field, v) })
}

// isConstant reports whether all records of a query have the same value in a field.
func isConstant(q *records.Query, f *records.Field) bool {
	return slices.ContainsFunc(q.Filters, func(c records.Filter) bool {
		return c.Op == records.Eq && (c.Field.Column == f.Column || orderColumn(c.Field) == f.Column) && c.Field.Kind != records.List
	})
}

// firstOfKey reports whether a field begins a unique key.
func (t *table) firstOfKey(f *records.Field) bool {
	return slices.ContainsFunc(t.uniques, func(u records.Unique) bool { return u.Fields[0] == f.Name })
}

// selective reports whether few records match a query, whatever the values of its filters are.
func (t *table) selective(q *records.Query) bool {
	return slices.ContainsFunc(q.Filters, func(f records.Filter) bool {
		return f.Op == records.Eq && (f.Field.Column == "id" || f.Field.Ref != nil && f.Field.Ref.Cascade || t.firstOfKey(f.Field))
	})
}

// estimate reads the numbers of records on which the plan of a query depends, with one statement.
func (e *executor) estimate(ctx context.Context, t *table, q *records.Query, d *plan.Query) error {
	b := &builder{shared: e.shared, table: t}
	numbers, into := []string{"(" + b.sum(t.countsOfAll()) + ")"}, []*int64{&d.Records}
	var both []*int64
	for i := range d.Filters {
		f, g := &d.Filters[i], &q.Filters[i]
		if counts, ok := t.countsFor(g); ok {
			numbers, into, f.Guess = append(numbers, "("+b.sum(&counts)+")"), append(into, &f.Records), false
		} else if f.Index.Name != "" {
			few := "SELECT 1 FROM " + b.name + b.dialect.indexedBy(f.Index.Name) + " WHERE " + b.condition(g, g.Field.Column) + " LIMIT " + strconv.Itoa(t.few(g)+1)
			numbers, into = append(numbers, "(SELECT count(*) FROM ("+few+") AS few)"), append(into, &f.Records)
		}
		for j := range i {
			if counts, ok := t.countsOfPair(&q.Filters[j], g); ok {
				both = append(both, new(int64))
				numbers, into = append(numbers, "("+b.sum(&counts)+")"), append(into, both[len(both)-1])
			}
		}
	}
	err := e.each(ctx, len(numbers), func(row []any) error {
		for i, n := range into {
			*n, _ = row[i].(int64)
		}
		return nil
	}, "SELECT "+strings.Join(numbers, ", "), b.args...)
	for i := range d.Filters {
		f := &d.Filters[i]
		switch {
		case f.Records != unknown && (!f.Guess || f.Records <= int64(t.few(&q.Filters[i]))):
			f.Guess = false
		case f.Guess && q.Filters[i].Field.Shared: // many, or unknown
			f.Records = d.Records / sharedPart
		default:
			f.Records = d.Records
		}
	}
	d.Matches = d.Records
	for _, n := range both {
		d.Matches = min(d.Matches, *n)
	}
	return err
}

// few returns the number of records that match a filter up to which they are counted to choose a plan.
func (t *table) few(f *records.Filter) int {
	if t.inNetwork(f) {
		return maxFewAddresses
	}
	return plan.MaxFew
}

// probe reports whether the first records in an order have a page of the records of a query.
func (e *executor) probe(ctx context.Context, t *table, q *records.Query, keys []sortKey) (enough bool, err error) {
	b := &builder{shared: e.shared, table: t, changing: e.changing}
	probed := maxProbed
	if q.Text != "" {
		probed = maxRead
	}
	wanted := q.Limit + q.Offset + 1
	text := "SELECT count(*) FROM (SELECT 1 FROM (SELECT " + strings.Join(b.conditions(q, 0), " AND ") + " AS matches FROM " + b.name + e.dialect.indexedBy(b.inOrder(keys[0].Field).Name) +
		e.dialect.orderBy(keys, "") + " LIMIT " + strconv.Itoa(probed) + ") AS probed WHERE matches LIMIT " + b.arg(wanted) + ") AS found"
	err = e.each(ctx, 1, func(row []any) error {
		n, _ := row[0].(int64)
		enough = n == wanted
		return nil
	}, text, b.args...)
	return enough, err
}

// begin returns conditions that let a page begin where the first record can be that matches two counted fields: the
// statistics of databases don't tell, which take the fields of a filter and of an order for independent.
func (b *builder) begin(q *records.Query, by sortKey) (all []string) {
	if b.changing || b.latest || b.plan.Shape != plan.InOrder {
		return nil
	}
	var known []string
	for i := range q.Filters {
		f := &q.Filters[i]
		for j := range i {
			if counts, ok := b.countsOfPair(&q.Filters[j], f); ok && b.dialect.IndexedBy == "" {
				all = append(all, "("+b.sum(&counts)+") > 0")
			}
		}
		pair := b.pairOf(f.Field, by.Field)
		if pair == nil || f.Op != records.Eq || by.Kind != records.Text || by.Nullable || q.After != nil {
			continue
		}
		value := b.arg((&column{Field: f.Field}).countKey(f.Value))
		key := pairText(value, "known.value")
		if pair.a.Column == by.Column {
			key = pairText("known.value", value)
		}
		known = append(known, "EXISTS (SELECT 1 FROM "+b.own.counts+" AS pairs WHERE pairs.resource = '"+b.name+"' AND pairs.field = '"+pair.field+
			"' AND pairs.value = "+key+" AND pairs.n > 0)")
	}
	if len(known) == 0 {
		return all
	}
	least, order := " >= (", ""
	if by.desc {
		least, order = " <= (", " DESC"
	}
	return append(all, by.Column+least+"SELECT known.value FROM "+b.own.counts+" AS known WHERE known.resource = '"+b.name+"' AND known.field = '"+by.Column+
		"' AND "+strings.Join(known, " AND ")+" ORDER BY known.value"+order+" LIMIT 1)")
}
