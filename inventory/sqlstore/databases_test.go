package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// server is the PostgreSQL server of all tests.
var server postgrestest.Shared

func TestMain(m *testing.M) {
	for variable, run := range map[string]func(string) error{
		crashing: writeUntilKilled, declaring: declareUntilKilled, pruning: pruneUntilKilled, filling: fillUntilKilled, summarizing: summarizeUntilKilled,
	} {
		if address := os.Getenv(variable); address != "" {
			if err := run(address); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0) // it was not killed
		}
	}
	goleak.VerifyTestMain(server.Main(m))
}

// database is an empty database with the tables of the inventory.
type database struct {
	kind    string // "sqlite" or "postgres"
	address string // a file or a URL
}

// emptyFile returns the file of an empty database. To create one takes longer than most tests.
var emptyFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sqlstore")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "inventory.db")
	store, err := sqlite.Open(context.Background(), path, inventory.Schema(), nil)
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func newSQLite(t testing.TB) *database {
	t.Helper()
	file, err := emptyFile()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "inventory.db")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	return &database{"sqlite", path}
}

func newPostgres(t testing.TB) *database {
	t.Helper()
	return &database{"postgres", server.Filled(t, func(url string) error {
		store, err := postgres.Open(context.Background(), url, inventory.Schema(), nil)
		if err != nil {
			return err
		}
		return store.Close()
	})}
}

// onBoth runs a test on an empty database of each kind.
func onBoth(t *testing.T, check func(t *testing.T, d *database)) {
	t.Helper()
	t.Parallel()
	for kind, create := range map[string]func(testing.TB) *database{"sqlite": newSQLite, "postgres": newPostgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			check(t, create(t))
		})
	}
}

// openSchema opens a store with a schema until the end of the test, if it can be opened.
func (d *database) openSchema(t testing.TB, schema *records.Schema) (records.Store, error) {
	t.Helper()
	store, err := d.openPlain(t, schema)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		// The connection of a canceled call is released shortly after the call has returned.
		require.Eventually(t, func() bool {
			writer, reader := store.Stats()
			return writer.InUse+reader.InUse == 0
		}, 10*time.Second, time.Millisecond, "connections in use")
		require.NoError(t, store.Close())
	})
	return store, nil
}

// openPlain opens a store that the caller closes.
func (d *database) openPlain(t testing.TB, schema *records.Schema) (*sqlstore.Store, error) {
	opts := &sqlstore.Options{Timeout: 10 * time.Minute} // the machine may be busy
	if d.kind == "sqlite" {
		return sqlite.Open(t.Context(), d.address, schema, &sqlite.Options{BusyTimeout: time.Minute, Store: opts})
	}
	return postgres.Open(t.Context(), d.address, schema, &postgres.Options{Store: opts})
}

// dialect returns the dialect of the database.
func (d *database) dialect() *sqlstore.Dialect {
	dialect := sqlite.Dialect()
	if d.kind == "postgres" {
		dialect = postgres.Dialect()
	}
	return &dialect
}

// open opens a store until the end of the test.
func (d *database) open(t testing.TB) records.Store {
	t.Helper()
	store, err := d.openSchema(t, inventory.Schema())
	require.NoError(t, err)
	return store
}

