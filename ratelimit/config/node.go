package config

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// target returns the node that a node stands for.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool {
	var v any
	return n.Kind == yaml.ScalarNode && n.Decode(&v) == nil && v == nil
}

// scalar decodes a scalar node to nil, a string, an int, a bool, a float64 or another
// type that the YAML library knows. It reports a fault if it can't.
func (d *decoder) scalar(at *yaml.Node) (v any, ok bool) {
	if err := target(at).Decode(&v); err != nil {
		message, _ := libraryMessage(err)
		d.fault(markOf(at), "error loading config file: %.100s", message)
		return nil, false
	}
	return v, true
}

// tagged names the type of a value and, for a scalar, the value.
func tagged(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return fmt.Sprintf("%.100s `%.100s`", n.ShortTag(), n.Value)
	}
	return fmt.Sprintf("%.100s", n.ShortTag())
}

// within calls f with the list or map that a node stands for, unless it contains itself
// or a bound is reached.
func (d *decoder) within(at *yaml.Node, f func(n *yaml.Node)) {
	n := target(at)
	if n != at {
		d.aliased++
		defer func() { d.aliased-- }()
	}
	if d.aliased > 0 {
		d.expanded += 1 + len(n.Content)
	}
	switch {
	case d.stopped:
	case d.open[n]:
		d.fault(markOf(at), "error loading config file: yaml: anchor '%.100s' value contains itself", n.Anchor)
	case len(d.open) >= maxNesting:
		d.stop(at, "nested more than %d levels deep", maxNesting)
	case d.expanded > maxExpanded:
		d.stop(at, "document contains excessive aliasing: aliases add more than %d nodes", maxExpanded)
	default:
		d.open[n] = true
		f(n)
		delete(d.open, n)
	}
}

// stop reports a fault and ends the decoding of the file.
func (d *decoder) stop(at *yaml.Node, format string, args ...any) {
	d.fault(markOf(at), "error loading config file: yaml: %s", fmt.Sprintf(format, args...))
	d.stopped = true
}

// pair is one key of a map and its value.
type pair struct {
	name       string
	key, value *yaml.Node
	from       *mark // the merge key that adds the pair; nil if none does
}

// The faults of keys that are not strings: in the maps of the format and in metadata.
const (
	keyFault         = "config error, key is not of type string: %.100s"
	metadataKeyFault = "error parsing metadata: key is not of type string: %.100s"
)

// pairs lists the keys of a map in order, those of merge keys last. It reports and
// omits duplicate keys and those that are not strings.
func (d *decoder) pairs(n *yaml.Node, notString string) []pair {
	ps := make([]pair, 0, len(n.Content)/2)
	first := make(map[string]*yaml.Node, len(n.Content)/2)
	var merge, merged *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		name, ok := d.keyName(key, notString)
		switch f := first[name]; {
		case !ok:
		case f != nil:
			d.fault(markOf(key), "error loading config file: yaml: mapping key %q already defined at line %d, column %d",
				fmt.Sprintf("%.100s", name), f.Line, f.Column)
		case isMerge(key):
			first[name], merge, merged = key, key, v
		default:
			first[name] = key
			ps = append(ps, pair{name: name, key: key, value: v})
		}
	}
	if merge != nil {
		d.mergeKeys(merge, merged, notString, func(p pair) {
			if first[p.name] == nil {
				first[p.name] = p.key
				ps = append(ps, p)
			}
		})
	}
	return ps
}

func (d *decoder) keyName(key *yaml.Node, notString string) (string, bool) {
	if isMerge(key) {
		return key.Value, true
	}
	n := target(key)
	if n.Kind != yaml.ScalarNode {
		d.fault(markOf(key), "error loading config file: yaml: invalid map key: a list or a map can't be a key")
		return "", false
	}
	v, ok := d.scalar(key)
	if !ok {
		return "", false
	}
	name, ok := v.(string)
	if !ok {
		d.fault(markOf(key), notString, fmt.Sprint(v))
	}
	return name, ok
}

// isMerge reports whether a key is a merge key, not a string with its spelling.
func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && (key.Tag == "" || key.Tag == "!" || key.ShortTag() == "!!merge")
}

// mergeKeys calls add with each pair that a merge key adds: those of a map, or of a list
// of maps of which the earlier win.
func (d *decoder) mergeKeys(key, v *yaml.Node, notString string, add func(pair)) {
	from := markOf(key)
	sources := []*yaml.Node{v}
	if v.Kind == yaml.SequenceNode {
		sources = v.Content
	}
	for _, at := range sources {
		if target(at).Kind != yaml.MappingNode {
			d.fault(markOf(at), "error loading config file: yaml: map merge requires map or sequence of maps as the value")
			continue
		}
		d.within(at, func(n *yaml.Node) {
			for _, p := range d.pairs(n, notString) {
				p.from = &from
				add(p)
			}
		})
	}
}
