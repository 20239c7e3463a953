package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
	"github.com/ashlar-go/ashlar/inventory/storetest"
)

// onEmpty runs a test on a database of each kind without any tables.
func onEmpty(t *testing.T, check func(t *testing.T, d *database)) {
	t.Helper()
	t.Parallel()
	for kind, address := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "program.db") },
		"postgres": func(t *testing.T) string { return server.Server(t).Database(t) },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			check(t, &database{kind, address(t)})
		})
	}
}

// handle opens the database as a program does that embeds the inventory.
func (d *database) handle(t testing.TB) *sql.DB {
	t.Helper()
	if d.kind == "postgres" {
		pool, err := pgxpool.New(t.Context(), d.address)
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		db := stdlib.OpenDBFromPool(pool)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return db
	}
	db, err := sql.Open("sqlite", d.address+"?_pragma=busy_timeout(60000)&_pragma=foreign_keys(1)&_pragma=journal_mode(wal)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// within opens a store in a namespace on a handle of the program.
func (d *database) within(t testing.TB, db *sql.DB, namespace string, schema *records.Schema) (*sqlstore.Store, error) {
	t.Helper()
	open := map[string]func(context.Context, *sql.DB, *records.Schema, *sqlstore.Options) (*sqlstore.Store, error){"sqlite": sqlite.New, "postgres": postgres.New}[d.kind]
	store, err := open(t.Context(), db, schema, &sqlstore.Options{Namespace: namespace, Timeout: 10 * time.Minute}) // the machine may be busy
	if err == nil {
		t.Cleanup(func() { require.NoError(t, store.Close()) })
	}
	return store, err
}

// migrateProgram runs the migrations of a program in the default table of goose, and returns how many have run.
func (d *database) migrateProgram(t testing.TB, db *sql.DB, tables ...string) int {
	t.Helper()
	files := fstest.MapFS{}
	for i, table := range tables {
		files[fmt.Sprintf("%05d_%s.sql", i+1, table)] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE " + table + " (name TEXT NOT NULL);\n")}
	}
	provider, err := goose.NewProvider(map[string]goose.Dialect{"sqlite": goose.DialectSQLite3, "postgres": goose.DialectPostgres}[d.kind], db, files)
	require.NoError(t, err)
	results, err := provider.Up(t.Context())
	require.NoError(t, err)
	return len(results)
}

// TestBesideGoose: a program that has its migrations in the default table of goose gets all its tables, and so does
// the inventory, whichever comes first.
func TestBesideGoose(t *testing.T) {
	scaletest.Unraced(t)
	onEmpty(t, func(t *testing.T, d *database) {
		for _, namespace := range []string{"", "inventory"} {
			tables := []string{"contracts", "customers", "invoices"}
			if namespace != "" {
				tables = append(tables, "users", "devices", "tallies", "audit_logs", "receipts")
			}
			for _, first := range []string{"program", "inventory"} {
				t.Run(first+" first "+namespace, func(t *testing.T) {
					d := *d
					if d.kind == "postgres" {
						d.address = server.Server(t).Database(t)
					} else {
						d.address = filepath.Join(t.TempDir(), "program.db")
					}
					db := d.handle(t)
					if first == "program" {
						require.Equal(t, len(tables), d.migrateProgram(t, db, tables...))
					}
					for range 2 {
						store, err := d.within(t, db, namespace, inventory.Schema())
						require.NoError(t, err)
						for _, rec := range sqlstoretest.Devices(1, 2) {
							if err := sqlstoretest.Create(t, store, rec); err != nil {
								require.Equal(t, records.Conflict, records.KindOf(err)) // the second time
							}
						}
					}
					if first == "inventory" {
						require.Equal(t, len(tables), d.migrateProgram(t, db, tables...))
					}
					require.Zero(t, d.migrateProgram(t, db, tables...))
					require.Len(t, rows(t, db, "SELECT version_id FROM goose_db_version WHERE version_id > 0"), len(tables))
				})
			}
		}
	})
}

// TestForeignTable: a table of the program is not taken for one of the inventory, and stays as it is.
func TestForeignTable(t *testing.T) {
	onEmpty(t, func(t *testing.T, d *database) {
		db := d.handle(t)
		d.migrateProgram(t, db, "users")
		_, err := d.within(t, db, "", inventory.Schema())
		require.ErrorContains(t, err, "users")
		require.ErrorContains(t, err, "Namespace")
		_, err = db.ExecContext(t.Context(), "INSERT INTO users VALUES ('jane')")
		require.NoError(t, err)
	})
}

// TestAdopted: the versions of an earlier inventory are adopted. Its table, the default one of goose, is deleted if
// nobody else uses the database.
func TestAdopted(t *testing.T) {
	scaletest.Unraced(t)
	t.Parallel()
	for _, file := range []string{"sqlite/testdata/schema-00001.db.gz", "postgres/testdata/schema-00001.sql"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			d := restored(t, file)
			db := d.handle(t)
			_, err := d.within(t, db, "", inventory.Schema())
			require.NoError(t, err)
			require.Len(t, versionsOf(t, db), len(inventory.Schema().Migrations()))
			require.Equal(t, 2, d.migrateProgram(t, db, "contracts", "customers"), "of a program that came later")

			d = restored(t, file)
			db = d.handle(t)
			d.execute(t, "CREATE TABLE contracts (name TEXT NOT NULL)")
			_, err = d.within(t, db, "", inventory.Schema())
			require.NoError(t, err)
			require.Len(t, versionsOf(t, db), len(inventory.Schema().Migrations()))
			require.Zero(t, d.migrateProgram(t, db, "contracts"), "of a program that came first")

			d = restored(t, file)
			db = d.handle(t)
			d.execute(t, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (20260101000000, true)")
			_, err = d.within(t, db, "", inventory.Schema())
			require.ErrorContains(t, err, "goose_db_version has version 20260101000000")
			require.ErrorContains(t, err, "create the table ashlar_inventory_versions")
		})
	}
}

// versionsOf returns the numbers of the migrations of a database.
func versionsOf(t *testing.T, db *sql.DB) []string {
	all := rows(t, db, "SELECT version FROM ashlar_inventory_versions")
	if slices.ContainsFunc(inventory.Schema().Migrations(), func(m records.Migration) bool { return m.Oldest > 0 }) {
		all = append(all, rows(t, db, "SELECT version FROM ashlar_inventory_additions")...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestNewerVersion: a database of a newer program is refused by the name of the table and the version.
func TestNewerVersion(t *testing.T) {
	onEmpty(t, func(t *testing.T, d *database) {
		db := d.handle(t)
		later, err := inventory.NewSchema(records.Migrations(records.Migration{Version: 100_000}))
		require.NoError(t, err)
		_, err = d.within(t, db, "inventory", later)
		require.NoError(t, err)
		_, err = d.within(t, db, "inventory", inventory.Schema())
		require.ErrorContains(t, err, "ashlar_inventory_versions has version 100000")
		require.ErrorContains(t, err, "use a newer program")
	})
}

// TestNamespace: in a namespace a store keeps the contract and creates nothing outside of it, and opening the database
// again changes nothing.
func TestNamespace(t *testing.T) {
	scaletest.Unraced(t)
	onEmpty(t, func(t *testing.T, d *database) {
		db, all, n := d.handle(t), "SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite%'", 0
		if d.kind == "postgres" {
			all = "SELECT n.nspname || '_' || c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname NOT LIKE 'pg%' AND n.nspname <> 'information_schema'"
		}
		if !testing.Short() {
			sqlstoretest.CheckContract(t, func(t testing.TB) records.Store {
				n++
				db := db
				if d.kind == "sqlite" { // which has one writer at a time
					db = (&database{d.kind, fmt.Sprint(d.address, n)}).handle(t)
				}
				store, err := d.within(t, db, fmt.Sprintf("inventory%d", n), storetest.Schema())
				require.NoError(t, err)
				return store
			})
		}
		store, err := d.within(t, db, "inventory", inventory.Schema())
		require.NoError(t, err)
		for _, rec := range upgradeRecords() {
			require.NoError(t, sqlstoretest.Create(t, store, rec))
		}
		checkUpgradedRecords(t, store)
		sqlstoretest.CheckTotals(t, store)
		for _, name := range rows(t, db, all) {
			require.True(t, strings.HasPrefix(name, "inventory"), name)
		}
		have, err := d.dialect().Catalog(t.Context(), db, store.Schema())
		require.NoError(t, err)
		statements, err := d.dialect().Statements(store.Schema(), have)
		require.NoError(t, err)
		require.Empty(t, statements)
	})
}

// TestNamespacesDoNotWait: changes of one namespace do not wait for those of another one of the same name.
func TestNamespacesDoNotWait(t *testing.T) {
	onEmpty(t, func(t *testing.T, d *database) {
		if d.kind == "sqlite" {
			t.Skip("it has one writer at a time")
		}
		db := d.handle(t)
		var stores []*sqlstore.Store
		for _, namespace := range []string{"east", "west"} {
			store, err := d.within(t, db, namespace, inventory.Schema())
			require.NoError(t, err)
			stores = append(stores, store)
		}
		require.NoError(t, stores[0].Change(t.Context(), func(tx records.Tx) error {
			if err := records.Serialize(t.Context(), tx, "users/1"); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			return stores[1].Change(ctx, func(tx records.Tx) error { return records.Serialize(ctx, tx, "users/1") })
		}))
	})
}

// TestNamespaceNames: the constructor checks the namespace.
func TestNamespaceNames(t *testing.T) {
	onEmpty(t, func(t *testing.T, d *database) {
		db := d.handle(t)
		for _, namespace := range []string{"Inventory", "a-b", "a.b", "1a", "a;b", "_a", "a_", "user", "pg_a", "sqlite", strings.Repeat("a", 41)} {
			if namespace == "pg_a" && d.kind == "sqlite" || namespace == "sqlite" && d.kind == "postgres" {
				continue
			}
			_, err := d.within(t, db, namespace, inventory.Schema())
			require.ErrorContains(t, err, "namespace", namespace)
		}
		longest := strings.Repeat("a", 40)
		for i := range 2 {
			store, err := d.within(t, db, longest, inventory.Schema())
			require.NoError(t, err)
			require.NoError(t, sqlstoretest.Create(t, store, sqlstoretest.Devices(i, i+1)...))
			sqlstoretest.CheckTotals(t, store)
		}
	})
}

// TestSQL: a hook writes a row of the program that is committed with the change of the inventory, or not at all.
func TestSQL(t *testing.T) {
	onEmpty(t, func(t *testing.T, d *database) {
		db := d.handle(t)
		d.migrateProgram(t, db, "notices")
		refuse := errors.New("refused")
		schema, err := inventory.NewSchema(records.OnChange("devices", func(ctx context.Context, tx records.Tx, _, after records.Record) error {
			own, err := sqlstore.SQL(tx)
			if err != nil {
				return err
			}
			name := after.(*inventory.Device).Hostname
			if _, err := own.ExecContext(ctx, "INSERT INTO notices VALUES ('"+name+"')"); err != nil {
				return err
			}
			if name == "refused" {
				return refuse
			}
			return nil
		}))
		require.NoError(t, err)
		store, err := d.within(t, db, "inventory", schema)
		require.NoError(t, err)
		v := records.New(store, nil)
		add := func(names ...string) error {
			var all []records.Record
			for _, name := range names {
				all = append(all, &inventory.Device{Hostname: name, IP: fmt.Sprintf("192.0.2.%d", len(name)*len(all)+int(name[0])), Model: "MX204", Vendor: "juniper", OS: "junos", Status: inventory.DeviceActive})
			}
			return v.Create(t.Context(), records.Caller{}, all...)
		}
		require.NoError(t, add("a"))
		require.ErrorIs(t, add("refused"), refuse)
		require.Error(t, add("b", "a"), "a duplicate, of which the hook does not know")
		require.Equal(t, []string{"a"}, rows(t, db, "SELECT name FROM notices"))
		_, err = db.ExecContext(t.Context(), "DROP TABLE notices")
		require.NoError(t, err)
		require.Error(t, add("c"))
		require.Equal(t, []string{"a"}, rows(t, db, "SELECT hostname FROM "+store.Schema().TablePrefix()+"devices"))
	})
	_, err := sqlstore.SQL(nil)
	require.Error(t, err)
}

// TestWriters: several connections of a handle write at the same time, and so does the program.
func TestWriters(t *testing.T) {
	onEmpty(t, func(t *testing.T, d *database) {
		db := d.handle(t)
		d.migrateProgram(t, db, "notices")
		store, err := d.within(t, db, "inventory", inventory.Schema())
		require.NoError(t, err)
		var all errgroup.Group
		for i := range 4 {
			all.Go(func() error {
				for j := range 20 {
					if err := sqlstoretest.Create(t, store, sqlstoretest.Devices(100*i+j, 100*i+j+1)...); err != nil {
						return err
					}
					if _, err := db.ExecContext(t.Context(), "INSERT INTO notices VALUES ('x')"); err != nil {
						return err
					}
				}
				return nil
			})
		}
		require.NoError(t, all.Wait())
		sqlstoretest.CheckTotals(t, store)
	})
}

// TestHandles: what a store needs of a handle is checked, and the handle stays open.
func TestHandles(t *testing.T) {
	scaletest.Unraced(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "program.db")
	for want, name := range map[string]string{
		"foreign keys": path + "?_pragma=busy_timeout(5000)",
		"for locks":    path + "?_pragma=foreign_keys(1)",
		"in memory":    ":memory:?_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)",
	} {
		db, err := sql.Open("sqlite", name)
		require.NoError(t, err)
		if want != "in memory" { // this sets it for one connection
			_, err = db.ExecContext(t.Context(), "PRAGMA foreign_keys = 1; PRAGMA busy_timeout = 5000")
			require.NoError(t, err)
		}
		_, err = sqlite.New(t.Context(), db, inventory.Schema(), nil)
		require.ErrorContains(t, err, want)
		require.NoError(t, db.Close())
	}
	pg := (&database{"postgres", server.Server(t).Database(t)}).handle(t)
	_, err := sqlite.New(t.Context(), pg, inventory.Schema(), nil)
	require.ErrorContains(t, err, "modernc.org/sqlite")
	d := newSQLite(t)
	db := d.handle(t)
	_, err = postgres.New(t.Context(), db, inventory.Schema(), nil)
	require.ErrorContains(t, err, "pgx")
	unset := (&database{"postgres", server.Server(t).Database(t) + "&search_path=nothing"}).handle(t)
	_, err = postgres.New(t.Context(), unset, inventory.Schema(), nil)
	require.ErrorContains(t, err, "search_path")
	for _, open := range []func(context.Context, *sql.DB, *records.Schema, *sqlstore.Options) (*sqlstore.Store, error){sqlite.New, postgres.New} {
		_, err = open(t.Context(), nil, inventory.Schema(), nil)
		require.ErrorContains(t, err, "nil")
	}
	_, err = sqlite.New(t.Context(), db, nil, nil)
	require.ErrorContains(t, err, "schema")
	store, err := sqlite.New(t.Context(), db, inventory.Schema(), nil)
	require.NoError(t, err)
	require.NoError(t, store.Ping(t.Context()))
	require.NoError(t, store.Close())
	require.NoError(t, db.PingContext(t.Context()))
}

// TestOpenersOfHandles: processes that open one new database at the same time, each on a handle of its own, all get a store.
func TestOpenersOfHandles(t *testing.T) {
	onEmpty(t, func(t *testing.T, d *database) {
		var all errgroup.Group
		for range 4 {
			db := d.handle(t)
			all.Go(func() error {
				_, err := d.within(t, db, "inventory", inventory.Schema())
				return err
			})
		}
		require.NoError(t, all.Wait())
	})
}
