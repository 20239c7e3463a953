package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
	"github.com/ashlar-go/ashlar/inventory/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ctx() context.Context { return context.Background() }

// empty and emptySuite return the file of an empty store with the schema of the inventory and with that
// of storetest. To migrate a new one takes longer than most tests.
var empty, emptySuite = emptyOf(inventory.Schema), emptyOf(storetest.Schema)

func emptyOf(schema func() *records.Schema) func() ([]byte, error) {
	return sync.OnceValues(func() (file []byte, err error) {
		dir, err := os.MkdirTemp("", "sqlite")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		path := filepath.Join(dir, "empty.db")
		store, err := sqlite.Open(ctx(), path, schema(), nil)
		if err != nil {
			return nil, err
		}
		if err := store.Close(); err != nil {
			return nil, err
		}
		return os.ReadFile(path)
	})
}

// patient is a timeout that a call never reaches, even on a busy machine.
const patient = 10 * time.Minute

// open opens a store until the end of the test, when no connection may be in use.
func open(t testing.TB, path string) *sqlstore.Store {
	t.Helper()
	if _, err := os.Stat(path); path != sqlite.Memory && errors.Is(err, os.ErrNotExist) {
		file, err := empty()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, file, 0o600))
	}
	return openWith(t, path, inventory.Schema())
}

// openWith opens a store with a schema until the end of the test.
func openWith(t testing.TB, path string, schema *records.Schema) *sqlstore.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path, schema, &sqlite.Options{Store: &sqlstore.Options{Timeout: patient}})
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

func TestFile(t *testing.T) {
	t.Parallel()
	open := func(t testing.TB) records.Store {
		path := filepath.Join(t.TempDir(), "inventory.db")
		file, err := emptySuite()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, file, 0o600))
		return openWith(t, path, storetest.Schema())
	}
	sqlstoretest.CheckContract(t, open)
}

func TestMemory(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	if testing.Short() {
		t.Skip("TestFile has the same cases")
	}
	storetest.Run(t, func(t testing.TB) records.Store { return openWith(t, sqlite.Memory, storetest.Schema()) })
}

// TestMemoryIsSeparate: two databases in memory share nothing.
func TestMemoryIsSeparate(t *testing.T) {
	t.Parallel()
	one, other := open(t, sqlite.Memory), open(t, sqlite.Memory)
	require.NoError(t, create(t, one, makeDevices(0, 1)...))
	_, err := other.Get(t.Context(), records.Of[inventory.Device](inventory.Schema()), deviceID(0))
	require.Equal(t, records.NotFound, records.KindOf(err))
}

// TestReopen: a file has its records when it is opened again, whatever its name.
func TestReopen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b?c=d#e%20&f'g.db")
	first, err := sqlite.Open(t.Context(), "/"+path, inventory.Schema(), nil) // two slashes mean the same as one
	require.NoError(t, err)
	require.NoError(t, create(t, first, makeDevices(0, 1)...))
	require.NoError(t, first.Close())
	require.FileExists(t, path)
	_, err = open(t, path).Get(t.Context(), records.Of[inventory.Device](inventory.Schema()), deviceID(0))
	require.NoError(t, err)
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 100)), 0o600))
	for why, path := range map[string]string{
		"no path": "", "a directory": dir, "another file": text, "no such directory": filepath.Join(dir, "none", "x.db"),
	} {
		_, err := sqlite.Open(t.Context(), path, inventory.Schema(), nil)
		require.ErrorContains(t, err, path, why)
	}
}

