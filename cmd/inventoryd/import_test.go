package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// TestImport: the command imports files in the order of their references, says what is wrong with rows,
// and writes the rejected ones to files that can be imported again.
func TestImport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	database := filepath.Join(dir, "inventory.db")
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	command := func(args ...string) (stdout, stderr string, err error) {
		var out, errs bytes.Buffer
		err = run(t.Context(), cli.Env{
			Args: append([]string{"import"}, args...), Stdout: &out, Stderr: &errs,
			Environ: map[string]string{"DATABASE_URL": database, "LOG_LEVEL": "error"},
		})
		return out.String(), errs.String(), err
	}
	devices := file("devices.csv", "hostname,location\nsw1,Vienna\nsw2,Wien\n")
	locations := file("locations.yaml", "- name: Vienna\n")

	_, stderr, err := command(devices, locations)
	require.ErrorContains(t, err, "1 of 3 rows")
	require.Contains(t, stderr, `devices.csv:3: location "Wien"`)

	rejected := filepath.Join(dir, "rejected")
	_, stderr, err = command("-on-error", "skip", "-rejected", rejected, devices, locations)
	require.ErrorContains(t, err, "correct them in "+rejected)
	require.Contains(t, stderr, "2 created, 0 updated, 0 unchanged, 1 rejected")
	text, err := os.ReadFile(filepath.Join(rejected, "devices.csv"))
	require.NoError(t, err)
	require.Equal(t, "hostname,location\nsw2,Wien\n", string(text))

	stdout, stderr, err := command("-dry-run", file("devices.csv", "hostname,location\nsw2,Vienna\n"))
	require.NoError(t, err, stderr)
	require.Contains(t, stdout, `{"action":"create","changes":{"hostname":{"before":null,"after":"sw2"}`)
	_, stderr, err = command(devices)
	require.NoError(t, err)
	require.Contains(t, stderr, "1 created", "the dry run has created none")
	_, stderr, err = command(devices, locations)
	require.NoError(t, err)
	require.Contains(t, stderr, "0 created, 0 updated, 2 unchanged, 0 rejected")
}

// TestImportCases imports small files of public bug reports: what the inventory can have is imported, and the rest named.
func TestImportCases(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(os.Getenv("ASHLAR_SAMPLES"), "cases", "inventory")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("ASHLAR_SAMPLES names no directory of samples")
	}
	for name, said := range map[string][]string{
		"netbox-rack-desc-units.json":      {" 5 created", "dcim.device rack_unit: the units of the rack count downwards", "dcim.rack desc_units"},
		"netbox-rack-starting-unit.json":   {" 5 created", "dcim.device rack_unit: the units of the rack do not begin with 1", "dcim.rack starting_unit"},
		"netbox-serial-na.json":            {" 5 created", "2 dcim.device serial_number: a placeholder"},
		"netbox-vlan-groups-same-vid.json": {" 8 created", "2 ipam.vlan group"},
		"netbox-vrrp-shared-address.json":  {" 9 created"},
		"netbox42-prefix-scope.json":       {" 5 created", "1 circuits.provider"},
		"netbox45-port-mappings.json":      {" 6 created"},
		"veth-stitch.clab.yml":             {" 6 created"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, database := "netbox", filepath.Join(t.TempDir(), "inventory.db")
			if strings.HasSuffix(name, ".clab.yml") {
				kind = "containerlab"
			}
			for _, said := range [][]string{said, {" 0 created, 0 updated, "}} {
				var errs bytes.Buffer
				require.NoError(t, run(t.Context(), cli.Env{
					Args: []string{"import", kind, filepath.Join(dir, name)}, Stdout: io.Discard, Stderr: &errs,
					Environ: map[string]string{"DATABASE_URL": database, "LOG_LEVEL": "error"},
				}), errs.String())
				for _, text := range said {
					require.Contains(t, errs.String(), text)
				}
			}
		})
	}
}

// TestImportCasesOfRows: so are files of rows, or the rows are refused that are for one record.
func TestImportCasesOfRows(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(os.Getenv("ASHLAR_SAMPLES"), "cases", "inventory")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("ASHLAR_SAMPLES names no directory of samples")
	}
	for name, of := range map[string]struct{ file, before, said, again string }{
		"interfaces-lag-by-name.csv": {"interfaces.csv", "hostname\nr1\nr2\n", " 4 created", " 0 created, 0 updated, 6 unchanged"},
		"collected-twice-lo0.jsonl":  {"rows.jsonl", "hostname\nother\n", "rows.jsonl:3: ", "the same record as line 2"},
		"devices-blanks.csv":         {"devices.csv", "hostname\nother\n", "devices.csv:3: ", "the same record as line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := t.TempDir()
			before, file := filepath.Join(own, "before", "devices.csv"), filepath.Join(own, of.file)
			require.NoError(t, os.Mkdir(filepath.Dir(before), 0o700))
			require.NoError(t, os.WriteFile(before, []byte(of.before), 0o600))
			text, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, text, 0o600))
			var said strings.Builder
			for _, files := range [][]string{{before}, {file}, {before, file}} {
				err = run(t.Context(), cli.Env{
					Args: append([]string{"import"}, files...), Stdout: io.Discard, Stderr: &said,
					Environ: map[string]string{"DATABASE_URL": filepath.Join(own, "inventory.db"), "LOG_LEVEL": "error"},
				})
				if err != nil {
					said.WriteString(err.Error())
				}
			}
			require.Contains(t, said.String(), of.said)
			require.Contains(t, said.String(), of.again)
		})
	}
}

// TestImportNetBox: the command imports fixtures of NetBox, keeps what has no field in custom fields, and lists
// what has no counterpart.
func TestImportNetBox(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "netbox.json")
	require.NoError(t, os.WriteFile(file, []byte(`[{"model":"dcim.site","pk":1,"fields":{"name":"Vienna","slug":"vie","facility":"DC 1","custom_field_data":{"list":[1]}}},
		{"model":"dcim.cable","pk":1,"fields":{}}]`), 0o600))
	command := func(args ...string) string {
		var out, errs bytes.Buffer
		require.NoError(t, run(t.Context(), cli.Env{
			Args: append(append([]string{"import", "netbox"}, args...), file), Stdout: &out, Stderr: &errs,
			Environ: map[string]string{"DATABASE_URL": filepath.Join(dir, "inventory.db"), "LOG_LEVEL": "error"},
		}))
		return errs.String()
	}
	said := command()
	require.Contains(t, said, "1 created")
	require.Contains(t, said, "      1 dcim.cable")
	require.Contains(t, said, "      1 dcim.site facility\n")
	require.Contains(t, command("-keep-unknown", "-dry-run"), "0 would be updated, 1 unchanged", "the field does not exist yet")
	said = command("-keep-unknown")
	require.Contains(t, said, "kept in custom fields:\n      1 dcim.site facility: locations.netbox_facility\n")
	require.Contains(t, said, "      1 dcim.site list: is no text, number or boolean\n")
	require.Contains(t, said, "1 updated")
	require.Contains(t, command("-keep-unknown", "-dry-run"), "0 would be updated, 1 unchanged")
}
