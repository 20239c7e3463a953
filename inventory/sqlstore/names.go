package sqlstore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

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
