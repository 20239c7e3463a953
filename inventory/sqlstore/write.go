package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// chunks are the numbers of records that one statement adds: few, so that there are few
// statements to cache.
var chunks = [...]int{128, 16, 4, 1}

// maxIDs bounds the records that one statement finds or deletes by their ids.
const maxIDs = 256

func (t *transaction) Create(ctx context.Context, all ...records.Record) error {
	return t.create(ctx, false, all)
}

// CreateFast is Create without a savepoint (records.FastCreator), unless the transaction runs again
// because it has failed. SQLite copies the pages that are changed since a savepoint.
func (t *transaction) CreateFast(ctx context.Context, all ...records.Record) error {
	return t.create(ctx, !t.careful, all)
}

// create adds records, without a savepoint if bare is set.
func (t *transaction) create(ctx context.Context, bare bool, all []records.Record) error {
	resources := make([]*records.Resource, len(all))
	for i, rec := range all {
		r, err := t.Schema().Of(rec)
		if err != nil {
			return fmt.Errorf("create: %w", err)
		}
		resources[i] = r
	}
	if t.ended != nil {
		return t.ended
	}
	t.guarded, t.bare = false, bare
	if !bare && (t.dialect.Aborts || len(all) > 1) {
		if err := t.setSavepoint(ctx); err != nil {
			return err
		}
	}
	added, rows := counts{}, map[*table][]latestRow{}
	links, err := t.links(all)
	if err != nil {
		return t.end(ctx, "create audit log entries", err)
	}
	for len(all) > 0 {
		r := resources[0]
		n := slices.IndexFunc(resources, func(other *records.Resource) bool { return other != r })
		if n < 0 {
			n = len(all)
		}
		for _, size := range chunks {
			for ; n >= size; n -= size {
				if err := t.insert(ctx, t.table(r), all[:size], added, rows); err != nil {
					return err
				}
				all, resources = all[size:], resources[size:]
			}
		}
	}
	for key, n := range added { // not those of a call that was refused
		t.counts[key] += n
	}
	t.audited = append(t.audited, links...)
	for of, created := range rows {
		t.noteCreated(of, created)
	}
	return nil
}

// insert adds records of one table with one statement.
func (t *transaction) insert(ctx context.Context, of *table, all []records.Record, added counts, rows map[*table][]latestRow) (err error) {
	t.declares(of)
	width := len(of.columns) + len(of.keys)
	args := make([]any, 0, width*len(all))
	for _, rec := range all {
		if args, err = of.bind(rec, &t.dialect, args); err != nil {
			return t.end(ctx, "create one of "+of.Name, err)
		}
		row := args[len(args)-width:]
		added.addRow(of, row, 1)
		if of.latest != nil {
			rows[of] = append(rows[of], of.latestRow(row))
		}
		t.changesText(of, rec.Meta().ID)
	}
	if _, err := t.exec(ctx, of.inserts[len(all)], args...); err != nil {
		return t.violated(ctx, of, "create some of "+of.Name, err, true, all)
	}
	return nil
}

// Update changes the columns that differ from the version that it replaces.
func (t *transaction) Update(ctx context.Context, rec records.Record, version int64) error {
	r, err := t.Schema().Of(rec)
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	if t.ended != nil {
		return t.ended
	}
	if err := t.claimExclusive(); err != nil {
		return err
	}
	of, id := t.table(r), rec.Meta().ID
	t.declares(of)
	delete(t.prefetched, rowKey{of, id})
	if err := t.awaitLocks(ctx, of, id); err != nil {
		return err
	}
	old, err := t.current(ctx, of, id, version)
	if err != nil {
		return err
	}
	row, err := of.bind(rec, &t.dialect, nil)
	if err != nil {
		return t.end(ctx, "update one of "+of.Name, err)
	}
	b := &builder{shared: t.shared}
	var sets []string
	keys := false
	for i, c := range of.columns {
		if c.Column != "id" && (c.Column == "version" || !same(old[i], row[i])) {
			sets = append(sets, c.Column+" = "+b.arg(row[i]))
			keys = keys || c.key
			if c.Search {
				t.changesText(of, id)
			}
		}
	}
	sets = append(sets, b.setKeys(of, old, row)...)
	t.guarded = false
	if keys && t.dialect.Aborts {
		if err := t.setSavepoint(ctx); err != nil {
			return err
		}
	}
	text := "UPDATE " + of.name + " SET " + strings.Join(sets, ", ") + " WHERE id = " + b.arg(id) + " AND version = " + b.arg(version)
	n, err := t.exec(ctx, text, b.args...)
	switch {
	case err != nil:
		return t.violated(ctx, of, "update one of "+of.Name, err, false, []records.Record{rec})
	case n == 0:
		return cmp.Or(t.checkVersion(ctx, of, of.version, id, version), error(records.Outdated(of.Resource)))
	}
	t.counts.addRow(of, old, -1)
	t.counts.addRow(of, row, 1)
	if of.latest != nil {
		t.noteGone(of, old[of.latest.perAt], id)
		t.noteCreated(of, []latestRow{of.latestRow(row)})
	}
	t.remember(of, id, row)
	return nil
}

