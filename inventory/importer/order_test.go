package importer_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// rackedRows are a rack with four devices, and a patch panel with a rear port.
var rackedRows = []string{
	"racks.csv", "name,height\nR2,42\n",
	"devices.csv", "hostname,serial_number,rack,rack_unit\nsw-0,S0,R2,10\nsw-1,S1,R2,11\nsw-2,S2,R2,12\npol,,,\n",
	"rear-ports.csv", "device,name,positions\npol,r,4\n",
	"front-ports.csv", "device,name,rear_port,rear_port_position\npol,f1,r,1\npol,f2,r,2\npol,f3,r,3\n",
	"interfaces.csv", "device,name\nsw-0,a\nsw-1,a\nsw-2,a\nsw-0,b\nsw-1,b\nsw-2,b\n",
}

// inBothOrders runs a test with the rows of a CSV file, and with these in the reverse order.
func inBothOrders(t *testing.T, engine func() *records.Engine, name, rows string, test func(engine *records.Engine, name, rows string)) {
	t.Helper()
	header, rest, _ := strings.Cut(strings.TrimSpace(rows), "\n")
	lines := strings.Split(rest, "\n")
	reversed := []string{header}
	for i := range lines {
		reversed = append(reversed, lines[len(lines)-1-i])
	}
	for _, text := range []string{rows, strings.Join(reversed, "\n") + "\n"} {
		test(engine(), name, text)
	}
}

// column returns the values of a field of the records of a resource, by those of another one.
func column(t *testing.T, engine *records.Engine, resource, by, field string) map[string]any {
	t.Helper()
	r, _ := engine.Store().Schema().Named(resource)
	key, _ := r.Field(by)
	f, _ := r.Field(field)
	all := map[string]any{}
	for rec, err := range records.All(t.Context(), engine.Store(), &records.Query{Resource: r, Limit: 1000}) {
		require.NoError(t, err)
		all[fmt.Sprint(key.Value(rec))] = f.Value(rec)
	}
	return all
}

// TestSwaps: rows may swap what only one record may have, in any order.
func TestSwaps(t *testing.T) {
	engines(t, func(t *testing.T, engine *records.Engine) {
		accept := func(opts *importer.Options, pairs ...string) {
			t.Helper()
			report, err := files(engine, opts, pairs...)
			require.NoError(t, err)
			require.Empty(t, problems(report))
		}
		accept(nil, rackedRows...)
		same := func() *records.Engine { return engine }
		inBothOrders(t, same, "devices.csv", "hostname,rack_unit\nsw-0,11\nsw-1,12\nsw-2,13\n", func(_ *records.Engine, name, rows string) {
			accept(nil, name, rows)
			accept(nil, "devices.csv", "hostname,rack_unit\nsw-2,12\nsw-0,10\nsw-1,11\n")
		})
		accept(nil, "devices.csv", "hostname,rack_unit,serial_number\nsw-0,11,S1\nsw-1,10,S0\n")
		require.Equal(t, map[string]any{"sw-0": "S1", "sw-1": "S0", "sw-2": "S2", "pol": nil}, column(t, engine, "devices", "hostname", "serial_number"))
		require.Equal(t, map[string]any{"sw-0": int64(11), "sw-1": int64(10), "sw-2": int64(12), "pol": nil}, column(t, engine, "devices", "hostname", "rack_unit"))

		accept(nil, "front-ports.csv", "device,name,rear_port_position\npol,f1,2\npol,f2,1\n")
		accept(&importer.Options{Prune: true}, "front-ports.csv", "device,name,rear_port,rear_port_position\npol,f9,r,3\npol,f2,r,2\npol,f1,r,1\n")
		require.Equal(t, map[string]any{"f1": int64(1), "f2": int64(2), "f9": int64(3)}, column(t, engine, "front-ports", "name", "rear_port_position"))

		const cables = "label,a_interface.device,a_interface.name,b_interface.device,b_interface.name\n"
		accept(nil, "cables.csv", cables+"one,sw-0,a,sw-1,a\ntwo,sw-0,b,sw-1,b\n")
		accept(&importer.Options{Prune: true}, "cables.csv", cables+"three,sw-0,a,sw-1,b\nfour,sw-0,b,sw-2,b\n")
		require.Equal(t, int64(2), count(t, engine, "cables"))
		require.Equal(t, int64(2), count(t, engine, "links"))

		id := column(t, engine, "devices", "hostname", "id")
		accept(nil, "devices.csv", fmt.Sprintf("id,hostname\n%s,sw-1\n%s,sw-0\n", id["sw-0"], id["sw-1"]))
		require.Equal(t, id["sw-0"], column(t, engine, "devices", "hostname", "id")["sw-1"])

		report, err := files(engine, nil, "devices.csv", "hostname,rack_unit\nsw-0,12\n")
		require.NoError(t, err)
		require.Len(t, report.Problems, 1)
		p := report.Problems[0]
		require.Equal(t, int64(2), p.Line)
		require.Equal(t, "rack_unit", p.Column)
		require.Contains(t, p.Reason, "device sw-2 ("+fmt.Sprint(id["sw-2"])+")")
	})
}

