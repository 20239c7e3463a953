package config

import (
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// scalar is the value of a scalar node: nil, string, int, bool, float64 or
// whatever else the YAML library knows.
func scalar(n *yaml.Node) (v any, err error) {
	err = n.Decode(&v)
	return v, err
}

// leaf reports whether a scalar has one of the types that the format knows.
func (d *decoder) leaf(at, n *yaml.Node) bool {
	v, err := scalar(n)
	if err != nil {
		d.fault(markOf(at), "error loading config file: %s", libraryText(err))
		return false
	}
	switch v.(type) {
	case nil, string, int, bool:
		return true
	}
	d.fault(markOf(at), "error checking config: '%s' is %s, not text, an integer or a boolean: put it in quotes to mean text",
		show(n.Value), typeName(n))
	return false
}

// typeName is what a reason calls the type of a scalar.
func typeName(n *yaml.Node) string {
	switch tag := n.ShortTag(); tag {
	case "!!float":
		return "a floating-point number"
	case "!!int":
		return "an integer beyond 64 bits"
	case "!!timestamp":
		return "a date"
	default:
		return "of type " + show(tag)
	}
}

// What scalars of a field have to be, as hints.
const (
	wantText   = "text"
	wantFlag   = "true or false"
	wantNumber = "a whole number from 0 to 4294967295"
)

// decode reads the scalar of a field. Null is the zero value, as is what has a
// fault.
func decode[T string | bool | uint32](d *decoder, s scope, p pair, want string) (v T) {
	s.note(p, markOf(p.value))
	n := target(p.value)
	if n.Kind != yaml.ScalarNode {
		d.mismatch(s, p, want)
		return v
	}
	if !d.leaf(p.value, n) {
		s.spoil(p.name)
		return v
	}
	if err := n.Decode(&v); err != nil {
		d.fault(markOf(p.value), "error loading config file: %s: %s must be %s", libraryText(err), p.name, want)
		s.spoil(p.name)
	}
	return v
}

// mismatch reports a value that is not what its field needs.
func (d *decoder) mismatch(s scope, p pair, want string) {
	s.spoil(p.name)
	n := target(p.value)
	if n.Kind == yaml.ScalarNode && !d.leaf(p.value, n) {
		return
	}
	d.fault(markOf(p.value), "error loading config file: yaml: cannot unmarshal %s: %s must be %s", tagged(n), p.name, want)
	d.check(p.value)
}

// tagged names the type of a value and, if it is short, the value.
func tagged(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return fmt.Sprintf("%s `%s`", show(n.ShortTag()), show(n.Value))
	}
	return show(n.ShortTag())
}

func isNull(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode {
		return false
	}
	v, err := scalar(n)
	return err == nil && v == nil
}

var libraryLine = regexp.MustCompile(`^line \d+: `)

// libraryText is the text of an error of the YAML library without the line, which
// a fault has in front and which the library sometimes gets wrong.
func libraryText(err error) string {
	s := strings.TrimPrefix(err.Error(), "yaml: ")
	s = strings.TrimPrefix(s, "unmarshal errors:\n  ")
	return "yaml: " + show(libraryLine.ReplaceAllString(s, ""))
}
