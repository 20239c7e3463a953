package postgres_test

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
)

// checkGenerated: a database without migrations has the tables and indexes of one with them.
// Only checks of several columns are not generated.
func checkGenerated(t *testing.T, url string) {
	db := raw(t, url)
	for _, name := range []string{"generated", "migrated"} {
		_, err := db.ExecContext(t.Context(), "CREATE SCHEMA "+name)
		require.NoError(t, err)
	}
	schema, err := inventory.NewSchema(records.Migrations(nil))
	require.NoError(t, err)
	openSchema(t, url+"&search_path=generated", schema, nil)
	openSchema(t, url+"&search_path=migrated", inventory.Schema(), nil)
	added := regexp.MustCompile(` NO (''::text|'\[\]'::jsonb|false|'?0'?(::bigint)?)$`) // a column that was added later
	catalog := func(name string) []string {
		all := rows(t, db, `SELECT table_name || '.' || concat_ws(' ', column_name, data_type, collation_name, is_nullable, column_default)
				FROM information_schema.columns WHERE table_schema = $1
			UNION ALL SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
				WHERE connamespace = $1::regnamespace AND contype IN ('c', 'f', 'p')
			UNION ALL SELECT conrelid::regclass || ' ' || conname FROM pg_constraint
				WHERE connamespace = $1::regnamespace AND contype IN ('f', 'p')
			UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = $1 ORDER BY 1`, name)
		for i, line := range all {
			all[i] = added.ReplaceAllString(strings.NewReplacer("generated.", "", "migrated.", "").Replace(line), " NO")
		}
		return all
	}
	want, have := catalog("migrated"), catalog("generated")
	for _, line := range have {
		require.Contains(t, want, line)
	}
	for _, line := range want {
		of, _, _ := strings.Cut(line, " ")
		handwritten := strings.HasPrefix(of, "goose") || strings.Contains(line, "goose_db_version") || line == "locations CHECK (((lat IS NULL) = (lon IS NULL)))" ||
			line == "links CHECK ((a_interface_id < b_interface_id))"
		require.True(t, handwritten || slices.Contains(have, line), "%s is not generated", line)
	}
}

func checkExtended(t *testing.T, url string) {
	sqlstoretest.CheckExtended(t, func(schema *records.Schema) records.Store { return openSchema(t, url, schema, nil) })
	d := postgres.Dialect()
	schema, db := sqlstoretest.Extended(t), raw(t, url)
	have, err := d.Catalog(t.Context(), db, schema)
	require.NoError(t, err)
	none, err := d.Statements(schema, have)
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = db.ExecContext(t.Context(), "ALTER TABLE devices ALTER COLUMN asset_tag TYPE varchar(10)")
	require.NoError(t, err)
	_, err = postgres.Open(t.Context(), url, schema, nil)
	require.ErrorContains(t, err, `the column asset_tag of the table devices has the type character varying(10), and the field needs text COLLATE "C"`)
}

// checkExtenders: processes that start at the same time with a new field take turns.
func checkExtenders(t *testing.T, url string) {
	open(t, url, nil)
	schema := sqlstoretest.Extended(t)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			store, err := postgres.Open(t.Context(), url, schema, &postgres.Options{MaxConns: 1})
			if err == nil {
				err = create(t, store, makeDevices(i, i+1)...)
				_ = store.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}
