package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
	"github.com/ashlar-go/ashlar/inventory/storetest"
)

// shared is the server of tests that do not stop it.
var shared postgrestest.Shared

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(shared.Main(m))
}

// open opens a store until the end of the test, when no connection may be in use.
func open(t testing.TB, url string, opts *postgres.Options) *sqlstore.Store {
	t.Helper()
	return openSchema(t, url, inventory.Schema(), opts)
}

// openSchema opens a store with a schema until the end of the test.
func openSchema(t testing.TB, url string, schema *records.Schema, opts *postgres.Options) *sqlstore.Store {
	t.Helper()
	o := postgres.Options{}
	if opts != nil {
		o = *opts
	}
	if o.Store == nil {
		o.Store = &sqlstore.Options{Timeout: 10 * time.Minute} // the machine may be busy
	}
	store, err := postgres.Open(t.Context(), url, schema, &o)
	require.NoError(t, err)
	t.Cleanup(func() {
		// The connection of a canceled call is released shortly after the call has returned.
		require.Eventually(t, func() bool {
			writer, reader := store.Stats()
			return writer.InUse+reader.InUse == 0
		}, 10*time.Second, time.Millisecond, "connections in use")
		require.NoError(t, store.Close())
	})
	return store
}

// migrated returns the URL of a database without records.
func migrated(t testing.TB) (url string) {
	t.Helper()
	return shared.Filled(t, func(url string) error {
		store, err := postgres.Open(context.Background(), url, inventory.Schema(), nil)
		if err != nil {
			return err
		}
		return store.Close()
	})
}

// TestServer has the tests that share a running server. Each has its own database.
func TestServer(t *testing.T) {
	t.Parallel()
	server := shared.Server(t)
	t.Run("contract", func(t *testing.T) {
		t.Parallel()
		empty := server.Database(t) // to migrate a new one takes longer than most tests
		store, err := postgres.Open(t.Context(), empty, storetest.Schema(), nil)
		require.NoError(t, err)
		require.NoError(t, store.Close())
		sqlstoretest.CheckContract(t, func(t testing.TB) records.Store { return openSchema(t, server.Copy(t, empty), storetest.Schema(), nil) })
	})
	for name, check := range map[string]func(*testing.T, string){
		"schema": checkSchema, "later migration": checkLaterMigration, "openers at once": checkOpeners,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, server.Database(t))
		})
	}
	for name, check := range map[string]func(*testing.T, string){
		"plans": checkPlans, "plans of an import": checkImportPlans, "canceled": checkCanceled, "checks": checkChecks, "timeout": checkTimeout, "errors": checkErrors, "deadlocks": checkDeadlocks, "failing bulk calls": checkFailingBulk,
		"replica": checkReplica, "backup": checkBackup,
		"verify audit": checkVerifyAudit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, migrated(t))
		})
	}
}

// checkImportPlans: a large change looks up keys with plans for these keys, not with those that were made while the table
// was empty, and the database knows the new records when it is done.
func checkImportPlans(t *testing.T, url string) {
	store := open(t, url, nil)
	devices := records.Of[inventory.Device](inventory.Schema())
	hostname, _ := devices.Field("hostname")
	var values []any
	for n := range 100 {
		values = append(values, fmt.Sprint("sw-", n))
	}
	hostnames := records.Filter{Field: hostname, Op: records.In, Value: values}
	require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error {
		for n := range 10 {
			if _, err := tx.List(t.Context(), &records.Query{Resource: devices, Filters: []records.Filter{hostnames}, Limit: 1001}); err != nil {
				return err
			}
			if err := tx.Create(t.Context(), makeDevices(n*1000, (n+1)*1000)...); err != nil {
				return err
			}
		}
		raw, err := sqlstore.SQL(tx)
		require.NoError(t, err)
		var generic string
		require.NoError(t, raw.QueryRowContext(t.Context(), `SELECT coalesce(string_agg(statement, chr(10)), $$$$) FROM pg_prepared_statements WHERE generic_plans > 0 AND statement LIKE $$%FROM devices WHERE%$$ AND statement NOT LIKE $$%pg_prepared%$$`).Scan(&generic))
		require.Empty(t, generic, "lookups with a plan for all values")
		return nil
	}))
	var known int
	require.NoError(t, raw(t, url).QueryRowContext(t.Context(), "SELECT reltuples FROM pg_class WHERE relname = 'devices'").Scan(&known))
	require.Equal(t, 10_000, known)
}

