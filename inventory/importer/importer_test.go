package importer_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// server is the PostgreSQL server of all tests.
var server postgrestest.Shared

func TestMain(m *testing.M) { os.Exit(server.Main(m).Run()) }

// memory returns an engine over an empty store in memory.
func memory() *records.Engine { return records.New(records.NewMemStore(inventory.Schema()), nil) }

// engines runs a test with each store.
func engines(t *testing.T, test func(t *testing.T, engine *records.Engine)) {
	t.Helper()
	t.Parallel()
	busy := &sqlstore.Options{Timeout: 10 * time.Minute} // the machine may be busy
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, memory())
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "inventory.db"), inventory.Schema(), &sqlite.Options{Store: busy})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		test(t, records.New(store, nil))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		store, err := postgres.Open(t.Context(), server.Database(t), inventory.Schema(), &postgres.Options{Store: busy})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		test(t, records.New(store, nil))
	})
}

// files imports files, given as name, text, name, text.
func files(engine *records.Engine, opts *importer.Options, pairs ...string) (*importer.Report, error) {
	var sources []importer.Source
	for i := 0; i+1 < len(pairs); i += 2 {
		source, err := importer.Open(pairs[i], strings.NewReader(pairs[i+1]), engine.Store().Schema(), nil)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source)
	}
	return importer.Run(context.Background(), engine, sources, opts)
}

// problems returns those of a report, one a line.
func problems(r *importer.Report) string {
	var b strings.Builder
	for _, p := range r.Problems {
		fmt.Fprintln(&b, p)
	}
	return b.String()
}

// count returns the number of records of a resource.
func count(t *testing.T, engine *records.Engine, name string) int64 {
	t.Helper()
	r, ok := engine.Store().Schema().Named(name)
	require.True(t, ok)
	page, err := engine.Store().List(t.Context(), &records.Query{Resource: r, Count: true, Limit: 1})
	require.NoError(t, err)
	return page.Total
}

// network is a network in each format, in an order in which rows refer to later ones.
var network = []string{
	"interfaces.yaml", `- name: eth0
  device: {hostname: sw1, location: VIE}
  speed: 10G
- name: eth0
  device: {hostname: sw2, location: {name: Graz}}
`,
	"all.jsonl", `{"_resource":"links","a_interface":{"name":"eth0","device":"sw1"},"b_interface":{"name":"eth0","device":"sw2"}}
{"_resource":"vlans","vlan_id":100,"name":"Data","location":"Graz"}
{"_resource":"locations","name":"Graz"}
`,
	"devices.csv", "hostname,location,vendor,tags,last_seen,id,version\nsw1,VIE,Juniper,\"[\"\"core\"\"]\",2026-01-31T12:00:00Z,,7\nsw2,Graz,'=Arista,[],,,\n",
	"locations.csv", "\ufeffname,site_code,lat,lon\nVienna,VIE,48.2,16.37\n",
}

// TestImport: rows in any format and order create their records, and the same rows again change and
// log nothing.
func TestImport(t *testing.T) { engines(t, testImport) }

func testImport(t *testing.T, engine *records.Engine) {
	dry, err := files(engine, &importer.Options{DryRun: true}, network...)
	require.NoError(t, err)
	require.Empty(t, problems(dry))
	require.Equal(t, int64(8), dry.Created)
	require.Len(t, dry.Changes, 8)
	require.Equal(t, int64(0), count(t, engine, "audit-logs"))

	for _, mode := range []importer.Mode{importer.Stop, importer.Skip} {
		report, err := files(engine, &importer.Options{OnError: mode}, network...)
		require.NoError(t, err)
		require.Empty(t, problems(report))
		require.Equal(t, int64(8), report.Rows)
		require.Equal(t, int64(8), report.Created+report.Unchanged)
		require.Equal(t, int64(8), count(t, engine, "audit-logs"), "the second time nothing is logged")
	}
	page, err := engine.Store().List(t.Context(), &records.Query{Resource: records.Of[inventory.Device](engine.Store().Schema())})
	require.NoError(t, err)
	require.Len(t, page.Records, 2)
	sw1, sw2 := page.Records[0].(*inventory.Device), page.Records[1].(*inventory.Device)
	require.Equal(t, []string{"core"}, sw1.Tags)
	require.NotNil(t, sw1.LastSeen)
	require.Equal(t, "=Arista", sw2.Vendor)

	renamed := fmt.Sprintf("id,hostname,vendor\n%s,sw9,\n", sw2.ID)
	report, err := files(engine, nil, "devices.csv", renamed)
	require.NoError(t, err)
	require.Equal(t, int64(1), report.Updated, "a row with an id changes the natural key; an empty cell clears a field")
	now, err := records.Get[inventory.Device](t.Context(), engine.Store(), sw2.ID)
	require.NoError(t, err)
	require.Equal(t, "sw9", now.Hostname)
	require.Empty(t, now.Vendor)
	require.NotNil(t, now.LocationID, "a missing column leaves a field unchanged")
}

