package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// List returns the records of a query.
func (s *Store) List(ctx context.Context, q *records.Query) (*records.Page, error) {
	return s.listFrom(ctx, q, false)
}

// ListLatest returns the records of a query that are the latest ones
// (records.LatestLister).
func (s *Store) ListLatest(ctx context.Context, q *records.Query) (*records.Page, error) {
	if q.Resource.Latest == nil {
		return nil, fmt.Errorf("the store keeps no latest records of %s", q.Resource.Name)
	}
	return s.listFrom(ctx, q, true)
}

func (s *Store) listFrom(ctx context.Context, q *records.Query, latest bool) (*records.Page, error) {
	e := s.reading()
	e.latest = latest
	page, err := e.list(ctx, q)
	if err == nil && q.Count && len(page.Records) == 0 && page.Total > 0 {
		page, err = e.snapshot(ctx, q) // the total was read after the page
	}
	if err != nil {
		return nil, s.failure(ctx, "list "+q.Resource.Name, err)
	}
	return page, nil
}

// snapshot runs the statements of a query on one state of the database.
func (e *executor) snapshot(ctx context.Context, q *records.Query) (page *records.Page, err error) {
	ctx, cancel := e.within(ctx)
	defer cancel()
	tx, err := e.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return nil, err
	}
	defer func() { // the transaction only reads, and its context may have ended it
		if undone := tx.Rollback(); !errors.Is(undone, sql.ErrTxDone) {
			err = errors.Join(err, undone)
		}
	}()
	in := *e
	in.tx, in.owned = tx, map[string]*sql.Stmt{}
	return in.list(ctx, q)
}

// list runs a query. One statement reads the page and the total, except for an empty page,
// which has no row for the total.
func (e *executor) list(ctx context.Context, q *records.Query) (*records.Page, error) {
	b := &builder{shared: e.shared, table: e.table(q.Resource), latest: e.latest, changing: e.changing}
	if e.latest {
		b.table = b.table.latest.table
	}
	q, unindexed, err := e.plan(ctx, b, q)
	if err != nil {
		return nil, err
	}
	if b.plan != nil && b.plan.none {
		return &records.Page{}, nil
	}
	page, err := e.read(ctx, b, q, unindexed)
	if err != nil {
		return nil, err
	}
	b.bound(q, page)
	if b.plan != nil && b.plan.partial && int64(len(page.Records)) <= q.Limit {
		return e.unplanned(ctx, q) // records have been deleted since the plan
	}
	if q.Limit > 0 && int64(len(page.Records)) > q.Limit {
		page.Records, page.More = page.Records[:q.Limit], true
	}
	if q.Count && len(page.Records) == 0 && (q.After != nil || q.Offset > 0) {
		b.reset()
		text := b.total(q)
		err = e.each(ctx, 1, func(row []any) error { page.Total, _ = row[0].(int64); return nil }, text, b.args...)
		b.bound(q, page)
	}
	return page, err
}

// plan sets how to read a page: builder.plan, or a filter for which no index is to be used. It returns
// the query with the filters that the counts have replaced.
func (e *executor) plan(ctx context.Context, b *builder, q *records.Query) (_ *records.Query, unindexed *records.Filter, err error) {
	q, none, err := e.byValues(ctx, b.table, q)
	if none {
		b.plan = &plan{none: true}
	}
	if err == nil && b.plan == nil {
		b.plan, err = e.chooseSearch(ctx, b.table, q)
	}
	if err == nil && b.plan == nil {
		b.plan, err = e.choose(ctx, b.table, q)
	}
	if err == nil && b.plan == nil {
		unindexed, err = e.unindexed(ctx, b.table, q)
	}
	if b.plan != nil && b.plan.unindexed != nil {
		unindexed = b.plan.unindexed
	}
	if err == nil {
		err = e.choosePlaces(ctx, b, q)
	}
	return q, unindexed, err
}

// bound cuts an estimated total.
func (b *builder) bound(q *records.Query, page *records.Page) {
	if most := b.mostCounted(q); q.Estimate && !b.counted(q) && page.Total > most {
		page.Total, page.AtLeast = most, true
	}
}

// mostCounted returns where the count of a query ends if the total may be estimated.
func (b *builder) mostCounted(q *records.Query) int64 {
	if q.Only != nil && slices.ContainsFunc(b.Within, func(name string) bool { return !isPlace(b.fieldOf(name)) }) {
		return records.MaxPlacedEstimate
	}
	return records.MaxEstimate
}

