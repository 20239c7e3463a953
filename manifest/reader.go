package manifest

import (
	"fmt"
	"strings"
)

// reader turns text into nodes. It stops at the first syntax error; what a lenient
// reader would let pass is reported, and reading goes on.
type reader struct {
	text   string
	pos    int
	opts   *Options
	depth  int
	values int
	inMeta bool
	trail  trail
	found  *findings
}

// byteOrderMark in UTF-8. RFC 8259, section 8.1, forbids to write it.
const byteOrderMark = "\uFEFF"

// document reads the whole text. It returns nil if there is no tree to be had.
func (r *reader) document() *Node {
	if strings.HasPrefix(r.text, byteOrderMark) {
		r.fault(RuleByteOrderMark, 0, "the document begins with a byte order mark")
		r.hint("save it as UTF-8 without BOM", &Edit{Offset: 0, End: len(byteOrderMark)})
		r.pos = len(byteOrderMark)
	}
	r.space()
	if r.pos == len(r.text) {
		r.fault(RuleSyntax, r.pos, "the document is empty: a manifest is a JSON object")
		return nil
	}
	root := new(Node)
	if !r.value(root) {
		return nil
	}
	r.space()
	if r.pos < len(r.text) {
		r.fault(RuleTrailing, r.pos, "there is more text after the end of the document")
		r.hint("a file holds one manifest: remove the rest", nil)
	}
	return root
}

func (r *reader) tooLarge(size int) {
	r.fault(RuleSize, 0, "the document has %d bytes, and %d are allowed", size, r.opts.MaxBytes)
}

// fault reports a problem at an offset, where the trail ends.
func (r *reader) fault(rule Rule, offset int, format string, args ...any) {
	if !r.found.room(Error) {
		return
	}
	r.found.add(Problem{
		Rule: rule, Severity: Error, Pointer: r.trail.pointer(),
		Offset: offset, End: min(offset+1, len(r.text)), Message: fmt.Sprintf(format, args...),
	})
}

// hint adds a suggestion to the last fault.
func (r *reader) hint(suggestion string, fix *Edit) {
	if n := len(r.found.errors); n > 0 && n == r.found.nErrors {
		r.found.errors[n-1].Suggestion = suggestion
		r.found.errors[n-1].Fix = fix
	}
}