// checkVerifyAudit: an entry that is added beside the chain is found.
func checkVerifyAudit(t *testing.T, url string) {
	store := open(t, url, nil)
	require.NoError(t, records.New(store, nil).Create(t.Context(), records.Caller{Name: "jane"}, makeDevices(0, 10)...))
	_, err := records.VerifyAudit(t.Context(), store, nil)
	require.NoError(t, err)
	_, err = raw(t, url).ExecContext(t.Context(), `CREATE TABLE added AS SELECT * FROM audit_logs LIMIT 1;
		UPDATE added SET id = 'ffffffff-0000-7000-8000-000000000000'; INSERT INTO audit_logs SELECT * FROM added`)
	require.NoError(t, err)
	_, err = records.VerifyAudit(t.Context(), store, nil)
	var defect *records.AuditDefect
	require.ErrorAs(t, err, &defect)
	require.Equal(t, "ffffffff-0000-7000-8000-000000000000", defect.ID)
}

// checkReplica: reads use the replica, except in transactions and with Fresh.
func checkReplica(t *testing.T, url string) {
	admin := raw(t, url)
	_, err := admin.ExecContext(t.Context(), "CREATE SCHEMA behind")
	require.NoError(t, err)
	behind := url + "&search_path=behind"
	replica := open(t, behind, nil)
	store := open(t, url, &postgres.Options{ReadURL: behind, MaxConns: 2})
	require.NoError(t, create(t, store, makeDevices(0, 1)...))
	devices := records.Of[inventory.Device](inventory.Schema())
	_, err = store.Get(t.Context(), devices, deviceID(0))
	require.Equal(t, records.NotFound, records.KindOf(err))
	_, err = store.Fresh().Get(t.Context(), devices, deviceID(0))
	require.NoError(t, err)
	_, err = replica.Fresh().Get(t.Context(), devices, deviceID(0))
	require.Equal(t, records.NotFound, records.KindOf(err), "a store without a replica")
	require.NoError(t, create(t, replica, makeDevices(0, 1)...))
	_, err = store.Get(t.Context(), devices, deviceID(0))
	require.NoError(t, err)
	require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error {
		_, err := tx.Get(t.Context(), devices, deviceID(0))
		return err
	}))
	require.NoError(t, store.Ping(t.Context()))
}

// with returns the schema with one more migration, as in a later version of the program.
func with(t testing.TB, text string) *records.Schema {
	t.Helper()
	schema, err := inventory.NewSchema(records.Migrations(records.Migration{Version: 90_000, Statements: map[string][]string{"": {text}}}))
	require.NoError(t, err)
	return schema
}

// checkLaterMigration: a database of an earlier version is migrated with its content, a failed
// migration changes nothing, and a database newer than the program is refused.
func checkLaterMigration(t *testing.T, url string) {
	first, err := postgres.Open(t.Context(), url, inventory.Schema(), nil)
	require.NoError(t, err)
	require.NoError(t, create(t, first, makeDevices(0, 3)...))
	require.NoError(t, first.Close())
	db := raw(t, url)

	_, err = sqlstore.New(t.Context(), db, db, postgres.Dialect(), with(t, "ALTER TABLE devices ADD COLUMN colour text; ALTER TABLE nothing ADD COLUMN x text;"), nil)
	require.ErrorContains(t, err, "nothing")
	require.NotContains(t, rows(t, db, "SELECT column_name FROM information_schema.columns WHERE table_name = 'devices'"), "colour")

	newer, err := sqlstore.New(t.Context(), db, db, postgres.Dialect(), with(t, "ALTER TABLE devices ADD COLUMN colour text;"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, newer.Close()) })
	page, err := newer.List(t.Context(), &records.Query{Resource: records.Of[inventory.Device](inventory.Schema()), Count: true})
	require.NoError(t, err)
	require.Len(t, page.Records, 3)

	_, err = postgres.Open(t.Context(), url, inventory.Schema(), nil)
	require.ErrorContains(t, err, "version 90000 of the schema, and this program supports")
}

// checkOpeners: several processes may start at the same time on a new database.
func checkOpeners(t *testing.T, url string) {
	errs := make([]error, 4)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			store, err := postgres.Open(t.Context(), url, inventory.Schema(), nil)
			if err == nil {
				err = errors.Join(create(t, store, makeDevices(i, i+1)...), store.Close())
			}
			errs[i] = err
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Equal(t, []string{"4"}, rows(t, raw(t, url), "SELECT count(*)::text FROM devices"))
}

