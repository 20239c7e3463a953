package sqlite_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// crashing is the variable with the file to which this binary writes when a test runs it.
const crashing = "ASHLAR_TEST_WRITE_UNTIL_KILLED"

// killedItems is the number of records in a transaction of the process.
const killedItems = 300

// writeUntilKilled creates and updates devices, many in a transaction, and prints a line after
// each.
func writeUntilKilled(path string) error {
	store, err := sqlite.Open(ctx(), path, inventory.Schema(), nil)
	if err != nil {
		return err
	}
	for n := 0; ; n += killedItems {
		batch := makeDevices(n, n+killedItems)
		err := store.Change(ctx(), func(tx records.Tx) error {
			if err := tx.Create(ctx(), batch...); err != nil {
				return err
			}
			d := records.Clone(batch[0].(*inventory.Device))
			d.Version, d.Notes = 2, "changed"
			return tx.Update(ctx(), d, 1)
		})
		if err != nil {
			return err
		}
		fmt.Println("done")
	}
}

// TestKilled: a process that is killed during large changes leaves a consistent database, with
// all transactions that it has reported.
func TestKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.db")
	done := killAfter(t, path, 3)
	store, err := sqlite.Open(t.Context(), path, inventory.Schema(), nil)
	require.NoError(t, err)
	sqlstoretest.CheckTotals(t, store)
	page, err := store.List(t.Context(), &records.Query{Resource: records.Of[inventory.Device](inventory.Schema()), Count: true, Limit: 1})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.Zero(t, page.Total%killedItems, "half a transaction")
	require.GreaterOrEqual(t, page.Total, int64(done*killedItems), "a reported transaction is missing")
	db := raw(t, path)
	require.Equal(t, []string{"ok"}, rows(t, db, "PRAGMA integrity_check"))
	require.Empty(t, rows(t, db, `SELECT "table" FROM pragma_foreign_key_check`))
	require.Equal(t, page.Total/killedItems, int64(len(rows(t, db, "SELECT id FROM devices WHERE version = 2"))))
}

// killAfter kills a writing process after it has printed some lines, and returns how many it
// printed.
func killAfter(t *testing.T, path string, times int) (done int) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), crashing+"="+path)
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
