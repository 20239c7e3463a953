package standard_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

var update = flag.Bool("update", false, "write the tables of a new version")

// TestTables: tables and counts change with the version of the schema only, so that programs of an earlier version
// refuse a database with values that they do not keep. -update writes those of a new version.
func TestTables(t *testing.T) {
	t.Parallel()
	schema, err := inventory.NewSchema(feature.Parts(standard.Features()...)...)
	require.NoError(t, err)
	migrations := schema.Migrations()
	version := fmt.Sprintf("version %d\n", migrations[len(migrations)-1].Version)
	d := sqlite.Dialect()
	statements, err := d.Statements(schema, &sqlstore.Catalog{})
	require.NoError(t, err)
	tables := version
	for _, text := range statements {
		if strings.HasPrefix(text, "CREATE TABLE ") || strings.HasPrefix(text, "CREATE UNIQUE INDEX ") {
			tables += text + "\n"
		}
	}
	for _, r := range schema.StoredResources() {
		for _, f := range r.Fields() {
			if f.Counted {
				tables += "counted " + r.Name + "." + f.Column + "\n"
			}
		}
	}
	const file = "testdata/tables.txt"
	before, err := os.ReadFile(file)
	if *update && (err != nil || !strings.HasPrefix(string(before), version)) {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(tables), 0o644))
		return
	}
	require.NoError(t, err)
	require.Equal(t, string(before), tables, "add a records.Migration with the next number to inventory/schema.go, and run this test with -update")
}
