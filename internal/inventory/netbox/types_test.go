package netbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/internal/inventory/netbox"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// write writes files below a new folder, and returns it.
func write(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return dir
}

// TestTypes: the files of a library become device types with their ports, and what has no counterpart is counted.
func TestTypes(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"README.md": "a text", ".github/ci.yml": "on: push", "device-types/.hidden.yaml": "a: b",
		"module-types/Acme/psu.yaml": "manufacturer: Acme\nmodel: PSU\n",
		"device-types/Acme/SW2.yaml": "---\nmanufacturer: Acme\nmodel: SW2\npart_number: 0042\nu_height: 2.0\nis_full_depth: true\nweight: 3.5\n" +
			"interfaces:\n  - {name: e1, type: 1000base-t, poe_mode: pse}\n  - {name: e2, type: 1000base-t}\nconsole-ports:\n  - {name: con, type: rj-45}\n  - {name: usb, type: usb-a}\n",
		"device-types/Acme/PP.yml": "manufacturer: Acme\nmodel: 12\nu_height: 0.5\nrear-ports:\n  - {name: r, type: mpo, positions: 12}\n" +
			"front-ports:\n  - {name: f1, type: lc, rear_port: r, rear_port_position: 7}\n  - {name: f2, type: lc, rear_port: x}\n",
		"device-types/Acme/New.yaml": "manufacturer: Acme\nmodel: New\nrear-ports: &ports\n  - {name: p, type: lc}\nfront-ports: *ports\n" +
			"port-mappings:\n  - {front_port: p, front_port_position: 1, rear_port: p, rear_port_position: 1}\n",
	})
	engine := records.New(records.NewMemStore(inventory.Schema()), nil)
	x, err := netbox.ReadTypes(dir)
	require.NoError(t, err)
	for _, created := range []int64{3 + 2 + 2 + 2, 0} {
		report, err := importer.Run(t.Context(), engine, []importer.Source{x.Source(engine.Store().Schema())}, nil)
		require.NoError(t, err)
		require.Empty(t, report.Problems)
		require.Equal(t, created, report.Created)
		require.Zero(t, report.Updated)
	}
	rows := ""
	for s := x.Source(engine.Store().Schema()); ; {
		row, err := s.Next()
		if err != nil {
			break
		}
		rows += string(row.Text)
	}
	for _, want := range []string{
		`"height":2,"manufacturer":"Acme","model":"SW2","part_number":"0042"`, `"height":null,"manufacturer":"Acme","model":"12"`,
		`"device_type":{"manufacturer":"Acme","model":"SW2"},"kind":"interface","name":"e2","type":"1000base-t"`, `"kind":"rear-port","name":"r","positions":12`,
		`"kind":"front-port","name":"f1","rear_port":"r","rear_port_position":7`, `"kind":"front-port","name":"p","rear_port":"p","rear_port_position":1`,
	} {
		require.Contains(t, rows, want)
	}
	require.ElementsMatch(t, []importer.Count{
		{Kind: "console-ports", Objects: 2},
		{Kind: "module-types", Objects: 1},
		{Kind: "dcim.devicetype height: no whole number of rack units", Objects: 1},
		{Kind: "dcim.devicetype weight", Objects: 1},
		{Kind: "dcim.interfacetemplate poe_mode", Objects: 1},
		{Kind: "dcim.frontporttemplate", Objects: 1},
	}, x.Unplaced())
}

// TestBadTypes: a file that is no device type is refused with its name and line, and a port with its own.
func TestBadTypes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "Acme/x.yaml:1 empty", "a: [\n": "Acme/x.yaml:2 YAML", "\n- a\n": "Acme/x.yaml:2 manufacturer model", "manufacturer: A\n": "Acme/x.yaml:1 model",
		"manufacturer: A\nmodel: B\ninterfaces:\n- a\n": "Acme/x.yaml:4 interfaces mapping",
	} {
		_, err := netbox.ReadTypes(write(t, map[string]string{"Acme/x.yaml": text}))
		errtest.Want(t, err, want)
	}
	x, err := netbox.ReadTypes(filepath.Join(write(t, map[string]string{"x.yml": "manufacturer: A\nmodel: B\ninterfaces:\n- name: e\n- name: e\n- type: x\n"}), "x.yml"))
	require.NoError(t, err)
	report, err := importer.Run(t.Context(), records.New(records.NewMemStore(inventory.Schema()), nil), []importer.Source{x.Source(inventory.Schema())}, &importer.Options{OnError: importer.Skip})
	require.NoError(t, err)
	require.Equal(t, int64(2), report.Created)
	var at []int64
	for _, p := range report.Problems {
		require.Equal(t, "x.yml", p.File)
		at = append(at, p.Line)
	}
	require.ElementsMatch(t, []int64{5, 6}, at)
	_, err = netbox.ReadTypes(filepath.Join(t.TempDir(), "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
