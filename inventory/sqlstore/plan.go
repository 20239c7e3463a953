package sqlstore

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// fieldIndex is the index of a field and the id.
type fieldIndex struct {
	name     string
	contains []string // its columns
}

// plan selects the way to read a page of a list with filters. The store chooses it by the counts: a
// database that keeps no statistics can't, and one that does takes the filters for independent.
type plan struct {
	index string // the index to read
	// first says that the records that match are found before they are sorted.
	first bool
	// covered says that the index has the columns of the order too.
	covered bool
	// groups are the values of the field of the order, in order: each is read separately.
	groups []any
	// partial says that there are more groups, which the page does not need.
	partial bool
	// none says that no record matches.
	none bool
	// unindexed is a filter whose index is not used, because most records match. Nil is none.
	unindexed *records.Filter
	// counting is the index in which the records that match are counted. Empty leaves the choice to
	// the database.
	counting string

	// find is the string to look up in the index for searches. Empty is none.
	find string
}

// The relative costs of reading a page, measured on both databases.
const (
	entryCost = 1   // of an entry of an index
	rowCost   = 150 // of finding a row by its id
	// orderFactor allows for records that match being rarer at the beginning of an order.
	orderFactor = 1.5

	// sharedPart is a guess for databases without statistics: so small a part of the records has a
	// frequent value of a shared field.
	sharedPart = 8

	maxFew     = 2000   // records that are counted to choose a plan
	maxPlanned = 10_000 // records that a page with a plan may skip
	maxGroups  = 64     // groups of one statement
	maxNumbers = 512    // values of a field whose numbers are read to choose groups
	maxProbed  = 1000   // records in an order that are compared with the filters, to see whether many match
	maxRead    = 400    // the same for a string, which takes longer
)

// matching is a filter of a query that a plan uses.
type matching struct {
	*records.Filter
	n     int64 // records that match
	guess bool  // n is a guess
	index fieldIndex
}

// choose returns the plan of a page, or nil to leave it to the database.
func (e *executor) choose(ctx context.Context, t *table, q *records.Query) (*plan, error) {
	if e.unplan || e.latest || q.Only != nil || e.dialect.DDL.Columns == "" || q.Text != "" || len(q.Filters) == 0 ||
		q.Limit <= 0 || q.Limit >= maxLiteral || q.Offset > maxPlanned {
		return nil, nil
	}
	all := make([]matching, len(q.Filters))
	for i := range q.Filters {
		f := &q.Filters[i]
		if f.Op == records.IsNull && f.Value == true {
			f = &records.Filter{Field: f.Field, Op: records.Eq} // the same
		}
		if !plannable(f) && !t.inNetwork(f) || f.Field.Kind == records.List || f.Field.Column == "id" || !f.Field.Index && f.Field.Ref == nil && t.firstOfKey(f.Field) {
			return nil, nil
		}
		all[i] = matching{Filter: f, index: t.indexes[f.Field.Column]}
	}
	keys := slices.DeleteFunc(sortKeys(q), func(k sortKey) bool { return isConstant(q, k.Field) })
	several := slices.ContainsFunc(q.Filters, func(f records.Filter) bool { return f.Op == records.In })
	if len(keys) == 0 || len(keys) > 2 || several && len(keys) == 1 {
		return nil, nil
	}
	records, both, err := e.estimate(ctx, t, all)
	if err != nil {
		return nil, err
	}
	if e.tx == nil && (both == 0 || slices.ContainsFunc(all, func(f matching) bool { return f.n == 0 })) {
		return &plan{none: true}, nil
	}
	slices.SortStableFunc(all, func(a, b matching) int {
		if (a.index.name == "") != (b.index.name == "") {
			return strings.Compare(b.index.name, a.index.name) // those without an index last
		}
		return cmp.Compare(a.n, b.n)
	})
	rarest := all[0]
	if rarest.index.name == "" {
		return nil, nil
	}
	if t.inNetwork(rarest.Filter) {
		return t.rangePlan(q, keys, all, float64(records), float64(max(min(both, rarest.n), 1))), nil
	}
	p, err := e.cheapest(ctx, t, q, keys, all, float64(records), float64(max(min(both, rarest.n), 1)))
	if p != nil {
		p.counting = countIndex(all)
	}
	return p, err
}

