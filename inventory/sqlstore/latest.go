package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// latestTable has the latest records of a resource (records.Latest): a row for each value of a
// reference, with the columns of the resource. Transactions write it at their end, so that they
// lock its rows in one order and as shortly as possible.
type latestTable struct {
	*table   // for lists: with its name, and no counted columns
	per, at  *column
	perAt    int            // the position of per in a row
	adds     map[int]string // adds a number of rows, unless there are rows with the values of per
	replaces map[int]string // replaces a number of rows
	advances map[int]string // replaces those of a number of rows that are older, or adds them
	present  string         // counts the rows of some values of per, for builder.anyOf
	next     string         // selects the latest record of a value of per
}

// LatestName returns the name of the table of the latest records.
func LatestName(r *records.Resource) string { return r.Table() + "_latest" }

func newLatestTable(of *table, d *Dialect) *latestTable {
	l := &latestTable{table: &table{}, adds: map[int]string{}, replaces: map[int]string{}, advances: map[int]string{}}
	*l.table = *of
	l.name, l.counted, l.uniques = LatestName(of.Resource), nil, nil
	for i, c := range of.columns {
		switch c.Name {
		case of.Latest.Per:
			l.per, l.perAt = c, i
		case of.Latest.At:
			l.at = c
		}
	}
	var sets []string
	for _, c := range of.columns {
		if c != l.per {
			sets = append(sets, c.Column+" = excluded."+c.Column)
		}
	}
	for _, i := range of.keys {
		key := KeyColumn(of.columns[i].Field)
		sets = append(sets, key+" = excluded."+key)
	}
	for _, n := range chunks {
		insert := strings.Replace(of.inserts[n], "INSERT INTO "+of.name+" ", "INSERT INTO "+l.name+" ", 1) + " ON CONFLICT (" + l.per.Column + ") DO "
		l.adds[n], l.replaces[n] = insert+"NOTHING", insert+"UPDATE SET "+strings.Join(sets, ", ")
		at := l.name + "." + l.at.Column
		l.advances[n] = l.replaces[n] + " WHERE excluded." + l.at.Column + " > " + at + " OR " + at + " IS NULL OR excluded." + l.at.Column + " = " + at + " AND excluded.id > " + l.name + ".id"
	}
	l.present = "SELECT count(*) FROM " + l.name + " WHERE "
	id, _ := of.Field("id")
	l.next = "SELECT " + of.selected + " FROM " + of.name + " WHERE " + l.per.Column + " = " + d.Parameter + "1" +
		d.orderBy([]sortKey{{l.at.Field, true}, {id, true}}, "") + " LIMIT 1"
	return l
}

// latestChanges collects the changes of a transaction to the records of a table with latest records.
type latestChanges struct {
	created map[string]latestRow           // the latest of the new records, by the value of per
	gone    map[string]map[string]struct{} // ids of deleted and changed records, by the value of per
}

// latestRow is a row that may be the latest one.
type latestRow struct {
	at   time.Time // zero for null
	id   string
	per  string
	args []any
}

func (a latestRow) compare(b latestRow) int {
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id))
}

// changesOf returns the changes of a table.
func (t *transaction) changesOf(of *table) *latestChanges {
	c := t.latest[of]
	if c == nil {
		c = &latestChanges{map[string]latestRow{}, map[string]map[string]struct{}{}}
		t.latest[of] = c
	}
	return c
}

// latestRow returns a row of all columns, which it refers to.
func (t *table) latestRow(row []any) latestRow {
	per, _ := row[t.latest.perAt].(string)
	id, _ := row[t.position["id"]].(string)
	return latestRow{at: timeOf(row[t.position[t.latest.at.Column]]), id: id, per: per, args: row}
}

// noteCreated notes rows that were created or changed.
func (t *transaction) noteCreated(of *table, rows []latestRow) {
	c := t.changesOf(of)
	for _, row := range rows {
		if old, ok := c.created[row.per]; !ok || old.compare(row) <= 0 {
			c.created[row.per] = row
		}
	}
}

// noteGone notes a record that was deleted, or changed from what it was.
func (t *transaction) noteGone(of *table, per any, id string) {
	value, _ := per.(string)
	c := t.changesOf(of)
	if c.gone[value] == nil {
		c.gone[value] = map[string]struct{}{}
	}
	c.gone[value][id] = struct{}{}
}

