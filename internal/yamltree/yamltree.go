// Package yamltree parses YAML into values with their positions. Nesting, and what aliases add, are bounded, so
// that a small file stays small.
//
// Read keeps the keys of maps as they are written, for callers with rules of their own for duplicate and merge
// keys. Parse refuses duplicate keys and resolves merge keys.
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
	MaxBytes   = 8 << 20 // of Parse
	MaxDepth   = 100     // lists and maps within each other, of Parse
	maxAliased = 400_000 // values that aliases repeat; about what the YAML library allows
)

// kind is the kind of a value.
type kind uint8

// The kinds of values.
const (
	Null kind = iota
	Text      // any other scalar, as it is written: 15.2 is "15.2"
	List
	Map
)

// Describe returns the kind with its article, for messages.
func (k kind) Describe() string {
	return []string{"nothing", "a text", "a list", "a mapping"}[k]
}

// Pos is a position in a file. Both count from 1, columns in characters; 0 means unknown.
type Pos struct{ Line, Column int }

// Node is a value.
type Node struct {
	Pos    // of the alias, if the value has one
	Kind   kind
	Alias  bool   // an alias stands for the value
	Anchor string // that the value has
	Tag    string // such as !!str, !!int, !!map or !vault
	Flow   bool   // a list or map is written in brackets
	Text   string // of a scalar
	Items  []*Node
	Fields []Field

	raw          *yaml.Node
	size, height int // the values in it, and the levels of lists and maps, with those of aliases
}

// Field is a field of a map. The position is that of its key.
type Field struct {
	Pos
	Name       string
	Key, Value *Node
	Merge      bool // the key is <<; after Parse, the field was added by such a key
}

// Error says what is wrong with a file.
type Error struct {
	Pos
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

// Decode stores the value as the YAML library does: in a variable of type any, the type of a scalar follows from
// its tag. The error has no position.
func (n *Node) Decode(to any) error {
	if n.Kind == Text && n.Tag == "!!str" { // nearly all, which the library would make a decoder for each
		switch to := to.(type) {
		case *any:
			*to = n.Text
			return nil
		case *string:
			*to = n.Text
			return nil
		}
	}
	if err := n.raw.Decode(to); err != nil {
		return errors.New(libraryError(err).Reason)
	}
	return nil
}

// Parse returns the value of a file of one document, in which no key occurs twice and the fields of merge keys
// come after the own ones. The error is an [*Error] that does not repeat values, which may be secret.
func Parse(text []byte) (*Node, error) {
	start := Pos{1, 1}
	if len(text) > MaxBytes {
		return nil, &Error{start, fmt.Sprintf("the file has more than %d MiB: split it", MaxBytes>>20)}
	}
	if !utf8.Valid(text) {
		return nil, &Error{start, "is not UTF-8, perhaps Latin-1: convert the file (iconv -f LATIN1 -t UTF-8)"}
	}
	roots, err := documents(text)
	switch {
	case err != nil:
		err.Line, err.Column = max(err.Line, 1), 1
		if strings.HasPrefix(err.Reason, "unknown anchor") {
			err.Reason = "an alias names no anchor: quote values that begin with an asterisk"
		}
		err.Reason = "is not YAML: " + printable.Truncate(err.Reason, 200)
		return nil, err
	case len(roots) == 0:
		return nil, &Error{start, "is empty"}
	case len(roots) > 1:
		return nil, &Error{posOf(roots[1]), "begins a second document: put it into a file of its own"}
	}
	return (&parser{depth: MaxDepth, strict: true}).document(roots[0])
}

// Read returns the values of the documents in a file, but of empty ones after the first. Lists and maps may be
// nested to a depth. The error is an [*Error].
func Read(text []byte, depth int) (docs []*Node, _ error) {
	roots, err := documents(text)
	if err != nil {
		return nil, err
	}
	for _, root := range roots {
		doc, err := (&parser{depth: depth}).document(root)
		if err != nil {
			return nil, err
		}
		if len(docs) == 0 || doc.Kind != Null {
			docs = append(docs, doc)
		}
	}
	return docs, nil
}

// documents returns the roots of the documents. It turns panics of the library into errors.
func documents(text []byte) (roots []*yaml.Node, wrong *Error) {
	defer func() {
		if r := recover(); r != nil {
			wrong = &Error{Reason: fmt.Sprint(r)}
		}
	}()
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc yaml.Node
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			return roots, nil
		} else if err != nil {
			wrong = libraryError(err)
			wrong.Line = min(wrong.Line, len(lineBreak.FindAllIndex(text, -1))+1) // the library counts the end of a file as a line
			wrong.Column = min(wrong.Line, 1)
			return nil, wrong
		}
		roots = append(roots, doc.Content[0])
	}
}