// read reads a page with its plan, one record more than its limit, and the total unless it is empty.
func (e *executor) read(ctx context.Context, b *builder, q *records.Query, unindexed *records.Filter) (*records.Page, error) {
	key, remember := e.totalKey(b.table, q)
	if b.remember = remember; remember {
		b.known = e.totals.get(key)
	}
	text := b.page(q, unindexed)
	width, total := len(b.columns), len(b.columns)
	if q.Count {
		width++
	}
	states := width
	if remember {
		width += b.stateColumns()
	}
	args := b.args
	if e.dialect.Replan != nil && q.Heavy() { // how many records match depends on the strings
		args = slices.Concat([]any{e.dialect.Replan}, args)
	}
	page := &records.Page{}
	err := e.each(ctx, width, func(row []any) error {
		rec, err := b.record(row)
		page.Records = append(page.Records, rec)
		if q.Count {
			page.Total, _ = row[total].(int64)
		}
		if remember && len(page.Records) == 1 {
			if now, ok := b.remembered(page.Total, row[states:]); ok {
				e.totals.put(key, now)
			}
		}
		return err
	}, text, args...)
	return page, err
}

// page returns the statement of a page, with the total in the last column if it is requested. A
// small page is found in indexes first: rows are read for its records only.
func (b *builder) page(q *records.Query, unindexed *records.Filter) string {
	keys := sortKeys(q)
	columns, prefix := b.selected, ""
	late := q.Limit > 0 && q.Limit < maxLiteral && !b.latest // the ids of latest records have no index
	if late {
		names := make([]string, len(keys))
		for i, k := range keys {
			names[i] = k.Column
		}
		columns, prefix = strings.Join(names, ", "), b.name+"."
	}
	inner := columns
	for _, k := range keys {
		if _, stored := b.position[k.Column]; !late && !stored {
			inner += ", " + k.Column // the key, to sort the result by
		}
	}
	with, from, conditions := "", b.name, []string(nil)
	if b.placing.page != fromPlaces {
		conditions = b.conditions(q, unindexed)
	}
	switch {
	case b.placing.page == fromPlaces:
		with, from = "WITH matching AS MATERIALIZED ("+b.fromPlaces(q, inner)+") ", "matching"
	case b.plan == nil:
	case len(b.plan.groups) > 0:
		from, conditions = b.groups(q, keys, inner, conditions), nil
	case b.plan.first:
		if b.plan.covered && b.dialect.IndexedBy != "" { // else another index could be read in order
			from += b.dialect.indexedBy(b.plan.index)
			break
		}
		with, from, conditions = b.first(inner, conditions), "matching", nil
	default:
		from += b.dialect.indexedBy(b.plan.index)
	}
	order := b.dialect.orderBy(keys, "")
	if q.After != nil && (b.plan == nil || len(b.plan.groups) == 0) {
		parts := b.pageParts(q, keys)
		if len(parts) == 1 {
			conditions = append(conditions, parts[0].conditions...)
		} else {
			from, conditions = b.union(q, parts, "SELECT "+inner+" FROM "+from, conditions, order), nil
		}
	}
	total := ""
	if q.Count {
		total = ", (" + b.total(q) + ")"
	}
	if b.remember {
		total += ", (" + strings.Join(b.states(), "), (") + ")"
	}
	text := with + "SELECT " + columns
	if !late {
		text += total
	}
	text += " FROM " + from + where(conditions) + order + b.limit(q, false)
	if late {
		// SQLite keeps the order of the tables of a CROSS JOIN.
		text = "SELECT " + prefix + strings.ReplaceAll(b.selected, ", ", ", "+prefix) + total + " FROM (" + text + ") AS found CROSS JOIN " + b.name +
			" WHERE " + prefix + "id = found.id" + b.dialect.orderBy(keys, prefix)
	}
	if b.dialect.Complete != "" && q.Limit > 0 && (len(q.Filters)+len(q.Text) > 0 || q.Only != nil) { // it may read many rows
		text = fmt.Sprintf(b.dialect.Complete, text)
	}
	return text
}

// first finds the records that match, before they are sorted.
func (b *builder) first(columns string, conditions []string) string {
	index := b.dialect.indexedBy(b.plan.index)
	matching := "SELECT " + columns + " FROM " + b.name + index + where(conditions)
	if !b.plan.covered && index != "" { // else SQLite reads the row of each entry before it compares the other columns
		matching = "SELECT " + columns + " FROM " + b.name + " WHERE id IN (SELECT id FROM " + b.name + index + where(conditions) + ")"
	}
	return "WITH matching AS MATERIALIZED (" + matching + ") "
}

