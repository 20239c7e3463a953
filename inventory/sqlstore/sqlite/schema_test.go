package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// raw opens the database without the store.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// rows returns the rows of a statement, which have one column.
func rows(t testing.TB, db *sql.DB, text string, args ...any) (all []string) {
	t.Helper()
	found, err := db.QueryContext(t.Context(), text, args...)
	require.NoError(t, err)
	defer found.Close()
	for found.Next() {
		var row string
		require.NoError(t, found.Scan(&row))
		all = append(all, row)
	}
	require.NoError(t, found.Err())
	return all
}

// TestSchema: the tables match the descriptions.
func TestSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	open(t, path)
	db := raw(t, path)
	d := sqlite.Dialect()
	statements, err := d.Statements(inventory.Schema(), &sqlstore.Catalog{})
	require.NoError(t, err)
	var tables []string
	for _, r := range inventory.Schema().StoredResources() {
		table := r.Table()
		tables = append(tables, table)
		var columns, refs []string
		for _, f := range r.Fields() {
			if f.Column != "" {
				columns = append(columns, strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Column, typeOf(f), map[bool]string{false: "NOT NULL"}[f.Nullable])))
			}
			if f.Ref != nil {
				then := map[bool]string{true: "CASCADE", false: "SET NULL"}[f.Ref.Cascade]
				refs = append(refs, fmt.Sprintf("CONSTRAINT %s REFERENCES %s (id) ON DELETE %s", sqlstore.ReferenceName(r, f), f.Ref.Resource().Table(), then))
			}
		}
		for _, f := range r.Fields() {
			if f.Keyed() {
				columns = append(columns, sqlstore.KeyColumn(f)+" TEXT NOT NULL")
			}
		}
		require.Equal(t, columns, rows(t, db, `SELECT trim(name || ' ' || type || ' ' || iif("notnull", 'NOT NULL', '')) FROM pragma_table_info(?)`, table),
			"%s: the columns of the fields, and those of the table", table)
		made := rows(t, db, "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", table)[0]
		for _, ref := range refs {
			require.Contains(t, made, ref)
		}
		require.Len(t, rows(t, db, "SELECT id FROM pragma_foreign_key_list(?)", table), len(refs))
		require.ElementsMatch(t, slices.DeleteFunc(slices.Clone(statements), func(text string) bool {
			return !strings.HasPrefix(text, "CREATE INDEX ") && !strings.HasPrefix(text, "CREATE UNIQUE INDEX ") || !strings.Contains(text, " ON "+table+" (")
		}), rows(t, db, "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL", table))
		for _, f := range r.Fields() {
			if f.Enum != nil && !f.Open {
				made := rows(t, db, "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", table)[0]
				require.Contains(t, made, "'"+strings.Join(f.Enum, "', '")+"'", "%s.%s: the check of its values", table, f.Column)
			}
		}
	}
	for _, r := range inventory.Schema().StoredResources() {
		if r.Latest == nil {
			continue
		}
		latest, columns := sqlstore.LatestName(r), "SELECT name || type FROM pragma_table_info(?)"
		tables = append(tables, latest)
		require.Equal(t, rows(t, db, columns, r.Table()), rows(t, db, columns, latest), "the columns of the latest %s", r.Name)
		made := rows(t, db, "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL", latest)
		require.Len(t, made, len(r.Latest.Sorted))
		for i, name := range r.Latest.Sorted {
			require.Equal(t, fmt.Sprintf("CREATE INDEX %s_%s_idx ON %s (%s, id)", latest, name, latest, name), made[i])
		}
	}
	require.ElementsMatch(t, append(tables, "tallies", "audit_chain", "audit_head", "audit_anchors", "ashlar_inventory_versions", "ashlar_inventory_additions"), rows(t, db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%_search_%'"))
}

func typeOf(f *records.Field) string {
	switch f.Kind {
	case records.Int, records.Bool, records.Time:
		return "INTEGER"
	case records.Float:
		return "REAL"
	}
	return "TEXT"
}

// TestChecks: the database refuses invalid records, whoever writes them.
func TestChecks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	store := open(t, path)
	require.NoError(t, create(t, store, makeDevices(0, 1)...))
	db := raw(t, path)
	for _, change := range []string{
		"UPDATE devices SET status = 'lost'", "UPDATE devices SET version = 0", "UPDATE devices SET hostname = ''",
		"UPDATE devices SET hostname = NULL", "UPDATE devices SET location_id = 'nowhere'",
	} {
		_, err := db.ExecContext(t.Context(), "PRAGMA foreign_keys = 1; "+change)
		require.Error(t, err, change)
	}
}

// TestPlans: pages are found in indexes, however deep they are, without a scan or a sort.
func TestPlans(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	open(t, path)
	db := raw(t, path)
	hash := regexp.MustCompile("_[0-9a-f]{8}_idx") // of the facets in an index
	for text, want := range map[string]string{
		"WHERE id > 'x' ORDER BY id LIMIT 21":                                                "SEARCH devices USING PRIMARY KEY (id>?)",
		"WHERE (created_at, id) > (1, 'x') ORDER BY created_at, id LIMIT 21":                 "SEARCH devices USING INDEX devices_created_at_HASH_idx ((created_at,id)>(?,?))",
		"WHERE vendor = 'x' ORDER BY id LIMIT 21":                                            "SEARCH devices USING INDEX devices_vendor_HASH_idx (vendor=?)",
		"WHERE +vendor = 'x' ORDER BY hostname__key, id LIMIT 21":                            "SCAN devices USING INDEX devices_hostname__key_HASH_idx",
		"WHERE hostname__key = 'x11' AND hostname = 'X1'":                                    "SEARCH devices USING INDEX devices_hostname__key_HASH_idx (hostname__key=?)",
		"WHERE ip__key >= '4' AND ip__key < '5' ORDER BY ip__key, id LIMIT 21":               "SEARCH devices USING INDEX devices_ip__key_HASH_idx (ip__key>? AND ip__key<?)",
		"WHERE serial_number = 'x' AND serial_number <> ''":                                  "SEARCH devices USING INDEX devices_serial_number_key (serial_number=?)",
		"WHERE last_seen < 5 ORDER BY last_seen DESC, id LIMIT 21":                           "SEARCH devices USING INDEX devices_last_seen_HASH_idx (last_seen<?)",
		"WHERE last_seen IS NULL AND id > 'x' ORDER BY last_seen DESC, id LIMIT 21":          "SEARCH devices USING INDEX devices_last_seen_HASH_idx (last_seen=? AND id>?)",
		"WHERE created_at = 5 AND id > 'x' AND 1=1 ORDER BY created_at DESC, id ASC LIMIT 2": "SEARCH devices USING INDEX devices_created_at_HASH_idx (created_at=? AND id>?)",
	} {
		plan := hash.ReplaceAllString(plan(t, db, "SELECT * FROM devices "+text), "_HASH_idx")
		require.Contains(t, plan, want, text)
	}
}

func plan(t testing.TB, db *sql.DB, text string) string {
	t.Helper()
	found, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text)
	require.NoError(t, err)
	defer found.Close()
	var lines []string
	for found.Next() {
		var id, parent, unused int
		var line string
		require.NoError(t, found.Scan(&id, &parent, &unused, &line))
		lines = append(lines, line)
	}
	require.NoError(t, found.Err())
	return strings.Join(lines, "\n")
}
