package sqlstore_test

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

var update = flag.Bool("update", false, "write the database of the newest schema, if it is missing")

// TestUpgrade opens a database of each earlier schema, as programs of that time left it, and
// requires that its records are unchanged and that its tables are those of a new one. -update writes the file of the
// newest schema if it is missing; the schema before a migration that moves data needs one. An existing file is never
// written again, or it would prove nothing.
func TestUpgrade(t *testing.T) {
	scaletest.Unraced(t)
	t.Parallel()
	for kind, format := range map[string]string{"sqlite": "schema-%05d.db.gz", "postgres": "schema-%05d.sql"} {
		file := func(version int64) string { return filepath.Join(kind, "testdata", fmt.Sprintf(format, version)) }
		all := inventory.Schema().Migrations()
		newest := file(all[len(all)-1].Version)
		if _, err := os.Stat(newest); os.IsNotExist(err) && *update {
			map[string]func(*testing.T, string){"sqlite": leaveSQLite, "postgres": leavePostgres}[kind](t, newest)
		}
		for i, m := range all[1:] {
			if m.Statements != nil {
				require.FileExists(t, file(all[i].Version), "go test ./inventory/sqlstore -run TestUpgrade -update writes it, without migration %d", m.Version)
			}
		}
		for i, m := range all {
			file := file(m.Version)
			if _, err := os.Stat(file); err != nil || kind == "postgres" && testing.Short() && i%3 != 0 {
				continue
			}
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				checkUpgraded(t, restored(t, file))
			})
		}
	}
}

// restored returns a database with the content of a file in testdata.
func restored(t *testing.T, file string) *database {
	t.Helper()
	if strings.HasSuffix(file, ".db.gz") {
		d := &database{"sqlite", filepath.Join(t.TempDir(), "inventory.db")}
		unpack(t, file, d.address)
		return d
	}
	d := &database{"postgres", server.Server(t).Database(t)}
	dump, err := os.ReadFile(file)
	require.NoError(t, err)
	_, err = d.raw(t).ExecContext(t.Context(), string(dump))
	require.NoError(t, err)
	return d
}

// checkUpgraded opens the database twice, as the second time there is nothing to migrate.
func checkUpgraded(t *testing.T, d *database) {
	for range 2 {
		store, err := d.openPlain(t, inventory.Schema())
		require.NoError(t, err)
		checkUpgradeRecords(t, store)
		require.NoError(t, store.Close())
	}
	if d.kind == "sqlite" {
		require.Equal(t, []string{"ok"}, rows(t, d.raw(t), "PRAGMA integrity_check"))
		require.Empty(t, rows(t, d.raw(t), `SELECT "table" FROM pragma_foreign_key_check`))
		want, have := sqliteDefinitions(t, newSQLite(t).address), sqliteDefinitions(t, d.address)
		require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(have)))
		for name := range want {
			left := func(line string) bool { return name == "users" && strings.HasPrefix(line, "reset_password ") } // of versions in between
			require.Equal(t, want[name], slices.DeleteFunc(have[name], left), name)
		}
	} else {
		_, err := d.raw(t).ExecContext(t.Context(), "CREATE SCHEMA created")
		require.NoError(t, err)
		(&database{"postgres", d.address + "&search_path=created"}).open(t)
		require.Equal(t, postgresDefinitions(t, d.address, "created"), postgresDefinitions(t, d.address, "public"))
	}
	store := d.open(t)
	checkUpgradedRecords(t, store)
	sqlstoretest.CheckTotals(t, store)
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

// TestUpgradeBesideOthers: a connection that has read the old schema uses the new one.
func TestUpgradeBesideOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	unpack(t, filepath.Join("sqlite", "testdata", "schema-00001.db.gz"), path)
	db := (&database{"sqlite", path}).raw(t)
	const change = "UPDATE locations SET city = ''"
	_, err := db.ExecContext(t.Context(), change)
	require.Error(t, err)
	store, err := sqlite.Open(t.Context(), path, inventory.Schema(), nil)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), change)
	require.NoError(t, err)
	require.NoError(t, store.Close())
}

// TestUpgradeProgress: an upgrade that takes long, here because of a lock, logs what it does.
func TestUpgradeProgress(t *testing.T) {
	t.Parallel()
	address := server.Server(t).Database(t)
	dump, err := os.ReadFile(filepath.Join("postgres", "testdata", "schema-00001.sql"))
	require.NoError(t, err)
	db := (&database{"postgres", address}).raw(t)
	_, err = db.ExecContext(t.Context(), string(dump))
	require.NoError(t, err)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "LOCK TABLE public.devices IN ROW EXCLUSIVE MODE")
	require.NoError(t, err)
	logs := make(chan string, 100)
	opened := make(chan error, 1)
	go func() {
		store, err := postgres.Open(t.Context(), address, inventory.Schema(), &postgres.Options{
			Store: &sqlstore.Options{Log: slog.New(slog.NewTextHandler(lines(logs), nil))},
		})
		if err == nil {
			err = store.Close()
		}
		opened <- err
	}()
	for line := ""; !strings.Contains(line, "the database is being upgraded"); { // it also says that it begins again
		select {
		case line = <-logs:
		case err := <-opened:
			require.FailNow(t, "it did not wait", "%v", err)
		case <-time.After(time.Minute):
			require.FailNow(t, "nothing is logged")
		}
	}
	require.NoError(t, tx.Rollback())
	require.NoError(t, <-opened)
	last := ""
	for len(logs) > 0 {
		last = <-logs
	}
	require.Contains(t, last, "the upgrade of the database has ended")
}

