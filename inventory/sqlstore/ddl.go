package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/dialect"
)

// Statements returns the statements that create what a database lacks of a schema: tables,
// columns, indexes, and the counts of existing records. They are the same for the same schema
// and catalog. [New] runs them after the migrations, in one transaction.
//
// The error names a column that exists with another type, or differs in NOT NULL: only a
// migration can change that. Tables, columns and indexes that the schema lacks are ignored, except
// the indexes of added keys (records.UniqueKey), which are removed.
func (d *Dialect) Statements(schema *records.Schema, have *Catalog) ([]string, error) {
	var all []string
	if len(have.columns[countsTable]) == 0 {
		all = append(all, d.createCounts())
	}
	if len(have.columns[headTable]) == 0 {
		all = append(all, d.createChain()...)
	}
	for _, r := range d.creationOrder(schema) {
		if slices.Contains([]string{countsTable, chainTable, headTable, anchorsTable}, r.Table()) {
			return nil, fmt.Errorf("the resource %s needs the table %s, which the store uses itself: give it another name", r.Name, r.Table())
		}
		statements, err := d.tableStatements(r, have)
		if err != nil {
			return nil, err
		}
		all = append(all, statements...)
		if r.Latest != nil {
			all = append(all, d.latestStatements(r, have)...)
		}
	}
	return append(all, d.removedKeys(schema, have)...), nil
}

// creationOrder returns the resources, each after those that it refers to.
func (d *Dialect) creationOrder(schema *records.Schema) (sorted []*records.Resource) {
	var visit func(r *records.Resource)
	visit = func(r *records.Resource) {
		if slices.Contains(sorted, r) {
			return
		}
		for _, f := range r.Fields() {
			if f.Ref != nil && f.Ref.Resource() != r {
				visit(f.Ref.Resource())
			}
		}
		sorted = append(sorted, r)
	}
	for _, r := range schema.StoredResources() {
		visit(r)
	}
	return sorted
}

// tableStatements returns the statements for one resource.
func (d *Dialect) tableStatements(r *records.Resource, have *Catalog) (all []string, err error) {
	columns, table := have.columns[r.Table()], r.Table()
	var definitions []string
	keys, addKeys, err := d.keyStatements(r, have)
	if err != nil {
		return nil, err
	}
	for _, f := range r.Fields() {
		if f.Column == "" {
			continue
		}
		column, exists := columns[f.Column]
		switch {
		case columns == nil:
			definitions = append(definitions, "    "+d.column(r, f))
		case exists:
			if err := d.compare(r, f, column); err != nil {
				return nil, err
			}
		default:
			text, err := d.addColumn(r, f)
			if err != nil {
				return nil, err
			}
			all = append(all, text)
		}
	}
	if columns == nil {
		all = append(all, "CREATE TABLE "+table+" (\n"+strings.Join(append(definitions, keys...), ",\n")+"\n)"+d.DDL.Options)
	} else {
		all = append(all, addKeys...)
	}
	wanted := map[string]bool{}
	for _, index := range d.indexes(r) {
		wanted[index.name] = true
		if !have.indexes[index.name] && !(index.keyed && have.unkeyed[table]) {
			all = append(all, index.text)
		}
	}
	for _, name := range have.replaced(r) {
		if !wanted[name] && !have.unkeyed[table] {
			all = append(all, "DROP INDEX "+name)
		}
	}
	all = append(all, d.searchStatements(r, have)...)
	if have.filled[table] {
		all = append(all, countExisting(r, have.uncounted(r)...)...)
	}
	return all, nil
}

// zero returns the literal that existing records get in an added column that may not be null.
func (d *Dialect) zero(f *records.Field) string {
	if f.Kind == records.Text {
		return literal(f.Default)
	}
	return d.DDL.Zero[f.Kind]
}

// compare returns an error for a column that does not fit its field.
func (d *Dialect) compare(r *records.Resource, f *records.Field, have catalogColumn) error {
	want := d.DDL.Types[f.Kind]
	switch {
	case have.typ != want:
		return fmt.Errorf("the column %s of the table %s has the type %s, and the field needs %s: change it with a migration, or rename the field",
			f.Column, r.Table(), have.typ, want)
	case have.notNull && f.Nullable:
		return fmt.Errorf("the column %s of the table %s is NOT NULL, and the field may be null: change it with a migration", f.Column, r.Table())
	case !have.notNull && !f.Nullable:
		return fmt.Errorf("the column %s of the table %s may be null, and the field may not: change it with a migration", f.Column, r.Table())
	}
	return nil
}

// definition returns a column with its type.
func (d *Dialect) definition(f *records.Field) string {
	text := f.Column + " " + d.DDL.Types[f.Kind]
	if !f.Nullable {
		text += " NOT NULL"
	}
	return text
}

// column returns the definition of a column of a new table.
func (d *Dialect) column(r *records.Resource, f *records.Field) string {
	text := d.definition(f)
	if f.Column == "id" {
		text += " CONSTRAINT " + identifier(r.Table(), "pkey") + " PRIMARY KEY"
	}
	return text + d.check(f, f.Required) + reference(r, f)
}

