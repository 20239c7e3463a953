package sqlstoretest

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
)

// adminHash is that of the password with which cmd/internal/e2e logs in to these databases.
const adminHash = "$argon2id$v=19$m=19456,t=2,p=1$UQlbZulBcxPzHgkzd3UtOA$bcTs6lqRhf5ZPXP/xc/BRbz2x5PveFZTWAPwMMNk2WM"

// Relics are what the databases of earlier schemas have in them that the tests of a dialect
// keep: some of each kind of the first schema, in an order in which they can be added. They
// stay as they are: a field that comes later is empty in them, or has its default.
func Relics() []inventory.Record {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	ptr := func(n int) *string { id := ID(n); return &id }
	one, half := int64(1500), 47.5
	return []inventory.Record{
		Based(1, &inventory.Location{
			Name: "Zürich 1", City: "Zürich", Country: "Switzerland", Address: "1 Bahnhofstrasse", SiteCode: "ZRH1",
			Timezone: "Europe/Zurich", Lat: &half, Lon: &half,
		}),
		Based(2, &inventory.User{Username: "admin", Email: "admin@example.org", Role: inventory.Admin, PasswordHash: adminHash, Epoch: 1}),
		Based(3, &inventory.Device{
			Hostname: "core-1", IP: "2001:db8::1", Model: "M1", Vendor: "V", OS: "OS", OSVersion: "1.2", Status: "active", Role: "core",
			SerialNumber: "SN1", RackPosition: "R1-U1", LocationID: ptr(1), LastSeen: &at, Tags: []string{"edge", `a,"b"`}, Notes: "one\r\ntwo — 😀",
		}),
		Based(4, &inventory.Device{Hostname: "bare", IP: "192.0.2.1", Model: "M1", Vendor: "V", OS: "OS", Status: "maintenance", Tags: []string{}}),
		Based(5, &inventory.Interface{
			DeviceID: ID(3), Name: "eth0", Description: "uplink", Type: "fiber", Status: "up", AdminStatus: "up", OperStatus: "down",
			Speed: "10Gbps", SpeedMbps: &one, MTU: &one, MACAddress: "00:1a:2b:3c:4d:5e", Mode: "trunk", IfIndex: &one, IPAddress: "192.0.2.1/24",
		}),
		Based(6, &inventory.Interface{DeviceID: ID(4), Name: "eth0", Type: "copper", Status: "up"}),
		Based(7, &inventory.VLAN{
			VLANID: 100, Name: "users", Description: "desks", Status: "active", LocationID: ptr(1), SubnetCIDR: "192.0.2.0/24", GatewayIP: "192.0.2.1",
		}),
		Based(8, &inventory.Link{AInterfaceID: ID(5), BInterfaceID: ID(6), Type: "fiber", Status: "up", Discovery: "lldp"}),
		Based(9, &inventory.Event{
			Severity: "critical", Type: "security", Message: "door\nopen", DeviceID: ptr(3), InterfaceID: ptr(5), LocationID: ptr(1),
			AcknowledgedAt: &at, AcknowledgedBy: ptr(2),
		}),
		Based(10, &inventory.Metric{DeviceID: ID(3), CPU: &half, Memory: &half, Temp: &half, UptimeSeconds: &one, TS: &at}),
		Based(11, &inventory.AuditLog{
			UserID: ptr(2), Actor: "ada", Action: "update", ResourceType: "device", ResourceID: ID(3), IPAddress: "192.0.2.9", RequestID: "r1",
			Changes: inventory.Changes{"notes": {Before: nil, After: "ä"}},
		}),
		Based(14, &inventory.User{
			Username: "ada", Email: "ada@example.org", Role: inventory.Viewer, InactiveStatus: true, FirstName: "Ada", LastName: "O'Hara",
			PasswordChangedAt: &at, LastLogin: &at, PasswordHash: "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA", Epoch: 3,
			ResetHash: "6f1e", ResetExpiresAt: &at,
		}),
		Based(12, &inventory.IdempotencyRecord{Owner: ID(2), Key: "k", Request: "hash", Status: 201, Location: "/devices/x", Body: "{}"}),
		Based(13, &inventory.Secret{Name: "jwt", Value: "not so secret"}),
	}
}

// CheckRelics says that a store has the [Relics], whole, and nothing else.
func CheckRelics(t testing.TB, store inventory.Reader) {
	t.Helper()
	kept := map[reflect.Type][]inventory.Record{}
	for _, rec := range Relics() {
		kept[reflect.TypeOf(rec)] = append(kept[reflect.TypeOf(rec)], rec)
	}
	for _, r := range inventory.StoredResources() {
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

// CheckGoesOn says that a store that has the [Relics] changes like any other: keys and
// references are in force, and totals are kept. It adds a device and takes away a location.
func CheckGoesOn(t testing.TB, store inventory.Store) {
	t.Helper()
	require.Error(t, Create(t, store, Based(20, &inventory.Location{
		Name: "x", City: "x", Country: "x", Address: "x", SiteCode: "ZRH1",
	})), "what was unique still is")
	location := inventory.Of[inventory.Location]()
	require.NoError(t, store.Change(t.Context(), func(tx inventory.Tx) error {
		return tx.Delete(t.Context(), location, ID(1), 1)
	}))
	device, err := inventory.Get[inventory.Device](t.Context(), store, ID(3))
	require.NoError(t, err)
	require.Nil(t, device.LocationID)
	require.NoError(t, Create(t, store, Fleet(30, 31)...))
	page, err := store.List(t.Context(), &inventory.Query{Resource: inventory.Of[inventory.Device](), Count: true})
	require.NoError(t, err)
	require.EqualValues(t, 3, page.Total)
}