// TestBusy: a change that another process blocks is Unavailable, and the next one succeeds.
func TestBusy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	store, err := sqlite.Open(t.Context(), path, inventory.Schema(), &sqlite.Options{BusyTimeout: time.Millisecond, Readers: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	db := raw(t, path)
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	require.Equal(t, records.Unavailable, records.KindOf(create(t, store, makeDevices(0, 1)...)))
	_, err = db.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	require.NoError(t, create(t, store, makeDevices(0, 1)...))
}

// TestBusyProcess: another process that changes the database without a pause does not keep this one
// from changing it.
func TestBusyProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	other := open(t, path)
	// SQLite by itself looks for the lock every 100 ms.
	store, err := sqlite.Open(t.Context(), path, inventory.Schema(), &sqlite.Options{BusyTimeout: time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	var flood sync.WaitGroup
	defer flood.Wait()
	var stopped atomic.Bool
	defer stopped.Store(true)
	for w := range 4 {
		flood.Go(func() {
			for i := w * 1_000_000; !stopped.Load(); i++ {
				if err := create(t, other, makeDevices(i, i+1)...); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 30 {
		require.NoError(t, create(t, store, makeDevices(9_000_000+i, 9_000_001+i)...), "change %d", i)
	}
}

// TestCanceled: a call ends with its context, and releases its connection.
func TestCanceled(t *testing.T) {
	t.Parallel()
	store := open(t, filepath.Join(t.TempDir(), "inventory.db"))
	require.NoError(t, create(t, store, makeDevices(0, 1000)...))
	short, cancel := context.WithCancel(t.Context())
	err := store.Change(short, func(tx records.Tx) error {
		if err := tx.Create(short, makeDevices(1000, 1001)...); err != nil {
			return err
		}
		cancel()
		_, err := tx.List(short, &records.Query{Resource: records.Of[inventory.Device](inventory.Schema()), Text: "nothing"})
		return err
	})
	require.ErrorIs(t, err, context.Canceled)
	_, err = store.List(short, &records.Query{Resource: records.Of[inventory.Device](inventory.Schema())})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, store.Ping(short), context.Canceled)
	require.NoError(t, store.Ping(t.Context()))
	sqlstoretest.CheckTotals(t, store)
	require.Eventually(t, func() bool {
		writer, reader := store.Stats()
		return writer.InUse+reader.InUse == 0
	}, 10*time.Second, time.Millisecond)
}

// TestClosed: calls after Close fail.
func TestClosed(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "inventory.db"), inventory.Schema(), nil)
	require.NoError(t, err)
	require.NoError(t, store.Close())
	_, err = store.Get(t.Context(), records.Of[inventory.Device](inventory.Schema()), deviceID(0))
	require.Error(t, err)
	require.Error(t, create(t, store, makeDevices(0, 1)...))
	require.Equal(t, records.Unavailable, records.KindOf(store.Ping(t.Context())))
}

// TestRefused: a refused call rolls back nothing of the calls before it.
func TestRefused(t *testing.T) {
	t.Parallel()
	store := open(t, filepath.Join(t.TempDir(), "inventory.db"))
	require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error {
		require.NoError(t, tx.Create(t.Context(), makeDevices(0, 3)...))
		require.Equal(t, records.Conflict, records.KindOf(tx.Create(t.Context(), makeDevices(2, 3)...)))
		require.NoError(t, tx.Create(t.Context(), makeDevices(3, 4)...))
		same := makeDevices(3, 4)[0].(*inventory.Device)
		same.Hostname, same.Version = makeDevices(0, 1)[0].(*inventory.Device).Hostname, 2
		same.Normalize()
		require.Equal(t, records.Conflict, records.KindOf(tx.Update(t.Context(), same, 1)))
		require.Equal(t, records.Conflict, records.KindOf(tx.Create(t.Context(), makeDevices(3, 6)...)))
		return tx.Create(t.Context(), makeDevices(6, 8)...)
	}))
	page, err := store.List(t.Context(), &records.Query{Resource: records.Of[inventory.Device](inventory.Schema()), Count: true})
	require.NoError(t, err)
	require.EqualValues(t, 6, page.Total)
	sqlstoretest.CheckTotals(t, store)
}

// TestCreatedAgain: a record that replaces a deleted one is counted with its own values.
func TestCreatedAgain(t *testing.T) {
	t.Parallel()
	store, devices := open(t, filepath.Join(t.TempDir(), "inventory.db")), records.Of[inventory.Device](inventory.Schema())
	require.NoError(t, create(t, store, makeDevices(0, 1)...))
	require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error {
		first, err := tx.Get(t.Context(), devices, deviceID(0))
		require.NoError(t, err)
		second := records.Clone(first.(*inventory.Device))
		second.Vendor = "another"
		third := records.Clone(second)
		third.Vendor, third.Version = "a third", 2
		require.NoError(t, tx.Delete(t.Context(), devices, deviceID(0), 1, nil))
		require.NoError(t, tx.Create(t.Context(), second))
		return tx.Update(t.Context(), third, 1)
	}))
	sqlstoretest.CheckTotals(t, store)
	page, err := store.List(t.Context(), (&records.Query{Resource: devices, Count: true}).Where("vendor", "another"))
	require.NoError(t, err)
	require.Zero(t, page.Total)
}

// TestIgnoredError: a failed transaction is not committed, even if its function ignores the
// error.
func TestIgnoredError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	store := open(t, path)
	db := raw(t, path)
	_, err := db.ExecContext(t.Context(), "CREATE TRIGGER fails BEFORE INSERT ON vlans BEGIN SELECT raise(ABORT, 'defect'); END")
	require.NoError(t, err)
	err = store.Change(t.Context(), func(tx records.Tx) error {
		require.NoError(t, tx.Create(t.Context(), makeDevices(0, 1)...))
		err := tx.Create(t.Context(), withBase(1, &inventory.VLAN{VLANID: 1, Name: "x", Status: inventory.VLANActive}))
		require.ErrorContains(t, err, "defect")
		_, err = tx.Get(t.Context(), records.Of[inventory.Device](inventory.Schema()), deviceID(0))
		require.Error(t, err)
		return nil
	})
	require.ErrorContains(t, err, "defect")
	require.Zero(t, records.KindOf(err))
	sqlstoretest.CheckTotals(t, store)
	require.Equal(t, []string{"0"}, rows(t, db, "SELECT count(*) FROM devices"))
}

func ExampleOpen() {
	store, err := sqlite.Open(context.Background(), sqlite.Memory, inventory.Schema(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	v := records.New(store, nil)
	site := &inventory.Location{Name: "Berlin 1", City: "Berlin", Country: "DE", Address: "Allee 1"}
	if err := v.Create(context.Background(), records.Caller{Name: "jane"}, site); err != nil {
		fmt.Println(err)
		return
	}
	page, err := store.List(context.Background(), &records.Query{Resource: records.Of[inventory.Location](inventory.Schema()), Count: true})
	fmt.Println(page.Total, page.Records[0].(*inventory.Location).Name, err)
	// Output: 1 Berlin 1 <nil>
}

// TestInvalidRow: an invalid row is a failure.
func TestInvalidRow(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	store := open(t, path)
	require.NoError(t, create(t, store, makeDevices(0, 1)...))
	_, err := raw(t, path).ExecContext(t.Context(), "UPDATE devices SET tags = '{'")
	require.NoError(t, err)
	_, err = store.Get(t.Context(), records.Of[inventory.Device](inventory.Schema()), deviceID(0))
	require.ErrorContains(t, err, "tags in the database")
	_, err = store.List(t.Context(), &records.Query{Resource: records.Of[inventory.Device](inventory.Schema())})
	require.ErrorContains(t, err, "tags in the database")
}
