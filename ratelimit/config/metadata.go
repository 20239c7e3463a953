package config

import (
	"math"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// metadata reads a map of anything that JSON can say; null is none.
func (d *decoder) metadata(s scope, p pair) map[string]any {
	s.note(p, markOf(p.key))
	n := target(p.value)
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		d.mismatch(s, p, "a map")
		return nil
	}
	return d.jsonMap(p.value)
}

func (d *decoder) jsonMap(at *yaml.Node) map[string]any {
	m := make(map[string]any)
	d.within(at, func(n *yaml.Node) {
		for _, p := range d.pairs(n, badMetadataKey) {
			m[p.name] = d.jsonValue(p.value)
		}
	})
	return m
}

func (d *decoder) jsonList(at *yaml.Node) []any {
	list := []any{}
	d.within(at, func(n *yaml.Node) {
		for _, element := range n.Content {
			list = append(list, d.jsonValue(element))
		}
	})
	return list
}

func (d *decoder) jsonValue(at *yaml.Node) any {
	switch n := target(at); n.Kind {
	case yaml.MappingNode:
		return d.jsonMap(at)
	case yaml.SequenceNode:
		return d.jsonList(at)
	default:
		return d.jsonScalar(at, n)
	}
}

func (d *decoder) jsonScalar(at, n *yaml.Node) any {
	v, err := scalar(n)
	if err != nil {
		d.fault(markOf(at), "error loading config file: %s", libraryText(err))
		return nil
	}
	switch v := v.(type) {
	case nil, bool, int:
		return v
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v
		}
	case string:
		if utf8.ValidString(v) {
			return v
		}
	}
	d.fault(markOf(at), "error parsing metadata: '%s' (%s) is not a value that JSON knows: use text, a finite number, a boolean, null, a list or a map",
		show(n.Value), show(n.ShortTag()))
	return nil
}
