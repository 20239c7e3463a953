//go:build unix

package e2e_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// eachSchema runs a test on a copy of each database of an earlier schema in the testdata of a store.
func eachSchema(t *testing.T, store string, test func(t *testing.T, file string)) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(checkout, store, "testdata", "schema-*.db.gz"))
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, packed := range all {
		t.Run(filepath.Base(packed), func(t *testing.T) {
			t.Parallel()
			f, err := os.Open(packed)
			require.NoError(t, err)
			defer f.Close()
			r, err := gzip.NewReader(f)
			require.NoError(t, err)
			data, err := io.ReadAll(r)
			require.NoError(t, err)
			file := filepath.Join(t.TempDir(), "old.db")
			require.NoError(t, os.WriteFile(file, data, 0o600))
			test(t, file)
		})
	}
}

// TestBooksOfEarlierSchemas starts bookcatalogd twice with a database of an earlier schema.
func TestBooksOfEarlierSchemas(t *testing.T) {
	t.Parallel()
	eachSchema(t, "bookcatalog/sqlstore/sqlite", func(t *testing.T, file string) {
		for range 2 {
			p := start(t, nil, "bookcatalogd", "-addr", "127.0.0.1:0", "-db", file)
			url := p.waitFor(p.stderr, `(http://[0-9.:]+/api/books), `)[1]
			code, body := httpDo(t, http.MethodGet, url, "")
			require.Equal(t, 200, code, body)
			require.Contains(t, body, `"isbn13":"9780141439587"`)
			p.stop()
		}
	})
}

// TestInventoryOfEarlierSchemas starts inventoryd twice with a database of an earlier schema, and adds
// a record.
func TestInventoryOfEarlierSchemas(t *testing.T) {
	t.Parallel()
	eachSchema(t, "inventory/sqlstore/sqlite", func(t *testing.T, file string) {
		i := startInventory(t, file, nil)
		for resource, n := range map[string]int{"devices": 2, "interfaces": 2, "locations": 1, "vlans": 1, "links": 1, "events": 1, "metrics": 1} {
			require.Equal(t, n, i.count(resource), resource)
		}
		code, body := i.send("POST", "/devices", `{"hostname":"new","ip":"192.0.2.77","model":"M","vendor":"V","os":"OS","status":"active"}`)
		require.Equal(t, 201, code, body)
		i.stop()
		again := startInventory(t, file, nil)
		require.Equal(t, 3, again.count("devices"))
		again.stop()
	})
}