// TestUpgradeLocksOneTable: while the change of an index waits for a table, no other table is locked: transactions that
// use the two in the other order would wait for it.
func TestUpgradeLocksOneTable(t *testing.T) {
	t.Parallel()
	address := server.Server(t).Database(t)
	open := func() error {
		store, err := postgres.Open(t.Context(), address, inventory.Schema(), nil)
		if err == nil {
			err = store.Close()
		}
		return err
	}
	require.NoError(t, open())
	db := (&database{"postgres", address}).raw(t)
	_, err := db.ExecContext(t.Context(), "CREATE INDEX locations_city_0badcafe_idx ON locations (city); CREATE INDEX users_role_0badcafe_idx ON users (role)")
	require.NoError(t, err)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "LOCK TABLE users IN ROW EXCLUSIVE MODE")
	require.NoError(t, err)
	const locked = "SELECT relation::regclass::text FROM pg_locks JOIN pg_database AS d ON d.oid = database WHERE datname = current_database() AND mode = 'AccessExclusiveLock' AND "
	opened := make(chan error, 1)
	go func() { opened <- open() }()
	require.Eventually(t, func() bool {
		return slices.Equal(rows(t, db, locked+"NOT granted"), []string{"users"})
	}, time.Minute, 10*time.Millisecond)
	require.Empty(t, rows(t, db, locked+"granted"))
	require.NoError(t, tx.Commit())
	require.NoError(t, <-opened)
	require.Empty(t, rows(t, db, "SELECT indexname FROM pg_indexes WHERE indexname LIKE '%0badcafe%'"))
}

// lines sends each write.
type lines chan<- string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// sqliteDefinitions returns the lines of the statements that made the tables and indexes of a file.
func sqliteDefinitions(t *testing.T, path string) map[string][]string {
	all := map[string][]string{}
	blanks, added := regexp.MustCompile(`\s+`), regexp.MustCompile(`, (\w+ (?:TEXT|INTEGER|REAL)\b)`)
	zero := regexp.MustCompile(` DEFAULT (?:''|'\[\]'|0)`)
	db := (&database{"sqlite", path}).raw(t)
	for _, name := range rows(t, db, "SELECT name FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'sqlite_sequence'") {
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

// postgresDefinitions returns the columns, constraints and indexes in a schema of a database, in order.
func postgresDefinitions(t *testing.T, url, schema string) []string {
	added := regexp.MustCompile(` NO (''::text|'\[\]'::jsonb|false|'?0'?(::bigint)?)$`) // a column that was added later
	all := rows(t, (&database{"postgres", url}).raw(t), `SELECT table_name || '.' || concat_ws(' ', column_name, data_type, collation_name, is_nullable, column_default)
			FROM information_schema.columns WHERE table_schema = $1
		UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
			WHERE connamespace = $1::regnamespace AND contype IN ('c', 'f', 'p')
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = $1`, schema)
	for i, line := range all {
		all[i] = added.ReplaceAllString(strings.ReplaceAll(line, schema+".", ""), " NO")
	}
	slices.Sort(all)
	return all
}

// leaveSQLite writes a database with the records of upgrades, as this program does.
func leaveSQLite(t *testing.T, file string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "inventory.db")
	store, err := sqlite.Open(t.Context(), path, inventory.Schema(), nil)
	require.NoError(t, err)
	for _, rec := range upgradeRecords() {
		require.NoError(t, sqlstoretest.Create(t, store, rec))
	}
	require.NoError(t, store.Close())
	small := path + ".small"
	require.NoError(t, sqlite.Backup(t.Context(), path, small))
	data, err := os.ReadFile(small)
	require.NoError(t, err)
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, packed.Bytes(), 0o644))
}

func unpack(t *testing.T, file, path string) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	r, err := gzip.NewReader(f)
	require.NoError(t, err)
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

// leavePostgres dumps a database with the records of upgrades, as this program does.
func leavePostgres(t *testing.T, file string) {
	t.Helper()
	address := server.Server(t).Database(t)
	store, err := postgres.Open(t.Context(), address, inventory.Schema(), nil)
	require.NoError(t, err)
	for _, rec := range upgradeRecords() {
		require.NoError(t, sqlstoretest.Create(t, store, rec))
	}
	require.NoError(t, store.Close())
	at, err := url.Parse(address)
	require.NoError(t, err)
	query := at.Query()
	query.Set("options", "-c TimeZone=UTC")
	at.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	dump, err := exec.CommandContext(t.Context(), "pg_dump", "--column-inserts", "--no-owner", "--no-privileges",
		"--no-table-access-method", "--no-toast-compression", at.String()).Output()
	require.NoError(t, err, "pg_dump of the version of the server")
	text := "-- Written by pg_dump for TestUpgrade -update, without what depends on the version of the\n" +
		"-- server. This file must not change.\n" + essential(string(dump))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}

// essential returns a dump without comments and without settings, which differ between
// versions. It escapes a carriage return in a string, because tools change the ends of lines.
func essential(dump string) string {
	var text strings.Builder
	within := false // a string that began on an earlier line
	for line := range strings.Lines(dump) {
		blank := strings.TrimSpace(line) == ""
		for _, dropped := range []string{"--", `\`, "SET ", "SELECT pg_catalog.set_config("} {
			blank = blank || strings.HasPrefix(line, dropped)
		}
		if within || !blank {
			text.WriteString(strings.ReplaceAll(line, "\r", "' || chr(13) || '"))
		}
		within = within != (strings.Count(line, "'")%2 == 1)
	}
	return text.String()
}
