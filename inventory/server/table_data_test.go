//go:build unix

package server_test

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// The words of searches in the table, by how many devices have them in their notes.
const (
	frequentWord = "monitored" // every other device
	rareWord     = "lightning" // one of 5,000 devices
	absentWord   = "zeppelin"  // none
	absentPair   = "zq"        // none
)

// The numbers of the records that do not depend on the number of devices.
const (
	tableUsers = 20
	perSite    = 100  // devices
	rareEvery  = 5000 // devices
)

var (
	tableVendors = []string{"Cisco", "Juniper", "Arista", "Nokia", "Huawei", "HPE", "Dell", "Extreme", "Fortinet", "MikroTik", "Ubiquiti", "Palo Alto"}
	tableSystems = []string{"IOS XE", "Junos", "EOS", "SR OS", "VRP", "AOS-CX", "SONiC", "EXOS", "FortiOS", "RouterOS", "UniFi OS", "PAN-OS"}
	tableRoles   = []string{"access", "distribution", "core", "edge", "firewall", "wireless", "console", "spine"}
	tableCities  = []string{"Frankfurt", "Berlin", "Munich", "Vienna", "Zurich", "Paris", "Lyon", "Madrid", "London", "Dublin", "Oslo", "Warsaw"}
	tableLands   = []string{"DE", "DE", "DE", "AT", "CH", "FR", "FR", "ES", "GB", "IE", "NO", "PL"}
)

// filler writes the records of a table to an empty store. They depend on the sizes only.
type filler struct {
	t     *testing.T
	store records.Store
	maker *records.Engine // makes ids and times
	rng   *rand.Rand
	made  uint64 // ids
	now   time.Time
	batch []records.Record
}

// tableEpoch is the time of the first record. Each record is 10 ms younger than the one before.
var tableEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newFiller(t *testing.T, store records.Store, seed uint64, from time.Time) *filler {
	f := &filler{t: t, store: store, rng: rand.New(rand.NewPCG(seed, 15)), now: from}
	f.maker = records.New(store, &records.Options{
		Now: func() time.Time { f.now = f.now.Add(10 * time.Millisecond); return f.now },
		NewID: func() (string, error) { // of version 7; the time is that of the record before
			f.made++
			ms := uint64(f.now.UnixMilli())
			return fmt.Sprintf("%08x-%04x-7%03x-%04x-%012x", ms>>16, ms&0xffff, f.made&0xfff, 0x8000|f.rng.Uint64()&0x3fff, f.rng.Uint64()&0xffffffffffff), nil
		},
	})
	return f
}

func (f *filler) add(rec records.Record) {
	f.t.Helper()
	require.NoError(f.t, f.maker.Init(rec))
	f.addReady(rec)
}

// addReady adds a record with an id.
func (f *filler) addReady(rec records.Record) {
	f.t.Helper()
	if f.batch = append(f.batch, rec); len(f.batch) == 5000 {
		f.flush()
	}
}

func (f *filler) flush() {
	f.t.Helper()
	if len(f.batch) == 0 {
		return
	}
	require.NoError(f.t, f.store.Change(f.t.Context(), func(tx records.Tx) error { return tx.Create(f.t.Context(), f.batch...) }))
	f.batch = f.batch[:0]
}

// zipf returns a number below n; k has about the weight 1/(k+1).
func (f *filler) zipf(n int) int {
	return min(int(math.Exp(f.rng.Float64()*math.Log(float64(n+1))))-1, n-1)
}

func (f *filler) skewed(values []string) string { return values[f.zipf(len(values))] }

