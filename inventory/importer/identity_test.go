package importer_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// exported returns the rows of all records with natural keys: as name, text, name, text.
func exported(t *testing.T, engine *records.Engine, rows func() encode.Rows, ending string) (pairs []string) {
	t.Helper()
	schema := engine.Store().Schema()
	for _, r := range schema.Resources() {
		if !importer.Importable(schema, r) {
			continue
		}
		page, err := engine.Store().List(t.Context(), &records.Query{Resource: r})
		require.NoError(t, err)
		if len(page.Records) == 0 {
			continue
		}
		e, out := encode.New(r).Natural(), rows()
		require.NoError(t, e.SetKeys(t.Context(), engine.Store(), page.Records))
		b := out.Begin(nil, e)
		for _, rec := range page.Records {
			b = out.Row(b, e, rec)
		}
		pairs = append(pairs, r.Name+ending, string(out.End(b, true)))
	}
	return pairs
}

// ids matches ids.
var ids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// withoutIDs returns the lines of an export, in order, without ids.
func withoutIDs(pairs []string) (all []string) {
	for _, text := range pairs {
		text = strings.ReplaceAll(text, `"rack_height":null`, `"rack_height":1`) // a new device has that of its type
		lines := strings.Split(ids.ReplaceAllString(text, "id"), "\n")
		slices.Sort(lines)
		all = append(all, lines...)
	}
	return all
}

// exchange requires that an export with natural keys changes nothing in its inventory, and makes the same records in
// another one.
func exchange(t *testing.T, engine, other *records.Engine) {
	t.Helper()
	for ending, rows := range map[string]func() encode.Rows{".jsonl": encode.JSONLines, ".csv": encode.CSV} {
		pairs := exported(t, engine, rows, ending)
		report, err := files(engine, nil, pairs...)
		require.NoError(t, err)
		require.Empty(t, problems(report), "%s", pairs)
		require.Equal(t, report.Rows, report.Unchanged, "%s", pairs)
		if ending == ".csv" {
			continue
		}
		for _, opts := range []*importer.Options{{DryRun: true}, {OnError: importer.Skip}} {
			report, err = files(other, opts, pairs...)
			require.NoError(t, err)
			require.Empty(t, problems(report), "%s", pairs)
			require.Equal(t, report.Rows, report.Created+report.Unchanged, "%s", pairs)
		}
		require.Equal(t, withoutIDs(pairs), withoutIDs(exported(t, other, rows, ending)))
	}
}

