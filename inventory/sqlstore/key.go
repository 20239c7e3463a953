package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/dialect"
)

// KeyColumn returns the column with the keys of a field by which lists are sorted
// (records.Field.Keyed), beside that of the values. No field has such a name.
func KeyColumn(f *records.Field) string { return f.Column + "__key" }

// orderColumn returns the column by which lists are sorted by a field.
func orderColumn(f *records.Field) string {
	if f.Keyed() {
		return KeyColumn(f)
	}
	return f.Column
}

// orderField returns a field with the column by which lists are sorted. A key is never null: it is
// empty if there is no value, and only then once the keys are filled.
func orderField(f *records.Field) *records.Field {
	if !f.Keyed() {
		return f
	}
	key := *f
	key.Column, key.Natural, key.Format = KeyColumn(f), false, "line"
	key.Nullable, key.Counted, key.Search, key.Default = false, false, false, ""
	return &key
}

// keyed returns the fields of a table that have a column with keys.
func keyed(r *records.Resource) []*records.Field {
	return slices.DeleteFunc(r.Fields(), func(f *records.Field) bool { return f.Column == "" || !f.Keyed() })
}

// appendKeys appends the keys of a row of all columns.
func (t *table) appendKeys(row, to []any) []any {
	for _, i := range t.keys {
		to = append(to, t.columns[i].OrderKey(row[i]))
	}
	return to
}

// setKeys sets the keys of the values that differ between two rows, the second of which has keys.
func (b *builder) setKeys(of *table, old, row []any) (sets []string) {
	for n, i := range of.keys {
		if !same(old[i], row[i]) {
			sets = append(sets, KeyColumn(of.columns[i].Field)+" = "+b.arg(row[len(of.columns)+n]))
		}
	}
	return sets
}

// hasKey reports whether the index of a field that is keyed serves a condition on its column.
func (b *builder) hasKey(f *records.Field, column string) bool {
	return f.Keyed() && column == f.Column && b.indexes[column].Name != ""
}

// within is the condition that the addresses of a field are in a network, a range of its keys.
func (b *builder) within(f *records.Field, column string, network any) string {
	p, _ := network.(netip.Prefix)
	from, to := f.KeyRange(p)
	column = strings.TrimSuffix(column, f.Column) + KeyColumn(f) // what precedes it has no index
	return column + " >= " + b.arg(from) + " AND " + column + " < " + b.arg(to)
}

// inNetwork reports whether a filter is one range of the keys of its field.
func (t *table) inNetwork(f *records.Filter) bool {
	return f.Op == records.Within || f.Op == records.AnyWithin && len(t.Addresses()) == 1
}

// host is the condition that a column has an address with or without a prefix length.
func (b *builder) host(f *records.Field, column, address string) string {
	if addr, err := netip.ParseAddr(address); err == nil && addr.String() == address && f.Address() && b.hasKey(f, column) {
		return "(" + b.within(f, column, netip.PrefixFrom(addr, addr.BitLen())) + ")"
	}
	// "0" follows "/" in ASCII, so that this is a range of an index.
	return "(" + column + " = " + b.arg(address) + " OR " + column + " >= " + b.arg(address+"/") + " AND " + column + " < " + b.arg(address+"0") + ")"
}

// keysOf is the condition that the keys of a field are those of some values, and that the values
// are, which the keys alone do not say.
func (b *builder) keysOf(f *records.Field, values []any, condition string) string {
	parameters := make([]string, len(values))
	for i, v := range values {
		parameters[i] = b.arg(f.OrderKey(v))
	}
	if len(values) == 1 {
		return KeyColumn(f) + " = " + parameters[0] + " AND " + condition
	}
	return KeyColumn(f) + " IN (" + strings.Join(parameters, ", ") + ") AND " + condition
}

// lacksKey is the condition that a record has a value without its key.
func lacksKey(f *records.Field) string {
	return KeyColumn(f) + " = '' AND " + f.Column + " <> ''"
}

// stored returns the fields of the columns of a table: those of the values, and those of the keys after them. A column
// of keys that is added together with that of the values has the keys of the default.
func (c *Catalog) stored(r *records.Resource) []*records.Field {
	fields := slices.DeleteFunc(r.Fields(), func(f *records.Field) bool { return f.Column == "" })
	for _, f := range keyed(r) {
		key := orderField(f)
		key.Extra = true // it has no check
		if !c.has(r.Table(), f) {
			key.Default = f.OrderKey(f.DefaultValue())
		}
		fields = append(fields, key)
	}
	return fields
}

// keyBatch is the number of existing records whose keys are filled at once.
const keyBatch = 1000

