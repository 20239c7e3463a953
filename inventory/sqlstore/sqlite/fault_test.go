//go:build unix

package sqlite_test

import (
	"bytes"
	"context"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	modernc "modernc.org/sqlite"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/dialect"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// total returns the number of devices.
func total(t testing.TB, store records.Reader) int64 {
	t.Helper()
	page, err := store.List(t.Context(), &records.Query{Resource: records.Of[inventory.Device](inventory.Schema()), Count: true, Limit: 1})
	require.NoError(t, err)
	return page.Total
}

func requireUnavailable(t testing.TB, err error) {
	t.Helper()
	require.Equal(t, records.Unavailable, records.KindOf(err), "%v", err)
}

// TestReplaced: a file that is replaced while it is open takes no more changes, keeps all
// acknowledged ones under its new name, and the store uses the new file as soon as it can.
func TestReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, moved, backup := filepath.Join(dir, "inventory.db"), filepath.Join(dir, "moved.db"), filepath.Join(dir, "backup.db")
	store := open(t, path)
	require.NoError(t, create(t, store, makeDevices(0, 2)...))
	require.NoError(t, store.Backup(t.Context(), backup))
	require.NoError(t, create(t, store, makeDevices(2, 5)...))

	err := store.Change(t.Context(), func(tx records.Tx) error {
		require.NoError(t, os.Rename(path, moved))
		return tx.Create(t.Context(), makeDevices(5, 6)...)
	})
	requireUnavailable(t, err) // it is in a file that the next process does not read
	requireUnavailable(t, create(t, store, makeDevices(6, 7)...))
	_, err = store.Get(t.Context(), records.Of[inventory.Device](inventory.Schema()), deviceID(0))
	requireUnavailable(t, err)
	requireUnavailable(t, store.Ping(t.Context()))
	require.NoFileExists(t, path, "no new file")

	for _, content := range []string{"", strings.Repeat("no database\n", 1000)} {
		require.NoError(t, os.WriteFile(path+".new", []byte(content), 0o600))
		require.NoError(t, os.Rename(path+".new", path))
		requireUnavailable(t, store.Ping(t.Context()))
		requireUnavailable(t, create(t, store, makeDevices(6, 7)...))
	}
	require.NoError(t, os.Rename(backup, path))
	require.NoError(t, store.Ping(t.Context()))
	require.EqualValues(t, 2, total(t, store))
	require.NoError(t, create(t, store, makeDevices(7, 8)...))
	sqlstoretest.CheckTotals(t, store)
	require.Equal(t, []string{"ok"}, rows(t, raw(t, path), "PRAGMA integrity_check"))
	require.Equal(t, []string{"6"}, rows(t, raw(t, moved), "SELECT count(*) FROM devices"), "with all changes of the log")

	require.NoError(t, os.Rename(path, path+".away"))
	requireUnavailable(t, store.Ping(t.Context()))
	require.NoError(t, os.Rename(path+".away", path))
	require.EqualValues(t, 3, total(t, store))
}

// TestReplacedDuringRead: the new file is not opened before the last call on the old one has
// ended, since both have the same log.
func TestReplacedDuringRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "inventory.db"), filepath.Join(dir, "backup.db")
	store := open(t, path)
	require.NoError(t, create(t, store, makeDevices(0, 3)...))
	require.NoError(t, store.Backup(t.Context(), backup))
	require.NoError(t, create(t, store, makeDevices(3, 4)...))
	err := store.Change(t.Context(), func(tx records.Tx) error {
		require.NoError(t, os.Rename(backup, path))
		for range 3 {
			requireUnavailable(t, store.Ping(t.Context()))
		}
		return nil
	})
	requireUnavailable(t, err)
	require.NoError(t, store.Ping(t.Context()))
	require.EqualValues(t, 3, total(t, store))
	require.NoError(t, create(t, store, makeDevices(3, 4)...))
}

