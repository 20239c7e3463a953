package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// keyed returns the database in a file.
func keyed(t *testing.T, path string) *sqlstoretest.KeyedDatabase {
	return &sqlstoretest.KeyedDatabase{DB: raw(t, path), Dialect: sqlite.Dialect(), Open: func() (*sqlstore.Store, error) {
		return sqlite.Open(t.Context(), path, inventory.Schema(), &sqlite.Options{BusyTimeout: time.Minute, Store: &sqlstore.Options{Timeout: patient}})
	}}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	keyed(t, filepath.Join(t.TempDir(), "inventory.db")).CheckKeys(t)
}

// filling is the variable with the file whose keys this binary fills when a test runs it.
const filling = "ASHLAR_TEST_FILL_UNTIL_KILLED"

// fillUntilKilled upgrades a database without keys. It prints a line when the first keys are visible.
func fillUntilKilled(path string) error {
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(60000)")
	if err != nil {
		return err
	}
	go func() {
		for {
			var n int
			// The column may not exist yet.
			if err := db.QueryRow("SELECT count(*) FROM devices WHERE hostname__key <> ''").Scan(&n); err == nil && n > 0 {
				fmt.Println("done")
				return
			}
		}
	}()
	if _, err = sqlite.Open(ctx(), path, inventory.Schema(), nil); err == nil {
		select {}
	}
	return err
}

// TestKilledKeys: the next process completes the keys that one has filled in part when it was
// killed.
func TestKilledKeys(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	if testing.Short() {
		t.Skip("TestKeys has keys that a process has not filled to the end")
	}
	path := filepath.Join(t.TempDir(), "inventory.db")
	k, number := keyed(t, path), killedEntries()
	k.Fill(t, number)
	k.RemoveKeys(t)
	sqlstoretest.KillAfter(t, filling, path, 1)
	k.Check(t, number)
}