// TestBadRows: each bad row is reported with what would be right. With Stop nothing is changed.
func TestBadRows(t *testing.T) { engines(t, testBadRows) }

func testBadRows(t *testing.T, engine *records.Engine) {
	_, err := files(engine, nil, "locations.csv", "name\nVienna\nHQ\n")
	require.NoError(t, err)
	require.NoError(t, engine.Create(t.Context(), records.Caller{}, &inventory.Location{Name: "HQ"}))
	before := count(t, engine, "audit-logs")
	rows := []string{
		"locations.csv", "name,timezone\nGraz,not a zone\nLinz,Europe/Vienna\n",
		"devices.csv", "hostname,status,location,ip,serial_number\n" +
			"sw1,activ,Vienna,,\n" + // 2: a value
			"sw2,active,Wien,,\n" + // 3: no such location
			"sw3,active,HQ,,\n" + // 4: several
			"sw4,active,Graz,,\n" + // 5: of a rejected row
			"sw5,active,Vienna\n" + // 6: width
			"sw6,active,Vienna,10.0.0.300,\n" +
			"sw7,active,Vienna,,S1\n" +
			"sw8,active,Vienna,,S1\n" + // 9: duplicate serial number
			"sw7,offline,Vienna,,\n" + // 10: the same device again
			"sw9,active,Vienna,,\n" +
			"caf\xe9,active,Vienna,,\n" + // 12: Latin-1
			",active,Vienna,,\n", // 13: no key
	}
	want := []string{
		`locations.csv:2: timezone "not`,
		`devices.csv:2: status "activ" must be`, `devices.csv:3: location "Wien"`,
		`devices.csv:4: location "HQ" several`,
		`devices.csv:5: location "Graz" line 2 locations.csv rejected`,
		`devices.csv:6: 3 5`, `devices.csv:7: ip "10.0.0.300"`,
		`devices.csv:9: serial_number "S1" is already used`, `devices.csv:10: line 8 devices.csv`,
		`devices.csv:12: is not UTF-8, perhaps Latin-1`, `devices.csv:13: hostname must`,
	}
	for _, mode := range []importer.Mode{importer.Stop, importer.Skip} {
		var rejected bytes.Buffer
		report, err := files(engine, &importer.Options{OnError: mode, Rejected: func(row *importer.Row) error {
			_, err := rejected.Write(row.Text)
			return err
		}}, rows...)
		require.NoError(t, err)
		text := problems(report)
		lines := strings.Split(text, "\n")
		for _, words := range want {
			require.True(t, slices.ContainsFunc(lines, func(line string) bool { return errtest.Names(line, words) }), "%s: no line with %s", text, words)
		}
		require.Equal(t, int64(len(want)), report.Rejected, text)
		require.Contains(t, rejected.String(), "sw2,active,Wien,,\n")
		require.NotContains(t, rejected.String(), "sw9")
		if mode == importer.Stop {
			require.Zero(t, report.Created)
			require.Equal(t, before, count(t, engine, "audit-logs"))
		} else {
			require.Equal(t, int64(3), report.Created, "Linz, sw7 and sw9")
			require.Equal(t, before+3, count(t, engine, "audit-logs"))
			require.Equal(t, int64(2), count(t, engine, "devices"))
		}
	}
}

// TestBadFiles: a file that is not what it says is refused with what to do.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"devices.csv", "PK\x03\x04...", "ZIP"},
		{"devices.csv", "\x1f\x8b\x08", "is compressed with gzip"},
		{"devices.csv", "\xff\xfeh\x00", "is in UTF-16"},
		{"devices.csv", "a\x00b", "is a binary file"},
		{"devices.csv", "", "is empty"},
		{"devices.csv", "[{\"hostname\":\"a\"}]", "begins like JSON"},
		{"devices.jsonl", "[{\"hostname\":\"a\"}]", "is a JSON array"},
		{"devices.jsonl", "hostname,ip\n", "begin object"},
		{"devices.csv", "hostnam,ip\n", "devices.csv:1: hostnam unknown hostname?"},
		{"devices.csv", "hostname,location.nam\n", "location nam name?"},
		{"devices.csv", "hostname,hostname\n", "two columns"},
		{"device.csv", "hostname\n", "has no resource"},
		{"users.csv", "username\n", `"users" imported`},
		{"devices.txt", "hostname\n", "format known"},
		{"devices.yaml", "hostname: a\n", "list records"},
		{"device.yaml", "device:\n  - hostname: a\n", `"device" devices?`},
		{"devices.csv", "hostname,notes\na,\"" + strings.Repeat("x", 3<<20), "MiB quotation"},
		{"devices.jsonl", "{\"hostname\":\"" + strings.Repeat("x", 3<<20), "line MiB"},
		{"devices.yaml", "- hostname: a\n  notes: |\n" + strings.Repeat("    x\n", 1<<18), "item MiB"},
	} {
		_, err := files(memory(), nil, tc.name, tc.text)
		var bad *importer.FileError
		require.ErrorAs(t, err, &bad, tc.name)
		errtest.Want(t, err, tc.want)
	}
	for _, tc := range []struct{ name, text, want string }{
		{"devices.jsonl", "{\"hostname\":\"a\",\"hostname\":\"b\"}\n", "duplicate"},
		{"devices.jsonl", "{\"hostname\":\"a\"}\n{\"hostname\":}\n", "devices.jsonl:2: "},
		{"devices.jsonl", "{\"hostname\":7}\n", "hostname \"7\" string"},
		{"devices.jsonl", "{\"hostname\":\"a\",\"vendr\":\"x\"}\n", "did you mean vendor?"},
		{"devices.yaml", "- hostname: a\n- hostname: &x b\n", "devices.yaml:2: hostname has an anchor"},
		{"devices.yaml", "- hostname: a\n  : [\n", "devices.yaml:1: is not YAML"},
		{"devices.csv", "hostname,vendor\na,b\"c\n", "devices.csv:2: quotation"},
		{"interfaces.csv", "name,device,mtu\na,sw1,big\n", "mtu \"big\" whole"},
	} {
		report, err := files(memory(), nil, tc.name, tc.text)
		require.NoError(t, err, tc.text)
		require.True(t, errtest.Names(problems(report), tc.want), "%s, want %s", problems(report), tc.want)
		require.Zero(t, report.Created)
	}
}

