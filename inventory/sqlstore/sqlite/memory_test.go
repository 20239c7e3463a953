package sqlite_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// The library counts its memory, so that a test can bound it. It must be told so before the first connection.
func init() {
	tls := libc.NewTLS()
	args := libc.NewVaList(int32(1))
	defer libc.Xfree(tls, args)
	if code := sqlite3.Xsqlite3_config(tls, sqlite3.SQLITE_CONFIG_MEMSTATUS, args); code != sqlite3.SQLITE_OK {
		panic(code)
	}
}

// TestOutOfMemory: calls for which SQLite has no memory fail as unavailable, and the caches of connections are freed, so that
// later calls succeed within the same bound. Operators see 503, and "out of memory (7)" in the log.
func TestOutOfMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inventory.db")
	store := open(t, path)
	devices := records.Of[inventory.Device](inventory.Schema())
	recs := makeDevices(0, 2000)
	for _, rec := range recs {
		rec.(*inventory.Device).Notes = strings.Repeat("note ", 200)
	}
	require.NoError(t, create(t, store, recs...))
	field, _ := devices.Field("serial_number")
	list := func(n int) error {
		_, err := store.List(t.Context(), &records.Query{
			Resource: devices, Sort: []records.SortKey{{Field: field}}, Offset: int64(n), Limit: 500,
		})
		return err
	}
	var group sync.WaitGroup
	for n := range 16 { // fills the caches of all connections
		group.Go(func() { assert.NoError(t, list(n)) })
	}
	group.Wait()
	tls := libc.NewTLS()
	defer tls.Close()
	sqlite3.Xsqlite3_hard_heap_limit64(tls, sqlite3.Xsqlite3_memory_used(tls)*3/4)
	defer sqlite3.Xsqlite3_hard_heap_limit64(tls, 0)
	err := list(0)
	requireUnavailable(t, err)
	require.ErrorContains(t, err, "no memory left")
	for n := range 20 {
		require.NoError(t, list(n))
	}
}
