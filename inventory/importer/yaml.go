package importer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/ashlar-go/ashlar/internal/yamltree"
	"github.com/ashlar-go/ashlar/inventory/records"
)

var errFull = bufio.ErrBufferFull

// yamlSource reads YAML: a list of mappings, or lists under the names of their resources. It reads one
// item of a list at a time, so that memory is bounded.
type yamlSource struct {
	*file
	head   []byte // the line with the resource
	indent int    // of the items of this list; -1 before the first
	next   []byte // a line that was read ahead
	begun  bool
}

// listKey is a line with the name of a resource, above its list.
var listKey = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]*):\s*(#.*)?$`)

// Next returns the next row.
func (s *yamlSource) Next() (*Row, error) {
	if !s.begun {
		s.begun, s.indent = true, -1
	}
	for {
		line, err := s.readAhead()
		if err != nil {
			return nil, err
		}
		content := bytes.TrimLeft(line, " ")
		trimmed := bytes.TrimSpace(line)
		indent := len(line) - len(content)
		switch {
		case len(trimmed) == 0 || trimmed[0] == '#' || indent == 0 && (string(trimmed) == "---" || string(trimmed) == "..." || string(trimmed) == "[]"):
		case indent == 0 && listKey.Match(trimmed):
			name := string(listKey.FindSubmatch(trimmed)[1])
			r, reason := s.importable(name)
			if reason != "" {
				return nil, s.fail(s.line, "%s", reason)
			}
			s.resource, s.head, s.indent = r, append(bytes.Clone(trimmed), '\n'), -1
		case (bytes.HasPrefix(content, []byte("- ")) || string(bytes.TrimSpace(content)) == "-") && (s.indent < 0 || s.indent == indent):
			s.indent = indent
			return s.item(line)
		case bytes.HasPrefix(line, byteOrderMark):
			return nil, s.fail(s.line, "%s", joined)
		case content[0] == '\t':
			return nil, s.fail(s.line, "is indented by a tab: use spaces")
		default:
			return nil, s.fail(s.line, "%s", records.WrongType("a list of records, each beginning with a dash in the same column, or such lists under the names of their resources").Reason)
		}
	}
}

func (s *yamlSource) readAhead() ([]byte, error) {
	if line := s.next; line != nil {
		s.next = nil
		return line, nil
	}
	return s.readLine()
}

// item reads the lines of an item and parses it.
func (s *yamlSource) item(line []byte) (*Row, error) {
	text, first := bytes.Clone(line), s.line
	for {
		line, err := s.readLine()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		content := bytes.TrimLeft(line, " ")
		if len(bytes.TrimSpace(line)) > 0 && len(line)-len(content) <= s.indent {
			s.next = line
			break
		}
		if text = append(text, line...); len(text) > maxRow {
			return nil, s.fail(first, "the item is longer than 1 MiB")
		}
	}
	last := s.line
	s.line = first
	row := s.row(text)
	s.line = last
	row.Head = s.head
	if len(row.Problems) == 0 {
		s.parse(row)
	}
	return s.finish(row), nil
}

// parse sets the values of a row.
func (s *yamlSource) parse(row *Row) {
	docs, err := yamltree.Read(row.Text, yamltree.MaxDepth)
	if wrong, ok := errors.AsType[*yamltree.Error](err); ok {
		row.refuse("", fmt.Sprintf("is not YAML: line %d: %s", row.Line+int64(max(wrong.Line, 1))-1, wrong.Reason))
		return
	}
	if len(docs) != 1 || len(docs[0].Items) != 1 || docs[0].Items[0].Kind != yamltree.Map {
		row.refuse("", records.WrongType("a mapping of fields to values").Reason)
		return
	}
	mapping := docs[0].Items[0]
	if name := mapping.Get("_resource"); name.Line > 0 {
		s.setResource(row, name.Text)
	}
	for _, field := range mapping.Fields {
		if _, ok := row.Patch[field.Name]; ok {
			row.refuse(field.Name, "is given twice")
			continue
		}
		var f *records.Field
		if row.Resource != nil {
			f, _ = row.Resource.Field(field.Name)
		}
		doc, err := nodeValue(f, field.Value)
		if row.Patch[field.Name] = doc; err != nil {
			row.Patch[field.Name] = json.RawMessage("null")
			row.refuse(field.Name, err.Error())
		}
	}
}

// nodeValue returns a value as JSON. A scalar of a text field is its text: 15.2 is a version, not a
// number.
func nodeValue(f *records.Field, n *yamltree.Node) (json.RawMessage, error) {
	if n.Alias || n.Anchor != "" {
		return nil, errors.New("has an anchor or an alias: write the value itself")
	}
	switch n.Kind {
	case yamltree.Null:
		return json.RawMessage("null"), nil
	case yamltree.Text:
		return scalarValue(f, n)
	case yamltree.List:
		docs := make([]json.RawMessage, len(n.Items))
		var of *records.Field
		if f != nil && f.Kind == records.List {
			of = &records.Field{} // a text
		}
		for i, item := range n.Items {
			var err error
			if docs[i], err = nodeValue(of, item); err != nil {
				return nil, err
			}
		}
		return json.Marshal(docs)
	}
	docs := map[string]json.RawMessage{}
	for _, field := range n.Fields {
		doc, err := nodeValue(nil, field.Value)
		if err != nil {
			return nil, err
		}
		docs[field.Name] = doc
	}
	return json.Marshal(docs)
}

func scalarValue(f *records.Field, n *yamltree.Node) (json.RawMessage, error) {
	if f != nil && (f.Kind == records.Text || f.Kind == records.Time) {
		return text(n.Text), nil
	}
	var value any = n.Text
	if n.Tag == "!!int" || n.Tag == "!!float" || n.Tag == "!!bool" {
		if err := n.Decode(&value); err != nil {
			return nil, err
		}
	}
	doc, err := json.Marshal(value)
	if err != nil {
		return nil, records.WrongType("a finite number")
	}
	return doc, nil
}
