package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Catalog lists the contents of a database: the tables with their columns, and the indexes. The zero
// Catalog is that of an empty database.
type Catalog struct {
	columns     map[string]map[string]catalogColumn // by table and name
	indexes     map[string]string                   // the table of each, by name
	conditions  map[string]string                   // of partial indexes, as normal returns them
	checks      map[string]map[string]bool          // of several columns, by table, as normal returns them
	definitions map[string]string                   // the statements of dialect.DDL.Definitions, by table
	versions    []int64                             // of the migrations that programs must know, in ascending order
	additions   []int64                             // of the others
	versionsOf  string                              // the table that has them, "" for none
	counted     map[countKey]bool                   // fields with counts, without values
	filled      map[string]bool                     // tables that have records
	unkeyed     map[string]bool                     // tables whose keys are filled before they are indexed
	fixed       bool                                // columns that exist are not changed

	noSearch     bool   // there can be no index for searches
	searchSchema string // what dialect.Search.Available returned
}

// catalogColumn is a column that exists.
type catalogColumn struct {
	typ       string
	notNull   bool
	check     string // the condition
	checkName string
	reference string // the table and what follows it
	value     string // the default, if there are definitions
}

// querier is a connection, a handle or a transaction.
type querier interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

// Catalog reads the catalog of a database, as far as a schema needs it.
func (d *Dialect) Catalog(ctx context.Context, db querier, schema *records.Schema) (*Catalog, error) {
	c := &Catalog{
		columns: map[string]map[string]catalogColumn{}, indexes: map[string]string{}, conditions: map[string]string{},
		checks: map[string]map[string]bool{}, definitions: map[string]string{},
		counted: map[countKey]bool{}, filled: map[string]bool{}, unkeyed: map[string]bool{},
	}
	own := tablesOf(schema)
	var table, name, typ string
	var notNull int
	err := scan(ctx, db, d.inSchema(own, d.DDL.Columns), func() {
		if c.columns[table] == nil {
			c.columns[table] = map[string]catalogColumn{}
		}
		c.columns[table][name] = catalogColumn{typ: typ, notNull: notNull == 1}
	}, &table, &name, &typ, &notNull)
	if err != nil {
		return nil, fmt.Errorf("read the tables of the database: %w", err)
	}
	var text string
	if err := scan(ctx, db, d.inSchema(own, d.DDL.Indexes), func() { c.indexes[name], c.conditions[name] = table, normal(text) }, &table, &name, &text); err != nil {
		return nil, fmt.Errorf("read the indexes of the database: %w", err)
	}
	if err := c.readConstraints(ctx, db, d, own); err != nil {
		return nil, fmt.Errorf("read the constraints of the database: %w", err)
	}
	if err := c.readVersions(ctx, db, own, schema); err != nil {
		return nil, fmt.Errorf("read the versions of the database: %w", err)
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
	if c.columns[own.counts] != nil {
		if err := scan(ctx, db, "SELECT DISTINCT resource, field FROM "+own.counts, func() { c.counted[countKey{resource: table, field: name}] = true }, &table, &name); err != nil {
			return nil, fmt.Errorf("read the counts of the database: %w", err)
		}
	}
	return c, nil
}

// readVersions reads the numbers of the migrations. Those in the table of earlier versions are the ones of the schema
// only if the database has an inventory: a program may have noted its own migrations there.
func (c *Catalog) readVersions(ctx context.Context, db querier, own ownTables, schema *records.Schema) error {
	text := "SELECT version FROM " + own.versions + " ORDER BY version"
	switch {
	case c.columns[own.versions] != nil:
		c.versionsOf = own.versions
	case c.columns[own.shared] != nil && c.exists(schema):
		c.versionsOf, text = own.shared, "SELECT version_id FROM "+own.shared+" WHERE is_applied ORDER BY version_id"
	default:
		return nil
	}
	var version int64
	err := scan(ctx, db, text, func() { c.versions = append(c.versions, version) }, &version)
	if err == nil && c.columns[own.additions] != nil {
		err = scan(ctx, db, "SELECT version FROM "+own.additions, func() { c.additions = append(c.additions, version) }, &version)
	}
	return err
}

// readConstraints reads the checks and foreign keys.
func (c *Catalog) readConstraints(ctx context.Context, db querier, d *Dialect, own ownTables) error {
	var table, column, name, text string
	if d.DDL.Definitions != "" {
		return scan(ctx, db, d.DDL.Definitions, func() {
			c.definitions[table] = text
			_, all, _ := definitionsOf(text)
			for _, definition := range all {
				c.readDefinition(table, words(definition))
			}
		}, &table, &text)
	}
	return scan(ctx, db, d.inSchema(own, d.DDL.Constraints), func() {
		check, isCheck := strings.CutPrefix(text, "CHECK ")
		of := c.columns[table][column]
		switch {
		case name == referenceName(table, column):
			_, of.reference, _ = strings.Cut(text, " REFERENCES ")
		case isCheck && column == "":
			c.addCheck(table, check)
		case isCheck && (name == local(table)+"_"+column+"_check" || len(name) == maxIdentifier):
			of.check, of.checkName = check, name
		}
		if column != "" && c.columns[table] != nil {
			c.columns[table][column] = of
		}
	}, &table, &column, &name, &text)
}

func (c *Catalog) addCheck(table, condition string) {
	if c.checks[table] == nil {
		c.checks[table] = map[string]bool{}
	}
	c.checks[table][normal(condition)] = true
}

// readDefinition reads the words of the definition of a column or a check.
func (c *Catalog) readDefinition(table string, words []string) {
	name := strings.Trim(words[0], `"`)
	column, isColumn := c.columns[table][name]
	for i, word := range words[:len(words)-1] {
		next := words[i+1]
		switch {
		case word == "CHECK" && !isColumn:
			c.addCheck(table, next)
		case word == "CHECK":
			column.check = strings.TrimSuffix(strings.TrimPrefix(next, "("), ")")
		case word == "DEFAULT":
			column.value = next
		case word == "REFERENCES":
			column.reference = strings.TrimSpace(strings.Join(words[i+1:], " "))
		}
	}
	if isColumn {
		c.columns[table][name] = column
	}
}

// uncounted returns the columns of counted fields without counts, and "" if the records of the
// table have not been counted.
func (c *Catalog) uncounted(r *records.Resource) (columns []string) {
	counted := []string{""}
	for _, f := range r.Fields() {
		if f.Counted {
			counted = append(counted, f.Column)
		}
	}
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

// scan calls f after each row of a statement was scanned into some variables.
func scan(ctx context.Context, db querier, text string, f func(), into ...any) error {
	rows, err := db.QueryContext(ctx, text)
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

// replaceable returns the indexes of single fields of a table, by the names that fieldIndex gives them, and of keys
// that parts of a schema have added (records.UniqueKey), in order.
func (c *Catalog) replaceable(r *records.Resource) (names []string) {
	var columns []string
	for _, f := range r.Fields() {
		columns = append(columns, f.Column)
	}
	index := regexp.MustCompile("^" + regexp.QuoteMeta(r.Table()) + "_(" + strings.Join(columns, "|") + ")(__key)?(_[0-9a-f]{8})?_idx$")
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.indexes)), func(name string) bool {
		return c.indexes[name] != r.Table() || !index.MatchString(name) && !strings.HasSuffix(name, addedKey)
	})
}