// current returns the row of a version. It reads it again only if the transaction has not
// read it, since a version never changes.
func (t *transaction) current(ctx context.Context, of *table, id string, version int64) (row []any, err error) {
	at := of.position["version"]
	if row, ok := t.rows[rowKey{of, id}]; ok && row[at] == version {
		return row, nil
	}
	err = t.each(ctx, len(of.columns), func(values []any) error { row = values; return nil }, of.get, id)
	switch {
	case err != nil:
		return nil, t.end(ctx, "read one of "+of.Name, err)
	case row == nil:
		return nil, records.Absent(of.Resource)
	case row[at] != version:
		return nil, records.Outdated(of.Resource)
	}
	return row, nil
}

// checkVersion returns Absent or Outdated, or nil if the version exists. The statement selects
// the version.
func (t *transaction) checkVersion(ctx context.Context, of *table, statement, id string, version int64) error {
	var have any
	err := t.each(ctx, 1, func(row []any) error { have = row[0]; return nil }, statement, id)
	switch {
	case err != nil:
		return t.end(ctx, "read the version of one of "+of.Name, err)
	case have == nil:
		return records.Absent(of.Resource)
	case have != version:
		return records.Outdated(of.Resource)
	}
	return nil
}

func (t *transaction) Delete(ctx context.Context, r *records.Resource, id string, version int64, effects func(*records.Effect) error) error {
	if t.ended != nil {
		return t.ended
	}
	if err := t.claimExclusive(); err != nil {
		return err
	}
	clear(t.rows) // a new record may have the same id and version
	clear(t.prefetched)
	of := t.table(r)
	t.declares(of)
	if err := t.awaitLocks(ctx, of, id); err != nil {
		return err
	}
	if len(of.Referrers()) > 0 {
		if err := t.checkVersion(ctx, of, of.locked, id, version); err != nil {
			return err
		}
		if err := t.releaseSafely(ctx, of, id, effects); err != nil {
			return err
		}
	}
	deleted := false
	err := t.each(ctx, of.returned(), func(row []any) error {
		deleted = true
		t.changesText(of, id)
		return t.deleted(of)(row)
	}, of.remove, id, version)
	switch {
	case err != nil:
		return t.end(ctx, "delete one of "+of.Name, err)
	case deleted:
		return nil
	}
	// Outdated is for a record that another transaction has just created.
	return cmp.Or(t.checkVersion(ctx, of, of.version, id, version), error(records.Outdated(of.Resource)))
}

// releaseSafely releases the references to a record that will be deleted. If one of the records
// would violate a unique key without its reference, nothing of this remains.
func (t *transaction) releaseSafely(ctx context.Context, of *table, id string, effects func(*records.Effect) error) error {
	t.guarded = false
	if !slices.ContainsFunc(of.Referrers(), func(ref records.Referrer) bool { return t.table(ref.From).keyWithout(ref.Field) }) {
		return t.releaseReferences(ctx, of, []any{id}, effects)
	}
	before, savepoint := t.counts, t.savepoint
	t.counts, t.savepoint = maps.Clone(before), false // effects may set the savepoint of items
	if _, err := t.exec(ctx, "SAVEPOINT deletion"); err != nil {
		return t.end(ctx, "set a savepoint", err)
	}
	err := t.releaseReferences(ctx, of, []any{id}, effects)
	t.savepoint = savepoint
	end := "RELEASE SAVEPOINT deletion"
	if err != nil {
		end, t.counts = "ROLLBACK TO SAVEPOINT deletion", before
	}
	if err != nil && t.ended != nil {
		return err
	}
	if _, err2 := t.exec(ctx, end); err2 != nil {
		return t.end(ctx, "end a savepoint", err2)
	}
	return err
}

// releaseReferences deletes or changes the records that refer to some that will be deleted, and
// reports them. The database would do it too, but not count it.
func (t *transaction) releaseReferences(ctx context.Context, of *table, ids []any, effects func(*records.Effect) error) error {
	for _, ref := range of.Referrers() {
		size := maxIDs
		if !ref.Field.Ref.Cascade && ref.Field.Counted {
			size = 1 // so that the number of changed rows is that of one value
		}
		for chunk := range slices.Chunk(ids, size) {
			release := t.setNull
			if ref.Field.Ref.Cascade {
				release = t.cascade
			}
			if err := release(ctx, ref, chunk, effects); err != nil {
				return err
			}
		}
	}
	return nil
}

