package topology_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/inventoryd/internal/topology"
	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

const labFile = `name: fabric
mgmt:
  network: mgmt
topology:
  defaults:
    kind: nokia_srlinux
    labels: {owner: netops, graph-level: 1}
  kinds:
    nokia_srlinux:
      type: ixr-d2l
      image: ghcr.io/nokia/srlinux:24.10.1
    linux:
      image: alpine:3
  groups:
    spine:
      type: ixr-d3l
  nodes:
    spine1:
      group: spine
      mgmt-ipv4: 172.20.20.11/24
    leaf1:
      labels: {role: leaf, owner: lab}
      mgmt_ipv6: 2001:db8::1
    br:
      kind: acme_box
      mgmt-ipv4: ${ADDRESS}
    client:
      kind: linux
      type: ${TYPE}
  links:
    - endpoints: ["spine1:e1-1", "leaf1:e1-49"]
    - type: veth
      endpoints:
        - node: leaf1
          interface: e1-1
          mac: 02:00:00:00:00:01
        - node: client
          interface: eth1
    - endpoints: ["leaf1:e1-2", "host:veth2"]
    - type: macvlan
      endpoint: {node: client, interface: eth2}
      host-interface: enp0s3
    - type: dummy
      endpoint: {node: client, interface: dummy0}
    - type: veth-stitch
      endpoints:
        - {node: br, interface: 1/1/c1/1}
        - {node: client, interface: eth3}
    - type: wire
      ends: [spine1, br]
`

// TestImport: a topology becomes a location, devices with what they inherit, interfaces and links, and a
// second import changes nothing.
func TestImport(t *testing.T) {
	t.Parallel()
	lab, err := topology.ReadLab("labs/fabric.clab.yml", strings.NewReader(labFile))
	require.NoError(t, err)
	engine := records.New(records.NewMemStore(inventory.Schema()), nil)
	for _, created := range []int64{1 + 4 + 9 + 3, 0} {
		source := lab.Source(engine.Store().Schema())
		report, err := importer.Run(t.Context(), engine, []importer.Source{source}, nil)
		require.NoError(t, err)
		require.Empty(t, report.Problems)
		require.Equal(t, created, report.Created)
		require.Zero(t, report.Updated)
	}
	page, err := engine.Store().List(t.Context(), &records.Query{Resource: records.Of[inventory.Device](engine.Store().Schema())})
	require.NoError(t, err)
	got := map[string]string{}
	for _, rec := range page.Records {
		d := rec.(*inventory.Device)
		got[d.Hostname] = fmt.Sprintf("%s|%s|%s|%s|%s|%s|%s", d.IP, d.Vendor, d.OS, d.OSVersion, d.Model, d.Role, d.Tags)
		require.NotNil(t, d.LocationID)
	}
	require.Equal(t, map[string]string{
		"spine1": "172.20.20.11|Nokia|SR Linux|24.10.1|ixr-d3l|spine|[owner=netops]",
		"leaf1":  "2001:db8::1|Nokia|SR Linux|24.10.1|ixr-d2l|leaf|[owner=lab]",
		"br":     "||||acme_box||[owner=netops]",
		"client": "||Linux||linux||[owner=netops]",
	}, got)
	require.Equal(t, []importer.Count{
		{Kind: "labels that are no tags", Objects: 4},
		{Kind: "links of the unknown type wire", Objects: 1},
		{Kind: "links to dummy", Objects: 1},
		{Kind: "links to host", Objects: 1},
		{Kind: "links to macvlan", Objects: 1},
		{Kind: "management addresses that are none", Objects: 1},
		{Kind: "values with a variable, or too long", Objects: 1},
	}, lab.Unplaced())
}

// TestRows: rows can be imported again as YAML.
func TestRows(t *testing.T) {
	t.Parallel()
	lab, err := topology.ReadLab("fabric.clab.yml", strings.NewReader(labFile))
	require.NoError(t, err)
	schema := inventory.Schema()
	source := lab.Source(schema)
	var text strings.Builder
	for row, err := source.Next(); err == nil; row, err = source.Next() {
		text.Write(row.Text)
	}
	again, err := importer.Open("rows.yaml", strings.NewReader(text.String()), schema, nil)
	require.NoError(t, err)
	engine := records.New(records.NewMemStore(schema), nil)
	report, err := importer.Run(t.Context(), engine, []importer.Source{again}, nil)
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.Equal(t, int64(17), report.Created)
}

// TestBadTopologies: a topology that is wrong is refused with its line.
func TestBadTopologies(t *testing.T) {
	t.Parallel()
	nodes := "name: x\ntopology:\n  nodes: {a: {kind: linux}, b: }\n"
	link := func(text string) string { return nodes + "  links:\n    - " + text + "\n" }
	for text, want := range map[string]string{
		"":          "lab.yml:1: is empty",
		"- a":       "lab.yml:1: has no topology",
		"name: x\n": "lab.yml:1: has no topology",
		"a: [\n":    "is not YAML",
		"\n\nname: ${X}\ntopology: {nodes: {a: }}\n":                                   "lab.yml:3: name variable",
		"topology: {nodes: {a: }}\n":                                                   "lab.yml:1: name",
		"name: x\ntopology: {nodes: }\n":                                               "lab.yml:2: nodes",
		"name: x\ntopology: {nodes: [a]}\n":                                            "nodes mapping list",
		"name: x\ntopology:\n  nodes:\n    a: b\n":                                     `lab.yml:4: "a" mapping`,
		"name: x\ntopology:\n  nodes:\n    a: {labels: {" + many(201) + "}}\n":         "200 labels",
		link(`endpoints: ["a:e1"]`):                                                    "lab.yml:5: 1 two",
		link(`endpoints: ["a:e1", "bb:e1"]`):                                           `lab.yml:5: "bb" mean b?`,
		link(`endpoints: ["a:e1", "b"]`):                                               "node interface",
		link(`endpoints: ["a:e1", "b:${PORT}"]`):                                       "node interface variables",
		link("endpoints: [\"a:e1\", \"b:e1\"]\n    - endpoints: [\"a:e1\", \"b:e2\"]"): "lab.yml:6: e1 a line 5",
		nodes + "  links: {}\n":                                                        "links list",
	} {
		_, err := topology.ReadLab("dir/lab.yml", strings.NewReader(text))
		errtest.Want(t, err, want)
		_, ok := errors.AsType[*importer.FileError](err)
		require.True(t, ok, want)
	}
}

// many returns n fields of a map.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "l%d: x,", i)
	}
	return b.String()
}

// FuzzRead: every topology is read or refused, and its rows are valid YAML of records.
func FuzzRead(f *testing.F) {
	f.Add(labFile)
	f.Add("name: x\ntopology: {nodes: {a: {labels: {b: c}}}, links: [{endpoints: [\"a:b\", \"a:c\"]}]}")
	schema := inventory.Schema()
	f.Fuzz(func(t *testing.T, text string) {
		lab, err := topology.ReadLab("lab.yml", strings.NewReader(text))
		if err != nil {
			return
		}
		source := lab.Source(schema)
		for row, err := source.Next(); err == nil; row, err = source.Next() {
			require.Positive(t, row.Line)
			require.NotEmpty(t, row.Patch)
		}
	})
}