// raw opens the database without the store.
func (d *database) raw(t testing.TB) *sql.DB {
	t.Helper()
	driver, address := "sqlite", d.address+"?_pragma=busy_timeout(5000)"
	if d.kind == "postgres" {
		driver, address = "pgx", d.address
	}
	db, err := sql.Open(driver, address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// longOnBoth is onBoth for a test with many thousands of records: without the race detector, and with -short on
// SQLite only.
func longOnBoth(t *testing.T, check func(t *testing.T, d *database)) {
	t.Helper()
	scaletest.Unraced(t)
	onBoth(t, func(t *testing.T, d *database) {
		if d.kind == "postgres" && testing.Short() {
			t.Skip("SQLite runs the same check")
		}
		check(t, d)
	})
}

func TestCounts(t *testing.T) {
	scaletest.Unraced(t)
	onBoth(t, func(t *testing.T, d *database) {
		checkCounts(t, d.open(t), 4, scaled(60))
		if d.kind == "postgres" {
			var slots int
			require.NoError(t, d.raw(t).QueryRowContext(t.Context(), "SELECT count(DISTINCT slot) FROM tallies WHERE resource = 'devices' AND field = ''").Scan(&slots))
			require.Greater(t, slots, 1, "all transactions wrote the same rows")
		}
	})
}

// TestFewStatements: statements are reused, and closed when there are too many, also while
// others run them.
func TestFewStatements(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), newSQLite(t).address, inventory.Schema(), &sqlite.Options{Store: &sqlstore.Options{Statements: 2}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	checkCounts(t, store, 4, scaled(15))
}

func TestLatest(t *testing.T) {
	onBoth(t, func(t *testing.T, d *database) { checkLatest(t, d.open(t)) })
}

func TestLatestOfMany(t *testing.T) {
	onBoth(t, func(t *testing.T, d *database) { checkLatestOfMany(t, d.open(t)) })
}

func TestUniqueHostnames(t *testing.T) {
	onBoth(t, func(t *testing.T, d *database) {
		checkUniqueHostnames(t, func(schema *records.Schema) (records.Store, error) { return d.openSchema(t, schema) })
	})
}

func TestPrefetch(t *testing.T) {
	onBoth(t, func(t *testing.T, d *database) { checkPrefetch(t, d.open(t)) })
}

func TestLists(t *testing.T) {
	scaletest.Unraced(t)
	longOnBoth(t, func(t *testing.T, d *database) { checkLists(t, d.open(t)) })
}

func TestSearch(t *testing.T) {
	onBoth(t, func(t *testing.T, d *database) { checkSearch(t, d.open(t)) })
}

// TestPairs is for SQLite, which finds pairs of characters in its index.
func TestPairs(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	checkPairs(t, newSQLite(t).open(t))
}

func TestEstimates(t *testing.T) {
	longOnBoth(t, func(t *testing.T, d *database) { checkEstimates(t, d.open(t)) })
}

func TestPlacedEstimates(t *testing.T) {
	longOnBoth(t, func(t *testing.T, d *database) { checkPlacedEstimates(t, d.open(t)) })
}

func TestRemembered(t *testing.T) {
	onBoth(t, func(t *testing.T, d *database) { checkRemembered(t, d.open(t), d.open(t)) })
}

func TestRememberedAudit(t *testing.T) {
	scaletest.Unraced(t)
	onBoth(t, func(t *testing.T, d *database) {
		checkRememberedAudit(t, d.open(t), d.open(t), func(text string) {
			_, err := d.raw(t).ExecContext(t.Context(), text)
			require.NoError(t, err)
		})
	})
}

func TestCustomFields(t *testing.T) {
	checkCustomFields(t, records.NewMemStore(inventory.Schema()), nil)
	onBoth(t, func(t *testing.T, d *database) {
		checkCustomFields(t, d.open(t), func() records.Store { return d.open(t) })
	})
}

// TestCables: processes that share a database respect each other's ports and cables.
func TestCables(t *testing.T) {
	onBoth(t, func(t *testing.T, d *database) { checkCables(t, [2]records.Store{d.open(t), d.open(t)}) })
}

func TestAddresses(t *testing.T) {
	scaletest.Unraced(t)
	onBoth(t, func(t *testing.T, d *database) { checkAddresses(t, [2]records.Store{d.open(t), d.open(t)}) })
}

// Pruning is checked for the store in memory too.

func TestPrune(t *testing.T) {
	scaletest.Unraced(t)
	checkPrune(t, records.NewMemStore(inventory.Schema()), 4000)
	onBoth(t, func(t *testing.T, d *database) { checkPrune(t, d.open(t), 4000*scaled(5)) })
}

func TestPruneKilled(t *testing.T) {
	onBoth(t, func(t *testing.T, d *database) { checkPruneKilled(t, d.open(t)) })
}

func TestPruneLatest(t *testing.T) {
	checkPruneLatest(t, records.NewMemStore(inventory.Schema()))
	onBoth(t, func(t *testing.T, d *database) { checkPruneLatest(t, d.open(t)) })
}

func TestPruneAudit(t *testing.T) {
	scaletest.Unraced(t)
	checkPruneAudit(t, records.NewMemStore(inventory.Schema()))
	onBoth(t, func(t *testing.T, d *database) { checkPruneAudit(t, d.open(t)) })
}

// scaled returns a number of rounds, a quarter of it with -short.
func scaled(n int) int {
	if testing.Short() {
		return max(1, n/4)
	}
	return n
}

// count returns the number of records of a type, which may be filtered.
func count[T any](t testing.TB, store records.Reader, where ...any) int64 {
	t.Helper()
	q := &records.Query{Resource: records.Of[T](store.Schema()), Limit: 1, Count: true}
	for i := 0; i < len(where); i += 2 {
		q.Where(where[i].(string), where[i+1])
	}
	page, err := store.List(t.Context(), q)
	require.NoError(t, err)
	return page.Total
}
