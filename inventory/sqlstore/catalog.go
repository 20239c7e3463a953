package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Catalog lists the contents of a database: the tables with their columns, and the indexes. The zero
// Catalog is that of an empty database.
type Catalog struct {
	columns map[string]map[string]catalogColumn // by table and name
	indexes map[string]bool
	counted map[countKey]bool // fields with counts, without values
	filled  map[string]bool   // tables that have records
	unkeyed map[string]bool   // tables whose keys are filled before they are indexed

	noSearch     bool   // there can be no index for searches
	searchSchema string // what dialect.Search.Available returned
}

// catalogColumn is a column that exists.
type catalogColumn struct {
	typ     string
	notNull bool
}

// querier is a connection, a handle or a transaction.
type querier interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

// Catalog reads the catalog of a database, as far as a schema needs it.
func (d *Dialect) Catalog(ctx context.Context, db querier, schema *records.Schema) (*Catalog, error) {
	c := &Catalog{columns: map[string]map[string]catalogColumn{}, indexes: map[string]bool{}, counted: map[countKey]bool{}, filled: map[string]bool{}, unkeyed: map[string]bool{}}
	var table, name, typ string
	var notNull int
	err := scan(ctx, db, d.DDL.Columns, func() {
		if c.columns[table] == nil {
			c.columns[table] = map[string]catalogColumn{}
		}
		c.columns[table][name] = catalogColumn{typ, notNull == 1}
	}, &table, &name, &typ, &notNull)
	if err != nil {
		return nil, fmt.Errorf("read the tables of the database: %w", err)
	}
	if err := scan(ctx, db, d.DDL.Indexes, func() { c.indexes[name] = true }, &name); err != nil {
		return nil, fmt.Errorf("read the indexes of the database: %w", err)
	}
	if d.DDL.Search != nil && d.DDL.Search.Available != "" {
		c.noSearch = true
		if err := scan(ctx, db, d.DDL.Search.Available, func() { c.noSearch, c.searchSchema = false, name }, &name); err != nil {
			return nil, fmt.Errorf("read the extensions of the database: %w", err)
		}
	}
	// Before the counts: other processes may add records with their counts in between.
	for _, r := range schema.StoredResources() {
		if c.columns[r.Table()] == nil {
			continue
		}
		var one int
		if err := scan(ctx, db, "SELECT 1 FROM "+r.Table()+" LIMIT 1", func() { c.filled[r.Table()] = true }, &one); err != nil {
			return nil, fmt.Errorf("read %s: %w", r.Table(), err)
		}
	}
	if c.columns[countsTable] != nil {
		if err := scan(ctx, db, "SELECT DISTINCT resource, field FROM "+countsTable, func() { c.counted[countKey{resource: table, field: name}] = true }, &table, &name); err != nil {
			return nil, fmt.Errorf("read the counts of the database: %w", err)
		}
	}
	return c, nil
}

// uncounted returns the columns of counted fields without counts, and "" if the records of the
// table have not been counted.
func (c *Catalog) uncounted(r *records.Resource) (columns []string) {
	counted := append([]string{""}, countedColumns(r)...)
	for _, p := range pairsOf(r) {
		counted = append(counted, p.field)
	}
	for _, column := range counted {
		if !c.counted[countKey{resource: r.Table(), field: column}] {
			columns = append(columns, column)
		}
	}
	return columns
}

func countedColumns(r *records.Resource) (columns []string) {
	for _, f := range r.Fields() {
		if f.Counted {
			columns = append(columns, f.Column)
		}
	}
	return columns
}

// scan calls f after each row of a statement was scanned into some variables.
func scan(ctx context.Context, db querier, text string, f func(), into ...any) error {
	return scanArgs(ctx, db, text, nil, f, into...)
}

// scanArgs is scan for a statement with parameters.
func scanArgs(ctx context.Context, db querier, text string, args []any, f func(), into ...any) error {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		f()
	}
	return errors.Join(rows.Err(), rows.Close())
}

// has reports whether a table has the column of a field.
func (c *Catalog) has(table string, f *records.Field) bool {
	_, ok := c.columns[table][f.Column]
	return ok
}

// replaced returns the indexes of single fields of a table, by the names that fieldIndex gives
// them, in order.
func (c *Catalog) replaced(r *records.Resource) (names []string) {
	fields := map[string]bool{}
	for _, f := range r.Fields() {
		if f.Column != "" {
			fields[r.Table()+"_"+f.Column] = true
		}
	}
	for name := range c.indexes {
		of, ok := strings.CutSuffix(name, "_idx")
		if !ok || !strings.HasPrefix(of, r.Table()+"_") {
			continue
		}
		short := hashSuffix.ReplaceAllString(of, "")
		if fields[of] || fields[strings.TrimSuffix(of, "__key")] || fields[short] || fields[strings.TrimSuffix(short, "__key")] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// hashSuffix is the end of the names of indexes that have a hash.
var hashSuffix = regexp.MustCompile("_[0-9a-f]{8}$")
