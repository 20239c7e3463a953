package server_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// The most that the database may hold.
const (
	maxEntryBytes = 800 // of an entry of the audit log with its position and all indexes
	// Six have all interfaces. Of the other three, those of references, one that is part of another has no entry in that
	// of the members of aggregates, or the other way round: an interface is in at most eight.
	maxInterfaceIndexes = 9
)

// sizesOf are statements that return the name and the bytes of a table and of each of its indexes.
var sizesOf = map[string]string{
	"sqlite": "SELECT s.name, sum(s.pgsize) FROM dbstat AS s JOIN sqlite_schema AS m ON m.name = s.name WHERE m.tbl_name = '%s' GROUP BY s.name ORDER BY s.name",
	"pgx": `SELECT c.relname, pg_relation_size(c.oid) FROM pg_class AS c LEFT JOIN pg_index AS i ON i.indexrelid = c.oid
		WHERE c.relkind IN ('r', 'i') AND '%s'::regclass IN (c.oid, i.indrelid) ORDER BY c.relname`,
}

// TestSizes: what the records of a network and of typical edits of it take in the database.
func TestSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills two databases: 25 s")
	}
	t.Parallel()
	files := demoFiles(t, 600)
	for name, driver := range map[string]string{"sqlite": "sqlite", "postgres": "pgx"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := &measured{t: t, driver: driver, url: filepath.Join(t.TempDir(), "sizes.db")}
			if driver == "pgx" {
				x.url = shared.Database(t)
			}
			x.Server = x.open(map[string]string{})
			x.token = x.login("admin")
			x.ids = x.list("users", 1)
			x.importFiles(files)
			x.edit()
			x.checkEntries()

			var err error
			x.db, err = sql.Open(driver, x.url)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, x.db.Close()) })
			if driver == "pgx" {
				x.exec("VACUUM ANALYZE")
			}
			entries, total := int64(x.count("audit_logs")), int64(0)
			for _, table := range []string{"audit_logs", "audit_chain"} {
				for _, row := range x.query(fmt.Sprintf(sizesOf[driver], table)) {
					t.Logf("%v: %d bytes an entry", row[0], row[1].(int64)/entries)
					total += row[1].(int64)
				}
			}
			t.Logf("%d entries of %d bytes", entries, total/entries)
			require.LessOrEqual(t, total/entries, int64(maxEntryBytes))
			require.LessOrEqual(t, len(x.query(fmt.Sprintf(sizesOf[driver], "interfaces")))-1, maxInterfaceIndexes)
		})
	}
}

// demoFiles returns CSV files with the records of a demo network by the names of their resources.
func demoFiles(t *testing.T, devices int) map[string][]byte {
	t.Helper()
	x := &measured{t: t, driver: "sqlite", url: filepath.Join(t.TempDir(), "demo.db")}
	x.Server = x.open(map[string]string{})
	_, err := demo.Fill(t.Context(), x.Store(), &demo.Options{Devices: devices})
	require.NoError(t, err)
	x.token = x.login("admin")
	files := map[string][]byte{}
	for _, name := range []string{
		"locations", "racks", "device-types", "vrfs", "vlans", "prefixes", "devices", "interfaces", "addresses", "links",
	} {
		files[name] = x.get("/" + name + "?format=csv&keys=natural").Body.Bytes()
	}
	return files
}

// importFiles imports files as a user does, whose changes are in the audit log.
func (x *measured) importFiles(files map[string][]byte) {
	x.t.Helper()
	s := settings(x.t, map[string]string{"DATABASE_URL": x.url})
	require.NoError(x.t, server.Change(x.t.Context(), s, server.NewLog(new(logtest.Log), s), func(engine *records.Engine) error {
		var sources []importer.Source
		for name, text := range files {
			source, err := importer.Open(name+".csv", bytes.NewReader(text), engine.Store().Schema(), nil)
			if err != nil {
				return err
			}
			sources = append(sources, source)
		}
		report, err := importer.Run(x.t.Context(), engine, sources, &importer.Options{
			OnError: importer.Skip, By: records.Caller{UserID: x.ids[0], Name: "admin", Address: "192.0.2.17", RequestID: "DRJGZOFU2H5UWNEOD56O5VN7T7"},
		})
		if err == nil {
			require.Greater(x.t, report.Created, int64(1000))
		}
		return err
	}))
}

// edit changes records through the API, as in the console.
func (x *measured) edit() {
	x.t.Helper()
	edit := func(resource string, n int, change func(i int) string) {
		for i, id := range x.list(resource, n) {
			w := x.send(x.Server, x.token, "PATCH", "/"+resource+"/"+id, change(i))
			require.Equal(x.t, 200, w.Code, w.Body.String())
		}
	}
	edit("devices", 200, func(i int) string {
		return fmt.Sprintf(`{"status":"maintenance","notes":"Ticket %d: fan replaced."}`, 4000+i)
	})
	edit("devices", 200, func(i int) string { return fmt.Sprintf(`{"status":"active","os_version":"17.%d.1"}`, i) })
	edit("interfaces", 400, func(i int) string { return fmt.Sprintf(`{"description":"patched to floor %d"}`, i%9) })
	edit("interfaces", 400, func(int) string { return `{"status":"down","admin_status":"down"}` })
	for _, id := range x.list("links", 50) {
		require.Equal(x.t, 200, x.send(x.Server, x.token, "DELETE", "/links/"+id, "").Code)
	}
	for _, id := range x.list("devices", 10) {
		require.Equal(x.t, 200, x.send(x.Server, x.token, "DELETE", "/devices/"+id, "").Code)
	}
}

// checkEntries reads the entries of devices, whose changes are compressed, and verifies the log.
func (x *measured) checkEntries() {
	x.t.Helper()
	_, err := records.VerifyAudit(x.t.Context(), x.Store(), nil)
	require.NoError(x.t, err)
	for _, id := range x.list("devices", 3) {
		device := x.get("/devices/" + id).Body.String()
		var log struct{ Data []*records.AuditLog }
		require.NoError(x.t, json.Unmarshal(x.get("/audit-logs?action=create&resource_id="+id).Body.Bytes(), &log))
		require.Len(x.t, log.Data, 1)
		for _, field := range []string{"hostname", "location_id", "device_type_id"} {
			change := log.Data[0].Changes[field]
			require.Nil(x.t, change.Before, field)
			require.Contains(x.t, device, fmt.Sprintf("%q:%q", field, change.After))
		}
	}
}

// list returns the ids of the first records of a resource.
func (x *measured) list(resource string, n int) []string {
	x.t.Helper()
	return x.parse(x.get(fmt.Sprintf("/%s?limit=%d", resource, n))).ids
}
