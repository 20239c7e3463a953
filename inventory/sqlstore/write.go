package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
)

// chunks are how many records one statement adds: a few fixed numbers, so that there are few
// statements to keep.
var chunks = [...]int{128, 16, 4, 1}

func (t *transaction) Create(ctx context.Context, records ...inventory.Record) error {
	for _, rec := range records {
		if inventory.ResourceOf(rec) == nil || reflect.ValueOf(rec).IsNil() {
			return fmt.Errorf("create: %T is no type of record, or there is no record", rec)
		}
	}
	if t.ended != nil {
		return t.ended
	}
	t.guarded = false
	if t.dialect.Aborts || len(records) > 1 {
		if err := t.guard(ctx); err != nil {
			return err
		}
	}
	count := tallies{}
	for len(records) > 0 {
		r := inventory.ResourceOf(records[0])
		n := slices.IndexFunc(records, func(rec inventory.Record) bool { return inventory.ResourceOf(rec) != r })
		if n < 0 {
			n = len(records)
		}
		if err := t.insertAll(ctx, t.tables[r], records[:n], count); err != nil {
			return err
		}
		records = records[n:]
	}
	t.count.merge(count)
	return nil
}

// insertAll adds records of one table.
func (t *transaction) insertAll(ctx context.Context, of *table, records []inventory.Record, count tallies) error {
	for _, n := range chunks {
		for n <= max(t.dialect.Rows, 1) && len(records) >= n {
			if err := t.insert(ctx, of, records[:n], count); err != nil {
				return err
			}
			records = records[n:]
		}
	}
	return nil
}

// insert adds records with one statement.
func (t *transaction) insert(ctx context.Context, of *table, records []inventory.Record, count tallies) (err error) {
	width := len(of.columns)
	args := make([]any, 0, width*len(records))
	for _, rec := range records {
		if args, err = of.bind(rec, &t.dialect, args); err != nil {
			return t.end(ctx, "create one of "+of.Name(), err)
		}
		count.add(of, args[len(args)-width:], 1)
	}
	if _, err := t.exec(ctx, of.inserts[len(records)], args...); err != nil {
		return t.refused(ctx, of, "create some of "+of.Name(), err, true, records)
	}
	return nil
}

// next is the nth parameter of a statement in which each comes once.
func (d *Dialect) next(n int) string {
	if d.Next != "" {
		return d.Next
	}
	return d.Parameter + strconv.Itoa(n)
}

// writeInsert is the statement that adds n records.
func writeInsert(of *table, d *Dialect, n int) string {
	var text strings.Builder
	text.WriteString("INSERT INTO " + of.name + " (" + of.selected + ") VALUES ")
	for i := range n {
		if i > 0 {
			text.WriteString(", ")
		}
		for j := range of.columns {
			text.WriteString(map[bool]string{true: "(", false: ", "}[j == 0])
			text.WriteString(d.next(i*len(of.columns) + j + 1))
		}
		text.WriteString(")")
	}
	return text.String()
}

func (t *transaction) Update(ctx context.Context, rec inventory.Record, version int64) error {
	r := inventory.ResourceOf(rec)
	if r == nil || reflect.ValueOf(rec).IsNil() {
		return fmt.Errorf("update: %T is no type of record, or there is no record", rec)
	}
	if t.ended != nil {
		return t.ended
	}
	if err := t.several(); err != nil {
		return err
	}
	delete(t.ahead, seenKey{t.tables[r], rec.Meta().ID})
	return t.update(ctx, t.tables[r], rec, version)
}

// update changes the columns that are not as they were.
func (t *transaction) update(ctx context.Context, of *table, rec inventory.Record, version int64) error {
	id := rec.Meta().ID
	old, err := t.before(ctx, of, id, version)
	if err != nil {
		return err
	}
	row, err := of.bind(rec, &t.dialect, nil)
	if err != nil {
		return t.end(ctx, "update one of "+of.Name(), err)
	}
	b := &builder{shared: t.shared}
	sets, keys := b.sets(of, old, row)
	t.guarded = false
	if keys && t.dialect.Aborts {
		if err := t.guard(ctx); err != nil {
			return err
		}
	}
	text := "UPDATE " + of.name + " SET " + strings.Join(sets, ", ") + " WHERE id = " + b.arg(id) + " AND version = " + b.arg(version)
	n, err := t.exec(ctx, text, b.args...)
	switch {
	case err != nil:
		return t.refused(ctx, of, "update one of "+of.Name(), err, false, []inventory.Record{rec})
	case n == 0:
		return cmp.Or(t.absent(ctx, of, of.version, id, version), error(inventory.Outdated(of.Resource)))
	}
	t.count.add(of, old, -1)
	t.count.add(of, row, 1)
	t.see(of, id, row)
	return nil
}

// sets are what changes a row into another, and whether keys or references are among it.
func (b *builder) sets(of *table, old, row []any) (sets []string, keys bool) {
	for i, c := range of.columns {
		if c.Column != "id" && (c.Column == "version" || !same(old[i], row[i])) {
			sets = append(sets, c.Column+" = "+b.arg(row[i]))
			keys = keys || c.key
		}
	}
	return sets, keys
}

// before is a version of a row: as it was read, for a version never changes.
func (t *transaction) before(ctx context.Context, of *table, id string, version int64) (row []any, err error) {
	at := of.position["version"]
	if row, ok := t.seen[seenKey{of, id}]; ok && row[at] == version {
		return row, nil
	}
	err = t.each(ctx, len(of.columns), func(cells []any) error { row = cells; return nil }, of.get, id)
	switch {
	case err != nil:
		return nil, t.end(ctx, "read one of "+of.Name(), err)
	case row == nil:
		return nil, inventory.Absent(of.Resource)
	case row[at] != version:
		return nil, inventory.Outdated(of.Resource)
	}
	return row, nil
}

// absent says why there is no such version of a record: Absent or Outdated; nil if there is
// one. The statement selects the version.
func (t *transaction) absent(ctx context.Context, of *table, statement, id string, version int64) error {
	var have any
	err := t.each(ctx, 1, func(cells []any) error { have = cells[0]; return nil }, statement, id)
	switch {
	case err != nil:
		return t.end(ctx, "read a version of one of "+of.Name(), err)
	case have == nil:
		return inventory.Absent(of.Resource)
	case have != version:
		return inventory.Outdated(of.Resource)
	}
	return nil
}
