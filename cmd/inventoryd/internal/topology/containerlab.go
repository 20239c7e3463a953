package topology

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/suggest"
	"github.com/ashlar-go/ashlar/internal/yamltree"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/importer"
)

// The bounds of a lab.
const (
	maxFields = 200       // of a node, a kind, a group, the defaults, or of their labels
	maxLabels = 1_000_000 // of all nodes, with those that they inherit
	maxText   = 1000      // bytes of a value
)

// ReadLab reads the topology of a lab (*.clab.yml) of up to 8 MiB. The name of the file is for messages. The error is an
// [*importer.FileError], or that of the reader.
func ReadLab(name string, r io.Reader) (*Topology, error) {
	text, err := io.ReadAll(io.LimitReader(r, yamltree.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	t := newTopology(name)
	root, err := yamltree.Parse(text)
	if e, ok := errors.AsType[*yamltree.Error](err); ok {
		return nil, t.fail(e.Line, "%s", e.Reason)
	}
	if err != nil {
		return nil, err
	}
	topology := root.Get("topology")
	if root.Kind != yamltree.Map || topology.Kind != yamltree.Map {
		return nil, t.fail(root.Line, "has no topology: a file of containerlab has the fields name and topology, with nodes and links")
	}
	if err := t.setName(root); err != nil {
		return nil, err
	}
	if err := t.readNodes(topology); err != nil {
		return nil, err
	}
	return t, t.readLinks(topology.Get("links"))
}

// mustBe returns the error for a part of a topology that is something else; nil is a text.
func (t *Topology) mustBe(line int, what, want string, is *yamltree.Node) error {
	if is != nil {
		want += ", not " + is.Kind.Describe()
	}
	return t.fail(line, "%s must be %s", what, want)
}

// hasVariable reports whether containerlab would expand a text.
func hasVariable(text string) bool {
	return strings.Contains(text, "${") || strings.Contains(text, "{{")
}

func (t *Topology) setName(root *yamltree.Node) error {
	n := root.Get("name")
	t.name = strings.TrimSpace(n.Text)
	t.locations = []values{{"locations", n.Line, object{"name": t.name, "kind": inventory.LocationRoom}}}
	switch {
	case n.Kind != yamltree.Text || t.name == "":
		return t.fail(max(n.Line, root.Line), "the lab has no name: give the field name a text")
	case hasVariable(t.name):
		return t.fail(n.Line, "the name of the lab has a variable: replace it by its value")
	}
	return nil
}

// readNodes reads nodes with what they inherit.
func (t *Topology) readNodes(topology *yamltree.Node) error {
	parts := map[string]*yamltree.Node{}
	for _, name := range []string{"defaults", "kinds", "groups", "nodes"} {
		part := topology.Get(name)
		if part.Kind != yamltree.Map && part.Kind != yamltree.Null {
			return t.mustBe(part.Line, name, "a mapping", part)
		}
		parts[name] = part
		fields := part.Fields
		if name == "defaults" {
			fields = []yamltree.Field{{Name: name, Pos: part.Pos, Value: part}}
		}
		for _, f := range fields {
			if err := t.checkSize(f); err != nil {
				return err
			}
		}
	}
	nodes := parts["nodes"].Fields
	switch {
	case len(nodes) == 0:
		return t.fail(topology.Line, "the topology has no nodes")
	case len(nodes) > maxNodes:
		return t.fail(topology.Line, "the topology has more than %d nodes", maxNodes)
	}
	kinds, groups := byName(parts["kinds"]), byName(parts["groups"])
	labels := 0
	for _, f := range nodes {
		if f.Name == "" || hasVariable(f.Name) {
			return t.fail(f.Line, "the name of the node %q is empty or has a variable: replace it by its value", shown(f.Name))
		}
		n := t.node(f, parts["defaults"], kinds, groups)
		if labels += len(n.labels); labels > maxLabels {
			return t.fail(f.Line, "the nodes have more than %d labels, with those that they inherit", maxLabels)
		}
		t.nodes, t.byName[n.name] = append(t.nodes, n), n
	}
	return nil
}

// checkSize checks that a node, kind or group, or the defaults, is a map of few fields and labels, or missing.
func (t *Topology) checkSize(f yamltree.Field) error {
	if f.Value.Kind != yamltree.Map && f.Value.Kind != yamltree.Null {
		return t.mustBe(f.Line, strconv.Quote(shown(f.Name)), "a mapping, such as {kind: linux}", f.Value)
	}
	if max(len(f.Value.Fields), len(f.Value.Get("labels").Fields)) > maxFields {
		return t.fail(f.Line, "%q has more than %d fields or labels", shown(f.Name), maxFields)
	}
	return nil
}

// node returns a node, which has its own values, else those of its group, of its kind, and of the defaults.
func (t *Topology) node(f yamltree.Field, defaults *yamltree.Node, kinds, groups map[string]*yamltree.Node) *node {
	own := f.Value
	n := &node{name: f.Name, location: t.name, line: f.Line, labels: map[string]string{}}
	n.group = t.first("group", own, kinds[own.Get("kind").Text], defaults)
	group := groups[n.group]
	n.kind = t.first("kind", own, group, defaults)
	from := []*yamltree.Node{own, group, kinds[n.kind], defaults}
	n.image, n.variant = t.first("image", from...), t.first("type", from...)
	for _, name := range []string{"mgmt-ipv4", "mgmt_ipv4", "mgmt-ipv6", "mgmt_ipv6"} { // older files have the underscore
		n.address = cmp.Or(n.address, t.address(own.Get(name)))
	}
	for _, part := range slices.Backward(from) {
		for _, label := range part.Get("labels").Fields {
			n.labels[label.Name] = label.Value.Text
		}
	}
	n.role = n.labels["role"]
	delete(n.labels, "role")
	t.counts["labels that are no tags"] += int64(len(n.labels) - len(n.tags()))
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
func (t *Topology) first(name string, from ...*yamltree.Node) string {
	for _, m := range from {
		value := m.Get(name)
		switch {
		case value.Kind != yamltree.Text || value.Text == "":
		case hasVariable(value.Text) || len(value.Text) > maxText:
			t.counts["values with a variable, or too long"]++
			return ""
		default:
			return value.Text
		}
	}
	return ""
}

// address returns an address without its prefix length, "" for none.
func (t *Topology) address(n *yamltree.Node) string {
	if n.Kind != yamltree.Text {
		return ""
	}
	text, _, _ := strings.Cut(n.Text, "/")
	a := importer.Address(text)
	if a == "" {
		t.counts["management addresses that are none"]++
	}
	return a
}

// outside are the names that links have in place of a node, for what is no node.
var outside = []string{"host", "mgmt-net", "macvlan", "dummy"}

// readLinks reads links of both forms: endpoints as texts (node:interface), and as maps beside a type.
func (t *Topology) readLinks(links *yamltree.Node) error {
	if links.Kind == yamltree.Null {
		return nil
	}
	if links.Kind != yamltree.List {
		return t.mustBe(links.Line, "links", "a list", links)
	}
	used := map[[2]string]*port{}
	for _, item := range links.Items {
		if item.Kind != yamltree.Map {
			return t.mustBe(item.Line, "a link", "a mapping, such as endpoints: [\"srl1:e1-1\", \"srl2:e1-1\"]", item)
		}
		ends, special, err := t.ends(item)
		if err != nil {
			return err
		}
		for _, p := range ends {
			key := [2]string{p.node.name, p.name}
			if first := used[key]; first != nil {
				return t.fail(p.line, "the interface %s of the node %s has another link on line %d: remove one of the two", shown(p.name), shown(p.node.name), first.line)
			}
			used[key] = p
			t.ports = append(t.ports, p)
		}
		if len(ends) == 2 && special == "" {
			t.links = append(t.links, link{[2]*port{ends[0], ends[1]}, item.Line})
		} else {
			t.counts["links "+special]++
		}
	}
	return nil
}

// ends returns the ends of a link that are interfaces of nodes, and what other links are counted as: to what they lead,
// or of which type they are.
func (t *Topology) ends(item *yamltree.Node) (ends []*port, special string, err error) {
	kind := item.Get("type").Text
	endpoints := item.Get("endpoints").Items
	switch kind {
	case "", "veth", "veth-stitch":
		if len(endpoints) != 2 {
			return nil, "", t.fail(item.Line, "the link has %d endpoints: give it two", len(endpoints))
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
		p, outside, err := t.end(endpoint)
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
func (t *Topology) end(endpoint *yamltree.Node) (p *port, special string, err error) {
	name, port0, mac := endpoint.Get("node").Text, endpoint.Get("interface").Text, endpoint.Get("mac").Text
	if endpoint.Kind == yamltree.Text {
		name, port0, _ = strings.Cut(endpoint.Text, ":")
	}
	n := t.byName[name]
	switch {
	case n == nil && slices.Contains(outside, name):
		return nil, "to " + name, nil
	case name == "" || port0 == "" || hasVariable(name+port0):
		return nil, "", t.mustBe(endpoint.Line, "the endpoint", "a node and an interface without variables, as in \"srl1:e1-1\" or {node: srl1, interface: e1-1}", nil)
	case n == nil:
		return nil, "", t.fail(endpoint.Line, "the endpoint names the node %q, which the topology does not have%s", shown(name), t.didYouMean(name))
	}
	return &port{node: n, name: port0, mac: mac, line: endpoint.Line}, "", nil
}

func (t *Topology) didYouMean(name string) string {
	names := make([]string, 0, min(len(t.nodes), 1000))
	for _, n := range t.nodes[:min(len(t.nodes), 1000)] {
		names = append(names, n.name)
	}
	if near := suggest.Closest(name, names, max(1, len(name)/3)); near != "" {
		return ": did you mean " + shown(near) + "?"
	}
	return ": add it to nodes"
}
