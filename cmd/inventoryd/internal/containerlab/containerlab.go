package containerlab

import (
	"cmp"
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/internal/suggest"
	"github.com/ashlar-go/ashlar/internal/yamltree"
	"github.com/ashlar-go/ashlar/inventory/importer"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// The bounds of a topology.
const (
	maxNodes  = 100_000
	maxFields = 200       // of a node, a kind, a group, the defaults, or of their labels
	maxLabels = 1_000_000 // of all nodes, with those that they inherit
	maxText   = 1000      // bytes of a value
)

// Lab is a topology.
type Lab struct {
	file   string
	name   string
	line   int
	nodes  []*node // in the order of the file
	byName map[string]*node
	ports  []*port
	links  []link
	labels int // of all nodes
	counts map[string]int64
}

// node is a device of a lab.
type node struct {
	name, kind, image, variant, group, role, address string

	line   int
	labels map[string]string
}

// port is an interface that a link ends at.
type port struct {
	node      *node
	name, mac string
	line      int
}

type link struct {
	ends [2]*port
	line int
}

// Read reads a topology of up to 8 MiB. The name of the file is for messages. The error is an
// [*importer.FileError], or that of the reader.
func Read(name string, r io.Reader) (*Lab, error) {
	text, err := io.ReadAll(io.LimitReader(r, yamltree.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	l := &Lab{file: path.Base(filepath.ToSlash(name)), byName: map[string]*node{}, counts: map[string]int64{}}
	root, err := yamltree.Parse(text)
	if e, ok := errors.AsType[*yamltree.Error](err); ok {
		return nil, l.fail(e.Line, "%s", e.Reason)
	}
	if err != nil {
		return nil, err
	}
	topology := root.Get("topology")
	if root.Kind != yamltree.Map || topology.Kind != yamltree.Map {
		return nil, l.fail(root.Line, "has no topology: a file of containerlab has the fields name and topology, with nodes and links")
	}
	if err := l.setName(root); err != nil {
		return nil, err
	}
	if err := l.readNodes(topology); err != nil {
		return nil, err
	}
	return l, l.readLinks(topology.Get("links"))
}

// fail returns the error for a topology that is wrong.
func (l *Lab) fail(line int, format string, args ...any) error {
	return importer.Fail(l.file, line, format, args...)
}

// mustBe returns the error for a part of a topology that is something else; nil is a text.
func (l *Lab) mustBe(line int, what, want string, is *yamltree.Node) error {
	if is != nil {
		want += ", not " + is.Kind.Describe()
	}
	return l.fail(line, "%s must be %s", what, want)
}

// shown returns a text of the file for messages.
func shown(text string) string { return printable.Truncate(text, 64) }

// hasVariable reports whether containerlab would expand a text.
func hasVariable(text string) bool {
	return strings.Contains(text, "${") || strings.Contains(text, "{{")
}

func (l *Lab) setName(root *yamltree.Node) error {
	n := root.Get("name")
	l.name, l.line = strings.TrimSpace(n.Text), n.Line
	switch {
	case n.Kind != yamltree.Text || l.name == "":
		return l.fail(max(n.Line, root.Line), "the lab has no name: give the field name a text")
	case hasVariable(l.name):
		return l.fail(n.Line, "the name of the lab has a variable: replace it by its value")
	}
	return nil
}

// readNodes reads nodes with what they inherit.
func (l *Lab) readNodes(topology *yamltree.Node) error {
	parts := map[string]*yamltree.Node{}
	for _, name := range []string{"defaults", "kinds", "groups", "nodes"} {
		part := topology.Get(name)
		if part.Kind != yamltree.Map && part.Kind != yamltree.Null {
			return l.mustBe(part.Line, name, "a mapping", part)
		}
		parts[name] = part
		fields := part.Fields
		if name == "defaults" {
			fields = []yamltree.Field{{Name: name, Pos: part.Pos, Value: part}}
		}
		for _, f := range fields {
			if err := l.checkSize(f); err != nil {
				return err
			}
		}
	}
	nodes := parts["nodes"].Fields
	switch {
	case len(nodes) == 0:
		return l.fail(topology.Line, "the topology has no nodes")
	case len(nodes) > maxNodes:
		return l.fail(topology.Line, "the topology has more than %d nodes", maxNodes)
	}
	kinds, groups := byName(parts["kinds"]), byName(parts["groups"])
	for _, f := range nodes {
		if f.Name == "" || hasVariable(f.Name) {
			return l.fail(f.Line, "the name of the node %q is empty or has a variable: replace it by its value", shown(f.Name))
		}
		n := l.node(f, parts["defaults"], kinds, groups)
		if l.labels += len(n.labels); l.labels > maxLabels {
			return l.fail(f.Line, "the nodes have more than %d labels, with those that they inherit", maxLabels)
		}
		l.nodes, l.byName[n.name] = append(l.nodes, n), n
	}
	return nil
}

// checkSize checks that a node, kind or group, or the defaults, is a map of few fields and labels, or missing.
func (l *Lab) checkSize(f yamltree.Field) error {
	if f.Value.Kind != yamltree.Map && f.Value.Kind != yamltree.Null {
		return l.mustBe(f.Line, strconv.Quote(shown(f.Name)), "a mapping, such as {kind: linux}", f.Value)
	}
	if max(len(f.Value.Fields), len(f.Value.Get("labels").Fields)) > maxFields {
		return l.fail(f.Line, "%q has more than %d fields or labels", shown(f.Name), maxFields)
	}
	return nil
}

// node returns a node, which has its own values, else those of its group, of its kind, and of the defaults.
func (l *Lab) node(f yamltree.Field, defaults *yamltree.Node, kinds, groups map[string]*yamltree.Node) *node {
	own := f.Value
	n := &node{name: f.Name, line: f.Line, labels: map[string]string{}}
	n.group = l.first("group", own, kinds[own.Get("kind").Text], defaults)
	group := groups[n.group]
	n.kind = l.first("kind", own, group, defaults)
	from := []*yamltree.Node{own, group, kinds[n.kind], defaults}
	n.image, n.variant = l.first("image", from...), l.first("type", from...)
	for _, name := range []string{"mgmt-ipv4", "mgmt_ipv4", "mgmt-ipv6", "mgmt_ipv6"} { // older files have the underscore
		n.address = cmp.Or(n.address, l.address(own.Get(name)))
	}
	for _, part := range slices.Backward(from) {
		for _, label := range part.Get("labels").Fields {
			n.labels[label.Name] = label.Value.Text
		}
	}
	n.role = n.labels["role"]
	delete(n.labels, "role")
	l.counts["labels that are no tags"] += int64(len(n.labels) - len(n.tags()))
	return n
}

// byName returns the fields of a map.
func byName(m *yamltree.Node) map[string]*yamltree.Node {
	all := map[string]*yamltree.Node{}
	for _, f := range m.Fields {
		all[f.Name] = f.Value
	}
	return all
}

// first returns the first text that some maps have under a name.
func (l *Lab) first(name string, from ...*yamltree.Node) string {
	for _, m := range from {
		value := m.Get(name)
		switch {
		case value.Kind != yamltree.Text || value.Text == "":
		case hasVariable(value.Text) || len(value.Text) > maxText:
			l.counts["values with a variable, or too long"]++
			return ""
		default:
			return value.Text
		}
	}
	return ""
}

// address returns an address without its prefix length, "" for none.
func (l *Lab) address(n *yamltree.Node) string {
	if n.Kind != yamltree.Text {
		return ""
	}
	text, _, _ := strings.Cut(n.Text, "/")
	a := importer.Address(text)
	if a == "" {
		l.counts["management addresses that are none"]++
	}
	return a
}

// outside are the names that links have in place of a node, for what is no node.
var outside = []string{"host", "mgmt-net", "macvlan", "dummy"}

// readLinks reads links of both forms: endpoints as texts (node:interface), and as maps beside a type.
func (l *Lab) readLinks(links *yamltree.Node) error {
	if links.Kind == yamltree.Null {
		return nil
	}
	if links.Kind != yamltree.List {
		return l.mustBe(links.Line, "links", "a list", links)
	}
	used := map[[2]string]*port{}
	for _, item := range links.Items {
		if item.Kind != yamltree.Map {
			return l.mustBe(item.Line, "a link", "a mapping, such as endpoints: [\"srl1:e1-1\", \"srl2:e1-1\"]", item)
		}
		ends, special, err := l.ends(item)
		if err != nil {
			return err
		}
		for _, p := range ends {
			key := [2]string{p.node.name, p.name}
			if first := used[key]; first != nil {
				return l.fail(p.line, "the interface %s of the node %s has another link on line %d: remove one of the two", shown(p.name), shown(p.node.name), first.line)
			}
			used[key] = p
			l.ports = append(l.ports, p)
		}
		if len(ends) == 2 && special == "" {
			l.links = append(l.links, link{[2]*port{ends[0], ends[1]}, item.Line})
		} else {
			l.counts["links "+special]++
		}
	}
	return nil
}

// ends returns the ends of a link that are interfaces of nodes, and what other links are counted as: to what they lead,
// or of which type they are.
func (l *Lab) ends(item *yamltree.Node) (ends []*port, special string, err error) {
	kind := item.Get("type").Text
	endpoints := item.Get("endpoints").Items
	switch kind {
	case "", "veth", "veth-stitch":
		if len(endpoints) != 2 {
			return nil, "", l.fail(item.Line, "the link has %d endpoints: give it two", len(endpoints))
		}
	case "host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy":
		special = "to " + kind
		if one := item.Get("endpoint"); one.Kind != yamltree.Null {
			endpoints = append(slices.Clone(endpoints), one)
		}
	default:
		return nil, "of the unknown type " + shown(kind), nil
	}
	for _, endpoint := range endpoints {
		p, outside, err := l.end(endpoint)
		if err != nil {
			return nil, "", err
		}
		if special = cmp.Or(special, outside); p != nil {
			ends = append(ends, p)
		}
	}
	return ends, special, nil
}

// end returns the interface that an endpoint names, or what its link is counted as.
func (l *Lab) end(endpoint *yamltree.Node) (p *port, special string, err error) {
	name, port0, mac := endpoint.Get("node").Text, endpoint.Get("interface").Text, endpoint.Get("mac").Text
	if endpoint.Kind == yamltree.Text {
		name, port0, _ = strings.Cut(endpoint.Text, ":")
	}
	n := l.byName[name]
	switch {
	case n == nil && slices.Contains(outside, name):
		return nil, "to " + name, nil
	case name == "" || port0 == "" || hasVariable(name+port0):
		return nil, "", l.mustBe(endpoint.Line, "the endpoint", "a node and an interface without variables, as in \"srl1:e1-1\" or {node: srl1, interface: e1-1}", nil)
	case n == nil:
		return nil, "", l.fail(endpoint.Line, "the endpoint names the node %q, which the topology does not have%s", shown(name), l.didYouMean(name))
	}
	return &port{n, port0, mac, endpoint.Line}, "", nil
}

func (l *Lab) didYouMean(name string) string {
	names := make([]string, 0, min(len(l.nodes), 1000))
	for _, n := range l.nodes[:min(len(l.nodes), 1000)] {
		names = append(names, n.name)
	}
	if near := suggest.Closest(name, names, max(1, len(name)/3)); near != "" {
		return ": did you mean " + shown(near) + "?"
	}
	return ": add it to nodes"
}

// Unplaced returns what has no counterpart in the inventory, the most objects first.
func (l *Lab) Unplaced() []importer.Count { return importer.Counts(l.counts) }

// Source returns the rows for a schema.
func (l *Lab) Source(schema *records.Schema) (importer.Source, error) {
	all := l.values()
	of := map[string]*records.Resource{}
	for _, v := range all {
		var ok bool
		if of[v.resource], ok = schema.Named(v.resource); !ok {
			return nil, errors.New("containerlab: the schema has no " + v.resource)
		}
	}
	return importer.Rows(len(all), func(i int) (*importer.Row, error) {
		return importer.NewRow(l.file, all[i].line, of[all[i].resource], all[i].fields)
	}), nil
}