var libraryLine = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\n  )?(?:line (\d+): )?`)

// libraryError separates the line from an error of the library.
func libraryError(err error) *Error {
	text := err.Error()
	m := libraryLine.FindStringSubmatch(text)
	e := &Error{Reason: text[len(m[0]):]}
	if n, _ := strconv.Atoi(m[1]); n > 0 {
		e.Line = n
		if strings.HasPrefix(e.Reason, "did not find expected") {
			e.Line++ // the library counts these from 0
		}
	}
	return e
}

// lineBreak matches the line breaks of YAML 1.1.
var lineBreak = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]")

// parser converts the nodes of the library.
type parser struct {
	depth   int
	strict  bool                 // as for Parse
	anchors map[*yaml.Node]*Node // the values that aliases can stand for
	aliased int                  // the values that aliases have added
}

func (p *parser) document(root *yaml.Node) (*Node, error) {
	p.anchors = make(map[*yaml.Node]*Node)
	return p.node(root, 0)
}

func posOf(n *yaml.Node) Pos { return Pos{max(n.Line, 1), max(n.Column, 1)} }

// node converts a value within a number of lists and maps.
func (p *parser) node(raw *yaml.Node, depth int) (*Node, error) {
	if raw.Kind == yaml.AliasNode {
		return p.alias(raw, depth)
	}
	n := &Node{Pos: posOf(raw), Kind: Text, Anchor: raw.Anchor, Tag: raw.ShortTag(), Flow: raw.Style&yaml.FlowStyle != 0, Text: raw.Value, raw: raw, size: 1}
	switch {
	case raw.Kind != yaml.ScalarNode:
		if err := p.children(n, depth); err != nil {
			return nil, err
		}
	case n.Tag == "!!null":
		var v any
		if raw.Decode(&v) == nil { // not !!null x
			n.Kind = Null
		}
	}
	if raw.Anchor != "" {
		p.anchors[raw] = n
	}
	return n, nil
}

// alias returns the value that an alias stands for.
func (p *parser) alias(raw *yaml.Node, depth int) (*Node, error) {
	target := p.anchors[raw.Alias]
	if target == nil {
		return nil, &Error{posOf(raw), fmt.Sprintf("anchor '%.100s' value contains itself", raw.Value)}
	}
	if depth+target.height > p.depth {
		return nil, &Error{posOf(raw), fmt.Sprintf("nested more than %d levels deep", p.depth)}
	}
	if p.aliased += target.size; p.aliased > maxAliased {
		return nil, &Error{posOf(raw), fmt.Sprintf("document contains excessive aliasing: aliases add more than %d values", maxAliased)}
	}
	n := *target
	n.Pos, n.Alias = posOf(raw), true
	return &n, nil
}

// children converts the values in a list or map.
func (p *parser) children(n *Node, depth int) error {
	if depth >= p.depth {
		return &Error{n.Pos, fmt.Sprintf("nested more than %d levels deep", p.depth)}
	}
	content := n.raw.Content
	n.Kind, n.Items = List, make([]*Node, len(content))
	for i := range content {
		c, err := p.node(content[i], depth+1)
		if err != nil {
			return err
		}
		n.Items[i], n.size, n.height = c, n.size+c.size, max(n.height, c.height)
	}
	n.height++
	if n.raw.Kind != yaml.MappingNode {
		return nil
	}
	n.Kind, n.Fields = Map, make([]Field, 0, len(content)/2)
	for i := 0; i+1 < len(content); i += 2 {
		key, tag := n.Items[i], content[i].Tag
		merge := !key.Alias && key.Kind == Text && key.Text == "<<" && (tag == "" || tag == "!" || key.Tag == "!!merge")
		n.Fields = append(n.Fields, Field{key.Pos, key.Text, key, n.Items[i+1], merge})
	}
	n.Items = nil
	if p.strict {
		return n.merge()
	}
	return nil
}

// merge checks the keys of a map and replaces its merge keys with the fields that they add.
func (n *Node) merge() error {
	first := make(map[string]int, len(n.Fields))
	var own, merged []Field
	for _, f := range n.Fields {
		switch {
		case f.Key.Kind >= List:
			return &Error{f.Pos, "the name of a field must be a text"}
		case f.Merge && f.Value.Kind == List:
			for _, item := range f.Value.Items {
				merged = append(merged, item.Fields...)
			}
		case f.Merge:
			merged = append(merged, f.Value.Fields...)
		case first[f.Name] > 0:
			return &Error{f.Pos, fmt.Sprintf("duplicate key %q, also on line %d: remove one", printable.Truncate(f.Name, 64), first[f.Name])}
		default:
			first[f.Name] = f.Line
			own = append(own, f)
		}
	}
	for _, f := range merged {
		if first[f.Name] == 0 {
			first[f.Name] = f.Line
			f.Merge = true
			own = append(own, f)
		}
	}
	n.Fields = own
	return nil
}