// countIndex returns the index with which the records that match all filters are counted: that of
// the rarest one that contains the columns of the others, if there is one.
func countIndex(all []matching) (name string) {
	least := math.Inf(1)
	for _, f := range all {
		if cost := entryTo(f.index, all) * float64(f.n); f.index.name != "" && cost < least {
			least, name = cost, f.index.name
		}
	}
	return name
}

// entryTo returns the cost of an entry of an index that is compared with all filters.
func entryTo(index fieldIndex, all []matching) float64 {
	if slices.ContainsFunc(all, func(f matching) bool { return !slices.Contains(index.contains, f.Field.Column) }) {
		return rowCost
	}
	return entryCost
}

// plannable reports whether a filter is equality to a value, or to one of few.
func plannable(f *records.Filter) bool {
	values := []any{f.Value}
	switch f.Op {
	case records.Eq:
	case records.In:
		values = f.Value.([]any)
	default:
		return false
	}
	return len(values) <= maxValues && !slices.ContainsFunc(values, func(v any) bool { return v == nil && f.Op == records.In || emptyString(f.Field, v) })
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

// estimate reads the number of all records, sets the number that match each filter, and returns
// the number that match all of them, or an upper bound if there is no count for it.
func (e *executor) estimate(ctx context.Context, t *table, all []matching) (records, both int64, err error) {
	b := &builder{shared: e.shared, table: t}
	numbers := []string{"(" + b.sum(t.countsOfAll()) + ")"}
	var into []func(n int64)
	for i := range all {
		f := &all[i]
		if counts, ok := t.countsFor(f.Filter); ok {
			numbers = append(numbers, "("+b.sum(&counts)+")")
		} else if f.index.name != "" {
			numbers = append(numbers, "(SELECT count(*) FROM (SELECT 1 FROM "+b.name+b.dialect.indexedBy(f.index.name)+
				" WHERE "+b.condition(f.Filter, f.Field.Column)+" LIMIT "+strconv.FormatInt(t.few(f.Filter)+1, 10)+") AS few)")
		} else {
			f.n = -1
			continue
		}
		into = append(into, func(n int64) { f.n = n })
	}
	both = -1
	for i := range all {
		for j := range i {
			if counts, ok := t.countsOfPair(all[j].Filter, all[i].Filter); ok {
				numbers = append(numbers, "("+b.sum(&counts)+")")
				into = append(into, func(n int64) {
					if both < 0 || n < both {
						both = n
					}
				})
			}
		}
	}
	err = e.each(ctx, len(numbers), func(row []any) error {
		records, _ = row[0].(int64)
		for i, set := range into {
			n, _ := row[i+1].(int64)
			set(n)
		}
		return nil
	}, "SELECT "+strings.Join(numbers, ", "), b.args...)
	for i := range all {
		if all[i].n < 0 || all[i].n > t.few(all[i].Filter) && all[i].index.name != "" && !all[i].Field.Counted {
			all[i].n, all[i].guess = records, true // many, or unknown
			if all[i].Field.Shared && e.dialect.IndexedBy != "" {
				all[i].n /= sharedPart
			}
		}
	}
	if both < 0 {
		both = records
	}
	return records, both, err
}

// cheapest returns the plan with the least cost. The first filter is the rarest.
func (e *executor) cheapest(ctx context.Context, t *table, q *records.Query, keys []sortKey, all []matching, records, both float64) (*plan, error) {
	entry := func(index fieldIndex) float64 { return entryTo(index, all) }
	page := float64(q.Limit + 1 + max(q.Offset, 0))
	if len(keys) == 1 { // by id, in which the index of a filter has its records
		return &plan{index: countIndex(all)}, nil
	}
	by := t.indexes[keys[0].Column]
	inOrder := entry(by) * page * records / both * orderFactor
	if by.name == "" {
		inOrder = math.Inf(1)
	} else if slices.ContainsFunc(all, func(f matching) bool { return f.guess }) && keys[0].desc == keys[1].desc {
		b := &builder{shared: e.shared, table: t}
		var conditions []string
		for _, f := range all {
			conditions = append(conditions, b.condition(f.Filter, f.Field.Column))
		}
		enough, err := e.probe(ctx, b, keys, conditions, maxProbed, page)
		if enough || err != nil {
			return &plan{index: by.name}, err
		}
		inOrder = math.Inf(1)
	}
	find, first := &plan{first: true}, math.Inf(1)
	for _, f := range all {
		covered := slices.Contains(f.index.contains, keys[0].Column)
		cost := entry(f.index) * float64(f.n)
		if !covered {
			cost += rowCost * both
		}
		if f.index.name != "" && cost < first {
			find.index, find.covered, first = f.index.name, covered, cost
		}
	}
	// No index has the ids in the other direction, so that all records of a value would be sorted.
	mixed := keys[0].desc != keys[1].desc
	if keys[0].Counted && by.name != "" && (mixed || first > maxFew*entryCost) {
		groups, cost, exact, err := e.groups(ctx, t, q, keys[0], all, page)
		if err != nil {
			return nil, err
		}
		// The cost in order is for values that are independent of the filters, as models are not of vendors.
		if groups != nil && cost*entry(by) < first && (cost < inOrder || mixed || exact) {
			groups.index = by.name
			return groups, nil
		}
	}
	if first < inOrder {
		return find, nil
	}
	return &plan{index: by.name}, nil
}

// probe reports whether the first records in an order have a page of records that match conditions, of which
// no count tells how many records match.
func (e *executor) probe(ctx context.Context, b *builder, keys []sortKey, conditions []string, probed int, page float64) (enough bool, err error) {
	text := "SELECT count(*) FROM (SELECT " + strings.Join(conditions, " AND ") + " AS matches FROM " + b.name + e.dialect.indexedBy(b.indexes[keys[0].Column].name) +
		e.dialect.orderBy(keys, "") + " LIMIT " + strconv.Itoa(probed) + ") AS probed WHERE matches"
	err = e.each(ctx, 1, func(row []any) error {
		n, _ := row[0].(int64)
		enough = float64(n) >= page
		return nil
	}, text, b.args...)
	return enough, err
}

// groups returns a plan that reads the records of each value of a counted field separately, and
// how many entries of the index it reads, or nil if there are too many values. The values whose pairs
// with the filters are not counted are read too; those without a record that matches are not. exact
// says that all pairs are counted, so that the number does not depend on guesses.
func (e *executor) groups(ctx context.Context, t *table, q *records.Query, by sortKey, all []matching, page float64) (p *plan, cost float64, exact bool, err error) {
	numbers, exact, err := e.groupNumbers(ctx, t, by, all)
	if err != nil || len(numbers) > maxNumbers {
		return nil, 0, false, err
	}
	column := t.columns[t.position[by.Column]]
	values := slices.Collect(maps.Keys(numbers))
	slices.SortFunc(values, column.compareKeys)
	if by.desc {
		slices.Reverse(values)
	}
	var at *string // the group in which the page begins
	if q.After != nil {
		at = new(column.countKey(place(q, []sortKey{by})[0]))
	}
	p = &plan{}
	sure := 0.0
	for _, value := range values {
		n := numbers[value]
		if at != nil && (column.compareKeys(value, *at) < 0) != by.desc && value != *at {
			continue // before the page
		}
		least := n[0] // that match all filters, at least
		for _, m := range n[1:] {
			least -= n[0] - m
		}
		if !exact {
			least = 0
		}
		if slices.Min(n) <= 0 {
			continue
		}
		if sure >= page {
			p.partial = true
			break
		}
		if at == nil || value != *at { // else the page begins within the group
			sure += float64(max(least, 0))
		}
		p.groups = append(p.groups, column.fromKey(value))
		cost += min(float64(n[0]), page*float64(n[0])/float64(max(least, slices.Min(n)/4, 1)))
	}
	if len(p.groups) == 0 || len(p.groups) > maxGroups {
		return nil, 0, false, nil
	}
	return p, cost, exact, nil
}

// groupNumbers returns the number of all records with each value of a counted field, and of those that
// match each filter: exactly, or at most. There are more than maxNumbers values if it ends early.
func (e *executor) groupNumbers(ctx context.Context, t *table, by sortKey, all []matching) (numbers map[string][]int64, exact bool, err error) {
	of := "SELECT value, CAST(sum(n) AS bigint) AS n FROM " + countsTable + " WHERE resource = '" + t.name + "' AND field = '" + by.Column + "'"
	numbers = map[string][]int64{}
	err = e.each(ctx, 2, func(row []any) error {
		n, _ := row[1].(int64)
		value := textOf(row[0])
		numbers[value] = []int64{n}
		for _, f := range all {
			numbers[value] = append(numbers[value], min(n, f.n))
		}
		return nil
	}, of+" GROUP BY value HAVING sum(n) > 0 LIMIT "+strconv.Itoa(maxNumbers+1))
	if err != nil || len(numbers) > maxNumbers {
		return numbers, false, err
	}
	exact = true
	values := slices.Collect(maps.Keys(numbers))
	for i := range all {
		counted, err := e.countGroups(ctx, t, by.Field, all[i].Filter, values, func(value string, n int64) { numbers[value][i+1] = n })
		if err != nil {
			return nil, false, err
		}
		exact = exact && counted
	}
	return numbers, exact, nil
}

// countGroups calls f with the number of records that match a filter and have a value in a
// field, for each value, and returns whether these pairs are counted.
func (e *executor) countGroups(ctx context.Context, t *table, by *records.Field, filter *records.Filter, values []string, f func(value string, n int64)) (counted bool, err error) {
	wanted, sums := map[string]string{}, map[string]int64{}
	matching := []any{filter.Value}
	if filter.Op == records.In {
		matching = filter.Value.([]any)
	}
	var name string
	for _, p := range t.pairs {
		if p.a.Column == by.Column && p.b.Column == filter.Field.Column || p.b.Column == by.Column && p.a.Column == filter.Field.Column {
			name = p.field
			for _, m := range matching {
				have := (&column{Field: filter.Field}).countKey(m)
				for _, v := range values {
					f(v, 0)
					if p.a.Column == by.Column {
						wanted[pairKey(v, have)] = v
					} else {
						wanted[pairKey(have, v)] = v
					}
				}
			}
		}
	}
	if name == "" {
		return false, nil
	}
	b := &builder{shared: e.shared, table: t}
	keys := make([]any, 0, len(wanted))
	for key := range wanted {
		keys = append(keys, key)
	}
	text := "SELECT value, CAST(sum(n) AS bigint) FROM " + countsTable + " WHERE resource = '" + t.name + "' AND field = '" + name + "' AND " +
		b.anyOf("value", keys) + " GROUP BY value"
	return true, e.each(ctx, 2, func(row []any) error {
		n, _ := row[1].(int64)
		value := wanted[textOf(row[0])]
		sums[value] += n
		f(value, sums[value])
		return nil
	}, text, b.args...)
}

// fromKey returns the value of a count, nil for no value.
func (c *column) fromKey(key string) any {
	switch {
	case key == "":
		return nil
	case c.Kind == records.Int:
		n, _ := strconv.ParseInt(key, 10, 64)
		return n
	case c.Kind == records.Bool:
		return key == "true"
	}
	return key
}

// compareKeys compares the values of two counts. No value comes first.
func (c *column) compareKeys(a, b string) int {
	if c.Kind == records.Int && a != "" && b != "" {
		return cmp.Compare(c.fromKey(a).(int64), c.fromKey(b).(int64))
	}
	return strings.Compare(a, b)
}
