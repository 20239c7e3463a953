package sqlstore_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// killAfter kills a process of the test binary, with a variable in its environment, after it has
// printed some lines, and returns how many it printed.
func killAfter(t testing.TB, variable, value string, times int) (done int) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$") // #nosec G204 G702 -- itself
	child.Env = append(os.Environ(), variable+"="+value)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		done++
		if done == times {
			require.NoError(t, child.Process.Kill())
		}
	}
	require.Error(t, child.Wait())
	require.GreaterOrEqual(t, done, times)
	return done
}

// crashing is the variable with the file to which this binary writes when a test runs it.
const crashing = "ASHLAR_TEST_WRITE_UNTIL_KILLED"

// killedItems is the number of records in a transaction of the process.
const killedItems = 300

// writeUntilKilled creates and updates devices, many in a transaction, and prints a line after
// each.
func writeUntilKilled(path string) error {
	store, err := sqlite.Open(context.Background(), path, inventory.Schema(), nil)
	if err != nil {
		return err
	}
	for n := 0; ; n += killedItems {
		batch := sqlstoretest.Devices(n, n+killedItems)
		err := store.Change(context.Background(), func(tx records.Tx) error {
			if err := tx.Create(context.Background(), batch...); err != nil {
				return err
			}
			d := records.Clone(batch[0].(*inventory.Device))
			d.Version, d.Notes = 2, "changed"
			return tx.Update(context.Background(), d, 1)
		})
		if err != nil {
			return err
		}
		fmt.Println("done")
	}
}

// declaring is the variable with the file in which this binary declares fields when a test runs it.
const declaring = "ASHLAR_TEST_DECLARE_UNTIL_KILLED"

// declareUntilKilled declares and removes custom fields, and prints a line after each.
func declareUntilKilled(path string) error {
	store, err := sqlite.Open(context.Background(), path, inventory.Schema(), nil)
	if err != nil {
		return err
	}
	v := records.New(store, nil)
	var last *inventory.CustomField
	for n := 0; ; n++ {
		f := &inventory.CustomField{Resource: "devices", Name: fmt.Sprintf("f%d_%d", os.Getpid(), n), Type: inventory.CustomInteger, Default: "1"}
		if err := v.Create(context.Background(), records.Caller{}, f); err != nil {
			return err
		}
		fmt.Println("done")
		if last != nil {
			if err := v.Delete(context.Background(), records.Caller{}, records.Of[inventory.CustomField](store.Schema()), records.Edit{ID: last.ID}); err != nil {
				return err
			}
			fmt.Println("done")
		}
		last = f
	}
}

// TestKilledFields: a process that is killed while it declares fields leaves the columns of the
// declared ones, and no others.
func TestKilledFields(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	d := newSQLite(t)
	require.NoError(t, sqlstoretest.Create(t, d.open(t), sqlstoretest.Devices(0, 200)...))
	for times := range 5 {
		killAfter(t, declaring, d.address, 2+times)
		db := d.raw(t)
		columns := rows(t, db, "SELECT name FROM pragma_table_info('devices') WHERE name GLOB 'f[0-9]*' ORDER BY name")
		require.Equal(t, rows(t, db, "SELECT name FROM custom_fields ORDER BY name"), columns)
		require.Equal(t, columns, rows(t, db, "SELECT substr(name, 9, length(name) - 21) FROM sqlite_master WHERE type = 'index' AND name GLOB 'devices_f[0-9]*' ORDER BY name"))
		store, err := sqlite.Open(t.Context(), d.address, inventory.Schema(), nil)
		require.NoError(t, err)
		device, err := records.Get[inventory.Device](t.Context(), store, sqlstoretest.ID(0))
		require.NoError(t, err)
		require.Len(t, device.Extra, len(columns))
		require.NoError(t, store.Close())
	}
}

// pruning is the variable with the file whose audit log this binary prunes when a test runs it.
const pruning = "ASHLAR_TEST_PRUNE_UNTIL_KILLED"

// pruneUntilKilled prunes the audit log in small transactions. It prints a line when the first one
// is visible.
func pruneUntilKilled(path string) error {
	store, err := sqlite.Open(context.Background(), path, inventory.Schema(), nil)
	if err != nil {
		return err
	}
	logs := records.Of[records.AuditLog](store.Schema())
	go func() {
		for {
			page, err := store.List(context.Background(), &records.Query{Resource: logs, Limit: 1, Count: true})
			if err != nil || page.Total < int64(killedEntries()) {
				fmt.Println("done")
				return
			}
		}
	}()
	_, err = records.New(store, nil).Prune(context.Background(), records.Caller{Name: "jane"}, logs, records.Retention{MaxRecords: 100})
	return err
}

// killedEntries is the number of entries in the audit log that the process prunes.
func killedEntries() int {
	if scaletest.Race() {
		return 3_000
	}
	return 20_000
}

// TestKilledPruning: a process that is killed while it prunes the audit log leaves one that can be
// verified, and that the next call prunes to the end.
func TestKilledPruning(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	if testing.Short() {
		t.Skip("TestPruneKilled has a process that only seems to be killed")
	}
	d := newSQLite(t)
	store := d.open(t)
	v := records.New(store, nil)
	for n := 0; n < killedEntries(); n += 1000 {
		require.NoError(t, v.Create(t.Context(), records.Caller{}, sqlstoretest.Devices(n, n+1000)...))
	}
	killAfter(t, pruning, d.address, 1)
	report, err := records.VerifyAudit(t.Context(), store, nil)
	require.NoError(t, err)
	require.EqualValues(t, killedEntries()-99, report.Pruned)
	sqlstoretest.CheckTotals(t, store)
	_, err = v.Prune(t.Context(), records.Caller{}, records.Of[records.AuditLog](store.Schema()), records.Retention{MaxRecords: 100})
	require.NoError(t, err)
	sqlstoretest.CheckTotals(t, store)
	report, err = records.VerifyAudit(t.Context(), store, nil)
	require.NoError(t, err)
	require.EqualValues(t, 100, report.Checked)
	require.Equal(t, []string{"100"}, rows(t, d.raw(t), "SELECT count(*) FROM audit_logs"))
}

// TestKilled: a process that is killed during large changes leaves a consistent database, with
// all transactions that it has reported.
func TestKilled(t *testing.T) {
	t.Parallel()
	d := newSQLite(t)
	done := killAfter(t, crashing, d.address, 3)
	store, err := sqlite.Open(t.Context(), d.address, inventory.Schema(), nil)
	require.NoError(t, err)
	sqlstoretest.CheckTotals(t, store)
	page, err := store.List(t.Context(), &records.Query{Resource: records.Of[inventory.Device](inventory.Schema()), Count: true, Limit: 1})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.Zero(t, page.Total%killedItems, "half a transaction")
	require.GreaterOrEqual(t, page.Total, int64(done*killedItems), "a reported transaction is missing")
	db := d.raw(t)
	require.Equal(t, []string{"ok"}, rows(t, db, "PRAGMA integrity_check"))
	require.Empty(t, rows(t, db, `SELECT "table" FROM pragma_foreign_key_check`))
	require.Equal(t, page.Total/killedItems, int64(len(rows(t, db, "SELECT id FROM devices WHERE version = 2"))))
}