// TestLogDeleted: changes in a log that was deleted while it was open are not lost.
func TestLogDeleted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	store := open(t, path)
	require.NoError(t, create(t, store, makeDevices(0, 3)...))
	require.NoError(t, os.Remove(path+"-wal"))
	require.NoError(t, os.Remove(path+"-shm"))
	require.Eventually(t, func() bool { return create(t, store, makeDevices(3, 4)...) == nil }, time.Minute, time.Millisecond)
	require.Equal(t, []string{"4"}, rows(t, raw(t, path), "SELECT count(*) FROM devices"), "another process reads them")
}

// TestDamaged: a damaged page fails the calls that need it and the health check, until the file
// is replaced by a backup.
func TestDamaged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	store, err := sqlite.Open(t.Context(), path, inventory.Schema(), &sqlite.Options{Store: &sqlstore.Options{Timeout: patient}})
	require.NoError(t, err)
	devices := makeDevices(0, 500)
	devices[250].(*inventory.Device).Notes = "the page with these words is damaged"
	require.NoError(t, create(t, store, devices...))
	require.NoError(t, store.Backup(t.Context(), path+".backup"))
	require.NoError(t, store.Close())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(content, []byte("the page with these words"))
	require.Positive(t, at)
	clear(content[at/4096*4096 : at/4096*4096+4096])
	require.NoError(t, os.WriteFile(path, content, 0o600))

	store = open(t, path)
	require.NoError(t, store.Ping(t.Context()), "not known yet")
	_, err = store.List(t.Context(), &records.Query{Resource: records.Of[inventory.Device](inventory.Schema()), Text: "~"})
	requireUnavailable(t, err)
	require.ErrorContains(t, err, "damaged")
	require.ErrorContains(t, store.Ping(t.Context()), "damaged")
	_, err = store.Get(t.Context(), records.Of[inventory.Device](inventory.Schema()), deviceID(490))
	require.NoError(t, err, "on another page")
	require.NoError(t, create(t, store, withBase(1, &inventory.VLAN{VLANID: 1, Name: "x", Status: inventory.VLANActive})))

	require.NoError(t, os.Rename(path+".backup", path))
	require.NoError(t, store.Ping(t.Context()))
	require.EqualValues(t, 500, total(t, store))
}

