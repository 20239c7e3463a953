package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// DDL is the data definition language of a database, as far as the tables of a schema need it.
type DDL struct {
	// Types are the types of columns by the kind of the field, as the statement Columns returns
	// them.
	Types map[records.Kind]string
	// Zero are the literals that existing records get in an added column that may not be null.
	Zero map[records.Kind]string
	// Checks are conditions that the values of a kind need, with %s for the column.
	Checks map[records.Kind]string
	// Bytes is the type of columns of bytes, and NoBytes the literal of an empty one.
	Bytes, NoBytes string
	// Begin are the statements before changes of tables while the store is in use: they wait for
	// other processes that change tables, and bound how long calls wait.
	Begin []string
	// Options follows the columns of a CREATE TABLE.
	Options string
	// Columns is a SELECT of all columns: the table, the name, the type, and 1 for NOT NULL or 0.
	Columns string
	// Indexes is a SELECT of the names of all indexes.
	Indexes string
	// Search is the index for searches. Nil is none.
	Search *SearchDDL
	// Include says that an index can have columns that are no part of its key.
	Include bool
	// IndexBytes is the most bytes of the values in one index. 0 is no limit.
	IndexBytes int
}

// Catalog is what a database has: the tables with their columns, and the indexes. The zero
// Catalog is that of an empty database.
type Catalog struct {
	columns map[string]map[string]catalogColumn // by table and name
	indexes map[string]bool
	counted map[countKey]bool // fields with counts, without values
	filled  map[string]bool   // tables that have records

	noSearch     bool   // there can be no index for searches
	searchSchema string // what SearchDDL.Available returned
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
	c := &Catalog{columns: map[string]map[string]catalogColumn{}, indexes: map[string]bool{}, counted: map[countKey]bool{}, filled: map[string]bool{}}
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

// removedKeys returns the statements that remove the indexes of keys that were added to the
// resources by parts of another schema (records.UniqueKey).
func (d *Dialect) removedKeys(schema *records.Schema, have *Catalog) (all []string) {
	wanted := map[string]bool{}
	for _, r := range schema.StoredResources() {
		for _, u := range r.Uniques() {
			wanted[UniqueName(r, u)] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have.indexes)) {
		ofTable := func(r *records.Resource) bool { return strings.HasPrefix(name, r.Table()+"_") }
		if strings.HasSuffix(name, addedKey) && !wanted[name] && slices.ContainsFunc(schema.StoredResources(), ofTable) {
			all = append(all, "DROP INDEX "+name)
		}
	}
	return all
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

// createCounts returns the statement that creates the table of counts.
func (d *Dialect) createCounts() string {
	text := d.DDL.Types[records.Text] + " NOT NULL"
	number := d.DDL.Types[records.Int] + " NOT NULL"
	return "CREATE TABLE " + countsTable + " (\n    resource " + text + ",\n    field " + text + ",\n    value " + text +
		",\n    slot " + number + ",\n    n " + number +
		",\n    CONSTRAINT " + countsTable + "_pkey PRIMARY KEY (resource, field, value, slot)\n)" + d.DDL.Options
}

// createChain returns the statements that create the tables of the chain of the audit log. They
// are those of a new database: entries are not added to the chain later.
func (d *Dialect) createChain() []string {
	number, bytes := d.DDL.Types[records.Int]+" NOT NULL", d.DDL.Bytes+" NOT NULL"
	text, at := d.DDL.Types[records.Text]+" NOT NULL", d.DDL.Types[records.Time]+" NOT NULL"
	key := func(table string) string { return number + " CONSTRAINT " + table + "_pkey PRIMARY KEY" }
	return []string{
		"CREATE TABLE " + chainTable + " (\n    seq " + key(chainTable) + ",\n    id " + text + ",\n    hash " + bytes + "\n)",
		"CREATE TABLE " + headTable + " (\n    id " + key(headTable) + " CHECK (id = 1),\n    seq " + number + ",\n    hash " + bytes + "\n)",
		"CREATE TABLE " + anchorsTable + " (\n    seq " + key(anchorsTable) + ",\n    hash " + bytes +
			",\n    pruned " + number + " CHECK (pruned >= 0),\n    actor " + text + ",\n    at " + at + "\n)",
		"INSERT INTO " + headTable + " (id, seq, hash) VALUES (1, 0, " + d.DDL.NoBytes + ")",
	}
}

// tableStatements returns the statements for one resource.
func (d *Dialect) tableStatements(r *records.Resource, have *Catalog) (all []string, err error) {
	columns, table := have.columns[r.Table()], r.Table()
	var definitions []string
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
		all = append(all, "CREATE TABLE "+table+" (\n"+strings.Join(definitions, ",\n")+"\n)"+d.DDL.Options)
	}
	wanted := map[string]bool{}
	for _, index := range d.indexes(r) {
		wanted[index.name] = true
		if !have.indexes[index.name] {
			all = append(all, index.text)
		}
	}
	for _, name := range have.replaced(r) {
		if !wanted[name] {
			all = append(all, "DROP INDEX "+name)
		}
	}
	all = append(all, d.searchStatements(r, have)...)
	if have.filled[table] {
		for _, column := range have.uncounted(r) {
			all = append(all, countExisting(r, column))
		}
	}
	return all, nil
}

// latestStatements returns the statements for the table of the latest records of a resource
// (records.Latest), which are found among the existing ones.
func (d *Dialect) latestStatements(r *records.Resource, have *Catalog) (all []string) {
	name := LatestName(r)
	var definitions, columns []string
	for _, f := range r.Fields() {
		if f.Column == "" {
			continue
		}
		definition := f.Column + " " + d.DDL.Types[f.Kind]
		if !f.Nullable {
			definition += " NOT NULL"
		}
		if have.columns[name] != nil && !have.has(name, f) {
			if !f.Nullable {
				definition += " DEFAULT " + d.zero(f)
			}
			all = append(all, "ALTER TABLE "+name+" ADD COLUMN "+definition)
		}
		if f.Name == r.Latest.Per {
			definition += " CONSTRAINT " + identifier(name, "pkey") + " PRIMARY KEY"
		}
		definitions, columns = append(definitions, "    "+definition), append(columns, f.Column)
	}
	if have.columns[name] != nil {
		return all
	}
	all = append(all, "CREATE TABLE "+name+" (\n"+strings.Join(definitions, ",\n")+"\n)")
	for _, sorted := range r.Latest.Sorted {
		f, _ := r.Field(sorted)
		order, id := "", "id DESC"
		if f.Nullable {
			order = d.NullsFirst
		}
		if sorted == r.Latest.At {
			id = "id"
		}
		all = append(all, "CREATE INDEX "+identifier(name, f.Column, "idx")+" ON "+name+" ("+f.Column+order+", "+id+")")
	}
	if have.columns[r.Table()] == nil {
		return all
	}
	per, _ := r.Field(r.Latest.Per)
	at, _ := r.Field(r.Latest.At)
	id, _ := r.Field("id")
	list := strings.Join(columns, ", ")
	return append(all,
		"INSERT INTO "+name+" ("+list+") SELECT "+list+" FROM "+r.Table()+" WHERE id IN (SELECT (SELECT id FROM "+r.Table()+" WHERE "+per.Column+" = one.id"+
			d.orderBy([]sortKey{{at, true}, {id, true}}, "")+" LIMIT 1) FROM "+per.Ref.Resource().Table()+" AS one)",
		"INSERT INTO "+countsTable+" (resource, field, value, slot, n) SELECT "+literal(name)+", '', '', 0, count(*) FROM "+name)
}

// has reports whether a table has the column of a field.
func (c *Catalog) has(table string, f *records.Field) bool {
	_, ok := c.columns[table][f.Column]
	return ok
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

// column returns the definition of a column of a new table.
func (d *Dialect) column(r *records.Resource, f *records.Field) string {
	text := f.Column + " " + d.DDL.Types[f.Kind]
	if !f.Nullable {
		text += " NOT NULL"
	}
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
	case len(f.Enum) > 0:
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
	text := "ALTER TABLE " + r.Table() + " ADD COLUMN " + f.Column + " " + d.DDL.Types[f.Kind]
	if f.Ref != nil && !f.Nullable {
		return "", fmt.Errorf("the table %s has no column %s, and existing records would have no value for it: add it with a migration, or let the field be null",
			r.Table(), f.Column)
	}
	if !f.Nullable {
		text += " NOT NULL DEFAULT " + d.zero(f)
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

// index is an index of a table.
type index struct{ name, text string }

// indexes returns the indexes of a resource: of its unique keys, of references, and of fields
// with the tag word index.
func (d *Dialect) indexes(r *records.Resource) (all []index) {
	leading := map[string]bool{}
	for _, u := range r.Uniques() {
		name := UniqueName(r, u)
		columns := columnsOf(r, u)
		var conditions []string
		for _, field := range u.Fields {
			f, _ := r.Field(field)
			switch {
			case f.Nullable:
				conditions = append(conditions, f.Column+" IS NOT NULL")
			case f.Kind == records.Text && !f.Required:
				conditions = append(conditions, f.Column+" <> ''")
			}
		}
		if without, ok := r.Field(u.Without); ok {
			conditions = append(conditions, missing(without, without.Column, true))
		}
		leading[columns[0]] = true
		text := "CREATE UNIQUE INDEX " + name + " ON " + r.Table() + " (" + strings.Join(columns, ", ") + ")" + where(conditions)
		all = append(all, index{name, text})
	}
	for _, f := range r.Fields() {
		name, covered := d.fieldIndex(r, f)
		if name == "" {
			continue
		}
		order := ""
		if f.Nullable {
			order = d.NullsFirst
		}
		columns := f.Column + order
		if r.Latest != nil && r.Latest.Per == f.Name {
			at, _ := r.Field(r.Latest.At)
			columns += ", " + at.Column + d.NullsFirst
		}
		text := "CREATE INDEX " + name + " ON " + r.Table() + " (" + columns + ", id"
		if d.DDL.Include && len(covered) > 0 {
			text += ") INCLUDE (" + strings.Join(covered, ", ")
		} else {
			text += strings.Join(append([]string{""}, covered...), ", ")
		}
		all = append(all, index{name, text + ")"})
	}
	return all
}

// fieldIndex returns the name of the index of a field and the id, empty if there is none, and
// the facets that it contains besides, so that a list with a filter of one of them reads no row
// that does not match. Their hash is part of the name: with other facets it is another index.
func (d *Dialect) fieldIndex(r *records.Resource, f *records.Field) (name string, covered []string) {
	if f.Column == "" || f.Column == "id" || !r.Indexed(f) {
		return "", nil
	}
	size := indexBytes(f) + indexBytes(&records.Field{Kind: records.Text, Format: "uuid"})
	for _, facet := range r.Facets() {
		n := indexBytes(facet)
		if facet.Column == f.Column || facet.Ref != nil || d.DDL.IndexBytes > 0 && size+n > d.DDL.IndexBytes {
			continue
		}
		size += n
		covered = append(covered, facet.Column)
	}
	switch {
	case len(covered) > 0:
		sum := sha256.Sum256([]byte(strings.Join(covered, ",")))
		return identifier(r.Table(), f.Column, hex.EncodeToString(sum[:4]), "idx"), covered
	case f.Ref != nil && !f.Index && slices.ContainsFunc(r.Uniques(), func(u records.Unique) bool { return u.Fields[0] == f.Name }):
		return "", nil // the index of the key serves it too
	}
	return IndexName(r, f), nil
}

// indexBytes returns the most bytes that a value has in an index.
func indexBytes(f *records.Field) int {
	switch {
	case f.Kind != records.Text:
		return 8
	case f.Max != nil:
		return int(4 * *f.Max)
	}
	return 100 // of a format or of an enumeration, in ASCII
}

// replaced returns the indexes of single fields of a table, by the names that fieldIndex gives
// them, in order.
func (c *Catalog) replaced(r *records.Resource) (names []string) {
	for _, f := range r.Fields() {
		if f.Column == "" {
			continue
		}
		of := regexp.MustCompile("^" + regexp.QuoteMeta(r.Table()+"_"+f.Column) + "(_[0-9a-f]{8})?_idx$")
		for name := range c.indexes {
			if of.MatchString(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// columnsOf returns the columns of a unique key.
func columnsOf(r *records.Resource, u records.Unique) []string {
	columns := make([]string, len(u.Fields))
	for i, field := range u.Fields {
		f, _ := r.Field(field)
		columns[i] = f.Column
	}
	return columns
}

// countExisting returns the statement that counts the records of a table, by the values of a
// column if it is not empty. The values are those of column.countKey.
func countExisting(r *records.Resource, column string) string {
	value := "''"
	a, b, pair := strings.Cut(column, ",")
	for _, f := range r.Fields() {
		text := "coalesce(CAST(" + f.Column + " AS text), '')"
		if f.Kind == records.Bool {
			text = "CASE WHEN " + f.Column + " THEN 'true' WHEN NOT " + f.Column + " THEN 'false' ELSE '' END"
		}
		switch {
		case f.Column == "":
		case f.Column == a && pair:
			value = "length(" + text + ") || ':' || " + text // see pairKey
		case f.Column == a:
			value = text
		case f.Column == b && pair:
			value += " || " + text
		}
	}
	return "INSERT INTO " + countsTable + " (resource, field, value, slot, n) SELECT " + literal(r.Table()) + ", " + literal(column) + ", " +
		value + ", 0, count(*) FROM " + r.Table() + " GROUP BY 3"
}

// maxIdentifier is the longest name that databases do not cut.
const maxIdentifier = 63

// identifier joins the parts of the name of an index or a constraint. A name that would be too
// long ends in a hash.
func identifier(parts ...string) string { return shortened(strings.Join(parts, "_"), maxIdentifier) }

func shortened(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:limit-9] + "_" + hex.EncodeToString(sum[:4])
}

// generate creates what a database lacks of a schema, in one transaction. Several processes take
// turns: the second finds nothing to create.
func (d *Dialect) generate(ctx context.Context, db *sql.DB, schema *records.Schema) (err error) {
	if d.DDL.Columns == "" {
		return nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if d.Lock != "" {
		if _, err := conn.ExecContext(ctx, d.Lock); err != nil {
			return err
		}
		defer func() {
			_, unlocked := conn.ExecContext(context.WithoutCancel(ctx), d.Unlock)
			err = errors.Join(err, unlocked)
		}()
	}
	have, err := d.Catalog(ctx, conn, schema)
	if err != nil {
		return err
	}
	statements, err := d.Statements(schema, have)
	if err != nil || len(statements) == 0 {
		return err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, text := range statements {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			if d.Classify(err).Kind == UniqueViolation {
				err = fmt.Errorf("records share the value of a unique key, change them first with a schema without the key: %w", err)
			}
			return errors.Join(fmt.Errorf("%w, in the generated statement %s", err, text), tx.Rollback())
		}
	}
	return tx.Commit()
}
