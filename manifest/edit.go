package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// Set returns a document in which a JSON pointer (RFC 6901) has a value. It replaces the
// value there, or adds a member or element if only that is missing; "-" is the index after
// the last element. All bytes outside of that value stay unchanged, and what is added is
// indented like the rest.
//
// The value is what encoding/json accepts, such as a string or a [Package], or a [Raw],
// which is written as it is. The error is about the pointer, about the value, or about a
// document that is not JSON or would exceed the limits of [Parse].
func (d *Document) Set(pointer string, value any) (*Document, error) {
	if d.json.Root == nil {
		return nil, d.syntaxError()
	}
	text, err := encoded(value)
	if err != nil {
		return nil, fmt.Errorf("the value for %s: %w", jsonpos.OneLine(pointer), err)
	}
	e, err := d.edit(pointer, text)
	if err != nil {
		return nil, err
	}
	changed := parse(apply(d.json.Text, []Edit{*e}), &d.opts)
	if changed.json.Root == nil {
		return nil, changed.syntaxError()
	}
	return changed, nil
}

// encoded returns a value as JSON on one line.
func encoded(value any) (string, error) {
	if raw, ok := value.(Raw); ok {
		if doc := jsonpos.Parse([]byte(raw), nil); doc.Count > 0 {
			return "", fmt.Errorf("it is not JSON: %s", doc.Problems[0].Message)
		}
		return strings.Trim(string(raw), " \t\r\n"), nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// edit returns the change that gives a pointer a value.
func (d *Document) edit(pointer, value string) (*Edit, error) {
	s := newStyle(d.json)
	if old := d.json.Root.Lookup(pointer); old != nil {
		return &Edit{Offset: old.Start, End: old.End, Text: s.replacement(old, value)}, nil
	}
	at := strings.LastIndexByte(pointer, '/')
	if at < 0 || pointer[0] != '/' || !utf8.ValidString(pointer) {
		return nil, fmt.Errorf("%s is not a JSON pointer: begin it with a slash", jsonpos.Quote(pointer))
	}
	parent, token := d.json.Root.Lookup(pointer[:at]), pointer[at+1:]
	switch {
	case parent == nil:
		return nil, fmt.Errorf("nothing is at %s: set that first", jsonpos.Quote(pointer[:at]))
	case parent.Kind == KindObject:
		return s.addMember(parent, strings.NewReplacer("~1", "/", "~0", "~").Replace(token), value), nil
	case parent.Kind == KindArray && (token == "-" || token == strconv.Itoa(len(parent.Elements))):
		return s.addElement(parent, value), nil
	case parent.Kind == KindArray:
		return nil, fmt.Errorf("%s is not an index of %s, which has %d elements: use - to add one", jsonpos.Quote(token), jsonpos.Quote(pointer[:at]), len(parent.Elements))
	}
	return nil, fmt.Errorf("%s is %s, which has no members", jsonpos.Quote(pointer[:at]), parent.Kind)
}

// style is the form of a document, as its root shows.
type style struct {
	text    string
	newline string
	indent  string // of one level; "" for a document on one line
	colon   string // between key and value
	comma   string // between members on one line
}

func newStyle(doc *jsonpos.Document) *style {
	s := &style{text: doc.Text, newline: "\n", colon: ": ", comma: ", "}
	root := doc.Root
	if len(root.Members) == 0 {
		return s
	}
	first := &root.Members[0]
	if s.colon = s.text[first.KeyEnd:first.Value.Start]; len(s.colon) > maxStyle {
		s.colon = ": "
	}
	if s.colon == ":" {
		s.comma = ","
	}
	before := s.before(first.KeyStart)
	if at := strings.LastIndexByte(before, '\n'); at >= 0 {
		if strings.HasSuffix(before[:at], "\r") {
			s.newline = "\r\n"
		}
		if s.indent = strings.TrimPrefix(before[at+1:], s.line(root.Start)); s.indent == "" || len(s.indent) > maxStyle {
			s.indent = "  "
		}
	}
	return s
}

// maxStyle bounds white space that is repeated.
const maxStyle = 16

const space = " \t\r\n"

// before returns the white space before an offset.
func (s *style) before(offset int) string {
	rest := strings.TrimRight(s.text[:offset], space)
	return s.text[len(rest):offset]
}

// maxLine bounds the search for the beginning of a line. A longer line, as of a
// document without line breaks, has no indentation.
const maxLine = 4096

// line returns the indentation of the line with an offset.
func (s *style) line(offset int) string {
	line := s.text[max(0, offset-maxLine):offset]
	start := strings.LastIndexByte(line, '\n') + 1
	if start == 0 && offset > maxLine {
		return ""
	}
	line = line[start:]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// replacement returns a value to replace another one: on several lines if that was,
// and also if it was no array or object and the document has several lines.
func (s *style) replacement(old *Node, value string) string {
	scalar := old.Kind != KindObject && old.Kind != KindArray
	if strings.Contains(s.text[old.Start:old.End], "\n") || scalar && s.indent != "" {
		return s.indented(value, s.line(old.Start))
	}
	return s.inline(value)
}

// indented writes a value on several lines, of which the first one has begun.
func (s *style) indented(value, prefix string) string {
	var b bytes.Buffer
	unit := cmp.Or(s.indent, "  ")
	if len(prefix) > maxPrefix || json.Indent(&b, []byte(value), prefix, unit) != nil {
		return value
	}
	return strings.ReplaceAll(b.String(), "\n", s.newline)
}

// maxPrefix bounds the indentation of what is added.
const maxPrefix = 256

// inline writes a value on one line, with the spaces of the document.
func (s *style) inline(value string) string {
	if s.comma == "," {
		return value
	}
	var b strings.Builder
	quoted := false
	for i := range len(value) {
		c := value[i]
		b.WriteByte(c)
		switch {
		case c == '"' && (i-len(strings.TrimRight(value[:i], `\`)))%2 == 0: // not escaped
			quoted = !quoted
		case !quoted && (c == ',' || c == ':') && value[i+1] != ' ':
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// addMember adds a member after the others.
func (s *style) addMember(n *Node, key, value string) *Edit {
	quoted := string(jsonpos.AppendValue(nil, key))
	if len(n.Members) == 0 {
		return s.addFirst(n, func(write func(string) string) string { return quoted + s.colon + write(value) })
	}
	last := &n.Members[len(n.Members)-1]
	colon := s.text[last.KeyEnd:last.Value.Start]
	if len(colon) > maxStyle || strings.Contains(colon, "\n") {
		colon = s.colon
	}
	return s.addNext(last.KeyStart, last.Value.End, value, quoted+colon, len(n.Members) == 1)
}

// prepend adds a member before the others.
func (s *style) prepend(n *Node, key, value string) *Edit {
	if len(n.Members) == 0 {
		return s.addMember(n, key, value)
	}
	first := n.Members[0].KeyStart
	gap := s.before(first)
	if gap == "" || len(gap) > maxPrefix {
		gap = s.comma[1:]
	}
	return &Edit{Offset: first, End: first, Text: string(jsonpos.AppendValue(nil, key)) + s.colon + s.inline(value) + "," + gap}
}

// addElement adds an element after the others.
func (s *style) addElement(n *Node, value string) *Edit {
	if len(n.Elements) == 0 {
		return s.addFirst(n, func(write func(string) string) string { return write(value) })
	}
	last := &n.Elements[len(n.Elements)-1]
	return s.addNext(last.Start, last.End, value, "", len(n.Elements) == 1)
}

// addNext adds what follows the last member or element, which begins and ends at offsets.
func (s *style) addNext(start, end int, value, key string, only bool) *Edit {
	gap := s.before(start)
	switch {
	case strings.Contains(gap, "\n"):
		value = s.indented(value, gap[strings.LastIndexByte(gap, '\n')+1:])
	case only || len(gap) > maxStyle:
		gap, value = s.comma[1:], s.inline(value)
	default:
		value = s.inline(value)
	}
	return &Edit{Offset: end, End: end, Text: "," + gap + key + value}
}

// addFirst fills an array or object, which is empty but for white space.
func (s *style) addFirst(n *Node, item func(write func(string) string) string) *Edit {
	e := &Edit{Offset: n.Start + 1, End: n.End - 1}
	outer := s.line(n.Start)
	if s.indent == "" && !strings.Contains(s.text[n.Start:n.End], "\n") || len(outer) > maxPrefix {
		e.Text = item(s.inline)
		return e
	}
	unit := cmp.Or(s.indent, "  ")
	e.Text = s.newline + outer + unit + item(func(v string) string { return s.indented(v, outer+unit) }) + s.newline + outer
	return e
}