// TestDamagedLarge: a database that can't be checked within the deadline of a ping counts as damaged
// for a minute after the last error.
func TestDamagedLarge(t *testing.T) {
	t.Parallel()
	damaged := sqlite.Dialect()
	damaged.Check = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT max(i) FROM n" // does not end
	damaged.Classify = func(error) dialect.Error { return dialect.Error{Kind: dialect.Damaged} }
	path := filepath.Join(t.TempDir(), "inventory.db")
	require.NoError(t, create(t, open(t, path), makeDevices(0, 1)...))
	db, now := raw(t, path), time.Now()
	store, err := sqlstore.New(t.Context(), db, db, damaged, inventory.Schema(), &sqlstore.Options{Timeout: patient, Now: func() time.Time { return now }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	eventually := func(want string) {
		t.Helper()
		var err error
		require.Eventually(t, func() bool { // a busy machine may not reach the database in time
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			err = store.Ping(ctx)
			return strings.Contains(fmt.Sprint(err), want)
		}, time.Minute, time.Millisecond, "%v", err)
	}
	require.NoError(t, store.Ping(t.Context()))
	_, err = db.ExecContext(t.Context(), "DROP TABLE devices")
	require.NoError(t, err)
	_, err = store.Get(t.Context(), records.Of[inventory.Device](inventory.Schema()), deviceID(0))
	requireUnavailable(t, err)
	eventually("damaged")
	now = now.Add(time.Minute + time.Second)
	eventually("<nil>")
}

// lateCancel implements late_cancel, a function of SQL. The driver does not lock its list of
// functions, so that this one is added before connections are opened.
var lateCancel atomic.Pointer[func() int64]

func init() {
	modernc.MustRegisterScalarFunction("late_cancel", 2, func(*modernc.FunctionContext, []driver.Value) (driver.Value, error) {
		return (*lateCancel.Load())(), nil
	})
}

// TestLateCancel: a search ends soon after its context, also when it has found the first record.
func TestLateCancel(t *testing.T) {
	t.Parallel()
	const devices = 1000
	var compared atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	late := sqlite.Dialect()
	late.Contains = "late_cancel(%s, %s)"
	matches := func() int64 {
		if n := compared.Add(1); n == 10 {
			cancel()
		} else if n > 10 {
			<-time.After(time.Millisecond) // all of them take seconds
		}
		return 1 / compared.Load() // the first one matches
	}
	lateCancel.Store(&matches)
	path := filepath.Join(t.TempDir(), "inventory.db")
	require.NoError(t, create(t, open(t, path), makeDevices(0, devices)...))
	db := raw(t, path)
	store, err := sqlstore.New(t.Context(), db, db, late, inventory.Schema(), &sqlstore.Options{Timeout: patient})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	_, err = store.List(ctx, &records.Query{Resource: records.Of[inventory.Device](inventory.Schema()), Text: "x", Limit: 20})
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, compared.Load(), int64(devices/2), "all records were compared")
}

// TestPingWhileBusy: a ping does not wait for the connections of other calls.
func TestPingWhileBusy(t *testing.T) {
	t.Parallel()
	store := open(t, filepath.Join(t.TempDir(), "inventory.db"))
	require.NoError(t, store.Change(t.Context(), func(records.Tx) error { return store.Ping(t.Context()) }))
}

// TestTimeout: a call that waits for a connection fails after the timeout.
func TestTimeout(t *testing.T) {
	t.Parallel()
	db := raw(t, filepath.Join(t.TempDir(), "inventory.db"))
	db.SetMaxOpenConns(1)
	store, err := sqlstore.New(t.Context(), db, db, sqlite.Dialect(), inventory.Schema(), &sqlstore.Options{Timeout: 200 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	err = create(t, store, makeDevices(0, 1)...)
	requireUnavailable(t, err)
	require.ErrorContains(t, err, "in time")
	_, err = store.Get(t.Context(), records.Of[inventory.Device](inventory.Schema()), deviceID(0))
	requireUnavailable(t, err)
	require.NoError(t, conn.Close())
	require.Eventually(t, func() bool { return create(t, store, makeDevices(0, 1)...) == nil }, time.Minute, time.Millisecond)
}

// TestPingInMemory: a ping does not wait for the only connection.
func TestPingInMemory(t *testing.T) {
	t.Parallel()
	store := open(t, sqlite.Memory)
	require.NoError(t, store.Change(t.Context(), func(records.Tx) error { return store.Ping(t.Context()) }))
}

// TestFull: a change that does not fit is refused as a whole, and the next one may fit.
func TestFull(t *testing.T) {
	t.Parallel()
	db := raw(t, filepath.Join(t.TempDir(), "inventory.db"))
	db.SetMaxOpenConns(1)
	store, err := sqlstore.New(t.Context(), db, db, sqlite.Dialect(), inventory.Schema(), &sqlstore.Options{Timeout: patient})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	limit := func(pages string) {
		_, err := db.ExecContext(t.Context(), "PRAGMA max_page_count = "+pages)
		require.NoError(t, err)
	}
	limit("1") // those that there are
	err = create(t, store, makeDevices(0, 1000)...)
	require.Equal(t, records.Full, records.KindOf(err), "%v", err)
	require.Zero(t, total(t, store))
	limit("100000")
	require.NoError(t, create(t, store, makeDevices(0, 1000)...))
	sqlstoretest.CheckTotals(t, store)
}

// TestModeOfLog: the files of a database are for their owner only.
func TestModeOfLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	store, err := sqlite.Open(t.Context(), path, inventory.Schema(), nil)
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.NoError(t, os.Chmod(path, 0o666))
	var log logtest.Log
	store, err = sqlite.Open(t.Context(), path, inventory.Schema(), &sqlite.Options{Log: log.Logger()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	require.NoError(t, create(t, store, makeDevices(0, 1)...))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), suffix)
	}
	require.Contains(t, log.String(), "its mode was changed")
}
