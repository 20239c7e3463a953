package sqlite_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

var update = flag.Bool("update", false, "write the database of the newest schema, if there is none")

// TestUpgrade opens a database of each schema that there has been, as programs of that time
// left them, and finds its records whole. A migration makes the schema for which a file is
// missing; a file that is there is never written anew, or it would prove nothing.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	all := names(t, sqlite.Dialect())
	number, _, _ := strings.Cut(all[len(all)-1], "_")
	newest := filepath.Join("testdata", "schema-"+number+".db.gz")
	if _, err := os.Stat(newest); os.IsNotExist(err) && *update {
		leave(t, newest)
	}
	require.FileExists(t, newest, "go test ./inventory/sqlstore/sqlite -run TestUpgrade -update writes it")
	files, err := filepath.Glob("testdata/schema-*.db.gz")
	require.NoError(t, err)
	require.Len(t, files, len(all), "one for each migration")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "inventory.db")
			unpack(t, file, path)
			checkUpgraded(t, path)
		})
	}
}

// adminHash is that of the password with which cmd/internal/e2e logs in to these databases.
const adminHash = "$argon2id$v=19$m=19456,t=2,p=1$UQlbZulBcxPzHgkzd3UtOA$bcTs6lqRhf5ZPXP/xc/BRbz2x5PveFZTWAPwMMNk2WM"

// relics are what the databases have in them, one of each kind of the first schema. They
// stay as they are: a field that comes later is empty in them, or has its default.
func relics() []inventory.Record {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	ptr := func(n int) *string { id := benchID(n); return &id }
	one, half := int64(1500), 47.5
	return []inventory.Record{
		based(1, &inventory.Location{
			Name: "Zürich 1", City: "Zürich", Country: "Switzerland", Address: "1 Bahnhofstrasse", SiteCode: "ZRH1",
			Timezone: "Europe/Zurich", Lat: &half, Lon: &half,
		}),
		based(2, &inventory.User{Username: "admin", Email: "admin@example.org", Role: inventory.Admin, PasswordHash: adminHash, Epoch: 1}),
		based(3, &inventory.Device{
			Hostname: "core-1", IP: "2001:db8::1", Model: "M1", Vendor: "V", OS: "OS", OSVersion: "1.2", Status: "active", Role: "core",
			SerialNumber: "SN1", RackPosition: "R1-U1", LocationID: ptr(1), LastSeen: &at, Tags: []string{"edge", `a,"b"`}, Notes: "one\r\ntwo — 😀",
		}),
		based(4, &inventory.Device{Hostname: "bare", IP: "192.0.2.1", Model: "M1", Vendor: "V", OS: "OS", Status: "maintenance", Tags: []string{}}),
		based(5, &inventory.Interface{
			DeviceID: benchID(3), Name: "eth0", Description: "uplink", Type: "fiber", Status: "up", AdminStatus: "up", OperStatus: "down",
			Speed: "10Gbps", SpeedMbps: &one, MTU: &one, MACAddress: "00:1a:2b:3c:4d:5e", Mode: "trunk", IfIndex: &one, IPAddress: "192.0.2.1/24",
		}),
		based(6, &inventory.Interface{DeviceID: benchID(4), Name: "eth0", Type: "copper", Status: "up"}),
		based(7, &inventory.VLAN{
			VLANID: 100, Name: "users", Description: "desks", Status: "active", LocationID: ptr(1), SubnetCIDR: "192.0.2.0/24", GatewayIP: "192.0.2.1",
		}),
		based(8, &inventory.Link{AInterfaceID: benchID(5), BInterfaceID: benchID(6), Type: "fiber", Status: "up", Discovery: "lldp"}),
		based(9, &inventory.Event{
			Severity: "critical", Type: "security", Message: "door\nopen", DeviceID: ptr(3), InterfaceID: ptr(5), LocationID: ptr(1),
			AcknowledgedAt: &at, AcknowledgedBy: ptr(2),
		}),
		based(10, &inventory.Metric{DeviceID: benchID(3), CPU: &half, Memory: &half, Temp: &half, UptimeSeconds: &one, TS: &at}),
		based(11, &inventory.AuditLog{
			UserID: ptr(2), Actor: "ada", Action: "update", ResourceType: "device", ResourceID: benchID(3), IPAddress: "192.0.2.9", RequestID: "r1",
			Changes: inventory.Changes{"notes": {Before: nil, After: "ä"}},
		}),
		based(14, &inventory.User{
			Username: "ada", Email: "ada@example.org", Role: inventory.Viewer, InactiveStatus: true, FirstName: "Ada", LastName: "O'Hara",
			PasswordChangedAt: &at, LastLogin: &at, PasswordHash: "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA", Epoch: 3,
			ResetHash: "6f1e", ResetExpiresAt: &at,
		}),
		based(12, &inventory.Receipt{Owner: benchID(2), Key: "k", Request: "hash", Status: 201, Location: "/devices/x", Body: "{}"}),
		based(13, &inventory.Secret{Name: "jwt", Value: "not so secret"}),
	}
}

