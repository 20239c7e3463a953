package sqlstore_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/internal/sqlstoretest"
)

// adminHash is the hash of the password with which cmd/internal/e2e logs in to these
// databases.
const adminHash = "$argon2id$v=19$m=19456,t=2,p=1$UQlbZulBcxPzHgkzd3UtOA$bcTs6lqRhf5ZPXP/xc/BRbz2x5PveFZTWAPwMMNk2WM"

// upgradeRecords returns the records in the databases of earlier schemas that the tests of a
// dialect have in testdata, in an order in which they can be created. They must not change: a
// later field is empty in them, or has its default.
func upgradeRecords() []records.Record {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	ptr := func(n int) *string { id := sqlstoretest.ID(n); return &id }
	one, half := int64(1500), 47.5
	return []records.Record{
		sqlstoretest.WithBase(1, &inventory.Location{
			Name: "Zürich 1", City: "Zürich", Country: "Switzerland", Address: "1 Bahnhofstrasse", SiteCode: "ZRH1",
			Timezone: "Europe/Zurich", Lat: &half, Lon: &half,
		}),
		sqlstoretest.WithBase(2, &inventory.User{Username: "admin", Email: "admin@example.org", Role: inventory.Admin, PasswordHash: adminHash, Epoch: 1, LocationIDs: []string{}}),
		sqlstoretest.WithBase(3, &inventory.Device{
			Hostname: "core-1", IP: "2001:db8::1", Model: "M1", Vendor: "V", OS: "OS", OSVersion: "1.2", Status: "active", Role: "core",
			SerialNumber: "SN1", RackPosition: "R1-U1", LocationID: ptr(1), LastSeen: &at, Tags: []string{"edge", `a,"b"`}, Notes: "one\r\ntwo — 😀",
		}),
		sqlstoretest.WithBase(4, &inventory.Device{Hostname: "bare", IP: "192.0.2.1", Model: "M1", Vendor: "V", OS: "OS", Status: "maintenance", Tags: []string{}}),
		sqlstoretest.WithBase(5, &inventory.Interface{
			DeviceID: sqlstoretest.ID(3), Name: "eth0", Description: "uplink", Type: "fiber", Status: "up", AdminStatus: "up", OperStatus: "down",
			Speed: "10Gbps", SpeedMbps: &one, MTU: &one, MACAddress: "00:1a:2b:3c:4d:5e", Mode: "trunk", IfIndex: &one, IPAddress: "192.0.2.1/24",
		}),
		sqlstoretest.WithBase(6, &inventory.Interface{DeviceID: sqlstoretest.ID(4), Name: "eth0", Type: "copper", Status: "up"}),
		sqlstoretest.WithBase(7, &inventory.VLAN{
			VLANID: 100, Name: "users", Description: "desks", Status: "active", LocationID: ptr(1), SubnetCIDR: "192.0.2.0/24", GatewayIP: "192.0.2.1",
		}),
		sqlstoretest.WithBase(8, &inventory.Link{AInterfaceID: sqlstoretest.ID(5), BInterfaceID: sqlstoretest.ID(6), Type: "fiber", Status: "up", Discovery: "lldp"}),
		sqlstoretest.WithBase(9, &inventory.Event{
			Severity: "critical", Type: "security", Message: "door\nopen", DeviceID: ptr(3), InterfaceID: ptr(5), LocationID: ptr(1),
			AcknowledgedAt: &at, AcknowledgedBy: ptr(2),
		}),
		sqlstoretest.WithBase(10, &inventory.Metric{DeviceID: sqlstoretest.ID(3), CPU: &half, Memory: &half, Temp: &half, UptimeSeconds: &one, TS: &at}),
		sqlstoretest.WithBase(11, &records.AuditLog{
			UserID: ptr(2), Actor: "ada", Action: "update", ResourceType: "device", ResourceID: sqlstoretest.ID(3), IPAddress: "192.0.2.9", RequestID: "r1",
			Changes: records.Changes{"notes": {Before: nil, After: "ä"}},
		}),
		sqlstoretest.WithBase(14, &inventory.User{ // #nosec G101 -- not a hash of a password that is in use
			Username: "ada", Email: "ada@example.org", Role: inventory.Viewer, InactiveStatus: true, FirstName: "Ada", LastName: "O'Hara",
			PasswordChangedAt: &at, LastLogin: &at, PasswordHash: "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA", Epoch: 3,
			LocationIDs: []string{},
		}),
		sqlstoretest.WithBase(12, &records.IdempotencyRecord{Owner: sqlstoretest.ID(2), Key: "k", Request: "hash", Status: 201, Location: "/devices/x", Body: "{}"}),
		sqlstoretest.WithBase(13, &inventory.Secret{Name: "jwt", Value: "not so secret"}),
	}
}

// checkUpgradeRecords requires that a store has the [upgradeRecords] and no others.
func checkUpgradeRecords(t testing.TB, store records.Reader) {
	t.Helper()
	want := map[reflect.Type][]records.Record{}
	for _, rec := range upgradeRecords() {
		want[reflect.TypeOf(rec)] = append(want[reflect.TypeOf(rec)], rec)
	}
	for _, r := range inventory.Schema().StoredResources() {
		want := want[reflect.TypeOf(r.New())]
		if len(want) == 0 {
			continue // a resource that is newer than the first schema
		}
		page, err := store.List(t.Context(), &records.Query{Resource: r, Count: true})
		require.NoError(t, err)
		require.Equal(t, want, page.Records)
		require.EqualValues(t, len(want), page.Total)
		if lister, ok := store.(records.LatestLister); ok && r.Latest != nil {
			latest, err := lister.ListLatest(t.Context(), &records.Query{Resource: r, Count: true})
			require.NoError(t, err)
			require.Equal(t, r.SelectLatest(want), latest.Records)
			require.EqualValues(t, len(latest.Records), latest.Total)
		}
	}
}

