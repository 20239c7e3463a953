package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/ashlar-go/ashlar/internal/yamltree"
)

// scalar decodes a scalar to nil, a string, an int, a bool, a float64, a time.Time or
// another type that the YAML library knows. A time is a string in the format. It reports a fault if it can't.
func (d *decoder) scalar(n *yamltree.Node) (v any, ok bool) {
	if err := n.Decode(&v); err != nil {
		d.fault(n.Pos, "error loading config file: yaml: %.94s", err)
		return nil, false
	}
	return v, true
}

// tagged names the type of a value and, for a scalar, the value.
func tagged(n *yamltree.Node) string {
	if n.Kind < yamltree.List {
		return fmt.Sprintf("%.100s `%.100s`", n.Tag, n.Text)
	}
	return fmt.Sprintf("%.100s", n.Tag)
}

// pair is one key of a map and its value.
type pair struct {
	name       string
	key, value *yamltree.Node
	from       *yamltree.Pos // the merge key that adds the pair; nil if none does
	joined     bool          // value is made of several
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
func (d *decoder) pairs(n *yamltree.Node, notString string) []pair {
	ps := make([]pair, 0, len(n.Fields))
	at := make(map[string]int, len(n.Fields))
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
	for i, f := range n.Fields {
		if f.Merge {
			d.mergeKeys(f, notString, add)
			continue
		}
		if name, ok := d.keyName(f.Key, notString); ok {
			p := pair{name: name, key: f.Key, value: f.Value}
			if in := d.inherited[n]; i < in.fields {
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
	if old.value.Kind == yamltree.Map && p.value.Kind == yamltree.Map && p.name == "rate_limit" {
		how = "the fields here replace its fields"
	}
	if p.from != nil {
		d.warn(*p.from, "mapping key %q is already defined at line %d, column %d; the merge key comes later, so that %s: put the merge key first",
			fmt.Sprintf("%.100s", p.name), old.key.Line, old.key.Column, how)
		return
	}
	d.warn(p.key.Pos, "mapping key %q is already defined at line %d, column %d; %s: remove one of them",
		fmt.Sprintf("%.100s", p.name), old.key.Line, old.key.Column, how)
}

// inherited is the first part of a joined map, which a merge key adds.
type inherited struct {
	fields int
	from   *yamltree.Pos
}

// join puts the fields of old before those of p, if both are maps.
func (d *decoder) join(old, p *pair) {
	if old.value.Kind != yamltree.Map || p.value.Kind != yamltree.Map {
		return
	}
	joined := old.value
	if !old.joined {
		joined = &yamltree.Node{Pos: p.value.Pos, Kind: yamltree.Map, Tag: "!!map", Fields: slices.Clone(old.value.Fields)}
		if old.from != nil {
			d.inherited[joined] = inherited{len(joined.Fields), old.from}
		}
	}
	joined.Fields = append(joined.Fields, p.value.Fields...)
	p.value, p.joined = joined, true
}

func (d *decoder) keyName(key *yamltree.Node, notString string) (string, bool) {
	if key.Kind >= yamltree.List {
		d.fault(key.Pos, "error loading config file: yaml: invalid map key: a list or a map can't be a key")
		return "", false
	}
	v, ok := d.scalar(key)
	if !ok {
		return "", false
	}
	name, ok := v.(string)
	if _, isTime := v.(time.Time); isTime {
		name, ok = key.Text, true
	}
	if !ok {
		d.fault(key.Pos, notString, fmt.Sprint(v))
	}
	return name, ok
}

// mergeKeys calls add with each pair that a merge key adds: those of a map, or of a list
// of maps of which the earlier replace the later.
func (d *decoder) mergeKeys(f yamltree.Field, notString string, add func(pair)) {
	sources := []*yamltree.Node{f.Value}
	if f.Value.Kind == yamltree.List && !f.Value.Alias {
		sources = f.Value.Items
	}
	for _, source := range slices.Backward(sources) { // earlier maps override later ones
		if source.Kind != yamltree.Map {
			d.fault(source.Pos, "error loading config file: yaml: map merge requires map or sequence of maps as the value")
			continue
		}
		for _, p := range d.pairs(source, notString) {
			p.from = &f.Pos
			add(p)
		}
	}
}
