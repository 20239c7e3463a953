package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
)

// list runs a query. The page and the total are one statement, and so of one moment. Only a
// page that is empty has no row to carry the total.
func (s *session) list(ctx context.Context, q *inventory.Query) (*inventory.Page, error) {
	b := &builder{shared: s.shared, table: s.tables[q.Resource], only: s.only}
	unindexed, err := s.unindexed(ctx, b.table, q)
	if err != nil {
		return nil, err
	}
	text := b.page(q, unindexed)
	width := len(b.columns)
	if q.Count {
		width++
	}
	page := &inventory.Page{}
	err = s.each(ctx, width, func(cells []any) error {
		rec, err := b.record(cells)
		page.Records = append(page.Records, rec)
		if q.Count {
			page.Total, _ = cells[width-1].(int64)
		}
		return err
	}, text, b.args...)
	if err != nil {
		return nil, err
	}
	if q.Limit > 0 && int64(len(page.Records)) > q.Limit {
		page.Records, page.More = page.Records[:q.Limit], true
	}
	if q.Count && len(page.Records) == 0 && (q.After != nil || q.Offset > 0) {
		page.Total, err = s.total(ctx, q)
	}
	return page, err
}

// total counts what a query finds.
func (s *session) total(ctx context.Context, q *inventory.Query) (total int64, err error) {
	b := &builder{shared: s.shared, table: s.tables[q.Resource], only: s.only}
	text := b.total(q)
	err = s.each(ctx, 1, func(cells []any) error { total, _ = cells[0].(int64); return nil }, text, b.args...)
	return total, err
}

// page is the statement of a page, with its total in the last column if that is wanted.
func (b *builder) page(q *inventory.Query, unindexed *inventory.Filter) string {
	conditions, keys := b.conditions(q, unindexed), sortKeys(q)
	order := b.dialect.orderBy(keys)
	from := b.name
	if q.After != nil {
		arms := b.arms(q, keys)
		if len(arms) == 1 {
			conditions = append(conditions, arms[0].conditions...)
		} else {
			from, conditions = b.union(q, arms, conditions, order), nil
		}
	}
	columns := b.selected
	if q.Count {
		columns += ", (" + b.total(q) + ")"
	}
	return "SELECT " + columns + " FROM " + from + where(conditions) + order + b.limit(q, false)
}

// maxArms is how many parts a page is put together from at most. With more keys each part
// would have to be sorted by itself, and none found in an index.
const maxArms = 4

// union is the records that meet one of the arms: not more of each than the page needs.
func (b *builder) union(q *inventory.Query, arms []arm, conditions []string, order string) string {
	part := "SELECT " + b.selected + " FROM " + b.name
	if len(arms) > maxArms {
		either := make([]string, len(arms))
		for i, a := range arms {
			either[i] = "(" + strings.Join(a.conditions, " AND ") + ")"
		}
		all := append(slices.Clone(conditions), "("+strings.Join(either, " OR ")+")")
		return "(" + part + where(all) + order + b.limit(q, true) + ") AS page"
	}
	parts := make([]string, len(arms))
	for i, a := range arms {
		all := slices.Concat(a.conditions, conditions)
		parts[i] = "SELECT * FROM (" + part + where(all) + b.dialect.orderBy(a.keys) + b.limit(q, true) + ") AS part" + strconv.Itoa(i+1)
	}
	return "(" + strings.Join(parts, " UNION ALL ") + ") AS page"
}

// maxLiteral is the largest limit that is written into a statement, so that the database
// plans with it. Others are parameters, or each would be a statement to keep.
const maxLiteral = 1000

// maxNumber is more than a table has rows, and far from where numbers end.
const maxNumber = 1 << 53

// limit asks for one record more than are wanted, to see whether there are more. A part of a
// page has also those that the page leaves out.
func (b *builder) limit(q *inventory.Query, part bool) string {
	if q.Limit <= 0 {
		if part || q.Offset <= 0 {
			return ""
		}
		return " LIMIT " + b.dialect.NoLimit + " OFFSET " + b.arg(q.Offset)
	}
	n := min(q.Limit, maxNumber) + 1
	if part {
		n += min(max(q.Offset, 0), maxNumber)
	}
	text := " LIMIT "
	if n <= maxLiteral {
		text += strconv.FormatInt(n, 10)
	} else {
		text += b.arg(n)
	}
	if !part && q.Offset > 0 {
		text += " OFFSET " + b.arg(q.Offset)
	}
	return text
}

