package lsp

import (
	"encoding/json"
	"strconv"
	"strings"
)

// place is where a cursor is in a text that may not be JSON yet.
type place struct {
	path  []string // keys and indices that lead to the object or value
	key   bool     // a key is there or is to be written, else a value
	text  string   // the key or string under the cursor as far as it is one
	from  int      // the range of it
	to    int      // == from if there is nothing
	colon bool     // a colon follows
	keys  []string // the other keys of the object
}

// container is an object or array that is open at the cursor.
type container struct {
	object  bool
	index   int
	key     string
	isValue bool // a value is expected or was read, in an object
	keys    []string
}

// scanner reads tokens, whatever they are.
type scanner struct {
	text  string
	at    int
	stack []container
	found *place
	depth int // of the stack where found
}

// maxDepth is how deep a scanner reads. Deeper, nothing is suggested.
const maxDepth = 200

// locate returns the place of an offset, nil if it is in no object or array.
func locate(text string, offset int) *place {
	s := &scanner{text: text}
	for s.at < len(text) {
		if s.found == nil && s.at >= offset && !strings.ContainsRune(`"`, rune(text[s.at])) || s.found == nil && s.at > offset {
			s.record(offset, offset, "")
		}
		if !s.next(offset) {
			break
		}
	}
	if s.found == nil {
		s.record(offset, offset, "")
	}
	return s.found
}

// record notes the place of the cursor.
func (s *scanner) record(from, to int, text string) {
	if s.found != nil || len(s.stack) == 0 {
		return
	}
	p := &place{from: from, to: to, text: text}
	for i := range s.stack {
		c := &s.stack[i]
		last := i == len(s.stack)-1
		switch {
		case !c.object:
			p.path = append(p.path, strconv.Itoa(c.index))
		case !last || c.isValue:
			p.path = append(p.path, c.key)
		default:
			p.key = true
		}
	}
	top := &s.stack[len(s.stack)-1]
	p.keys = append(p.keys, top.keys...)
	rest := strings.TrimLeft(s.text[to:], " \t\r\n")
	p.colon = strings.HasPrefix(rest, ":")
	s.found, s.depth = p, len(s.stack)
}

// next reads a token. It returns false when nothing more is of interest.
func (s *scanner) next(offset int) bool {
	c := s.text[s.at]
	switch c {
	case '{', '[':
		if len(s.stack) >= maxDepth {
			return false
		}
		s.stack = append(s.stack, container{object: c == '{'})
	case '}', ']':
		if len(s.stack) > 0 {
			s.stack = s.stack[:len(s.stack)-1]
		}
		if s.found != nil && len(s.stack) < s.depth {
			return false
		}
	case ':':
		if top := s.top(); top != nil {
			top.isValue = true
		}
	case ',':
		if top := s.top(); top != nil {
			top.isValue, top.key = false, ""
			top.index++
		}
	case '"':
		s.string(offset)
		return true
	}
	s.at++
	return true
}

func (s *scanner) top() *container {
	if len(s.stack) == 0 {
		return nil
	}
	return &s.stack[len(s.stack)-1]
}

// string reads a string, which ends at a line break too.
func (s *scanner) string(offset int) {
	from, to := s.at, s.at+1
	closed := false
	for to < len(s.text) && s.text[to] != '\n' && !closed {
		switch s.text[to] {
		case '\\':
			to++
		case '"':
			closed = true
		}
		to++
	}
	to = min(to, len(s.text))
	var text string
	if !closed || json.Unmarshal([]byte(s.text[from:to]), &text) != nil {
		text = s.text[from+1 : to]
	}
	s.at = to
	top := s.top()
	if top == nil {
		return
	}
	key := top.object && !top.isValue
	if from < offset && (offset < to || offset == to && !closed) || from == offset {
		s.record(from, to, text)
		if key {
			top.key = text
			return // it is not among the other keys
		}
	}
	if !key {
		return
	}
	top.key = text
	top.keys = append(top.keys, text)
	if s.found != nil && len(s.stack) == s.depth && s.found.key {
		s.found.keys = append(s.found.keys, text)
	}
}