// checkUpgradedRecords requires that a store with the [upgradeRecords] can change: keys and references
// are enforced, and totals are right. It creates a device and deletes a location and a user.
func checkUpgradedRecords(t testing.TB, store records.Store) {
	t.Helper()
	require.Error(t, sqlstoretest.Create(t, store, sqlstoretest.WithBase(20, &inventory.Location{
		Name: "x", City: "x", Country: "x", Address: "x", SiteCode: "ZRH1",
	})), "a key that was unique before the upgrade")
	location := records.Of[inventory.Location](inventory.Schema())
	require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error {
		return tx.Delete(t.Context(), location, sqlstoretest.ID(1), 1, nil)
	}))
	device, err := records.Get[inventory.Device](t.Context(), store, sqlstoretest.ID(3))
	require.NoError(t, err)
	require.Nil(t, device.LocationID)
	require.NoError(t, sqlstoretest.Create(t, store, sqlstoretest.Devices(30, 31)...))
	checkRelaxed(t, store)
	page, err := store.List(t.Context(), &records.Query{Resource: records.Of[inventory.Device](inventory.Schema()), Count: true})
	require.NoError(t, err)
	require.EqualValues(t, 5, page.Total)
	checkAuditUser(t, store)
}

// checkAuditUser deletes the user of an entry of the audit log, which keeps its id. An earlier
// program has left the user out of its hash.
func checkAuditUser(t testing.TB, store records.Store) {
	t.Helper()
	require.NoError(t, store.Change(t.Context(), func(tx records.Tx) error {
		return tx.Delete(t.Context(), records.Of[inventory.User](inventory.Schema()), sqlstoretest.ID(2), 1, nil)
	}))
	entry, err := records.Get[records.AuditLog](t.Context(), store, sqlstoretest.ID(11))
	require.NoError(t, err)
	require.Equal(t, sqlstoretest.ID(2), *entry.UserID)
	require.EqualValues(t, 1, entry.Version)
	page, err := store.List(t.Context(), (&records.Query{Resource: records.Of[records.AuditLog](inventory.Schema()), Count: true}).Where("user_id", sqlstoretest.ID(2)))
	require.NoError(t, err)
	require.EqualValues(t, 1, page.Total)
	_, err = records.VerifyAudit(t.Context(), store, nil)
	require.NoError(t, err)
}

// checkRelaxed requires that a store with the [upgradeRecords] accepts what the first schema
// did not, and nothing more. It creates two devices.
func checkRelaxed(t testing.TB, store records.Store) {
	t.Helper()
	zero, mtu := int64(0), int64(1<<32-1)
	site := sqlstoretest.ID(40)
	require.NoError(t, sqlstoretest.Create(t, store, sqlstoretest.WithBase(40, &inventory.Location{Name: "x"})))
	require.NoError(t, sqlstoretest.Create(t, store, sqlstoretest.WithBase(41, &inventory.Device{Hostname: "bare", Status: "active", LocationID: &site})))
	require.NoError(t, sqlstoretest.Create(t, store, sqlstoretest.WithBase(42, &inventory.Device{Hostname: "bare 2", Status: "active"})))
	require.NoError(t, sqlstoretest.Create(t, store, sqlstoretest.WithBase(43, &inventory.Interface{
		DeviceID: sqlstoretest.ID(41), Name: "lo", Status: "notpresent", AdminStatus: "lowerlayerdown", OperStatus: "lowerlayerdown",
		Speed: "64kbps", SpeedMbps: &zero, MTU: &mtu,
	})))
	require.NoError(t, sqlstoretest.Create(t, store, sqlstoretest.WithBase(44, &inventory.Interface{DeviceID: sqlstoretest.ID(42), Name: "lo", Status: "up"})))
	require.NoError(t, sqlstoretest.Create(t, store, sqlstoretest.WithBase(45, &inventory.Link{AInterfaceID: sqlstoretest.ID(43), BInterfaceID: sqlstoretest.ID(44), Status: "lowerlayerdown"})))
	for _, rec := range []records.Record{
		&inventory.Device{Hostname: "bare", Status: "active"},                            // without a location
		&inventory.Device{Hostname: "bare", Status: "active", LocationID: &site},         // within one
		&inventory.Device{Hostname: "", Status: "active"},                                // the name is required
		&inventory.Interface{DeviceID: sqlstoretest.ID(41), Name: "a", Status: "broken"}, // the states are known
		&inventory.Interface{DeviceID: sqlstoretest.ID(41), Name: "a", Status: "up", MTU: new(mtu + 1)},
		&inventory.Location{Name: ""},
	} {
		*rec.Meta() = *sqlstoretest.WithBase(46, &inventory.Device{}).Meta()
		if n, ok := rec.(records.Normalizer); ok {
			n.Normalize()
		}
		require.Error(t, sqlstoretest.Create(t, store, rec), "%+v", rec)
	}
	require.Error(t, store.Change(t.Context(), func(tx records.Tx) error {
		return tx.Delete(t.Context(), records.Of[inventory.Location](inventory.Schema()), site, 1, nil)
	}), "a device would become a duplicate")
}