// groups selects the first records of each group of a plan.
func (b *builder) groups(q *records.Query, keys []sortKey, columns string, conditions []string) string {
	selects := make([]string, len(b.plan.groups))
	by := keys[slices.IndexFunc(keys, func(k sortKey) bool { return b.indexes[k.Column].name == b.plan.index })]
	id := keys[len(keys)-1:]
	for i, value := range b.plan.groups {
		all := append(slices.Clone(conditions), b.equal(by.Field, by.Column, value))
		if q.After != nil {
			if at := place(q, []sortKey{by})[0]; b.sameKey(by.Field, at, value) {
				all = append(all, b.after(id[0], q.After.ID)...)
			}
		}
		selects[i] = "SELECT * FROM (SELECT " + columns + " FROM " + b.name + b.dialect.indexedBy(b.plan.index) + where(all) +
			b.dialect.orderBy(id, "") + b.limit(q, true) + ") AS group" + strconv.Itoa(i+1)
	}
	return "(" + strings.Join(selects, " UNION ALL ") + ") AS page"
}

// sameKey reports whether two values of a field have the same count.
func (b *builder) sameKey(f *records.Field, v, w any) bool {
	c := &column{Field: f}
	return c.countKey(v) == c.countKey(w)
}

// unplanned reads a page without a plan.
func (e *executor) unplanned(ctx context.Context, q *records.Query) (*records.Page, error) {
	in := *e
	in.unplan = true
	return in.list(ctx, q)
}

// maxParts bounds the parts of a page. With more sort keys, no index has the records of a part
// in order, and each part would be sorted separately.
const maxParts = 4

// union selects the records of all parts of a SELECT: from each not more than the page needs.
func (b *builder) union(q *records.Query, parts []pagePart, from string, conditions []string, order string) string {
	selects := make([]string, len(parts))
	for i, p := range parts {
		selects[i] = "(" + strings.Join(p.conditions, " AND ") + ")"
		if len(parts) <= maxParts {
			all := slices.Concat(p.conditions, conditions)
			selects[i] = "SELECT * FROM (" + from + where(all) + b.dialect.orderBy(p.keys, "") + b.limit(q, true) + ") AS part" + strconv.Itoa(i+1)
		}
	}
	if len(parts) > maxParts {
		all := append(slices.Clone(conditions), "("+strings.Join(selects, " OR ")+")")
		return "(" + from + where(all) + order + b.limit(q, true) + ") AS page"
	}
	return "(" + strings.Join(selects, " UNION ALL ") + ") AS page"
}

const (
	// maxLiteral is the largest limit that is written into a statement, for the planner of the
	// database. Others are parameters, or each would be a statement to cache.
	maxLiteral = 1000
	// maxRows is more than a table has rows. It avoids overflows.
	maxRows = 1 << 53
)

// limit selects one record more than the limit, to see whether there are more. A part of a
// page includes the records of its offset.
func (b *builder) limit(q *records.Query, part bool) string {
	offset := ""
	if !part && q.Offset > 0 {
		offset = " OFFSET "
	}
	if q.Limit <= 0 {
		if offset == "" {
			return ""
		}
		return " LIMIT " + b.dialect.NoLimit + offset + b.arg(q.Offset)
	}
	n := min(q.Limit, maxRows) + 1
	if part {
		n += min(max(q.Offset, 0), maxRows)
	}
	text := " LIMIT "
	if n <= maxLiteral {
		text += strconv.FormatInt(n, 10)
	} else {
		text += b.arg(n)
	}
	if offset != "" {
		text += offset + b.arg(q.Offset)
	}
	return text
}

// unindexed returns a filter that so many records match that it is faster to read them in
// their order until the page is full, without the index of the filter. It is for databases
// that keep no statistics: the counts tell how many match.
func (e *executor) unindexed(ctx context.Context, t *table, q *records.Query) (*records.Filter, error) {
	if e.dialect.Unindexed == "" || q.Only != nil || q.Limit <= 0 || len(q.Sort) == 0 || !t.ordered(q.Sort[0].Field) {
		return nil, nil
	}
	for i := range q.Filters {
		f := &q.Filters[i]
		counts, ok := t.countsFor(f)
		if f.Op != records.Eq && f.Op != records.In || !ok || !f.Field.Index && f.Field.Ref == nil {
			continue
		}
		b := &builder{shared: e.shared, table: t}
		text := "SELECT (" + b.sum(&counts) + "), (" + b.sum(t.countsOfAll()) + ")"
		var matching, all int64
		err := e.each(ctx, 2, func(row []any) error {
			matching, _ = row[0].(int64)
			all, _ = row[1].(int64)
			return nil
		}, text, b.args...)
		if err != nil {
			return nil, err
		}
		// One of all/matching records matches.
		if matching > 0 && float64(q.Limit+max(q.Offset, 0))*float64(all) < float64(matching)*float64(matching) {
			return f, nil
		}
	}
	return nil, nil
}

// ordered reports whether an index has all records in the order of a field.
func (t *table) ordered(f *records.Field) bool {
	if f.Index || f.Column == "id" {
		return true
	}
	i := slices.IndexFunc(t.uniques, func(u records.Unique) bool { return u.Fields[0] == f.Name })
	return i >= 0 && f.Required // else the index omits missing values
}