// checkCanceled: a call ends with its context, and releases its connection.
func checkCanceled(t *testing.T, url string) {
	store := open(t, url, &postgres.Options{MaxConns: 2})
	require.NoError(t, create(t, store, makeDevices(0, 1)...))
	db := raw(t, url)
	holder, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = holder.ExecContext(t.Context(), "UPDATE devices SET notes = 'held'")
	require.NoError(t, err)
	changed := makeDevices(0, 1)[0].(*inventory.Device)
	changed.Version, changed.Notes = 2, "changed"
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = store.Change(short, func(tx records.Tx) error { return tx.Update(short, changed, 1) })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Zero(t, records.KindOf(err))
	require.NoError(t, holder.Rollback())
	require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error { return tx.Update(t.Context(), changed, 1) }))
	sqlstoretest.CheckTotals(t, store)
	require.Eventually(t, func() bool { writer, _ := store.Stats(); return writer.InUse == 0 }, 10*time.Second, time.Millisecond)
}

// checkChecks: the database refuses invalid records, whoever writes them.
func checkChecks(t *testing.T, url string) {
	require.NoError(t, create(t, open(t, url, nil), makeDevices(0, 1)...))
	db := raw(t, url)
	for _, change := range []string{
		"UPDATE devices SET status = 'lost'", "UPDATE devices SET version = 0", "UPDATE devices SET hostname = ''",
		"UPDATE devices SET hostname = NULL", "UPDATE devices SET location_id = 'nowhere'",
	} {
		_, err := db.ExecContext(t.Context(), change)
		require.Error(t, err, change)
	}
}

// checkErrors: the kinds of errors that the server reports.
func checkErrors(t *testing.T, url string) {
	db := raw(t, url)
	for state, kind := range map[string]records.ErrorKind{
		"disk_full": records.Full, "data_corrupted": records.Unavailable, "too_many_connections": records.Unavailable,
		"read_only_sql_transaction": records.Unavailable, "division_by_zero": 0,
	} {
		store := open(t, url, nil) // one whose disk was not full
		_, err := db.ExecContext(t.Context(), `CREATE OR REPLACE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN RAISE EXCEPTION USING ERRCODE = '`+state+`'; END $$`)
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), "CREATE OR REPLACE TRIGGER fails BEFORE INSERT ON devices EXECUTE FUNCTION fails()")
		require.NoError(t, err)
		err = create(t, store, makeDevices(0, 1)...)
		require.Error(t, err)
		require.Equal(t, kind, records.KindOf(err), "%s: %v", state, err)
		require.NoError(t, store.Ping(t.Context()))
		_, err = db.ExecContext(t.Context(), "DROP TRIGGER fails ON devices")
		require.NoError(t, err)
	}
}