// flushLatest brings the tables of latest records up to date.
func (t *transaction) flushLatest(ctx context.Context) error {
	tables := slices.SortedFunc(maps.Keys(t.latest), func(a, b *table) int { return cmp.Compare(a.name, b.name) })
	for _, of := range tables {
		if err := t.keepLatest(ctx, of, t.latest[of]); err != nil {
			return t.end(ctx, "keep the latest of "+of.Name, err)
		}
	}
	return nil
}

// keepLatest locks the rows of the changed values first: another transaction that adds an earlier
// record then waits, or has committed it and this one finds it.
func (t *transaction) keepLatest(ctx context.Context, of *table, c *latestChanges) error {
	all := maps.Clone(c.gone)
	for per := range c.created {
		all[per] = c.gone[per]
	}
	for chunk := range slices.Chunk(slices.Sorted(maps.Keys(all)), maxIDs) {
		if done, err := t.advanceLatest(ctx, of, c, chunk); done || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		have, err := t.lockLatest(ctx, of.latest, chunk)
		if err != nil {
			return err
		}
		var added, replaced [][]any
		var removed []any
		for _, per := range chunk {
			old, exists := have[per]
			row, created := c.created[per]
			_, gone := c.gone[per][old.id]
			if _, again := c.gone[per][row.id]; again || exists && gone { // look it up
				if row, created, err = t.nextLatest(ctx, of, per); err != nil {
					return err
				}
				if exists && !created {
					removed = append(removed, per)
				}
			} else if exists && old.compare(row) > 0 {
				continue
			}
			switch {
			case !created:
			case exists:
				replaced = append(replaced, row.args)
			default:
				added = append(added, row.args)
			}
		}
		if err := t.writeLatest(ctx, of, added, replaced, removed); err != nil {
			return err
		}
	}
	return nil
}

// advanceLatest writes the rows of some values if each value has a row and new records only, in a
// database with one writer at a time. It returns false, and does nothing, otherwise.
func (t *transaction) advanceLatest(ctx context.Context, of *table, c *latestChanges, values []string) (done bool, err error) {
	if t.dialect.ForUpdate != "" {
		return false, nil
	}
	rows := make([][]any, 0, len(values))
	for _, per := range values {
		row, created := c.created[per]
		if !created || c.gone[per] != nil || row.at.IsZero() {
			return false, nil
		}
		rows = append(rows, row.args)
	}
	b, present := &builder{shared: t.shared}, int64(0)
	err = t.each(ctx, 1, func(row []any) error { present, _ = row[0].(int64); return nil }, of.latest.present+b.anyOf(of.latest.per.Column, anys(values)), b.args...)
	if err != nil || present < int64(len(values)) {
		return false, err
	}
	_, err = t.execRows(ctx, of.latest.advances, rows)
	return true, err
}

// lockLatest locks and returns the rows of some values, without their args.
func (t *transaction) lockLatest(ctx context.Context, l *latestTable, values []string) (map[string]latestRow, error) {
	have := make(map[string]latestRow, len(values))
	b := &builder{shared: t.shared}
	text := "SELECT " + l.per.Column + ", id, " + l.at.Column + " FROM " + l.name + " WHERE " + b.anyOf(l.per.Column, anys(values))
	if t.dialect.ForUpdate != "" {
		text += " ORDER BY " + l.per.Column + t.dialect.ForUpdate
	}
	err := t.each(ctx, 3, func(row []any) error {
		per, _ := row[0].(string)
		id, _ := row[1].(string)
		have[per] = latestRow{at: timeOf(row[2]), id: id}
		return nil
	}, text, b.args...)
	return have, err
}

// timeOf returns a time of the driver, the zero time for null.
func timeOf(value any) time.Time {
	switch v := value.(type) {
	case int64:
		return time.UnixMicro(v).UTC()
	case time.Time:
		return v
	}
	return time.Time{}
}

// nextLatest finds the latest record of a value in the table of all records.
func (t *transaction) nextLatest(ctx context.Context, of *table, per string) (found latestRow, ok bool, err error) {
	err = t.each(ctx, len(of.columns), func(row []any) error {
		ok = true
		for _, v := range row {
			if doc, ok := v.([]byte); ok { // of the driver, which uses it again
				v = string(doc)
			}
			found.args = append(found.args, v)
		}
		found.args = of.appendKeys(found.args, found.args)
		return nil
	}, of.latest.next, per)
	return found, ok, err
}

var errLatest = errors.New("another transaction has added the first record of the same value: this one runs again")