// network adds users, locations, devices, interfaces and links.
func (f *filler) network(devices, ports int) {
	f.t.Helper()
	for i := range tableUsers {
		name := fmt.Sprintf("user%02d", i)
		f.add(&inventory.User{Username: name, Email: name + "@example.com", Role: inventory.Viewer, PasswordHash: "none"})
	}
	var site, previous *string
	for i := range devices {
		number := i / perSite
		city := number % len(tableCities)
		if i%perSite == 0 {
			l := &inventory.Location{
				Name: fmt.Sprintf("%s %d", tableCities[city], number/len(tableCities)+1), City: tableCities[city], Country: tableLands[city],
				Address: fmt.Sprintf("Hauptstrasse %d", number), SiteCode: fmt.Sprintf("S%05d", number),
			}
			f.add(l)
			site = &l.ID
		}
		d := f.device(i, number)
		d.LocationID = site
		f.add(d)
		up := f.ports(i, d, ports)
		if previous != nil && i%2 == 1 {
			f.add(&inventory.Link{
				AInterfaceID: min(*previous, up), BInterfaceID: max(*previous, up), Type: "fiber",
				Status: inventory.LinkUp, Discovery: f.skewed([]string{"lldp", "cdp", "manual"}),
			})
		}
		previous = &up
	}
	f.flush()
}

func (f *filler) device(i, site int) *inventory.Device {
	vendor, role := f.zipf(len(tableVendors)), f.zipf(len(tableRoles))
	d := &inventory.Device{
		Hostname: fmt.Sprintf("%.3s%03d-%.2s-%06d", tableCities[site%len(tableCities)], site/len(tableCities), tableRoles[role], (i*7919)%1_000_003),
		IP:       fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255),
		Vendor:   tableVendors[vendor], OS: tableSystems[vendor], Role: tableRoles[role],
		Model:        fmt.Sprintf("%.2s-%d00", tableVendors[vendor], 12+f.zipf(8)),
		OSVersion:    fmt.Sprintf("%d.%d.%d", 17-f.zipf(3), f.zipf(6), f.zipf(3)),
		SerialNumber: fmt.Sprintf("SN%09d", i), RackPosition: fmt.Sprintf("R%02d-U%02d", 1+f.rng.IntN(20), 1+f.rng.IntN(42)),
		Status: inventory.DeviceStatus(f.skewed([]string{"active", "active", "active", "offline", "maintenance", "provisioning", "decommissioned"})),
		Tags:   []string{"production"}, Notes: "Installed by the field team.",
	}
	if f.rng.IntN(20) == 0 { // a network of several vendors' software
		d.OS = f.skewed(tableSystems)
	}
	if d.Status != inventory.DeviceProvisioning {
		d.LastSeen = new(tableEpoch.Add(time.Duration(f.rng.IntN(90*24*3600)) * time.Second))
	}
	if i%2 == 0 {
		d.Notes = "Installed by the field team, " + frequentWord + " since then."
	}
	if i%rareEvery == rareEvery/2 || i == 0 {
		d.Notes = "Replaced after a " + rareWord + " strike."
	}
	return d
}

// ports adds the interfaces of a device, and returns the id of the uplink.
func (f *filler) ports(i int, d *inventory.Device, ports int) (uplink string) {
	f.t.Helper()
	for port := range ports {
		mbps := []int64{1000, 10_000, 100, 25_000, 100_000, 40_000}[f.zipf(6)]
		status := f.skewed([]string{"up", "up", "down", "administratively down", "dormant"})
		x := &inventory.Interface{
			DeviceID: d.ID, Name: fmt.Sprintf("GigabitEthernet0/%d/%d", port, f.zipf(48)), Description: "uplink",
			Type: f.skewed([]string{"copper", "fiber", "virtual", "lag"}), Status: inventory.LinkStatus(status),
			AdminStatus: inventory.LinkUp, OperStatus: inventory.OperUp,
			Speed: records.FormatSpeed(mbps), SpeedMbps: &mbps, MTU: new([]int64{1500, 9216, 1600}[f.zipf(3)]),
			MACAddress: fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", i>>16&255, i>>8&255, i&255, port),
			Mode:       f.skewed([]string{"access", "trunk", "routed"}), IfIndex: new(int64(1 + f.zipf(500))),
		}
		switch x.Status {
		case inventory.LinkAdminDown:
			x.AdminStatus, x.OperStatus = inventory.LinkDown, inventory.OperDown
		case inventory.LinkDown, inventory.LinkDormant:
			x.OperStatus = inventory.OperStatus(x.Status)
		}
		if port == 0 {
			x.IPAddress = d.IP + "/24"
		} else {
			x.Description = fmt.Sprintf("port of %s", d.Hostname)
		}
		f.add(x)
		if port == 0 {
			uplink = x.ID
		}
	}
	return uplink
}