// checkTimeout: a call that waits for a lock fails after the timeout, and a ping waits neither for
// the lock nor for the connections that do.
func checkTimeout(t *testing.T, url string) {
	patient := open(t, url, &postgres.Options{MaxConns: 1})
	hasty := open(t, url, &postgres.Options{Store: &sqlstore.Options{Timeout: 100 * time.Millisecond}})
	require.NoError(t, create(t, patient, makeDevices(0, 1)...))
	tx, err := raw(t, url).BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "LOCK TABLE devices IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	err = create(t, hasty, makeDevices(1, 2)...)
	require.Equal(t, records.Unavailable, records.KindOf(err), "%v", err)
	done := make(chan error, 1)
	go func() { done <- create(t, patient, makeDevices(1, 2)...) }()
	require.Eventually(t, func() bool { writer, _ := patient.Stats(); return writer.InUse == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, patient.Ping(t.Context()))
	require.NoError(t, tx.Rollback())
	require.NoError(t, <-done)
}

// checkDeadlocks: two processes that change the same records in opposite orders both succeed.
// The database aborts one transaction, which runs again.
func checkDeadlocks(t *testing.T, url string) {
	stores := []*sqlstore.Store{open(t, url, nil), open(t, url, nil)}
	require.NoError(t, create(t, stores[0], makeDevices(0, 2)...))
	var runs [2]int
	var both, group sync.WaitGroup
	both.Add(2)
	errs := make([]error, 2)
	for i, store := range stores {
		group.Go(func() {
			errs[i] = store.Change(t.Context(), func(tx records.Tx) error {
				runs[i]++
				for step, n := range []int{i, 1 - i} {
					if step == 1 && runs[i] == 1 {
						both.Done()
						both.Wait() // each has changed one
					}
					rec, err := tx.Get(t.Context(), records.Of[inventory.Device](inventory.Schema()), deviceID(n))
					if err != nil {
						return err
					}
					version := rec.Meta().Version
					rec.Meta().Version++
					// Stale is for what the other one has committed since it was read: the second of
					// the two, or, if this is the one that runs again, any of them.
					if err := tx.Update(t.Context(), rec, version); err != nil && records.KindOf(err) != records.Stale {
						return err
					}
				}
				return nil
			})
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	require.GreaterOrEqual(t, runs[0]+runs[1], 3, "one of them has to be run again")
	sqlstoretest.CheckTotals(t, stores[0])
}

func checkBackup(t *testing.T, url string) {
	require.ErrorContains(t, open(t, url, nil).Backup(t.Context(), "x"), "postgres.Backup")
}

// TestRestart: a database that is lost during a call is Unavailable, and the store works again
// when the database is back.
func TestRestart(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	store := open(t, server.Database(t), nil)
	require.NoError(t, create(t, store, makeDevices(0, 1)...))
	err := store.Change(t.Context(), func(tx records.Tx) error {
		require.NoError(t, tx.Create(t.Context(), makeDevices(1, 2)...))
		server.Kill()
		return tx.Create(t.Context(), makeDevices(2, 3)...)
	})
	require.Equal(t, records.Unavailable, records.KindOf(err), "%v", err)
	devices := records.Of[inventory.Device](inventory.Schema())
	_, err = store.Get(t.Context(), devices, deviceID(0))
	require.Equal(t, records.Unavailable, records.KindOf(err), "%v", err)
	_, err = store.List(t.Context(), &records.Query{Resource: devices})
	require.Equal(t, records.Unavailable, records.KindOf(err), "%v", err)
	require.Equal(t, records.Unavailable, records.KindOf(create(t, store, makeDevices(3, 4)...)))
	require.Equal(t, records.Unavailable, records.KindOf(store.Ping(t.Context())))
	server.Restart()
	require.Eventually(t, func() bool { return store.Ping(t.Context()) == nil }, time.Minute, 10*time.Millisecond)
	require.NoError(t, create(t, store, makeDevices(1, 2)...))
	sqlstoretest.CheckTotals(t, store)
	page, err := store.List(t.Context(), &records.Query{Resource: devices, Count: true})
	require.NoError(t, err)
	require.Len(t, page.Records, 2)
}

// TestOpenFails: the error for an invalid URL, or for a server that does not respond, does not
// contain the password.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://jane:hunter2@127.0.0.1:1/x?connect_timeout=2", "postgres://jane:hunter2@127.0.0.1:x/x", "nonsense hunter2"} {
		_, err := postgres.Open(t.Context(), url, inventory.Schema(), nil)
		require.Error(t, err, url)
		require.NotContains(t, err.Error(), "hunter2")
		require.Equal(t, strings.Contains(url, ":1/"), records.KindOf(err) == records.Unavailable, "%v", err)
	}
	_, err := postgres.Open(t.Context(), "postgres://127.0.0.1:1/x", inventory.Schema(), &postgres.Options{ReadURL: "postgres://127.0.0.1:x/x"})
	require.ErrorContains(t, err, "for reading")
}

// TestOpenCanceled: a canceled call returns the error of its context, and none of the server.
func TestOpenCanceled(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	accepted := make(chan net.Conn, 1)
	go func() {
		defer close(accepted)
		if conn, err := silent.Accept(); err == nil {
			cancel()
			accepted <- conn
		}
	}()
	_, err = postgres.Open(ctx, "postgres://jane@"+silent.Addr().String()+"/x?sslmode=disable", inventory.Schema(), nil)
	require.NoError(t, silent.Close())
	for conn := range accepted {
		require.NoError(t, conn.Close())
	}
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, records.KindOf(err), "%v", err)
}

// checkFailingBulk: failed calls with several items release their connections and locks. With
// two connections there would soon be none.
func checkFailingBulk(t *testing.T, url string) {
	store := open(t, url, &postgres.Options{MaxConns: 2})
	require.NoError(t, create(t, store, makeDevices(0, 2)...))
	v, devices := records.New(store, nil), records.Of[inventory.Device](inventory.Schema())
	rename := func(rec records.Record) error { rec.(*inventory.Device).Hostname = "same"; return nil }
	for range 10 {
		_, err := v.Update(t.Context(), records.Caller{}, devices,
			records.Edit{ID: deviceID(0), Apply: rename}, records.Edit{ID: deviceID(1), Apply: rename})
		require.Equal(t, records.Conflict, records.KindOf(err))
		_, err = v.Update(t.Context(), records.Caller{}, devices,
			records.Edit{ID: deviceID(0), Apply: rename}, records.Edit{ID: deviceID(9), Apply: rename})
		require.Equal(t, records.NotFound, records.KindOf(err))
		err = v.Delete(t.Context(), records.Caller{}, devices, records.Edit{ID: deviceID(0)}, records.Edit{ID: deviceID(9)})
		require.Equal(t, records.NotFound, records.KindOf(err))
	}
	_, err := v.Update(t.Context(), records.Caller{}, devices, records.Edit{ID: deviceID(0), Apply: rename})
	require.NoError(t, err)
}
