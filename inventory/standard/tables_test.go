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

// TestTablesOnlyGrow: programs of version 9 work with the tables of this one, so that servers can be replaced one by one.
// What they use stays, columns that follow are optional or have a default, and there is no new unique key or count for them to keep.
func TestTablesOnlyGrow(t *testing.T) {
	t.Parallel()
	schema, err := inventory.NewSchema(feature.Parts(standard.Features()...)...)
	require.NoError(t, err)
	for _, m := range schema.Migrations() {
		require.True(t, m.Version <= 9 || m.Oldest > 0, "the migration %d stops programs of earlier versions: set Oldest", m.Version)
	}
	read := func(file string) (columns map[string]bool, rules map[string]bool) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		columns, rules = map[string]bool{}, map[string]bool{}
		table := ""
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			switch {
			case strings.HasPrefix(line, "CREATE TABLE "):
				table = words[2]
			case strings.HasPrefix(line, "CREATE UNIQUE INDEX "):
				rules[words[5]+" "+strings.TrimSpace(line)] = true
			case strings.HasPrefix(line, "counted "):
				resource, _, _ := strings.Cut(words[1], ".")
				rules[strings.ReplaceAll(resource, "-", "_")+" "+strings.TrimSpace(line)] = true
			case strings.HasPrefix(line, "    ") && words[0] != "CHECK":
				definition, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), ","), " CHECK ")
				columns[table+" "+definition] = true
			}
		}
		return columns, rules
	}
	oldColumns, oldRules := read("testdata/tables-9.txt")
	columns, rules := read("testdata/tables.txt")
	tables := map[string]bool{}
	for column := range oldColumns {
		tables[strings.Fields(column)[0]] = true
		require.Contains(t, columns, column, "programs of version 9 use the column")
	}
	for rule := range rules {
		require.True(t, oldRules[rule] || !tables[strings.Fields(rule)[0]], "programs of version 9 do not keep %s", rule)
	}
}
