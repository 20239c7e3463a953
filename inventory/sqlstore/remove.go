package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

// maxIDs is how many records one statement finds or removes by their ids.
const maxIDs = 256

func (t *transaction) Delete(ctx context.Context, r *inventory.Resource, id string, version int64) error {
	if t.ended != nil {
		return t.ended
	}
	if err := t.several(); err != nil {
		return err
	}
	clear(t.seen) // one with the same id may come, with the same version
	clear(t.ahead)
	of := t.tables[r]
	if len(of.refs) > 0 {
		if err := t.absent(ctx, of, of.locked, id, version); err != nil {
			return err
		}
		if err := t.release(ctx, of, []any{id}, t.count); err != nil {
			return err
		}
	}
	gone := false
	err := t.each(ctx, 1+len(of.tallies), func(cells []any) error {
		gone = true
		t.count.addCounted(of, cells, -1)
		return nil
	}, of.remove, id, version)
	switch {
	case err != nil:
		return t.end(ctx, "delete one of "+of.Name(), err)
	case gone:
		return nil
	}
	// Outdated is for one that has come back in between.
	return cmp.Or(t.absent(ctx, of, of.version, id, version), error(inventory.Outdated(of.Resource)))
}

// release sees to what refers to records that are about to go. The database would do it by
// itself, but then nobody would have counted it.
func (t *transaction) release(ctx context.Context, of *table, ids []any, count tallies) error {
	for _, ref := range of.refs {
		var err error
		switch {
		case ref.column.Ref.Cascade:
			err = t.cascade(ctx, ref, ids, count)
		case ref.column.Counted:
			// One by one, for the number of changed rows to be that of one value.
			for _, id := range ids {
				if err = t.setNull(ctx, ref, []any{id}, count); err != nil {
					break
				}
			}
		default:
			err = t.setNull(ctx, ref, ids, count)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setNull empties a reference to the records. That is a change like any other.
func (t *transaction) setNull(ctx context.Context, ref reference, ids []any, count tallies) error {
	for chunk := range slices.Chunk(ids, maxIDs) {
		b := &builder{shared: t.shared}
		now := b.arg(t.opts.Now().Truncate(time.Microsecond))
		text := "UPDATE " + ref.from.name + " SET " + ref.column.Column + " = NULL, version = version + 1, updated_at = " +
			"CASE WHEN updated_at > " + now + " THEN updated_at ELSE " + now + " END WHERE " + b.anyOf(ref.column.Column, chunk)
		n, err := t.exec(ctx, text, b.args...)
		if err != nil {
			return t.end(ctx, "empty a reference of "+ref.from.Name(), err)
		}
		if ref.column.Counted {
			count[tallyKey{ref.from.name, ref.column.Column, ref.column.tallied(chunk[0])}] -= n
			count[tallyKey{ref.from.name, ref.column.Column, ""}] += n
		}
	}
	return nil
}

// cascade removes the records that refer to others. They are locked first, so that no new
// one can refer to them.
func (t *transaction) cascade(ctx context.Context, ref reference, ids []any, count tallies) error {
	of := ref.from
	for chunk := range slices.Chunk(ids, maxIDs) {
		b := &builder{shared: t.shared}
		var children []any
		text := "SELECT id FROM " + of.name + " WHERE " + b.anyOf(ref.column.Column, chunk) + t.dialect.ForUpdate
		err := t.each(ctx, 1, func(cells []any) error { children = append(children, cells[0]); return nil }, text, b.args...)
		if err != nil {
			return t.end(ctx, "find what goes with others of "+of.Name(), err)
		}
		if err := t.removeAll(ctx, of, children, count); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) removeAll(ctx context.Context, of *table, ids []any, count tallies) error {
	if len(ids) == 0 {
		return nil
	}
	if err := t.release(ctx, of, ids, count); err != nil {
		return err
	}
	for chunk := range slices.Chunk(ids, maxIDs) {
		b := &builder{shared: t.shared}
		text := "DELETE FROM " + of.name + " WHERE " + b.anyOf("id", chunk) + " RETURNING " + of.counted
		err := t.each(ctx, 1+len(of.tallies), func(cells []any) error {
			count.addCounted(of, cells, -1)
			return nil
		}, text, b.args...)
		if err != nil {
			return t.end(ctx, "delete what goes with others of "+of.Name(), err)
		}
	}
	return nil
}

// anyOf is the condition that a column has one of the values.
func (b *builder) anyOf(column string, values []any) string {
	if len(values) == 1 {
		return column + " = " + b.arg(values[0])
	}
	return b.in(&inventory.Field{Column: column, Nullable: true}, column, values)
}
