// Package yamltree parses YAML from others into values with their lines, within bounds of size, depth and
// number: aliases and merge keys are resolved, and count as the values that they repeat.
package yamltree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/ashlar-go/ashlar/internal/printable"
)

// The bounds of a file.
const (
	MaxBytes  = 8 << 20
	MaxDepth  = 100
	MaxValues = 1_000_000
)

// Kind is the kind of a value.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Text      // any other scalar, as it is written: 15.2 is "15.2"
	List
	Map
)

// Node is a value.
type Node struct {
	Kind   Kind
	Line   int    // from 1
	Tag    string // of a Text, such as !!str, !!int or !vault
	Text   string
	Items  []*Node // of a List
	Fields []Field // of a Map
}

// Field is a field of a map.
type Field struct {
	Name  string
	Line  int
	Value *Node
}

// Error says what is wrong with a file. It does not repeat values.
type Error struct {
	Line   int // from 1
	Reason string
}

// Error returns the line and the reason.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Get returns the value of a field, or an empty one of kind Null. The node may be nil.
func (n *Node) Get(name string) *Node {
	if n != nil {
		for _, f := range n.Fields {
			if f.Name == name {
				return f.Value
			}
		}
	}
	return &Node{}
}

// Parse returns the value of a file of one document. The error is an [*Error].
func Parse(text []byte) (*Node, error) {
	if len(text) > MaxBytes {
		return nil, &Error{1, fmt.Sprintf("the file has more than %d MiB: split it", MaxBytes>>20)}
	}
	if !utf8.Valid(text) {
		return nil, &Error{1, "is not UTF-8, perhaps Latin-1: convert the file (iconv -f LATIN1 -t UTF-8)"}
	}
	root, err := document(text)
	if err != nil {
		return nil, err
	}
	p := &parser{}
	return p.node(root, 0)
}

// document reads the only document. It turns panics of the library into errors.
func document(text []byte) (root *yaml.Node, err error) {
	defer func() {
		if recover() != nil {
			root, err = nil, &Error{1, "is not YAML"}
		}
	}()
	var doc, further yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, &Error{1, "is empty"}
	} else if err != nil {
		return nil, syntax(err)
	}
	if err := d.Decode(&further); err == nil {
		return nil, &Error{max(further.Line, 1), "begins a second document: put it into a file of its own"}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntax(err)
	}
	return doc.Content[0], nil
}

// libraryLine is the position in errors of the library.
var libraryLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntax returns the error of the library with its line.
func syntax(err error) *Error {
	m := libraryLine.FindStringSubmatch(err.Error())
	if m == nil {
		return &Error{1, "is not YAML"}
	}
	line, _ := strconv.Atoi(m[1])
	if strings.Contains(err.Error(), "unknown anchor") { // the message has its name, which may be a password
		return &Error{max(line, 1), "is not YAML: an alias names no anchor: quote values that begin with an asterisk"}
	}
	return &Error{max(line, 1), "is not YAML: " + printable.Truncate(err.Error()[len(m[0]):], 200)}
}

// parser counts the values of a file.
type parser struct{ values int }

func (p *parser) node(n *yaml.Node, depth int) (*Node, error) {
	line := max(n.Line, 1)
	if p.values++; p.values > MaxValues {
		return nil, &Error{line, fmt.Sprintf("the file has more than %d values, those that aliases repeat included: split it", MaxValues)}
	}
	if depth > MaxDepth {
		return nil, &Error{line, fmt.Sprintf("is nested more than %d levels deep", MaxDepth)}
	}
	switch n.Kind {
	case yaml.AliasNode:
		return p.node(n.Alias, depth+1)
	case yaml.SequenceNode:
		list := &Node{Kind: List, Line: line}
		for _, element := range n.Content {
			item, err := p.node(element, depth+1)
			if err != nil {
				return nil, err
			}
			list.Items = append(list.Items, item)
		}
		return list, nil
	case yaml.MappingNode:
		return p.mapping(n, depth)
	}
	if n.ShortTag() == "!!null" {
		return &Node{Line: line}, nil
	}
	return &Node{Kind: Text, Line: line, Tag: n.ShortTag(), Text: n.Value}, nil
}

// mapping returns a map, whose own fields count before those of merge keys.
func (p *parser) mapping(n *yaml.Node, depth int) (*Node, error) {
	m := &Node{Kind: Map, Line: max(n.Line, 1)}
	lines := map[string]int{}
	var merged []*Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, line := n.Content[i], max(n.Content[i].Line, 1)
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return nil, &Error{line, "the name of a field must be a text"}
		}
		value, err := p.node(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if first := lines[key.Value]; first > 0 {
			return nil, &Error{line, fmt.Sprintf("%q is given twice, also on line %d: remove one", printable.Truncate(key.Value, 64), first)}
		}
		lines[key.Value] = line
		m.Fields = append(m.Fields, Field{key.Value, line, value})
	}
	for _, value := range merged {
		sources := value.Items
		if value.Kind == Map {
			sources = []*Node{value}
		}
		for _, source := range sources {
			for _, f := range source.Fields {
				if lines[f.Name] == 0 {
					lines[f.Name] = f.Line
					m.Fields = append(m.Fields, f)
				}
			}
		}
	}
	return m, nil
}

// Describe returns what a value is, for messages.
func (k Kind) Describe() string {
	return []string{"nothing", "a text", "a list", "a mapping"}[k]
}
