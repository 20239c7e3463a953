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
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/plan"
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

// Explain returns how List would read the page of a query, for people: the plan, such as "in order:
// devices_hostname__key_idx", and in the next line the statement, for EXPLAIN.
func (s *Store) Explain(ctx context.Context, q *records.Query) (string, error) {
	e := s.reading()
	b := &builder{shared: e.shared, table: e.table(q.Resource)}
	q, err := e.plan(ctx, b, q)
	if err != nil {
		return "", s.failure(ctx, "explain a list of "+b.Name, err)
	}
	return b.plan.String() + "\n" + b.page(q), nil
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
	tx, err := e.replica.handle(ctx, e).BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
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
	q, err := e.plan(ctx, b, q)
	if err != nil {
		return nil, err
	}
	if b.plan.None {
		return &records.Page{}, nil
	}
	page, err := e.read(ctx, b, q)
	if err != nil {
		return nil, err
	}
	b.bound(q, page)
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

// plan sets how to read a page. It returns the query with the filters that the counts have replaced.
func (e *executor) plan(ctx context.Context, b *builder, q *records.Query) (*records.Query, error) {
	q, none, err := e.byValues(ctx, b.table, q)
	b.plan.None = none
	if err == nil && !none {
		b.plan, err = e.chooseSearch(ctx, b.table, q)
	}
	if err == nil && b.plan == (plan.Plan{}) {
		b.plan, err = e.choose(ctx, b.table, q)
	}
	if err == nil {
		err = e.choosePlaces(ctx, b, q)
	}
	return q, err
}

// bound cuts an estimated total.
func (b *builder) bound(q *records.Query, page *records.Page) {
	_, stored := b.countsOf(q)
	if most := b.mostCounted(q); q.Estimate && !stored && page.Total > most {
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
func (e *executor) read(ctx context.Context, b *builder, q *records.Query) (*records.Page, error) {
	key, remember := e.totalKey(b.table, q)
	if b.remember = remember; remember {
		b.known = e.totals.get(key)
	}
	text := b.page(q)
	width, total := len(b.columns), len(b.columns)
	if q.Count {
		width++
	}
	states := width
	if remember {
		width += b.stateColumns()
	}
	args := b.args
	sorted := len(q.Filters) > 0 && len(q.Sort) > 0 && !b.selective(q)
	// How many records match depends on the values. A change may look up keys in a table that was empty when the
	// statement was planned for all values.
	if e.dialect.Replan != nil && (sorted || q.Heavy() || e.changing && slices.ContainsFunc(q.Filters, isSeveral)) {
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

// isSeveral reports whether a filter has several values.
func isSeveral(f records.Filter) bool { return f.Op == records.In }

// page returns the statement of a page, with the total in the last column if it is requested. A
// small page is found in indexes first: rows are read for its records only.
func (b *builder) page(q *records.Query) string {
	keys := sortKeys(q)
	columns, prefix := b.selected, ""
	late := q.Limit > 0 && q.Limit < maxLiteral && !b.latest // the ids of latest records have no index
	if late {
		names := make([]string, len(keys))
		for i, k := range keys {
			names[i] = k.Column
		}
		columns, prefix = strings.Join(names, ", "), local(b.name)+"."
	}
	inner := columns
	for _, k := range keys {
		if _, stored := b.position[k.Column]; !late && !stored {
			inner += ", " + k.Column // the key, to sort the result by
		}
	}
	with, from, conditions := "", b.name, []string(nil)
	if b.placing.page != plan.FromPlaces {
		conditions = append(b.conditions(q, b.plan.NotBy), b.begin(q, keys[0])...)
	}
	switch {
	case b.placing.page == plan.FromPlaces:
		with, from = "WITH matching AS MATERIALIZED ("+b.fromPlaces(q, inner)+") ", "matching"
	case b.plan.Shape == plan.FindFirst:
		with, from, conditions = b.findFirst(inner, conditions), "matching", nil
	default:
		from += b.dialect.indexedBy(b.plan.Index)
	}
	order := b.dialect.orderBy(keys, "")
	if q.After != nil {
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

// findFirst finds the records that match, before they are sorted.
func (b *builder) findFirst(columns string, conditions []string) string {
	index := b.dialect.indexedBy(b.plan.Index)
	matching := "SELECT " + columns + " FROM " + b.name + where(conditions)
	if index != "" { // else SQLite reads the row of each entry before it compares the other columns
		matching = "SELECT " + columns + " FROM " + b.name + " WHERE id IN (SELECT id FROM " + b.name + index + where(conditions) + ")"
	}
	return "WITH matching AS MATERIALIZED (" + matching + ") "
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
		return " LIMIT " + strconv.Itoa(maxRows) + offset + b.arg(q.Offset)
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

// ordered reports whether an index has all records in the order of a field.
func (t *table) ordered(f *records.Field) bool {
	if f.Index || f.Column == "id" {
		return true
	}
	i := slices.IndexFunc(t.uniques, func(u records.Unique) bool { return u.Fields[0] == f.Name })
	return i >= 0 && f.Required // else the index omits missing values
}

// Project reads columns of the records of a query with one statement (records.Projector).
func (s *Store) Project(ctx context.Context, q *records.Query, columns []records.Column, row func(values []string) error) error {
	e := s.reading()
	b := &builder{shared: e.shared, table: e.table(q.Resource)}
	if err := e.choosePlaces(ctx, b, q); err != nil {
		return s.failure(ctx, "read columns of "+q.Resource.Name, err)
	}
	text := b.project(q, columns)
	values := make([]string, len(columns))
	err := e.each(ctx, len(columns), func(stored []any) error {
		for i, v := range stored {
			values[i] = textOf(v)
		}
		return row(values)
	}, text, b.args...)
	return s.failure(ctx, "read columns of "+q.Resource.Name, err)
}

// project is a SELECT of columns. Each reference is a join.
func (b *builder) project(q *records.Query, columns []records.Column) string {
	selected := make([]string, len(columns))
	joined := map[string]string{} // the alias of a reference, by its column
	joins := ""
	for i, c := range columns {
		alias := "found"
		if c.Through != nil {
			through := c.Through.Column
			if joined[through] == "" {
				joined[through] = fmt.Sprintf("through%d", len(joined)+1)
				joins += " LEFT JOIN " + b.fieldOf(c.Through.Name).Ref.Resource().Table() + " AS " + joined[through] + " ON " + joined[through] + ".id = found." + through
			}
			alias = joined[through]
		}
		selected[i] = alias + "." + c.Field.Column
	}
	return "SELECT " + strings.Join(selected, ", ") + " FROM (SELECT * FROM " + b.ofPlaces(q) + ") AS found" + joins
}
