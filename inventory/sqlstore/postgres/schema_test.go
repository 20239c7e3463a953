package postgres_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
)

// raw opens the database without the store.
func raw(t testing.TB, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
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

// checkSchema: the tables match the descriptions.
func checkSchema(t *testing.T, url string) {
	open(t, url, nil)
	db := raw(t, url)
	d := postgres.Dialect()
	statements, err := d.Statements(inventory.Schema(), &sqlstore.Catalog{})
	require.NoError(t, err)
	var tables []string
	for _, r := range inventory.Schema().StoredResources() {
		table := r.Table()
		tables = append(tables, table)
		columns, refs, indexes := described(r, statements)
		// The order is another one in a database of an earlier schema, where new columns are the last.
		require.ElementsMatch(t, columns, rows(t, db, `SELECT trim(concat(column_name, ' ', data_type, ' ', collation_name, ' ', CASE is_nullable WHEN 'NO' THEN 'NOT NULL' END))
			FROM information_schema.columns WHERE table_name = $1`, table),
			"%s: the columns of the fields, and those of the table", table)
		require.ElementsMatch(t, refs, rows(t, db, `SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
			WHERE contype = 'f' AND conrelid = $1::regclass`, table))
		require.ElementsMatch(t, indexes, rows(t, db, `SELECT regexp_replace(replace(replace(indexdef, 'public.', ''), ' USING btree', ''), ' WHERE .*', '')
			FROM pg_indexes WHERE tablename = $1 AND indexname NOT LIKE '%\_search\_%'`, table))
		checks := strings.Join(rows(t, db, "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'c' AND conrelid = $1::regclass", table), "\n")
		for _, f := range r.Fields() {
			for _, value := range f.Enum {
				if f.Open {
					break
				}
				require.Contains(t, checks, "'"+value+"'", "%s.%s: the check of its values", table, f.Column)
			}
		}
	}
	for _, r := range inventory.Schema().StoredResources() {
		if r.Latest == nil {
			continue
		}
		latest, columns := sqlstore.LatestName(r), "SELECT concat(column_name, data_type, collation_name) FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position"
		tables = append(tables, latest)
		require.Equal(t, rows(t, db, columns, r.Table()), rows(t, db, columns, latest), "the columns of the latest %s", r.Name)
		made := rows(t, db, "SELECT replace(indexdef, ' NULLS FIRST', '') FROM pg_indexes WHERE tablename = $1", latest)
		require.Len(t, made, len(r.Latest.Sorted)+1)
		for _, name := range r.Latest.Sorted {
			require.Contains(t, made, fmt.Sprintf("CREATE INDEX %s_%s_idx ON public.%s USING btree (%s, id)", latest, name, latest, name))
		}
	}
	require.ElementsMatch(t, append(tables,
		"tallies", "audit_chain", "audit_head", "audit_anchors", "ashlar_inventory_versions", "ashlar_inventory_additions",
		"ashlar_inventory_reserve"), rows(t, db, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"))
}

// described returns the columns, references and indexes of a description.
func described(r *records.Resource, statements []string) (columns, refs, indexes []string) {
	table := r.Table()
	for _, f := range r.Fields() {
		null := map[bool]string{false: " NOT NULL"}[f.Nullable]
		if f.Column != "" {
			columns = append(columns, strings.TrimSpace(f.Column+" "+typeOf(f)+null))
		}
		if f.Ref != nil {
			then := map[bool]string{true: "CASCADE", false: "SET NULL"}[f.Ref.Cascade]
			refs = append(refs, fmt.Sprintf("%s FOREIGN KEY (%s) REFERENCES %s(id) ON DELETE %s", sqlstore.ReferenceName(r, f), f.Column, f.Ref.Resource().Table(), then))
		}
	}
	for _, f := range r.Fields() {
		if f.Keyed() {
			columns = append(columns, sqlstore.KeyColumn(f)+" text C NOT NULL")
		}
	}
	for _, text := range statements {
		text, _, _ = strings.Cut(text, " WHERE ")
		if strings.Contains(text, " INDEX ") && strings.Contains(text, " ON "+table+" (") {
			indexes = append(indexes, text)
		}
	}
	return columns, refs, append(indexes, fmt.Sprintf("CREATE UNIQUE INDEX %s_pkey ON %s (id)", table, table))
}

func typeOf(f *records.Field) string {
	switch f.Kind {
	case records.Int:
		return "bigint "
	case records.Bool:
		return "boolean "
	case records.Time:
		return "timestamp with time zone "
	case records.Float:
		return "double precision "
	case records.List:
		return "jsonb "
	case records.Object:
		return "text "
	}
	return "text C"
}

// checkPlans: pages are found in indexes, however deep they are, without a scan or a sort.
func checkPlans(t *testing.T, url string) {
	store := open(t, url, nil)
	for n := 0; n < 5000; n += records.MaxItems {
		require.NoError(t, create(t, store, makeDevices(n, n+records.MaxItems)...))
	}
	db := raw(t, url)
	_, err := db.ExecContext(t.Context(), "ANALYZE devices")
	require.NoError(t, err)
	for text, want := range map[string]string{
		"WHERE id > '" + deviceID(4500) + "' ORDER BY id LIMIT 21":                                   "Index Scan using devices_pkey",
		"WHERE (created_at, id) > ('2026-01-01 00:00:04.5Z', 'x') ORDER BY created_at, id LIMIT 21":  "Index Scan using devices_created_at_",
		"WHERE (hostname__key, id) > ('host-19', 'x') ORDER BY hostname__key, id LIMIT 21":           "Index Scan using devices_hostname__key_",
		"WHERE ip__key >= '4' AND ip__key < '400' AND ip = 'x'":                                      "using devices_ip__key_",
		"WHERE last_seen < '2026-01-01 00:00:04.5Z' ORDER BY last_seen DESC NULLS LAST, id LIMIT 21": "Index Scan Backward using devices_last_seen_",
		"WHERE last_seen > '2026-01-01 00:00:04.5Z' ORDER BY last_seen NULLS FIRST, id LIMIT 21":     "Index Scan using devices_last_seen_",
		"WHERE serial_number = 'x' AND serial_number <> ''":                                          "Index Scan using devices_serial_number_key",
		"WHERE rack_position = 'R1-U1' ORDER BY hostname LIMIT 21":                                   "devices_rack_position_",
	} {
		plan := strings.Join(rows(t, db, "EXPLAIN (COSTS OFF) SELECT * FROM devices "+text), "\n")
		require.Contains(t, plan, want, text)
	}
}