// TestBounds: rows of one transaction are bounded, and Skip applies more of them.
func TestBounds(t *testing.T) {
	t.Parallel()
	rows := "hostname\n" + strings.Repeat("x", 1)
	var b strings.Builder
	b.WriteString(rows + "\n")
	for i := range 2500 {
		fmt.Fprintf(&b, "sw%d\n", i)
	}
	_, err := files(memory(), &importer.Options{MaxRows: 2000}, "devices.csv", b.String())
	require.ErrorContains(t, err, "2000")
	engine := memory()
	report, err := files(engine, &importer.Options{MaxRows: 2000, OnError: importer.Skip}, "devices.csv", b.String())
	require.NoError(t, err)
	require.Equal(t, int64(2501), report.Created)
}

// TestSoakLargeFile reads a file of 4 MiB, or of 1 MiB for each second of ASHLAR_SOAK, with constant
// memory. Every row is invalid, so that nothing is stored.
func TestSoakLargeFile(t *testing.T) {
	size := int64(max(4, scaletest.Soak(t).Seconds())) << 20
	for name, row := range map[string]string{
		"devices.csv": "sw1," + strings.Repeat("x", 200) + "\n", "devices.jsonl": `{"hostname":7,"notes":"` + strings.Repeat("x", 200) + "\"}\n",
		"devices.yaml": "- hostname: [7]\n  notes: " + strings.Repeat("x", 200) + "\n",
	} {
		head, size := "", size
		if strings.HasSuffix(name, "yaml") {
			size /= 8 // it takes longest
		}
		if strings.HasSuffix(name, "csv") {
			head = "hostname,notes,vendor\n"
		}
		rows := size / int64(len(row))
		file := io.MultiReader(strings.NewReader(head), io.LimitReader(&repeated{row: row}, rows*int64(len(row))))
		engine := memory()
		source, err := importer.Open(name, file, engine.Store().Schema(), nil)
		require.NoError(t, err)
		before, peak, seen := heap(), uint64(0), int64(0)
		report, err := importer.Run(t.Context(), engine, []importer.Source{source}, &importer.Options{OnError: importer.Skip, Rejected: func(*importer.Row) error {
			if seen++; seen%(rows/8) == 0 {
				peak = max(peak, heap())
			}
			return nil
		}})
		require.NoError(t, err)
		require.Equal(t, rows, report.Rejected)
		require.Len(t, report.Problems, importer.MaxProblems)
		require.True(t, report.Truncated)
		require.Less(t, peak, before+24<<20)
	}
}

// TestPortsOfTypes: a device of a type keeps the ports that it has when it is exported and imported again,
// and gets those of the type if the import has no ports.
func TestPortsOfTypes(t *testing.T) {
	t.Parallel()
	types := []string{
		"device-types.csv", "manufacturer,model\nArista,7050\n", "port-templates.csv", "device_type.manufacturer,device_type.model,kind,name\nArista,7050,interface,Ethernet[1-3]\n",
		"devices.csv", "hostname,device_type.manufacturer,device_type.model\nsw1,Arista,7050\n",
	}
	for _, mode := range []importer.Mode{importer.Stop, importer.Skip} {
		engine := memory()
		report, err := files(engine, &importer.Options{OnError: mode}, types...)
		require.NoError(t, err)
		require.Empty(t, problems(report))
		require.Equal(t, int64(3), count(t, engine, "interfaces"))

		engine = memory()
		for _, created := range []int64{5, 0} {
			report, err = files(engine, &importer.Options{OnError: mode}, append(types, "interfaces.csv", "name,device\nEthernet1,sw1\nuplink,sw1\n")...)
			require.NoError(t, err)
			require.Empty(t, problems(report))
			require.Equal(t, created, report.Created)
			require.Equal(t, int64(2), count(t, engine, "interfaces"))
		}
	}
}
