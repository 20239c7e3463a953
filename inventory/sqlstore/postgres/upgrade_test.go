package postgres_test

import (
	"flag"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
)

var update = flag.Bool("update", false, "write the dump of the newest schema, if it is missing")

// TestUpgrade opens a database of each earlier schema, as programs of that time left it, and
// requires that its records are unchanged and that its tables are those of a new one. -update writes the file of the
// newest schema if it is missing; the schema before a migration that moves data needs one. An existing file is never
// written again, or it would prove nothing.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	server := shared.Server(t)
	file := func(version int64) string { return filepath.Join("testdata", fmt.Sprintf("schema-%05d.sql", version)) }
	all := inventory.Schema().Migrations()
	newest := file(all[len(all)-1].Version)
	if _, err := os.Stat(newest); os.IsNotExist(err) && *update {
		leave(t, server.Database(t), newest)
	}
	for i, m := range all[1:] {
		if m.Statements != nil {
			require.FileExists(t, file(all[i].Version), "go test ./inventory/sqlstore/postgres -run TestUpgrade -update writes it, without migration %d", m.Version)
		}
	}
	files, err := filepath.Glob("testdata/schema-*.sql")
	require.NoError(t, err)
	for i, file := range files {
		if testing.Short() && i%3 != 0 {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			address := server.Database(t)
			dump, err := os.ReadFile(file)
			require.NoError(t, err)
			_, err = raw(t, address).ExecContext(t.Context(), string(dump))
			require.NoError(t, err)
			checkUpgraded(t, address)
		})
	}
}

// TestUpgradeProgress: an upgrade that takes long, here because of a lock, logs what it does.
func TestUpgradeProgress(t *testing.T) {
	t.Parallel()
	address := shared.Server(t).Database(t)
	dump, err := os.ReadFile(filepath.Join("testdata", "schema-00001.sql"))
	require.NoError(t, err)
	db := raw(t, address)
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
	select {
	case line := <-logs:
		require.Contains(t, line, "the database is being upgraded")
	case err := <-opened:
		require.FailNow(t, "it did not wait", "%v", err)
	case <-time.After(time.Minute):
		require.FailNow(t, "nothing is logged")
	}
	require.NoError(t, tx.Rollback())
	require.NoError(t, <-opened)
	last := ""
	for len(logs) > 0 {
		last = <-logs
	}
	require.Contains(t, last, "the upgrade of the database has ended")
}

// lines sends each write.
type lines chan<- string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// checkUpgraded opens the database twice, as the second time there is nothing to migrate.
func checkUpgraded(t *testing.T, address string) {
	t.Helper()
	for range 2 {
		store, err := postgres.Open(t.Context(), address, inventory.Schema(), nil)
		require.NoError(t, err)
		sqlstoretest.CheckUpgradeRecords(t, store)
		require.NoError(t, store.Close())
	}
	checkSchema(t, address)
	_, err := raw(t, address).ExecContext(t.Context(), "CREATE SCHEMA created")
	require.NoError(t, err)
	openSchema(t, address+"&search_path=created", inventory.Schema(), nil)
	require.Equal(t, definitions(t, address, "created"), definitions(t, address, "public"))
	store := open(t, address, nil)
	sqlstoretest.CheckUpgraded(t, store)
	sqlstoretest.CheckTotals(t, store)
}

// leave dumps a database with the records of upgrades, as this program does.
func leave(t *testing.T, address, file string) {
	t.Helper()
	store, err := postgres.Open(t.Context(), address, inventory.Schema(), nil)
	require.NoError(t, err)
	for _, rec := range sqlstoretest.UpgradeRecords() {
		require.NoError(t, create(t, store, rec))
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
