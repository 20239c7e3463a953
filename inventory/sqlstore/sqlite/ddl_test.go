package sqlite_test

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// definitions returns the lines of the statements that made the tables and indexes of a file.
func definitions(t *testing.T, path string) map[string][]string {
	all := map[string][]string{}
	blanks, added := regexp.MustCompile(`\s+`), regexp.MustCompile(`, (\w+ (?:TEXT|INTEGER|REAL)\b)`)
	zero := regexp.MustCompile(` DEFAULT (?:''|'\[\]'|0)`)
	db := raw(t, path)
	for _, name := range rows(t, db, "SELECT name FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'sqlite_sequence' AND name NOT LIKE 'goose%'") {
		text := rows(t, db, "SELECT sql FROM sqlite_master WHERE name = ?", name)[0]
		text = strings.ReplaceAll(text, "\n, ", ",\n") // before a column that was added to an existing table
		text = added.ReplaceAllString(text, ",\n$1")
		text = strings.TrimSuffix(text, "WITHOUT ROWID")
		for line := range strings.SplitSeq(strings.TrimRight(text, ") \n"), ",\n") {
			line = blanks.ReplaceAllString(strings.ReplaceAll(line, `"`, ""), " ")
			all[name] = append(all[name], strings.Trim(zero.ReplaceAllString(line, ""), ") "))
		}
		slices.Sort(all[name])
	}
	return all
}

func TestExtended(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	sqlstoretest.CheckExtended(t, func(schema *records.Schema) records.Store { return openWith(t, path, schema) })
}

// TestStatements: the statements are the same each time, there are none for a database that has
// all, and a column that does not fit is named.
func TestStatements(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	path := filepath.Join(t.TempDir(), "inventory.db")
	schema, d := sqlstoretest.Extended(t), sqlite.Dialect()
	first, err := d.Statements(schema, &sqlstore.Catalog{})
	require.NoError(t, err)
	again, err := d.Statements(sqlstoretest.Extended(t), &sqlstore.Catalog{})
	require.NoError(t, err)
	require.Equal(t, first, again)
	db := raw(t, path)
	_, err = db.ExecContext(t.Context(), "BEGIN; "+strings.Join(first, ";\n")+"; COMMIT")
	require.NoError(t, err)
	have, err := d.Catalog(t.Context(), db, schema)
	require.NoError(t, err)
	none, err := d.Statements(schema, have)
	require.NoError(t, err)
	require.Empty(t, none)

	at := slices.IndexFunc(first, func(text string) bool { return strings.HasPrefix(text, "CREATE INDEX devices_units_") })
	index, _, _ := strings.Cut(strings.TrimPrefix(first[at], "CREATE INDEX "), " ")
	for text, want := range map[string]string{
		"DROP INDEX " + index + "; ALTER TABLE devices DROP COLUMN units; ALTER TABLE devices ADD COLUMN units TEXT": "the column units of the table devices has the type TEXT, and the field needs INTEGER",
		"ALTER TABLE devices DROP COLUMN owners; ALTER TABLE devices ADD COLUMN owners TEXT":                         "the column owners of the table devices may be null",
	} {
		other := filepath.Join(t.TempDir(), "other.db")
		openWith(t, other, schema)
		_, err := raw(t, other).ExecContext(t.Context(), text)
		require.NoError(t, err)
		_, err = sqlite.Open(t.Context(), other, schema, nil)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, other)
	}
}

// TestExtendersAtOnce: processes that start at the same time with a new field take turns.
func TestExtendersAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	open(t, path)
	schema := sqlstoretest.Extended(t)
	errs := make([]error, 4)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			store, err := sqlite.Open(t.Context(), path, schema, &sqlite.Options{BusyTimeout: time.Minute})
			if err == nil {
				err = errors.Join(create(t, store, makeDevices(i, i+1)...), store.Close())
			}
			errs[i] = err
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
}