// audit adds entries of the audit log.
func (f *filler) audit(entries int, users, devices []string) {
	f.t.Helper()
	request := ""
	for i := range entries {
		if i%3 == 0 {
			request = fmt.Sprintf("%016x", f.rng.Uint64())
		}
		user := f.zipf(len(users))
		by := records.Caller{
			UserID: users[user], Name: fmt.Sprintf("user%02d", user), Address: fmt.Sprintf("192.0.2.%d", f.zipf(200)), RequestID: request,
		}
		entry, err := f.maker.AuditEntry(by, f.skewed([]string{"update", "create", "login", "delete", "login_failed"}),
			f.skewed([]string{"device", "interface", "user", "link", "vlan", "event", "location"}), devices[f.rng.IntN(len(devices))],
			records.Changes{"status": {Before: "active", After: "offline"}})
		require.NoError(f.t, err)
		f.addReady(entry)
	}
	f.flush()
}

// latestMetrics adds one metric of each device, later than all others.
func (f *filler) latestMetrics(devices []string) {
	f.t.Helper()
	for i, id := range devices {
		cpu, memory := float64(f.rng.IntN(1000))/10, float64(f.rng.IntN(1000))/10
		f.add(&inventory.Metric{DeviceID: id, CPU: &cpu, Memory: &memory, UptimeSeconds: new(int64(i)), TS: new(f.now)})
	}
	f.flush()
}

// insertMetrics are the statements that add one metric of each device in the database itself,
// because millions of them take too long otherwise. The parameter is the time in microseconds
// since 1970.
var insertMetrics = map[string]string{
	"sqlite": `INSERT INTO metrics (id, created_at, updated_at, version, device_id, cpu, memory, temp, uptime_seconds, ts)
		SELECT printf('%08x-%04x-7%03x-8%03x-%012x', at / 1000 >> 16, at / 1000 & 65535, number >> 24 & 4095, number >> 12 & 4095, number),
			at, at, 1, id, number % 100, number % 90, number % 70, number, at
		FROM (SELECT id, row_number() OVER (ORDER BY id) AS number, ?1 AS at FROM devices)`,
	"pgx": `INSERT INTO metrics (id, created_at, updated_at, version, device_id, cpu, memory, temp, uptime_seconds, ts)
		SELECT lpad(to_hex(ms >> 16), 8, '0') || '-' || lpad(to_hex(ms & 65535), 4, '0') || '-7' || lpad(to_hex(number >> 24 & 4095), 3, '0')
			|| '-8' || lpad(to_hex(number >> 12 & 4095), 3, '0') || '-' || lpad(to_hex(number), 12, '0'),
			at, at, 1, id, number % 100, number % 90, number % 70, number, at
		FROM (SELECT id, row_number() OVER (ORDER BY id) AS number, $1::bigint / 1000 AS ms,
			TIMESTAMPTZ '1970-01-01 00:00:00Z' + $1::bigint * INTERVAL '1 microsecond' AS at FROM devices) AS numbered`,
}

// countMetrics adds metrics to the stored total.
const countMetrics = `UPDATE tallies SET n = n + %d WHERE resource = 'metrics' AND field = ''
	AND slot = (SELECT min(slot) FROM tallies WHERE resource = 'metrics' AND field = '')`

// pastMetrics adds metrics that are older than those of latestMetrics: one of each device every
// five minutes.
func pastMetrics(t *testing.T, db *sql.DB, driver string, devices, metrics int) {
	t.Helper()
	at := tableEpoch.Add(-365 * 24 * time.Hour)
	for ; metrics >= devices; metrics -= devices {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), insertMetrics[driver], at.UnixMicro())
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), fmt.Sprintf(countMetrics, devices))
		require.NoError(t, err)
		require.NoError(t, tx.Commit())
		at = at.Add(5 * time.Minute)
	}
}