// setNull empties a reference, which gives the records that have it a new version.
func (t *transaction) setNull(ctx context.Context, ref records.Referrer, ids []any, effects func(*records.Effect) error) error {
	of := t.table(ref.From)
	if effects == nil || of.Unaudited {
		n, err := t.clearReference(ctx, ref, ref.Field.Column, ids, ids[0])
		if err == nil && n > 0 && effects != nil {
			err = effects(&records.Effect{Resource: of.Resource, Cleared: ref.Field, Count: n})
		}
		return err
	}
	for {
		// No new record can refer to these: their rows are locked.
		b := &builder{shared: t.shared}
		condition := b.anyOf(ref.Field.Column, ids) + " ORDER BY id LIMIT " + b.arg(int64(records.EffectSize)) + t.dialect.ForUpdate
		effect := &records.Effect{Resource: of.Resource, Cleared: ref.Field}
		found, err := t.affected(ctx, effect, of, condition, b.args)
		if err != nil || len(found) == 0 {
			return err
		}
		for chunk := range slices.Chunk(found, maxIDs) {
			if _, err := t.clearReference(ctx, ref, "id", chunk, ids[0]); err != nil {
				return err
			}
		}
		if err := effects(effect); err != nil {
			return err
		}
		if len(found) < records.EffectSize {
			return nil
		}
	}
}

// clearReference sets a reference to null where the column by has one of the values. old is the
// reference, if it is counted.
func (t *transaction) clearReference(ctx context.Context, ref records.Referrer, by string, values []any, old any) (changed int64, err error) {
	b := &builder{shared: t.shared}
	now := b.arg(t.opts.Now().Truncate(time.Microsecond))
	text := "UPDATE " + ref.From.Table() + " SET " + ref.Field.Column + " = NULL, version = version + 1, updated_at = " +
		"CASE WHEN updated_at > " + now + " THEN updated_at ELSE " + now + " END WHERE " + b.anyOf(by, values)
	of := t.table(ref.From)
	if !ref.Field.Counted {
		t.counts.changes(of)
	}
	err = t.each(ctx, of.returned(), func(row []any) error {
		changed++
		if ref.Field.Counted {
			t.counts.add(of, 1, func(i int) any { return row[i+1] })
			t.counts.add(of, -1, func(i int) any {
				if of.columns[of.counted[i]].Column == ref.Field.Column {
					return old
				}
				return row[i+1]
			})
		}
		t.noteReturned(of, row)
		return nil
	}, text+of.returning, b.args...)
	if err != nil {
		t.guarded = false // releaseSafely rolls back
		return 0, t.violated(ctx, of, "empty a reference of "+ref.From.Name, err, false, nil)
	}
	return changed, nil
}

// affected reads the records that a deletion affects into an effect, and returns their ids.
func (t *transaction) affected(ctx context.Context, effect *records.Effect, of *table, condition string, args []any) (ids []any, err error) {
	at := of.position["id"]
	err = t.each(ctx, len(of.columns), func(row []any) error {
		rec, err := of.record(row)
		effect.Before = append(effect.Before, rec)
		effect.Count++
		ids = append(ids, row[at])
		return err
	}, "SELECT "+of.selected+" FROM "+of.name+" WHERE "+condition, args...)
	return ids, t.end(ctx, "read some of "+of.Name+" to change", err)
}

// cascade deletes the records that refer to others. It locks them first, so that no new record
// can refer to them.
func (t *transaction) cascade(ctx context.Context, ref records.Referrer, ids []any, effects func(*records.Effect) error) error {
	of := t.table(ref.From)
	b := &builder{shared: t.shared}
	var children []any
	text := "SELECT id FROM " + of.name + " WHERE " + b.anyOf(ref.Field.Column, ids) + " ORDER BY id" + t.dialect.ForUpdate
	err := t.each(ctx, 1, func(row []any) error { children = append(children, row[0]); return nil }, text, b.args...)
	if err != nil {
		return t.end(ctx, "find some of "+of.Name+" to delete", err)
	}
	if len(children) == 0 {
		return nil
	}
	if err := t.releaseReferences(ctx, of, children, effects); err != nil {
		return err
	}
	for chunk := range slices.Chunk(children, maxIDs) {
		effect := &records.Effect{Resource: of.Resource}
		if effects != nil && !of.Unaudited {
			b := &builder{shared: t.shared}
			if _, err := t.affected(ctx, effect, of, b.anyOf("id", chunk)+" ORDER BY id", b.args); err != nil {
				return err
			}
		}
		b := &builder{shared: t.shared}
		text := "DELETE FROM " + of.name + " WHERE " + b.anyOf("id", chunk) + of.returning
		deleted, note := int64(0), t.deleted(of)
		if err := t.each(ctx, of.returned(), func(row []any) error { deleted++; t.changesText(of, row[0]); return note(row) }, text, b.args...); err != nil {
			return t.end(ctx, "delete some of "+of.Name, err)
		}
		effect.Count = deleted
		if effects != nil && deleted > 0 {
			if err := effects(effect); err != nil {
				return err
			}
		}
	}
	return nil
}
