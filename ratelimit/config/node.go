package config

import (
	"fmt"
	"slices"
	"time"

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

// scalar decodes a scalar node to nil, a string, an int, a bool, a float64, a time.Time or
// another type that the YAML library knows. A time is a string in the format. It reports a fault if it can't.
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
	from       *mark      // the merge key that adds the pair; nil if none does
	joined     *yaml.Node // value, if it was made of several
}

// The faults of keys that are not strings: in the maps of the format and in metadata.
const (
	keyFault         = "config error, key is not of type string: %.100s"
	metadataKeyFault = "error parsing metadata: key is not of type string: %.100s"
)

// pairs lists the keys of a map, each once, in the order of their first occurrence. As in the
// reference service, a later value replaces an earlier one, be it of the same key or of a merge
// key, except that the fields of two limits are joined (REFERENCE.md, 7.1). Replaced values
// are warned about where they are hardly intended. Keys that are not strings are reported and
// omitted.
func (d *decoder) pairs(n *yaml.Node, notString string) []pair {
	ps := make([]pair, 0, len(n.Content)/2)
	at := make(map[string]int, len(n.Content)/2)
	add := func(p pair) {
		i, seen := at[p.name]
		if !seen {
			at[p.name] = len(ps)
			ps = append(ps, p)
			return
		}
		d.warnReplaced(&ps[i], &p)
		if p.name == "rate_limit" && notString == keyFault {
			d.join(&ps[i], &p)
		}
		ps[i] = p
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		switch name, ok := d.keyName(key, notString); {
		case !ok:
		case isMerge(key):
			d.mergeKeys(key, v, notString, add)
		default:
			p := pair{name: name, key: key, value: v}
			if in := d.inherited[n]; i < in.nodes {
				p.from = in.from
			}
			add(p)
		}
	}
	return ps
}

// warnReplaced warns unless a key replaces one of a merge key before it.
func (d *decoder) warnReplaced(old, p *pair) {
	if old.from != nil {
		return
	}
	how := "the value here replaces it"
	if target(old.value).Kind == yaml.MappingNode && target(p.value).Kind == yaml.MappingNode && p.name == "rate_limit" {
		how = "the fields here replace its fields"
	}
	if p.from != nil {
		d.warn(*p.from, "mapping key %q is already defined at line %d, column %d; the merge key comes later, so that %s: put the merge key first",
			fmt.Sprintf("%.100s", p.name), old.key.Line, old.key.Column, how)
		return
	}
	d.warn(markOf(p.key), "mapping key %q is already defined at line %d, column %d; %s: remove one of them",
		fmt.Sprintf("%.100s", p.name), old.key.Line, old.key.Column, how)
}

// inherited is the first part of a joined map, which a merge key adds.
type inherited struct {
	nodes int
	from  *mark
}

// join puts the fields of old before those of p, if both are maps.
func (d *decoder) join(old, p *pair) {
	if target(old.value).Kind != yaml.MappingNode || target(p.value).Kind != yaml.MappingNode {
		return
	}
	joined := old.joined
	if joined == nil {
		at := target(p.value)
		joined = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: at.Line, Column: at.Column}
		d.within(old.value, func(n *yaml.Node) { joined.Content = append(joined.Content, n.Content...) })
		if old.from != nil {
			d.inherited[joined] = inherited{len(joined.Content), old.from}
		}
	}
	d.within(p.value, func(n *yaml.Node) { joined.Content = append(joined.Content, n.Content...) })
	p.value, p.joined = joined, joined
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
	if _, isTime := v.(time.Time); isTime {
		name, ok = n.Value, true
	}
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
// of maps of which the earlier replace the later.
func (d *decoder) mergeKeys(key, v *yaml.Node, notString string, add func(pair)) {
	from := markOf(key)
	sources := []*yaml.Node{v}
	if v.Kind == yaml.SequenceNode {
		sources = v.Content
	}
	for _, at := range slices.Backward(sources) { // the first has the last word
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