// TestNamesakes: whatever can be created can be exported with natural keys and imported again, also records that equal
// others in all that names them.
func TestNamesakes(t *testing.T) {
	engines(t, func(t *testing.T, engine *records.Engine) {
		seeds := uint64(1)
		if _, inMemory := engine.Store().(*records.MemStore); inMemory {
			seeds = 60
		}
		for seed := range seeds {
			if seed > 0 {
				engine = memory()
			}
			fillNamesakes(t, engine, rand.New(rand.NewPCG(seed, 1)))
			exchange(t, engine, memory())
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	})
}

// fillNamesakes creates records with few names, as far as they are legal.
func fillNamesakes(t *testing.T, engine *records.Engine, rng *rand.Rand) {
	t.Helper()
	made := map[string][]string{}
	any := func(resource string) *string {
		all := made[resource]
		if len(all) == 0 || rng.IntN(3) == 0 {
			return nil
		}
		return &all[rng.IntN(len(all))]
	}
	one := func(values ...string) string { return values[rng.IntN(len(values))] }
	must := func(resource string) string {
		if id := any(resource); id != nil {
			return *id
		}
		return append(made[resource], "")[0]
	}
	kinds := []func() records.Record{
		func() records.Record {
			return &inventory.Location{Name: one("HQ", "Room"), SiteCode: one("", "", "A", "B"), ParentID: any("locations")}
		},
		func() records.Record {
			return &inventory.Device{Hostname: one("fw", "FW", "sw"), Tenant: one("", "red", "blue"), LocationID: any("locations")}
		},
		func() records.Record {
			return &inventory.VRF{Name: one("red", "blue"), RD: one("", "1:1", "1:2", "1:3")}
		},
		func() records.Record {
			return &inventory.VLAN{VLANID: int64(1 + rng.IntN(2)), Name: one("users", "test"), LocationID: any("locations")}
		},
		func() records.Record {
			return &inventory.Interface{DeviceID: must("devices"), Name: one("e1", "e2"), Mode: "access", UntaggedVLANID: any("vlans")}
		},
		func() records.Record {
			return &inventory.Address{
				Address: one("10.0.0.1/24", "10.0.0.2/24"), Role: inventory.AddressRole(one("", "vrrp", "anycast")), VRFID: any("vrfs"), InterfaceID: any("interfaces"),
			}
		},
		func() records.Record {
			return &inventory.Prefix{Prefix: one("10.0.0.0/24", "10.0.1.0/24"), VRFID: any("vrfs"), VLANID: any("vlans"), LocationID: any("locations")}
		},
		func() records.Record { return &inventory.Rack{Name: one("R1", "R2"), LocationID: any("locations")} },
		func() records.Record {
			return &inventory.Termination{Name: one("p1"), DeviceID: any("devices")}
		},
	}
	for range 60 {
		rec := kinds[rng.IntN(len(kinds))]()
		if engine.Create(t.Context(), records.Caller{}, rec) == nil {
			r, err := engine.Store().Schema().Of(rec)
			require.NoError(t, err)
			made[r.Name] = append(made[r.Name], rec.Meta().ID)
		}
	}
}

// TestDemoExchanged: so does the demo, with the addresses of its gateways on both routers.
func TestDemoExchanged(t *testing.T) {
	t.Parallel()
	engine := memory()
	_, err := demo.Fill(t.Context(), engine.Store(), &demo.Options{Devices: 60, Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	require.NoError(t, err)
	gateways, err := records.Select[inventory.Address](t.Context(), engine.Store(), &records.Query{}, "role", "vrrp")
	require.NoError(t, err)
	require.NotEmpty(t, gateways)
	devices, err := records.Select[inventory.Device](t.Context(), engine.Store(), &records.Query{Limit: 2})
	require.NoError(t, err)
	for _, gateway := range gateways {
		for i, d := range devices {
			port := &inventory.Interface{DeviceID: d.ID, Name: fmt.Sprint("gateway ", gateway.ID, i)}
			require.NoError(t, engine.Create(t.Context(), records.Caller{}, port))
			require.NoError(t, engine.Create(t.Context(), records.Caller{}, &inventory.Address{
				Address: gateway.Address, VRFID: gateway.VRFID, Role: gateway.Role, InterfaceID: &port.ID,
			}))
		}
	}
	exchange(t, engine, memory())
}

// TestIdentity: rows are for the records that they name, and for no others.
func TestIdentity(t *testing.T) {
	engines(t, func(t *testing.T, engine *records.Engine) {
		run := func(mode importer.Mode, pairs ...string) *importer.Report {
			t.Helper()
			report, err := files(engine, &importer.Options{OnError: mode}, pairs...)
			require.NoError(t, err)
			return report
		}
		done := func(created, updated int64, pairs ...string) {
			t.Helper()
			for range 2 {
				report := run(importer.Stop, pairs...)
				require.Empty(t, problems(report))
				require.Equal(t, [2]int64{created, updated}, [2]int64{report.Created, report.Updated})
				created, updated = 0, 0 // the second time
			}
		}
		// The LAG is one of the device of the row.
		done(6, 0, "devices.csv", "hostname\nr1\nr2\n", "interfaces.csv", "device,name,type,lag\nr1,po1,lag,\nr1,x1,10g,po1\nr2,po1,lag,\nr2,x1,10g,po1\n")
		require.Equal(t, int64(1), run(importer.Skip, "interfaces.csv", "device,name,lag\nr1,x2,po9\n").Rejected)

		// Tenants, route distinguishers, interfaces, and names of VLANs without a location.
		done(2, 0, "devices.csv", "hostname,tenant\nfw,red\nfw,blue\n")
		done(2, 0, "vrfs.csv", "name,rd\nprod,1:1\nprod,1:2\n")
		done(2, 0, "vlans.csv", "vlan_id,name\n100,users\n100,test\n")
		done(2, 0, "interfaces.jsonl", `{"device":{"hostname":"fw","tenant":"red"},"name":"v1"}`+"\n"+`{"device":{"hostname":"fw","tenant":"blue"},"name":"v1"}`+"\n")
		vrrp := func(tenant string) string {
			return `{"address":"10.0.0.1/24","vrf":{"name":"prod","rd":"1:2"},"role":"VRRP","interface":{"name":"v1","device":{"hostname":"fw","tenant":"` + tenant + `"}}}` + "\n"
		}
		done(2, 0, "addresses.jsonl", vrrp("red")+vrrp("blue"))
		require.Contains(t, problems(run(importer.Skip, "addresses.csv", "address,vrf\n10.0.0.1/24,prod\n")), "several")
		// What has none gets it by an import.
		done(0, 1, "devices.csv", "hostname,tenant\nr1,red\n")
		done(1, 0, "devices.csv", "hostname,tenant\nr1,blue\n")

		// Hostnames have no blanks around them, and one form; placeholders are no serial numbers.
		done(2, 0, "devices.csv", "hostname,serial_number\n sw-a ,N/A\nsw-b,n/a\n")
		require.Equal(t, int64(1), run(importer.Skip, "devices.csv", "hostname\nSW-A\n").Rejected)
		require.Empty(t, problems(run(importer.Stop, "interfaces.jsonl", `{"device":"sw-a","name":"e1"}`)))

		// An id and a natural key of two records are refused, and one of them alone is enough.
		done(2, 0, "locations.csv", "name\nVienna\nGraz\n")
		vienna, err := records.First[inventory.Location](t.Context(), engine.Store(), "name", "Vienna")
		require.NoError(t, err)
		require.Contains(t, problems(run(importer.Stop, "devices.csv", "hostname,location,location_id\nsw-c,Graz,"+vienna.ID+"\n")), "location_id")
		done(2, 0, "devices.csv", "hostname,location,location_id\nsw-c,,"+vienna.ID+"\nsw-d,Vienna,\n")
		for _, name := range []string{"sw-c", "sw-d"} {
			d, err := records.First[inventory.Device](t.Context(), engine.Store(), "hostname", name)
			require.NoError(t, err)
			require.Equal(t, &vienna.ID, d.LocationID)
		}
	})
}

// TestRowsOfRejectedRows: a row that refers to a rejected row is rejected with it, in each form of a reference, and does not
// attach to another record of that name.
func TestRowsOfRejectedRows(t *testing.T) {
	engines(t, func(t *testing.T, engine *records.Engine) {
		report, err := files(engine, nil, "locations.csv", "name,site_code\nVienna,VIE\nGraz,GRZ\n", "devices.csv", "hostname,tenant,location\nfw,red,VIE\nsw,,GRZ\n")
		require.NoError(t, err)
		require.Empty(t, problems(report))
		const rows = `{"_resource":"devices","hostname":"fw","tenant":"blue","location":"VIE","status":"lost"}
{"_resource":"devices","hostname":"sw","location":"VIE","serial_number":5}
{"_resource":"interfaces","device":{"hostname":"fw","tenant":"blue"},"name":"1"}
{"_resource":"interfaces","device":"fw","name":"2"}
{"_resource":"interfaces","device":{"hostname":"sw","location":{"name":"Vienna"}},"name":"3"}
{"_resource":"interfaces","device":"sw","name":"4"}
{"_resource":"addresses","address":"10.0.0.1/24","interface":{"name":"1","device":{"hostname":"fw","tenant":"blue"}}}
{"_resource":"links","a_interface":{"name":"2","device":"fw"},"b_interface":{"name":"5","device":{"hostname":"fw","tenant":"red"}}}
{"_resource":"interfaces","device":{"hostname":"fw","tenant":"red"},"name":"5"}
{"_resource":"interfaces","device":{"hostname":"sw","location":{"name":"Graz"}},"name":"6"}
`
		report, err = files(engine, &importer.Options{OnError: importer.Skip}, "rows.jsonl", rows)
		require.NoError(t, err)
		require.Equal(t, int64(8), report.Rejected, "%s", problems(report))
		require.Equal(t, int64(2), report.Created)
		require.Equal(t, int64(2), count(t, engine, "interfaces"))
		require.Equal(t, int64(0), count(t, engine, "addresses"))
	})
}