// reference returns the foreign key of a field.
func reference(r *records.Resource, f *records.Field) string {
	if f.Ref == nil {
		return ""
	}
	then := "SET NULL"
	if f.Ref.Cascade {
		then = "CASCADE"
	}
	return " CONSTRAINT " + ReferenceName(r, f) + " REFERENCES " + f.Ref.Resource().Table() + " (id) ON DELETE " + then
}

// check returns the check of a column. required refuses the empty string.
func (d *Dialect) check(f *records.Field, required bool) string {
	var conditions []string
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	switch {
	case f.Name == "version":
		conditions = append(conditions, "version >= 1")
	case len(f.Enum) > 0 && !f.Open:
		values := slices.Clone(f.Enum)
		if !required && f.Default == "" && !f.Nullable {
			values = slices.Insert(values, 0, "")
		}
		for i, v := range values {
			values[i] = literal(v)
		}
		conditions = append(conditions, f.Column+" IN ("+strings.Join(values, ", ")+")")
	case f.Kind == records.Text && required && f.Column != "id" && f.Ref == nil:
		conditions = append(conditions, f.Column+" <> ''")
	case d.DDL.Checks[f.Kind] != "":
		conditions = append(conditions, fmt.Sprintf(d.DDL.Checks[f.Kind], f.Column))
	case f.Kind == records.Int || f.Kind == records.Float:
		if f.Min != nil {
			conditions = append(conditions, f.Column+" >= "+number(*f.Min))
		}
		if f.Max != nil {
			conditions = append(conditions, f.Column+" <= "+number(*f.Max))
		}
	}
	if len(conditions) == 0 {
		return ""
	}
	return " CHECK (" + strings.Join(conditions, " AND ") + ")"
}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// addColumn returns the statement that adds a column to a table that exists. Existing records
// have no value in it, or the default of the field; they need not have a value that is required.
// The default of the column stays, so that programs of an earlier schema can still add records.
//
// A field that is not in the struct gets no check of its values: they may change, and not every
// database can change a check.
func (d *Dialect) addColumn(r *records.Resource, f *records.Field) (string, error) {
	text := "ALTER TABLE " + r.Table() + " ADD COLUMN " + d.definition(f)
	if f.Ref != nil && !f.Nullable {
		return "", fmt.Errorf("the table %s has no column %s, and existing records would have no value for it: add it with a migration, or let the field be null",
			r.Table(), f.Column)
	}
	if !f.Nullable {
		text += " DEFAULT " + d.zero(f)
	} else if value := f.DefaultValue(); value != nil {
		text += " DEFAULT " + d.value(value)
	}
	outside := (f.Kind == records.Int || f.Kind == records.Float) && !f.Nullable && (f.Min != nil && *f.Min > 0 || f.Max != nil && *f.Max < 0)
	if !f.Extra && !outside {
		text += d.check(f, false)
	}
	return text + reference(r, f), nil
}

// value returns a value as a literal.
func (d *Dialect) value(v any) string {
	switch v := d.argument(v).(type) {
	case string:
		return literal(v)
	case time.Time:
		return literal(v.Format(time.RFC3339Nano))
	case bool:
		if d.DDL.Zero[records.Bool] == "0" {
			return map[bool]string{false: "0", true: "1"}[v]
		}
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

// generate creates what a database lacks of a schema, in one transaction. It returns the resources
// whose keys are to be filled; wait leaves the indexes of these keys to a later call.
func (d *Dialect) generate(ctx context.Context, conn *sql.Conn, schema *records.Schema, wait bool, p *progress) (unfilled []*records.Resource, err error) {
	have, err := d.Catalog(ctx, conn, schema)
	if err != nil {
		return nil, err
	}
	if unfilled, err = d.unfilled(ctx, conn, schema, have); err != nil {
		return nil, err
	}
	for _, r := range unfilled {
		have.unkeyed[r.Table()] = wait
	}
	statements, err := d.Statements(schema, have)
	if err != nil || len(statements) == 0 {
		return unfilled, err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	for i, text := range statements {
		p.run(i+1, len(statements), text)
		if _, err := tx.ExecContext(ctx, text); err != nil {
			if d.Classify(err).Kind == dialect.UniqueViolation {
				err = fmt.Errorf("records share the value of a unique key, change them first with a schema without the key: %w", err)
			}
			return nil, errors.Join(fmt.Errorf("%w, in the generated statement %s", err, text), tx.Rollback())
		}
	}
	return unfilled, tx.Commit()
}

// generateLocked is generate for processes that take turns: the second finds nothing to create.
func (d *Dialect) generateLocked(ctx context.Context, db *sql.DB, schema *records.Schema, wait bool, p *progress) (unfilled []*records.Resource, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if d.Lock != "" {
		if _, err := conn.ExecContext(ctx, d.Lock); err != nil {
			return nil, err
		}
		defer func() {
			_, unlocked := conn.ExecContext(context.WithoutCancel(ctx), d.Unlock)
			err = errors.Join(err, unlocked)
		}()
	}
	return d.generate(ctx, conn, schema, wait, p)
}
