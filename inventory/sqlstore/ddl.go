package sqlstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/dialect"
)

// Statements returns the statements that create what a database lacks of a schema: tables, columns,
// indexes, and the counts of existing records; and that change the columns that do not fit their fields
// in NOT NULL, their check or their reference. They are the same for the same schema and catalog. [New] runs
// them after those of [Dialect.Migrations], in the same transaction.
//
// The error names a column that exists with another type, or that differs in NOT NULL and is that of an added
// field (records.Extend): only a migration can change that. Tables, columns and indexes that the schema lacks are
// ignored, except the indexes of added keys (records.UniqueKey), which are removed.
func (d *Dialect) Statements(schema *records.Schema, have *Catalog) ([]string, error) {
	var all []string
	own := tablesOf(schema)
	if len(have.columns[own.counts]) == 0 {
		all = append(all, d.createCounts(own))
	}
	if len(have.columns[own.head]) == 0 {
		all = append(all, d.createChain(own, have)...)
	}
	for _, r := range schema.StoredResources() {
		if slices.Contains(own.all(), r.Table()) {
			return nil, fmt.Errorf("the resource %s needs the table %s, which the store uses itself: give it another name", r.Name, r.Table())
		}
		statements, err := d.tableStatements(own, r, have)
		if err != nil {
			return nil, err
		}
		all = append(all, statements...)
		if r.Latest != nil {
			statements, err := d.latestStatements(own, r, have)
			if err != nil {
				return nil, err
			}
			all = append(all, statements...)
		}
	}
	return all, nil
}

// tableStatements returns the statements for one resource.
func (d *Dialect) tableStatements(own ownTables, r *records.Resource, have *Catalog) (all []string, err error) {
	columns, table, fields := have.columns[r.Table()], r.Table(), have.stored(r)
	if lacks := have.foreign(r); columns != nil && lacks != "" {
		return nil, fmt.Errorf("the table %s is not one of the inventory: it has no column %s. Set Options.Namespace to keep the tables of the inventory apart from others", table, lacks)
	}
	changes, err := d.changes(table, fields, have, true)
	if err != nil {
		return nil, err
	}
	var definitions []string
	for _, f := range fields {
		switch {
		case columns == nil:
			definitions = append(definitions, "    "+d.column(r, f))
		case !have.has(table, f):
			text, err := d.addColumn(r, f)
			if err != nil {
				return nil, err
			}
			all = append(all, text)
		}
	}
	var checks []string
	for _, check := range r.Checks {
		if columns == nil {
			definitions = append(definitions, "    CHECK ("+check+")")
		} else if !have.checks[table][normal(check)] && !have.fixed {
			checks = append(checks, check)
		}
	}
	all = append(d.alterations(table, changes, checks, have), all...)
	if columns == nil {
		all = append(all, "CREATE TABLE "+table+" (\n"+strings.Join(definitions, ",\n")+"\n)"+d.DDL.Options)
	}
	wanted := map[string]bool{}
	for _, index := range d.indexes(r) {
		wanted[index.name] = true
		exists := have.indexes[index.name] != ""
		if exists && !have.fixed && have.conditions[index.name] != normal(index.condition) {
			exists, all = false, append(all, "DROP INDEX "+index.name)
		}
		if !exists && !(index.keyed && have.unkeyed[table]) {
			all = append(all, index.text)
		}
	}
	for _, name := range have.replaceable(r) {
		if !wanted[name] && !have.unkeyed[table] {
			all = append(all, "DROP INDEX "+name)
		}
	}
	all = append(all, d.searchStatements(r, have)...)
	if have.filled[table] {
		all = append(all, countExisting(own, r, have.uncounted(r)...)...)
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
		text += " CONSTRAINT " + local(identifier(r.Table(), "pkey")) + " PRIMARY KEY"
	}
	return text + d.constraints(r, f, f.Required)
}

// constraints returns the check and the foreign key of a column. A field that is not in the struct gets no check of
// its values, which may change.
func (d *Dialect) constraints(r *records.Resource, f *records.Field, required bool) (text string) {
	if condition := d.condition(f, required); condition != "" && !f.Extra {
		text += " CHECK (" + condition + ")"
	}
	if f.Ref != nil {
		text += " CONSTRAINT " + ReferenceName(r, f) + " REFERENCES " + reference(f)
	}
	return text
}

// reference returns what the foreign key of a field refers to.
func reference(f *records.Field) string {
	if f.Ref == nil {
		return ""
	}
	then := "SET NULL"
	if f.Ref.Cascade {
		then = "CASCADE"
	}
	return f.Ref.Resource().Table() + " (id) ON DELETE " + then
}

// condition returns the condition of the check of a column. required refuses the empty string.
func (d *Dialect) condition(f *records.Field, required bool) string {
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
	return strings.Join(conditions, " AND ")
}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// addColumn returns the statement that adds a column to a table that exists. Existing records
// have no value in it, or the default of the field; they need not have a value that is required.
// The default of the column stays, so that programs of an earlier schema can still add records.
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
	if outside(f) {
		return text, nil
	}
	return text + d.constraints(r, f, false), nil
}

// outside reports whether the value of existing records in an added column, zero, is none of the field.
func outside(f *records.Field) bool {
	return (f.Kind == records.Int || f.Kind == records.Float) && !f.Nullable && (f.Min != nil && *f.Min > 0 || f.Max != nil && *f.Max < 0)
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

// Dialect describes SQLite or PostgreSQL to a store: make it with sqlite.Dialect or postgres.Dialect. A program that
// applies migrations itself gets the statements from it.
type Dialect struct {
	dialect.Spec

	packers *sync.Pool // of textOfChanges; set by New
}

// indexedBy follows the name of a table to use an index, if it is not empty.
func (d *Dialect) indexedBy(index string) string {
	if d.IndexedBy == "" || index == "" {
		return ""
	}
	return fmt.Sprintf(d.IndexedBy, index)
}

// placeholder returns the nth parameter of a statement that uses each parameter once.
func (d *Dialect) placeholder(n int) string {
	if d.Next != "" {
		return d.Next
	}
	return d.Parameter + strconv.Itoa(n)
}

// argument converts a value for the driver.
func (d *Dialect) argument(v any) any {
	if t, ok := v.(time.Time); ok {
		return d.Time(t.UTC())
	}
	return v
}
