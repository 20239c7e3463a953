package postgres_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

// TestRestore restores a dump of pg_dump to another database: records, custom fields, totals,
// searches and the chain of the audit log are the same, and changes continue the chain.
func TestRestore(t *testing.T) {
	t.Parallel()
	dump, restore := client(t, "pg_dump"), client(t, "pg_restore")
	server := shared.Server(t)
	url, other := server.Database(t), server.Database(t)
	store, by := open(t, url, nil), records.Caller{Name: "jane"}
	v := records.New(store, nil)
	require.NoError(t, v.Create(t.Context(), by, &inventory.CustomField{
		Resource: "devices", Name: "tier", Type: inventory.CustomChoice, Choices: []string{"gold", "silver"}, Default: "silver",
	}))
	require.NoError(t, v.Create(t.Context(), by, makeDevices(0, 200)...))
	_, err := v.Prune(t.Context(), by, records.Of[records.AuditLog](store.Schema()), records.Retention{MaxRecords: 150})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "inventory.dump")
	run(t, dump, "--format=custom", "--file="+file, url)
	run(t, restore, "--exit-on-error", "--no-owner", "--dbname="+other, file)

	restored := open(t, other, nil)
	for _, q := range []map[string][]string{
		{"limit": {"100"}}, {"q": {"vendor 3"}}, {"tier": {"silver"}, "vendor": {"vendor 3"}, "sortby": {"hostname:asc"}},
	} {
		require.Equal(t, listed(t, store, q), listed(t, restored, q), "%v", q)
	}
	sqlstoretest.CheckTotals(t, restored)
	before, err := records.VerifyAudit(t.Context(), store, nil)
	require.NoError(t, err)
	after, err := records.VerifyAudit(t.Context(), restored, nil)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.NoError(t, records.New(restored, nil).Create(t.Context(), by, makeDevices(200, 201)...))
	after, err = records.VerifyAudit(t.Context(), restored, nil)
	require.NoError(t, err)
	require.Equal(t, before.Head.Seq+1, after.Head.Seq)
}

// client returns the path of a client program of PostgreSQL, which may be where Debian installs
// those of a server.
func client(t *testing.T, program string) string {
	t.Helper()
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + program); len(found) > 0 {
		return found[len(found)-1]
	}
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("THIS TEST DID NOT RUN: there is no program %s", program)
	}
	return path
}

func run(t *testing.T, program string, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	require.NoError(t, err, "%s: %s", program, out)
}

// listed returns the devices of a query and their total as JSON.
func listed(t *testing.T, store *sqlstore.Store, values map[string][]string) string {
	t.Helper()
	q, err := records.ParseQuery(records.Of[inventory.Device](store.Schema()), values)
	require.NoError(t, err)
	page, err := store.List(t.Context(), q)
	require.NoError(t, err)
	require.NotEmpty(t, page.Records)
	text, err := json.Marshal(page)
	require.NoError(t, err)
	return string(text)
}