// writeLatest writes rows of the table of latest records, and counts them.
func (t *transaction) writeLatest(ctx context.Context, of *table, added, replaced [][]any, removed []any) error {
	l := of.latest
	n, err := t.execRows(ctx, l.adds, added)
	if err == nil && n < int64(len(added)) { // there was no row to lock
		t.outcome, err = retry, errLatest
	}
	if err == nil {
		_, err = t.execRows(ctx, l.replaces, replaced)
	}
	if err == nil && len(removed) > 0 {
		b := &builder{shared: t.shared}
		_, err = t.exec(ctx, "DELETE FROM "+l.name+" WHERE "+b.anyOf(l.per.Column, removed), b.args...)
	}
	if n := len(added) - len(removed); n != 0 {
		t.counts[countKey{resource: l.name}] += int64(n)
	}
	return err
}

// execRows runs the statements of some numbers of rows, and returns how many rows they changed.
func (t *transaction) execRows(ctx context.Context, statements map[int]string, rows [][]any) (changed int64, err error) {
	for _, size := range chunks {
		for ; len(rows) >= size; rows = rows[size:] {
			n, err := t.exec(ctx, statements[size], slices.Concat(rows[:size]...)...)
			if err != nil {
				return 0, err
			}
			changed += n
		}
	}
	return changed, nil
}

// latestStatements returns the statements for the table of the latest records of a resource
// (records.Latest), which are found among the existing ones.
func (d *Dialect) latestStatements(own ownTables, r *records.Resource, have *Catalog) (all []string, err error) {
	name := LatestName(r)
	if have.unkeyed[r.Table()] {
		return nil, nil // the keys are copied when they are filled
	}
	fields := have.stored(r)
	values := len(fields) - len(keyed(r))
	changes, err := d.changes(name, fields, have, false)
	if err != nil {
		return nil, err
	}
	all = d.alterations(name, changes, nil, have)
	var definitions, columns []string
	for i, f := range fields {
		definition := d.definition(f)
		if have.columns[name] != nil && !have.has(name, f) {
			added := "ALTER TABLE " + name + " ADD COLUMN " + definition
			if !f.Nullable {
				added += " DEFAULT " + d.zero(f)
			}
			all = append(all, added)
			if i >= values {
				all = append(all, "UPDATE "+name+" SET "+f.Column+" = (SELECT "+f.Column+" FROM "+r.Table()+" AS one WHERE one.id = "+name+".id)")
			}
		}
		if f.Name == r.Latest.Per {
			definition += " CONSTRAINT " + local(identifier(name, "pkey")) + " PRIMARY KEY"
		}
		definitions, columns = append(definitions, "    "+definition), append(columns, f.Column)
	}
	if have.columns[name] == nil {
		all = append(all, "CREATE TABLE "+name+" (\n"+strings.Join(definitions, ",\n")+"\n)")
	}
	all = append(all, d.latestIndexes(r, have)...)
	if have.columns[name] != nil || have.columns[r.Table()] == nil {
		return all, nil
	}
	per, _ := r.Field(r.Latest.Per)
	at, _ := r.Field(r.Latest.At)
	id, _ := r.Field("id")
	list := strings.Join(columns, ", ")
	return append(all,
		"INSERT INTO "+name+" ("+list+") SELECT "+list+" FROM "+r.Table()+" WHERE id IN (SELECT (SELECT id FROM "+r.Table()+" WHERE "+per.Column+" = one.id"+
			d.orderBy([]sortKey{{at, true}, {id, true}}, "")+" LIMIT 1) FROM "+per.Ref.Resource().Table()+" AS one)",
		"INSERT INTO "+own.counts+" (resource, field, value, slot, n) SELECT "+literal(name)+", '', '', 0, count(*) FROM "+name), nil
}

// latestIndexes returns the statements that create the indexes of Latest.Sorted that a database
// lacks, and drop those of other fields, which each new record would change.
func (d *Dialect) latestIndexes(r *records.Resource, have *Catalog) (all []string) {
	name := LatestName(r)
	for _, f := range r.Fields() {
		index, wanted := identifier(name, orderColumn(f), "idx"), slices.Contains(r.Latest.Sorted, f.Name)
		switch exists := have.indexes[index] != ""; {
		case exists && !wanted && f.Column != "":
			all = append(all, "DROP INDEX "+index)
		case wanted && !exists:
			order := ""
			if orderField(f).Nullable {
				order = d.NullsFirst
			}
			all = append(all, "CREATE INDEX "+local(index)+" ON "+name+" ("+orderColumn(f)+order+", id)")
		}
	}
	return all
}
