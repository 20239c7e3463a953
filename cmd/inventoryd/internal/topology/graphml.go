package topology

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxGraph bounds the bytes of a graph.
const maxGraph = 16 << 20

// part is an element of GraphML.
type part struct {
	XMLName    xml.Name
	ID         string  `xml:"id,attr"`
	Name       string  `xml:"attr.name,attr"` // of data, in a key
	Key        string  `xml:"key,attr"`
	Source     string  `xml:"source,attr"`
	Target     string  `xml:"target,attr"`
	SourcePort string  `xml:"sourceport,attr"`
	TargetPort string  `xml:"targetport,attr"`
	Text       string  `xml:",chardata"`
	Parts      []*part `xml:",any"`

	line int
}

// UnmarshalXML adds the line.
func (p *part) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	p.line, _ = d.InputPos()
	type plain part
	return d.DecodeElement((*plain)(p), &start)
}

// text returns the text on one line.
func (p *part) text() string { return strings.Join(strings.Fields(p.Text), " ") }

// label returns the first label of a node of yEd, at any depth.
func (p *part) label() (text string) {
	if p.XMLName.Local == "NodeLabel" {
		return p.text()
	}
	for _, within := range p.Parts {
		text = cmp.Or(text, within.label())
	}
	return text
}

// graph is a graph that is read.
type graph struct {
	*Topology
	keys  map[string]string // the names of data, by the id of their key
	edges []*part
	used  map[string]int // the nodes, places and ports with a name
}

// ReadGraphML reads a graph in GraphML of up to 16 MiB. Its nodes become devices with their label as the name, and its edges
// links of interfaces, which are named after the neighbour if the edge names no ports, and described by its label. The name
// of the file is for messages, and without its ending that of a region; the places of nodes are sites there. The error is an
// [*importer.FileError], or that of the reader.
func ReadGraphML(name string, r io.Reader) (*Topology, error) {
	g := &graph{Topology: newTopology(name), keys: map[string]string{}, used: map[string]int{}}
	g.name = strings.TrimSuffix(g.file, path.Ext(g.file))
	g.locations = []values{{"locations", 1, object{"name": g.name, "kind": inventory.LocationRegion}}}
	text, err := io.ReadAll(io.LimitReader(r, maxGraph+1))
	if err != nil {
		return nil, err
	}
	root := &part{}
	if len(text) > maxGraph {
		return nil, g.fail(1, "the file has more than %d MiB", maxGraph>>20)
	}
	if err := xml.Unmarshal(text, root); err != nil {
		return nil, g.fail(1, "is no GraphML: %v", err)
	}
	if err := g.read(root); err != nil {
		return nil, err
	}
	if len(g.nodes) == 0 {
		return nil, g.fail(1, "has no nodes: GraphML has a graph with the elements node and edge")
	}
	return g.Topology, g.connect()
}

// read reads the parts of a graph.
func (g *graph) read(in *part) (err error) {
	for _, p := range in.Parts {
		switch kind := p.XMLName.Local; kind {
		case "key":
			g.keys[p.ID] = strings.ToLower(p.Name)
		case "graph":
			g.data(p)()
			err = g.read(p)
		case "node":
			if err = g.add(p); err == nil {
				err = g.read(p)
			}
		case "edge":
			g.edges = append(g.edges, p)
		case "data", "desc":
		default:
			g.counts["elements "+shown(kind)]++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// data returns a function for the data of a part: it returns the first text that it has under some names, and counts what
// has none of these if there are no names.
func (g *graph) data(of *part) func(names ...string) string {
	all := map[string]string{}
	for _, p := range of.Parts {
		if text := p.text(); p.XMLName.Local == "data" && text != "" {
			all[cmp.Or(g.keys[p.Key], p.Key)] = text
		}
	}
	return func(names ...string) (first string) {
		for _, name := range names {
			first = cmp.Or(first, all[name])
			delete(all, name)
		}
		for name := range all {
			if len(names) == 0 {
				g.counts[of.XMLName.Local+" "+shown(name)]++
			}
		}
		return first
	}
}

// add adds a node, and its place.
func (g *graph) add(p *part) error {
	data, place := g.data(p), object{}
	n := &node{name: cmp.Or(data("label", "name"), p.label(), p.ID), location: data("geocode_name", "place", "location", "site", "city"), line: p.line}
	north, east, country := data("latitude", "lat"), data("longitude", "lon", "long"), data("country", "geocode_country")
	data()
	lat, err := strconv.ParseFloat(north, 64)
	lon, err2 := strconv.ParseFloat(east, 64)
	switch {
	case err == nil && err2 == nil:
		place["lat"], place["lon"] = lat, lon
		n.location = cmp.Or(n.location, n.name)
	case north+east != "":
		g.counts["coordinates that are none"]++
	}
	if country != "" {
		place["country"] = country
	}
	if n.location = cmp.Or(n.location, country, g.name); n.location != g.name && g.unique("place "+n.location) == "" {
		place["name"], place["kind"], place["parent"] = n.location, inventory.LocationSite, object{"name": g.name}
		g.locations = append(g.locations, values{"locations", p.line, place})
	}
	if g.unique("node "+n.location+"\n"+records.FoldASCII(n.name)) != "" {
		n.name = fmt.Sprintf("%s (%s)", n.name, p.ID)
	}
	if p.ID == "" || g.byName[p.ID] != nil {
		return g.fail(p.line, "the node has no id, or that of another one: %q", shown(p.ID))
	}
	g.nodes, g.byName[p.ID] = append(g.nodes, n), n
	return nil
}

// unique returns what tells a name from others before it, "" for the first.
func (g *graph) unique(name string) string {
	if g.used[name]++; g.used[name] > 1 {
		return " " + strconv.Itoa(g.used[name])
	}
	return ""
}

// connect makes links of the edges.
func (g *graph) connect() error {
	for _, p := range g.edges {
		a, b, data := g.byName[p.Source], g.byName[p.Target], g.data(p)
		if a == nil || b == nil {
			return g.fail(p.line, "the edge from %q to %q names a node that the graph does not have", shown(p.Source), shown(p.Target))
		}
		label := data("label", "linklabel")
		data()
		end := func(n *node, name, id, neighbour string) *port {
			name = cmp.Or(name, "to "+neighbour)
			to := &port{node: n, name: name + g.unique("port "+id+"\n"+name), description: label, line: p.line}
			g.ports = append(g.ports, to)
			return to
		}
		g.links = append(g.links, link{[2]*port{end(a, p.SourcePort, p.Source, b.name), end(b, p.TargetPort, p.Target, a.name)}, p.line})
	}
	return nil
}
