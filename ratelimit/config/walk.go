package config

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

const (
	// maxNesting is how deep lists and maps may be in each other. A level of rules
	// takes two of them, so Compile's own bound comes first.
	maxNesting = 300
	// maxExpanded is how many nodes aliases may add to a file; about what the YAML
	// library allows where it decodes by itself.
	maxExpanded = 400_000
	// maxKeyBytes bounds the composite keys of all rules of a file together. Each
	// holds the keys and values of the rules above it, so that their length can
	// grow with the square of the file's.
	maxKeyBytes = 64 << 20
)

// decoder walks the nodes of one file.
type decoder struct {
	*report
	open     map[*yaml.Node]bool // the lists and maps being walked
	aliased  int                 // how many of those were entered through an alias
	expanded int                 // what aliases added so far
	keyBytes int
	stopped  bool // a bound was reached: nothing is walked any more
}

// target is what a node stands for.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// within calls f with the list or map that at stands for, unless that would go
// round in circles or beyond the bounds.
func (d *decoder) within(at *yaml.Node, f func(n *yaml.Node)) {
	n := target(at)
	if n != at {
		d.aliased++
		defer func() { d.aliased-- }()
	}
	if !d.mayEnter(at, n) {
		return
	}
	d.open[n] = true
	f(n)
	delete(d.open, n)
}

func (d *decoder) mayEnter(at, n *yaml.Node) bool {
	if d.aliased > 0 {
		d.expanded += 1 + len(n.Content)
	}
	switch {
	case d.stopped:
		return false
	case d.open[n]:
		d.fault(markOf(at), "error loading config file: yaml: anchor '%s' value contains itself", show(n.Anchor))
		return false
	case len(d.open) >= maxNesting:
		d.stop(at, "nested more than %d levels deep", maxNesting)
	case d.expanded > maxExpanded:
		d.stop(at, "document contains excessive aliasing: aliases add more than %d nodes", maxExpanded)
	}
	return !d.stopped
}

// stop gives the file up.
func (d *decoder) stop(at *yaml.Node, format string, args ...any) {
	d.fault(markOf(at), "error loading config file: yaml: %s", fmt.Sprintf(format, args...))
	d.stopped = true
}

// pair is one key of a map and its value.
type pair struct {
	name       string
	key, value *yaml.Node
	from       *mark // the merge key it came by; nil if it was written out
}

// What a key that is not text makes of a file: of its own maps, and of metadata.
const (
	badKey         = "config error, key is not of type string: %s"
	badMetadataKey = "error parsing metadata: key is not of type string: %s"
)

// pairs lists the keys of a map in order, those of merge keys last. Keys that are
// duplicates or not text are reported and left out.
func (d *decoder) pairs(n *yaml.Node, bad string) []pair {
	ps := make([]pair, 0, len(n.Content)/2)
	seen := make(map[string]*yaml.Node, len(n.Content)/2)
	var merge, from *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name, ok := d.keyName(key, bad)
		if !ok || d.duplicate(seen[name], key, name) {
			continue
		}
		seen[name] = key
		if isMerge(key) {
			from, merge = key, value
			continue
		}
		ps = append(ps, pair{name: name, key: key, value: value})
	}
	if merge == nil {
		return ps
	}
	at := markOf(from)
	for _, p := range d.merged(merge, bad) {
		if seen[p.name] == nil {
			seen[p.name] = p.key
			p.from = &at
			ps = append(ps, p)
		}
	}
	return ps
}

func (d *decoder) keyName(key *yaml.Node, bad string) (string, bool) {
	if isMerge(key) {
		return key.Value, true
	}
	n := target(key)
	if n.Kind != yaml.ScalarNode {
		d.fault(markOf(key), "error loading config file: yaml: invalid map key: a list or a map can't be a key")
		return "", false
	}
	v, err := scalar(n)
	if err != nil {
		d.fault(markOf(key), "error loading config file: %s", libraryText(err))
		return "", false
	}
	name, ok := v.(string)
	if !ok {
		d.fault(markOf(key), bad, show(fmt.Sprint(v)))
	}
	return name, ok
}

func (d *decoder) duplicate(first, key *yaml.Node, name string) bool {
	if first == nil {
		return false
	}
	d.fault(markOf(key), "error loading config file: yaml: mapping key %q already defined at line %d, column %d",
		show(name), first.Line, first.Column)
	return true
}

// isMerge reports whether a key is the merge key and not just text that looks so.
func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && (key.Tag == "" || key.Tag == "!" || key.ShortTag() == "!!merge")
}

// merged lists what a merge key adds: the keys of a map, or of a list of maps of
// which the earlier win.
func (d *decoder) merged(value *yaml.Node, bad string) (ps []pair) {
	add := func(at *yaml.Node) {
		if target(at).Kind != yaml.MappingNode {
			d.fault(markOf(at), "error loading config file: yaml: map merge requires map or sequence of maps as the value")
			return
		}
		d.within(at, func(n *yaml.Node) { ps = append(ps, d.pairs(n, bad)...) })
	}
	if value.Kind != yaml.SequenceNode {
		add(value)
		return ps
	}
	for _, at := range value.Content {
		add(at)
	}
	return ps
}

// check looks at a value whose place has no meaning to us, as the reference
// service looks at every value: keys have to be known, lists to hold maps and the
// rest to be text, integers or booleans.
func (d *decoder) check(at *yaml.Node) {
	n := target(at)
	switch n.Kind {
	case yaml.ScalarNode:
		d.leaf(at, n)
	case yaml.SequenceNode:
		d.within(at, func(n *yaml.Node) { d.elements(n, d.check) })
	case yaml.MappingNode:
		d.within(at, d.checkMap)
	}
}

func (d *decoder) checkMap(n *yaml.Node) {
	for _, p := range d.pairs(n, badKey) {
		switch {
		case !known(p.name):
			d.unknown(p, inDocument)
		case p.name != "metadata":
			d.check(p.value)
		}
	}
}

// elements calls f with each map of a list and reports what is not a map.
func (d *decoder) elements(n *yaml.Node, f func(at *yaml.Node)) {
	for _, at := range n.Content {
		if target(at).Kind == yaml.MappingNode {
			f(at)
			continue
		}
		d.fault(markOf(at), "config error, yaml file contains list of type other than map: %s", describe(target(at)))
	}
}

// describe shows a value the way the reference service prints it, except that of
// lists inside lists it shows no more than that they are there.
func describe(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		v, err := scalar(n)
		if err != nil {
			return show(n.Value)
		}
		return show(fmt.Sprint(v))
	}
	var parts string
	for i, c := range n.Content {
		if len(parts) > maxShown {
			break
		}
		if i > 0 {
			parts += " "
		}
		if target(c).Kind == yaml.ScalarNode {
			parts += describe(target(c))
		} else {
			parts += "..."
		}
	}
	return "[" + show(parts) + "]"
}