// unfilled returns the resources with records that lack a key: of a database that an earlier
// version has written, or whose upgrade was interrupted.
func (d *Dialect) unfilled(ctx context.Context, db querier, schema *records.Schema, have *Catalog) (all []*records.Resource, err error) {
	for _, r := range schema.StoredResources() {
		if !have.filled[r.Table()] {
			continue
		}
		for _, f := range keyed(r) {
			lacks := have.has(r.Table(), f)
			if have.has(r.Table(), orderField(f)) {
				lacks = false
				var one int
				if err := scan(ctx, db, "SELECT 1 FROM "+r.Table()+" WHERE "+lacksKey(f)+" LIMIT 1", func() { lacks = true }, &one); err != nil {
					return nil, fmt.Errorf("read the keys of %s: %w", r.Table(), err)
				}
			}
			if lacks {
				all = append(all, r)
				break
			}
		}
	}
	return all, nil
}

// maxRounds bounds the rounds in which complete looks for records without a key. Another round finds those that
// programs of an earlier version have added in the meantime.
const maxRounds = 4

// complete calls generate, which creates what the database lacks and returns the resources whose
// keys are to be filled, and fills them, until there is nothing left to do. The keys are indexed
// when they are filled, which is faster.
func (d *Dialect) complete(ctx context.Context, db *sql.DB, p *progress, generate func(wait bool) ([]*records.Resource, error)) error {
	for round := range maxRounds {
		unfilled, err := generate(round < maxRounds/2)
		if err != nil || len(unfilled) == 0 {
			return err
		}
		for _, r := range unfilled {
			if err := d.fillKeys(ctx, db, r, p); err != nil {
				return fmt.Errorf("fill the sort keys of %s: %w", r.Name, err)
			}
		}
	}
	return nil
}

// fillKeys writes the keys that the records of a table lack, in small transactions: other
// processes go on, and may fill the same table. An interrupted call is continued by the next one.
func (d *Dialect) fillKeys(ctx context.Context, db *sql.DB, r *records.Resource, p *progress) error {
	fields := keyed(r)
	lacks, columns := make([]string, len(fields)), "id"
	for i, f := range fields {
		lacks[i] = lacksKey(f)
		columns += ", coalesce(" + f.Column + ", '')"
	}
	row := make([]string, 1+len(fields))
	into := make([]any, len(row))
	for i := range row {
		into[i] = &row[i]
	}
	done := 0
	for after := ""; ; {
		var batch [][]string
		text := fmt.Sprintf("SELECT %s FROM %s WHERE id > %s AND (%s) ORDER BY id LIMIT %d", columns, r.Table(), literal(after), strings.Join(lacks, " OR "), keyBatch)
		if err := scan(ctx, db, text, func() { batch = append(batch, slices.Clone(row)) }, into...); err != nil {
			return err
		}
		if len(batch) == 0 {
			if done > 0 {
				p.log.InfoContext(ctx, "filled the sort keys of existing records", "resource", r.Name, "records", done)
			}
			return nil
		}
		if err := d.writeKeys(ctx, db, r, fields, batch); err != nil {
			if d.Classify(err).Kind == dialect.Retryable && ctx.Err() == nil {
				continue // another process writes the same records
			}
			return err
		}
		after, done = batch[len(batch)-1][0], done+len(batch)
		p.run(done, 0, "fill the sort keys of "+r.Name)
	}
}

// writeKeys writes the keys of records that still have the values of a batch.
func (d *Dialect) writeKeys(ctx context.Context, db *sql.DB, r *records.Resource, fields []*records.Field, batch [][]string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(batch, chunks[0]) {
		var args []any
		for _, row := range chunk {
			args = append(args, row[0])
			for i, f := range fields {
				args = append(args, row[1+i], f.OrderKey(row[1+i]))
			}
		}
		if _, err := tx.ExecContext(ctx, d.keyUpdate(r, fields, len(chunk)), args...); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

// keyUpdate returns the statement that writes the keys of some records. The parameters are the id
// of each, and a value and its key for each field.
func (d *Dialect) keyUpdate(r *records.Resource, fields []*records.Field, n int) string {
	width, rows := 1+2*len(fields), make([]string, n)
	for i := range rows {
		row := make([]string, width)
		for j := range row {
			row[j] = d.placeholder(i*width + j + 1)
		}
		rows[i] = "(" + strings.Join(row, ", ") + ")"
	}
	names, same := "id", ""
	var sets []string
	for i, f := range fields {
		names += fmt.Sprintf(", was%d, key%d", i, i)
		sets = append(sets, fmt.Sprintf("%s = filled.key%d", KeyColumn(f), i))
		same += fmt.Sprintf(" AND coalesce(%s.%s, '') = filled.was%d", r.Table(), f.Column, i)
	}
	return "WITH filled (" + names + ") AS (VALUES " + strings.Join(rows, ", ") + ") UPDATE " + r.Table() + " SET " +
		strings.Join(sets, ", ") + " FROM filled WHERE " + r.Table() + ".id = filled.id" + same
}