func (r *reader) space() {
	for r.pos < len(r.text) {
		switch r.text[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end, which no token begins with.
func (r *reader) peek() byte {
	if r.pos < len(r.text) {
		return r.text[r.pos]
	}
	return 0
}

// value reads the value that begins here. It returns false after a fault that
// makes it pointless to go on.
func (r *reader) value(n *Node) bool {
	if r.values++; r.values > r.opts.MaxValues {
		r.fault(RuleValues, r.pos, "the document has more than %d values", r.opts.MaxValues)
		return false
	}
	n.Start = r.pos
	ok := r.valueBody(n)
	n.End = r.pos
	return ok
}

func (r *reader) valueBody(n *Node) bool {
	switch c := r.peek(); {
	case c == '"':
		n.Kind = KindString
		var ok bool
		n.Text, ok = r.string()
		return ok
	case c == '{':
		n.Kind = KindObject
		return r.nested(func() bool { return r.object(n) })
	case c == '[':
		n.Kind = KindArray
		return r.nested(func() bool { return r.array(n) })
	case c == '-' || '0' <= c && c <= '9':
		n.Kind = KindNumber
		return r.number(n)
	}
	return r.literal(n)
}

// nested reads what is inside an array or object, one level deeper.
func (r *reader) nested(read func() bool) bool {
	limit := r.opts.MaxDepth
	if r.inMeta {
		limit = max(limit, r.opts.MaxMetaDepth)
	}
	if r.depth++; r.depth > limit {
		r.fault(RuleDepth, r.pos, "arrays and objects are nested more than %d levels deep", limit)
		return false
	}
	r.pos++
	ok := read()
	r.depth--
	return ok
}

func (r *reader) array(n *Node) bool {
	n.Elements = []Node{}
	if r.space(); r.peek() == ']' {
		r.pos++
		return true
	}
	for {
		n.Elements = append(n.Elements, Node{})
		r.trail.index(len(n.Elements) - 1)
		if !r.value(&n.Elements[len(n.Elements)-1]) {
			return false
		}
		r.trail.pop()
		if more, ok := r.next(']', "array"); !more {
			return ok
		}
	}
}

// next reads what follows an element: a comma and the beginning of another, or
// the end.
func (r *reader) next(end byte, what string) (more, ok bool) {
	r.space()
	switch r.peek() {
	case end:
		r.pos++
		return false, true
	case ',':
		comma := r.pos
		r.pos++
		if r.space(); r.peek() == end {
			r.fault(RuleSyntax, comma, "there is a comma after the last part of the %s", what)
			r.hint("remove the comma", &Edit{Offset: comma, End: comma + 1})
			return false, false
		}
		return true, true
	}
	r.unexpected("a comma or '" + string(end) + "'")
	return false, false
}

func (r *reader) object(n *Node) bool {
	n.Members = []Member{}
	if r.space(); r.peek() == '}' {
		r.pos++
		return true
	}
	keys := keySet{members: &n.Members}
	for {
		n.Members = append(n.Members, Member{})
		m := &n.Members[len(n.Members)-1]
		if !r.memberKey(m) {
			return false
		}
		r.trail.key(m.Key)
		r.duplicate(&keys, m)
		if !r.memberValue(m) {
			return false
		}
		r.trail.pop()
		if more, ok := r.next('}', "object"); !more {
			return ok
		}
	}
}

func (r *reader) memberKey(m *Member) bool {
	if r.peek() != '"' {
		r.unexpected("a key in double quotes")
		return false
	}
	m.KeyStart = r.pos
	var ok bool
	m.Key, ok = r.string()
	m.KeyEnd = r.pos
	if !ok {
		return false
	}
	if r.space(); r.peek() != ':' {
		r.unexpected("':' after the key")
		return false
	}
	r.pos++
	r.space()
	return true
}

// memberValue reads the value of a key. What is below the root's _meta is free.
func (r *reader) memberValue(m *Member) bool {
	if r.depth != 1 || m.Key != "_meta" {
		return r.value(&m.Value)
	}
	r.inMeta = true
	ok := r.value(&m.Value)
	r.inMeta = false
	return ok
}

// duplicate reports a key that the object has already. The last one counts, as
// most readers have it; that others take the first is why this is an error.
func (r *reader) duplicate(keys *keySet, m *Member) {
	before := keys.add(m)
	if before == nil {
		return
	}
	before.Shadowed = true
	r.fault(RuleDuplicateKey, m.KeyStart, "the key %s is in this object twice", show(m.Key))
	r.hint("keep one of them", nil)
}

// keySet finds keys of an object that is being read. Few keys are compared one by
// one; many need a map, or a large object would take quadratic time.
type keySet struct {
	members *[]Member
	index   map[string]int
}

const fewKeys = 16

// add notes the last member and returns the one that had its key before, or nil.
func (s *keySet) add(last *Member) *Member {
	ms := *s.members
	if s.index == nil && len(ms) <= fewKeys {
		for i := range ms[:len(ms)-1] {
			if ms[i].Key == last.Key && !ms[i].Shadowed {
				return &ms[i]
			}
		}
		return nil
	}
	if s.index == nil {
		s.index = make(map[string]int, 2*len(ms))
		for i := range ms[:len(ms)-1] {
			s.index[ms[i].Key] = i
		}
	}
	i, found := s.index[last.Key]
	s.index[last.Key] = len(ms) - 1
	if !found {
		return nil
	}
	return &ms[i]
}