// leave writes a database with the relics as this program leaves it.
func leave(t *testing.T, file string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "inventory.db")
	store, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	for _, rec := range relics() {
		require.NoError(t, create(t, store, rec))
	}
	require.NoError(t, store.Close())
	small := path + ".small"
	require.NoError(t, sqlite.Backup(t.Context(), path, small))
	data, err := os.ReadFile(small)
	require.NoError(t, err)
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, packed.Bytes(), 0o644))
}

func unpack(t *testing.T, file, path string) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	r, err := gzip.NewReader(f)
	require.NoError(t, err)
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

// checkUpgraded opens the file twice, as the second time there is nothing to migrate.
func checkUpgraded(t *testing.T, path string) {
	t.Helper()
	for range 2 {
		store, err := sqlite.Open(t.Context(), path, nil)
		require.NoError(t, err)
		checkRelics(t, store)
		require.NoError(t, store.Close())
	}
	require.Equal(t, []string{"ok"}, rows(t, raw(t, path), "PRAGMA integrity_check"))
	require.Empty(t, rows(t, raw(t, path), `SELECT "table" FROM pragma_foreign_key_check`))

	store := open(t, path)
	require.Error(t, create(t, store, based(20, &inventory.Location{
		Name: "x", City: "x", Country: "x", Address: "x", SiteCode: "ZRH1",
	})), "what was unique still is")
	location := inventory.Of[inventory.Location]()
	require.NoError(t, store.Change(t.Context(), func(tx inventory.Tx) error {
		return tx.Delete(t.Context(), location, benchID(1), 1)
	}))
	device, err := inventory.Get[inventory.Device](t.Context(), store, benchID(3))
	require.NoError(t, err)
	require.Nil(t, device.LocationID)
	require.NoError(t, create(t, store, fleet(30, 31)...))
	page, err := store.List(t.Context(), &inventory.Query{Resource: inventory.Of[inventory.Device](), Count: true})
	require.NoError(t, err)
	require.EqualValues(t, 3, page.Total)
}

// checkRelics says that the store has them and nothing else.
func checkRelics(t *testing.T, store inventory.Reader) {
	t.Helper()
	kept := map[reflect.Type][]inventory.Record{}
	for _, rec := range relics() {
		kept[reflect.TypeOf(rec)] = append(kept[reflect.TypeOf(rec)], rec)
	}
	for _, r := range inventory.Kept() {
		want := kept[reflect.TypeOf(r.New())]
		if len(want) == 0 {
			continue // a kind of record that is younger than the first schema
		}
		page, err := store.List(t.Context(), &inventory.Query{Resource: r, Count: true})
		require.NoError(t, err)
		require.Equal(t, want, page.Records)
		require.EqualValues(t, len(want), page.Total)
	}
}