// unindexed is a filter that no index is to be used for, because so many records meet it
// that it is quicker to go through them in their order until the page is full. That is for
// databases that keep no statistics: the tallies know better.
func (s *session) unindexed(ctx context.Context, t *table, q *inventory.Query) (*inventory.Filter, error) {
	if s.dialect.Unindexed == "" || q.Limit <= 0 || len(q.Sort) == 0 || !t.ordered(q.Sort[0].Field) {
		return nil, nil
	}
	for i := range q.Filters {
		f := &q.Filters[i]
		r, ok := t.tallyOfFilter(f)
		if f.Op != inventory.Eq || !ok || !f.Field.Index && f.Field.Ref == nil {
			continue
		}
		b := &builder{shared: s.shared, table: t}
		all := tallyRange{tallyKey{resource: t.name}, []string{""}, false}
		text := "SELECT (" + b.sum(&r) + "), (" + b.sum(&all) + ")"
		var found, of int64
		err := s.each(ctx, 2, func(cells []any) error {
			found, _ = cells[0].(int64)
			of, _ = cells[1].(int64)
			return nil
		}, text, b.args...)
		if err != nil {
			return nil, err
		}
		// Of every of/found records one is found on the way.
		if found > 0 && float64(q.Limit+max(q.Offset, 0))*float64(of) < float64(found)*float64(found) {
			return f, nil
		}
	}
	return nil, nil
}

// ordered reports whether an index has the records in the order of a field.
func (t *table) ordered(f *inventory.Field) bool {
	if f.Index || f.Column == "id" {
		return true
	}
	for _, u := range t.uniques {
		if u.Fields[0] == f.Name {
			return f.Required // else the index leaves out those without a value
		}
	}
	return false
}

// List returns the records of a query.
func (s *Store) List(ctx context.Context, q *inventory.Query) (*inventory.Page, error) {
	return s.listOnly(ctx, q, "")
}

// ListLatest returns the records of a query that are the latest ones
// (inventory.LatestLister).
func (s *Store) ListLatest(ctx context.Context, q *inventory.Query, per, at *inventory.Field) (*inventory.Page, error) {
	return s.listOnly(ctx, q, s.tables[q.Resource].latest(&s.dialect, per, at))
}

// latest is the condition that no record with the same value of a field is later. For each
// value that is an index lookup, where the values are the ids of another table.
func (t *table) latest(d *Dialect, per, at *inventory.Field) string {
	values := "(SELECT DISTINCT " + per.Column + " AS id FROM " + t.name + ") AS one"
	if per.Ref != nil {
		to, _ := inventory.Named(per.Ref.To)
		values = to.Table() + " AS one"
	}
	id, _ := t.Field("id")
	order := d.orderBy([]sortKey{{at, true}, {id, true}})
	return "id IN (SELECT (SELECT id FROM " + t.name + " AS other WHERE other." + per.Column + " = one.id" + order + " LIMIT 1) FROM " + values + ")"
}

func (s *Store) listOnly(ctx context.Context, q *inventory.Query, only string) (*inventory.Page, error) {
	in := s.readers()
	in.only = only
	page, err := in.list(ctx, q)
	if err == nil && q.Count && len(page.Records) == 0 && page.Total > 0 {
		// The total is of another moment than the page.
		page, err = in.snapshot(ctx, q)
	}
	if err != nil {
		return nil, s.failure(ctx, "list "+q.Resource.Name(), err)
	}
	return page, nil
}

// snapshot runs a query of several statements on one state of the database.
func (s *session) snapshot(ctx context.Context, q *inventory.Query) (page *inventory.Page, err error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return nil, err
	}
	// Nothing was changed, so that there is nothing to commit.
	defer func() { err = errors.Join(err, ignoreDone(tx.Rollback())) }()
	in := *s
	in.tx, in.owned = tx, map[string]*sql.Stmt{}
	return in.list(ctx, q)
}

// ignoreDone is for a transaction that its context has ended already.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}
