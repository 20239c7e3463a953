package topology_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/inventoryd/internal/topology"
	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

const graphML = `<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
<key id="l" for="node" attr.name="label"/><key id="la" for="node" attr.name="Latitude"/><key id="lo" for="node" attr.name="Longitude"/>
<key id="c" for="node" attr.name="Country"/><key id="el" for="edge" attr.name="LinkLabel"/><key id="es" for="edge" attr.name="LinkSpeed"/><key id="p" for="node" attr.name="geocode_name"/>
<graph edgedefault="undirected"><data key="note">draft</data>
<edge source="0" target="1"><data key="el">10 Gbps</data><data key="es">10</data></edge>
<node id="0"><data key="l">Vienna</data><data key="la">48.2</data><data key="lo">16.37</data><data key="c">Austria</data></node>
<node id="1"><data key="l">Graz</data><data key="la">47.07</data><data key="lo">15.44</data></node>
<node id="2"><data key="y"><y:ShapeNode><y:Geometry x="1"/><y:NodeLabel>Core
  1</y:NodeLabel></y:ShapeNode></data><data key="p">Linz</data></node>
<node id="g"><data key="l">Group</data><graph><node id="g1"/><edge source="g" target="g1" sourceport="e1" targetport="e2"/></graph></node>
<node id="3"><data key="l">GRAZ</data><data key="p">Graz</data><data key="la">x</data></node>
<edge source="1" target="0"/><edge source="2" target="2"/><hyperedge/>
</graph></graphml>`

// rowsOf imports a graph twice, of which the second time changes nothing, and returns the rows.
func rowsOf(t *testing.T, network *topology.Topology) (rows string) {
	t.Helper()
	engine := records.New(records.NewMemStore(inventory.Schema()), nil)
	for i := range 2 {
		source := network.Source(engine.Store().Schema())
		report, err := importer.Run(t.Context(), engine, []importer.Source{source}, nil)
		require.NoError(t, err)
		require.Empty(t, report.Problems)
		require.Zero(t, report.Updated)
		require.Equal(t, i == 0, report.Created > 0)
	}
	source := network.Source(engine.Store().Schema())
	for row, err := source.Next(); err == nil; row, err = source.Next() {
		rows += string(row.Text)
	}
	return rows
}

// TestGraphML: nodes become devices with their names and places, and edges links.
func TestGraphML(t *testing.T) {
	t.Parallel()
	network, err := topology.ReadGraphML("maps/Core.graphml", strings.NewReader(graphML))
	require.NoError(t, err)
	rows := rowsOf(t, network)
	const core = `,"location":{"name":"Core"}`
	device := func(name, place string) string {
		return `"hostname":"` + name + `","location":{"name":"` + place + `"}`
	}
	for _, want := range []string{
		`"kind":"region","name":"Core"`, `"country":"Austria","kind":"site","lat":48.2,"lon":16.37,"name":"Vienna","parent":{"name":"Core"}`,
		device("Vienna", "Vienna"), device("Graz", "Graz"), device("GRAZ (3)", "Graz"), device("Core 1", "Linz"), `"hostname":"Group"` + core, `"hostname":"g1"` + core,
		`"description":"10 Gbps","device":{` + device("Vienna", "Vienna") + `},"name":"to Graz"`, `"name":"to Graz 2"`, `"name":"to Core 1"`, `"name":"to Core 1 2"`,
		`"a_interface":{"device":{` + device("Group", "Core") + `},"name":"e1"},"b_interface":{"device":{` + device("g1", "Core") + `},"name":"e2"}`,
	} {
		require.Contains(t, rows, want)
	}
	require.Equal(t, 4, strings.Count(rows, `"_resource":"links"`))
	require.ElementsMatch(t, []importer.Count{
		{Kind: "coordinates that are none", Objects: 1}, {Kind: "edge linkspeed", Objects: 1}, {Kind: "elements hyperedge", Objects: 1}, {Kind: "graph note", Objects: 1},
	}, network.Unplaced())
}

// TestBadGraphs: a file that is no graph is refused with the line.
func TestBadGraphs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "g.graphml:1 GraphML", "{}": "GraphML", "<graphml><graph/></graphml>": "nodes", "<graphml><graph>\n<node id='a'>\n": "g.graphml XML",
		"<graphml>\n<node id='a'/>\n<node id='a'/></graphml>": `g.graphml:3 id "a"`, "<graphml><node/></graphml>": "id",
		"<graphml><node id='a'/>\n<edge source='a' target='b'/></graphml>": `g.graphml:2 "b"`,
	} {
		_, err := topology.ReadGraphML("g.graphml", strings.NewReader(text))
		errtest.Want(t, err, want)
	}
	_, err := topology.ReadGraphML("g.graphml", strings.NewReader(strings.Repeat(" ", 17<<20)))
	errtest.Want(t, err, "16 MiB")
}

// TestOperators imports the networks of operators.
func TestOperators(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("ASHLAR_SAMPLES")
	if dir == "" {
		t.Skip("ASHLAR_SAMPLES names no directory of samples")
	}
	files, err := filepath.Glob(filepath.Join(dir, "topology", "*.graphml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		network, err := topology.ReadGraphML(file, strings.NewReader(string(text)))
		require.NoError(t, err)
		rows := rowsOf(t, network)
		require.Equal(t, strings.Count(string(text), "<node "), strings.Count(rows, `"_resource":"devices"`), file)
		require.Equal(t, strings.Count(string(text), "<edge "), strings.Count(rows, `"_resource":"links"`), file)
	}
}

// FuzzGraphML: every graph is read or refused.
func FuzzGraphML(f *testing.F) {
	f.Add(graphML)
	schema := inventory.Schema()
	f.Fuzz(func(t *testing.T, text string) {
		network, err := topology.ReadGraphML("g.graphml", strings.NewReader(text))
		if err != nil {
			return
		}
		source := network.Source(schema)
		for row, err := source.Next(); err == nil; row, err = source.Next() {
			require.NotEmpty(t, row.Patch)
		}
	})
}
