//go:build unix

package server_test

import (
	"bytes"
	"encoding/csv"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// exchange measures exports of all devices beside the baseline of reading their rows, and an import of them
// into an empty database, and then once more, beside the baseline of creating them.
func (x *measured) exchange() {
	x.t.Helper()
	baseline := x.once(func() { x.query("SELECT * FROM devices ORDER BY id") })
	files := map[string][]byte{}
	for _, name := range []string{"locations", "devices"} {
		files[name] = x.get("/" + name + "?format=csv&keys=natural").Body.Bytes()
	}
	for _, query := range []string{"format=csv", "format=csv&keys=natural", "format=jsonl", "format=yaml"} {
		x.row("devices?"+query, 5000, x.once(func() { x.get("/devices?" + query) }), baseline.ms(50), x.sizes.devices, 0)
	}
	x.row("sd/prometheus, a third of the devices", 2000, x.once(func() { x.get("/sd/prometheus?port=9100&vendor=Cisco") }), 0, 0, 0)

	address := filepath.Join(x.t.TempDir(), "copy.db")
	if x.driver == "pgx" {
		address = shared.Database(x.t)
	}
	baseline = x.once(func() {
		to := &measured{t: x.t, driver: x.driver, url: filepath.Join(x.t.TempDir(), "baseline.db"), sizes: x.sizes}
		if x.driver == "pgx" {
			to.url = shared.Database(x.t)
		}
		to.Server = to.open(map[string]string{"DATABASE_TIMEOUT": "10m"})
		newFiller(x.t, to.Store(), 1, tableEpoch).network(x.sizes.devices, x.sizes.ports)
	})
	for _, what := range []string{"import of devices", "the same import again"} {
		created := int64(0)
		all := x.once(func() { created = x.importInto(address, files) })
		x.row(what, 60_000, all, baseline.ms(50), x.sizes.devices, created)
	}
}

// once measures f once.
func (x *measured) once(f func()) times {
	begin := time.Now()
	f()
	return times{time.Since(begin)}
}

// importInto imports files as inventoryd import does, and returns the number of new records.
func (x *measured) importInto(address string, files map[string][]byte) int64 {
	x.t.Helper()
	s := settings(x.t, map[string]string{"DATABASE_URL": address, "DATABASE_TIMEOUT": "10m"})
	var report *importer.Report
	err := server.Change(x.t.Context(), s, server.NewLog(new(logtest.Log), s), func(engine *records.Engine) (err error) {
		var sources []importer.Source
		for name, text := range files {
			source, err := importer.Open(name+".csv", bytes.NewReader(text), engine.Store().Schema(), nil)
			if err != nil {
				return err
			}
			sources = append(sources, source)
		}
		report, err = importer.Run(x.t.Context(), engine, sources, &importer.Options{OnError: importer.Skip, By: records.Caller{Name: "table"}})
		return err
	})
	require.NoError(x.t, err)
	require.Empty(x.t, report.Problems)
	lines, err := csv.NewReader(bytes.NewReader(files["devices"])).ReadAll()
	require.NoError(x.t, err)
	require.Len(x.t, lines, x.sizes.devices+1)
	require.Equal(x.t, int64(0), report.Updated)
	return report.Created
}
