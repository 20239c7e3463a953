package topology

import (
	"path"
	"path/filepath"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxNodes bounds the nodes of a topology.
const maxNodes = 100_000

// Topology has the nodes and links of a network.
type Topology struct {
	file      string
	name      string   // of the location that nodes without another one are at
	locations []values // the outer ones first
	nodes     []*node  // in the order of the file
	byName    map[string]*node
	ports     []*port
	links     []link
	counts    map[string]int64
}

// node is a device.
type node struct {
	name, location                             string
	kind, image, variant, group, role, address string

	line   int
	labels map[string]string
}

// port is an interface that a link ends at.
type port struct {
	node                   *node
	name, mac, description string
	line                   int
}

type link struct {
	ends [2]*port
	line int
}

func newTopology(file string) *Topology {
	return &Topology{file: path.Base(filepath.ToSlash(file)), byName: map[string]*node{}, counts: map[string]int64{}}
}

// fail returns the error for a topology that is wrong.
func (t *Topology) fail(line int, format string, args ...any) error {
	return importer.Fail(t.file, line, format, args...)
}

// shown returns a text of the file for messages.
func shown(text string) string { return printable.Truncate(text, 64) }

// Unplaced returns what has no counterpart in the inventory, the most objects first.
func (t *Topology) Unplaced() []importer.Count { return importer.Counts(t.counts) }

// Source returns the rows for a schema, which has locations, devices, interfaces and links.
func (t *Topology) Source(schema *records.Schema) importer.Source {
	all := t.values()
	return importer.Rows(len(all), func(i int) (*importer.Row, error) {
		r, _ := schema.Named(all[i].resource)
		return importer.NewRow(t.file, all[i].line, r, all[i].fields)
	})
}

// object has values by name.
type object = map[string]any

// values are those of a row.
type values struct {
	resource string
	line     int
	fields   object
}

// values returns those of all rows. References are natural keys.
func (t *Topology) values() []values {
	all := t.locations
	for _, n := range t.nodes {
		all = append(all, values{"devices", n.line, n.device()})
	}
	for _, p := range t.ports {
		fields := p.key()
		for name, value := range map[string]string{"mac_address": p.mac, "description": p.description} {
			if value != "" {
				fields[name] = value
			}
		}
		all = append(all, values{"interfaces", p.line, fields})
	}
	for _, k := range t.links {
		all = append(all, values{"links", k.line, object{"a_interface": k.ends[0].key(), "b_interface": k.ends[1].key()}})
	}
	return all
}

func (n *node) key() object {
	return object{"hostname": n.name, "location": object{"name": n.location}}
}

func (p *port) key() object { return object{"device": p.node.key(), "name": p.name} }
