package postgres_test

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
)

// definitions returns the columns, constraints and indexes in a schema of a database, in order.
func definitions(t *testing.T, url, schema string) []string {
	added := regexp.MustCompile(` NO (''::text|'\[\]'::jsonb|false|'?0'?(::bigint)?)$`) // a column that was added later
	all := rows(t, raw(t, url), `SELECT table_name || '.' || concat_ws(' ', column_name, data_type, collation_name, is_nullable, column_default)
			FROM information_schema.columns WHERE table_schema = $1 AND table_name NOT LIKE 'goose%'
		UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
			WHERE connamespace = $1::regnamespace AND contype IN ('c', 'f', 'p') AND conname NOT LIKE 'goose%'
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = $1 AND tablename NOT LIKE 'goose%'`, schema)
	for i, line := range all {
		all[i] = added.ReplaceAllString(strings.ReplaceAll(line, schema+".", ""), " NO")
	}
	slices.Sort(all)
	return all
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