// TestOrderOfRows: an import creates, changes and prunes devices, whose rows are in any order, in several batches. The
// state that all rows describe is accepted.
func TestOrderOfRows(t *testing.T) {
	engines(t, func(t *testing.T, engine *records.Engine) {
		_, err := files(engine, nil, "racks.csv", "name,height\nR,100\n")
		require.NoError(t, err)
		devices := 60
		steps := 8
		if testing.Short() {
			steps = 3
		}
		random := rand.New(rand.NewPCG(1, 2))
		for step := range steps {
			if step == steps-1 {
				devices = 2300 // more than a call of the engine may have
			}
			ids := column(t, engine, "devices", "hostname", "id")
			have := []string{""}
			for _, id := range ids {
				have = append(have, id.(string))
			}
			hostnames, serials, units := random.Perm(devices+10), random.Perm(devices+10), random.Perm(100)
			var rows []string
			want := map[string]any{}
			for i := range devices {
				id, unit := "", ""
				if n := random.IntN(len(have)); n > 0 {
					id = have[n]
					have = slices.Delete(have, n, n+1)
				}
				host, serial := fmt.Sprint("h", hostnames[i]), fmt.Sprint("s", serials[i])
				if id == "" && ids[host] != nil {
					continue // such a row is for the device with the hostname
				}
				if i < len(units) {
					unit = fmt.Sprint(units[i] + 1)
				}
				rows = append(rows, fmt.Sprintf("%s,%s,%s,R,%s\n", id, host, serial, unit))
				want[host] = serial
			}
			random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			report, err := files(engine, &importer.Options{Prune: true}, "devices.csv", "id,hostname,serial_number,rack,rack_unit\n"+strings.Join(rows, ""))
			require.NoError(t, err)
			require.Empty(t, problems(report), "step %d", step)
			require.Equal(t, want, column(t, engine, "devices", "hostname", "serial_number"), "step %d", step)
		}
	})
}

// TestOrderSamples: the files of public reports whose order of rows mattered elsewhere.
func TestOrderSamples(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("ASHLAR_SAMPLES")
	if dir == "" {
		t.Skip("ASHLAR_SAMPLES names no directory of samples")
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, "cases", "inventory", name))
		require.NoError(t, err)
		return string(text)
	}
	prepared := func() *records.Engine {
		engine := memory()
		report, err := files(engine, nil, rackedRows...)
		require.NoError(t, err)
		require.Empty(t, problems(report))
		return engine
	}
	inBothOrders(t, prepared, "devices.csv", read("devices-swap-units.csv"), func(engine *records.Engine, name, rows string) {
		report, err := files(engine, nil, name, rows)
		require.NoError(t, err)
		require.Empty(t, problems(report))
		units := column(t, engine, "devices", "hostname", "rack_unit")
		require.Equal(t, []any{int64(11), int64(10)}, []any{units["sw-0"], units["sw-1"]})
	})
	inBothOrders(t, prepared, "front-ports.csv", read("front-ports-polarity.csv"), func(engine *records.Engine, name, rows string) {
		report, err := files(engine, nil, name, rows)
		require.NoError(t, err)
		require.Empty(t, problems(report))
		positions := column(t, engine, "front-ports", "name", "rear_port_position")
		require.Equal(t, []any{int64(2), int64(1)}, []any{positions["f1"], positions["f2"]})
	})
	var outcomes []string // whether two hostnames that differ in a blank are two devices
	inBothOrders(t, memory, "devices.csv", read("devices-blanks.csv"), func(engine *records.Engine, name, rows string) {
		report, err := files(engine, nil, name, rows)
		require.NoError(t, err)
		outcomes = append(outcomes, fmt.Sprint(report.Rejected, count(t, engine, "devices")))
	})
	require.Equal(t, outcomes[0], outcomes[1])
}