// ownTables are the names of the tables of a store itself, with the prefix of the schema.
type ownTables struct {
	prefix string
	// counts has the number of records of each resource, and of each value of its counted fields. A count is the sum
	// of its slots.
	counts string
	// chain, head and anchors are the chain of the audit log: the position of each entry, the last position, and the
	// anchors (records.AuditChain).
	chain, head, anchors string
	// versions has the numbers of the migrations that programs must know. additions has the others
	// (records.Migration.Oldest); programs of versions before these do not read it.
	versions, additions string
	// reserve has nothing but space that is given up when the disk is full.
	reserve string
	// shared had them in earlier versions: it is the default table of the library goose, which a program may use itself.
	shared string
}

func tablesOf(schema *records.Schema) ownTables {
	p := schema.TablePrefix()
	return ownTables{p, p + "tallies", p + "audit_chain", p + "audit_head", p + "audit_anchors", p + "ashlar_inventory_versions", p + "ashlar_inventory_additions", p + "ashlar_inventory_reserve", p + "goose_db_version"}
}

// all returns the names.
func (own ownTables) all() []string {
	return []string{own.counts, own.chain, own.head, own.anchors, own.versions, own.additions, own.reserve, own.shared}
}

// within returns a schema whose tables are in a namespace (Options.Namespace).
func (d *Dialect) within(namespace string, schema *records.Schema) (*records.Schema, error) {
	if namespace == "" {
		return schema, nil
	}
	return schema.With(records.TablePrefix(fmt.Sprintf(d.Namespace, namespace)))
}

// local returns a name without the schema of PostgreSQL, in which it may be.
func local(name string) string { return name[strings.IndexByte(name, '.')+1:] }

// inSchema returns a statement of dialect.DDL that reads the names of the tables of a schema of PostgreSQL.
func (d *Dialect) inSchema(own ownTables, text string) string {
	in, prefix := "current_schema()", "''"
	if name, ok := strings.CutSuffix(own.prefix, "."); ok {
		in, prefix = literal(name), literal(own.prefix)
	}
	return strings.NewReplacer("{schema}", in, "{prefix}", prefix).Replace(text)
}

// exists reports whether the database has an inventory: the tables that every version and every schema has.
func (c *Catalog) exists(schema *records.Schema) bool {
	for _, r := range []*records.Resource{records.Of[records.AuditLog](schema), records.Of[records.IdempotencyRecord](schema)} {
		if c.columns[r.Table()] == nil || c.foreign(r) != "" {
			return false
		}
	}
	return true
}

// foreign returns a column that a table would have if it were that of a resource, "" if it has all.
func (c *Catalog) foreign(r *records.Resource) string {
	for _, column := range []string{"id", "created_at", "updated_at", "version"} {
		if _, ok := c.columns[r.Table()][column]; !ok {
			return column
		}
	}
	return ""
}

// hasOthers reports whether the database has tables that are not those of the schema, such as those of a program.
func (c *Catalog) hasOthers(schema *records.Schema) bool {
	known := tablesOf(schema).all()
	for _, r := range schema.StoredResources() {
		known = append(known, r.Table())
	}
	for table := range c.columns {
		of, _, _ := strings.Cut(strings.TrimSuffix(table, "_latest"), "_search_")
		if !slices.Contains(known, of) && !strings.HasPrefix(table, "sqlite_") {
			return true
		}
	}
	return false
}
