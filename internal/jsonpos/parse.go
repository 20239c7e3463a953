package jsonpos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Limits bounds what [Parse] reads. A nil *Limits and zero fields mean the defaults.
type Limits struct {
	// Bytes bounds the size of the text. Default: no limit.
	Bytes int
	// Depth bounds how deep arrays and objects are nested, at most 10,000.
	// Default: 10,000.
	Depth int
	// KeyDepth replaces Depth below the member of the root object with the key Key, unless
	// that is "".
	Key      string
	KeyDepth int
	// Values bounds the number of values. Default: no limit.
	Values int
	// Problems bounds how many problems are listed. Default: 100.
	Problems int
	// Memory, if not nil, is used instead of new memory. What an earlier call with it returned
	// is then no longer valid, but for texts.
	Memory *Memory
}

// What to allocate at first: most documents have at most 8 levels, a member for every 32
// bytes, and half of the members in objects that are open at once.
const (
	usualDepth     = 8
	fewest         = 4
	bytesPerMember = 32
	bytesPerOpen   = 2 * bytesPerMember
	mostGuessed    = 256
)

// The defaults of Limits. maxDepth bounds the recursion of the reader and its callers.
const (
	maxDepth        = 10_000
	defaultProblems = 100
)

// Code tells problems apart. Codes are stable.
type Code string

// The codes. Syntax, Bytes, Depth and Values end the reading.
const (
	Syntax        Code = "json-syntax"
	Encoding      Code = "json-encoding"
	Surrogate     Code = "json-surrogate"
	ByteOrderMark Code = "json-byte-order-mark"
	TrailingData  Code = "json-trailing-data"
	DuplicateKey  Code = "json-duplicate-key"
	TooLarge      Code = "limit-size"
	TooDeep       Code = "limit-depth"
	TooMany       Code = "limit-values"
)

// problem is one fault of a text.
type problem struct {
	Code    Code
	Pointer string // of the value (RFC 6901)
	// Offset is that of the first byte at fault, End the one after the last.
	Offset, End int
	// Message says what is wrong. It shows a single character of the text at most, or a
	// duplicate key, so that no value gets into a log.
	Message string
	// Suggestion says how to correct it, or is empty.
	Suggestion string
	// Fix is the change that corrects it, or nil.
	Fix *edit
}

// edit replaces the bytes from Offset to before End by Text.
type edit struct {
	Offset, End int
	Text        string
}

// Document is a text with its tree and its problems.
type Document struct {
	// Text is empty if the text had more than Limits.Bytes.
	Text string
	// Root is nil if the text is not JSON or exceeds a limit.
	Root *Node
	// Problems are in the order in which they were found, at most Limits.Problems.
	Problems []problem
	// Count includes the problems that are not listed.
	Count int
}

// Parse reads a text.
func Parse(data []byte, limits *Limits) *Document {
	p := parser{Document: &Document{}}
	if limits != nil {
		p.limits = *limits
	}
	if m := p.limits.Memory; m != nil {
		p.Memory = Memory{m.path[:0], m.elements[:0], m.members[:0], m.block[:0]}
		defer func() { *m = p.Memory }()
	} else {
		guess := min(fewest+len(data)/bytesPerOpen, mostGuessed)
		p.Memory = Memory{path: make(Path, 0, usualDepth), elements: make([]Node, 0, fewest), members: make([]Member, 0, guess)}
	}
	p.limits.Problems = cmp.Or(max(0, p.limits.Problems), defaultProblems)
	p.maxDepth = depthLimit(p.limits.Depth)
	if p.limits.Bytes > 0 && len(data) > p.limits.Bytes {
		p.problem(TooLarge, 0, "the document has %d bytes: at most %d are allowed", len(data), p.limits.Bytes)
		return p.Document
	}
	p.Text = string(data)
	p.document()
	return p.Document
}

func depthLimit(n int) int {
	if n <= 0 || n > maxDepth {
		return maxDepth
	}
	return n
}

// parser reads a text from the beginning to the end. After a problem that ends the reading its methods
// panic with stop, which document recovers.
type parser struct {
	*Document
	limits   Limits
	maxDepth int
	pos      int
	depth    int
	values   int
	Memory
}

type stop struct{}

// Memory is the working memory of Parse.
type Memory struct {
	path Path
	// What the arrays and objects that are being read have so far. Each is copied at its
	// end, the members of several objects to one block of memory.
	elements []Node
	members  []Member
	block    []Member
}

// byteOrderMark in UTF-8. Writing it is forbidden by RFC 8259, section 8.1.
const byteOrderMark = "\uFEFF"

func (p *parser) document() {
	defer func() {
		if r := recover(); r != nil && r != any(stop{}) {
			panic(r)
		}
	}()
	if strings.HasPrefix(p.Text, byteOrderMark) {
		p.problem(ByteOrderMark, 0, "the document begins with a byte order mark")
		p.suggest("save it as UTF-8 without BOM", &edit{Offset: 0, End: len(byteOrderMark)})
		p.pos = len(byteOrderMark)
	}
	if p.space(); p.pos == len(p.Text) {
		p.fail(p.pos, "", "the document is empty: expected a JSON value")
	}
	root := new(Node)
	p.value(root)
	p.Root = root
	if p.space(); p.pos < len(p.Text) {
		p.problem(TrailingData, p.pos, "unexpected data after the end of the document")
		p.suggest("remove it: a file holds one document", nil)
	}
}

// problem reports a problem at an offset, with the current path.
func (p *parser) problem(code Code, offset int, format string, args ...any) {
	if p.Count++; p.Count > p.limits.Problems {
		return
	}
	p.Problems = append(p.Problems, problem{
		Code: code, Pointer: p.path.Pointer(), Offset: offset, End: min(offset+1, len(p.Text)), Message: fmt.Sprintf(format, args...),
	})
}

// suggest completes the problem that was just reported.
func (p *parser) suggest(suggestion string, fix *edit) {
	if p.Count == len(p.Problems) {
		last := &p.Problems[p.Count-1]
		last.Suggestion, last.Fix = suggestion, fix
	}
}

// fail reports a problem of the syntax and ends the reading. The suggestion may be empty.
func (p *parser) fail(offset int, suggestion, format string, args ...any) {
	p.problem(Syntax, offset, format, args...)
	p.suggest(suggestion, nil)
	panic(stop{})
}

func (p *parser) space() {
	text, i := p.Text, p.pos
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	p.pos = i
}

// peek returns the next byte, or 0 at the end, which begins no token.
func (p *parser) peek() byte {
	if p.pos < len(p.Text) {
		return p.Text[p.pos]
	}
	return 0
}

func (p *parser) value(n *Node) {
	if p.values++; p.limits.Values > 0 && p.values > p.limits.Values {
		p.problem(TooMany, p.pos, "the document has more than %d values", p.limits.Values)
		panic(stop{})
	}
	n.Start = p.pos
	switch c := p.peek(); {
	case c == '"':
		n.Kind = String
		n.Text = p.string()
	case c == '{':
		n.Kind, n.Members = Object, []Member{}
		p.enter()
		p.object(n)
		p.depth--
	case c == '[':
		n.Kind, n.Elements = Array, []Node{}
		p.enter()
		p.array(n)
		p.depth--
	case c == '-' || isDigit(c):
		n.Kind = Number
		p.number(n)
	default:
		p.literal(n)
	}
	n.End = p.pos
}

// enter reads the opening bracket of an array or object.
func (p *parser) enter() {
	if p.depth++; p.depth > p.maxDepth {
		p.problem(TooDeep, p.pos, "arrays and objects are nested more than %d levels deep", p.maxDepth)
		panic(stop{})
	}
	p.pos++
	p.space()
}

func (p *parser) array(n *Node) {
	if p.peek() == ']' {
		p.pos++
		return
	}
	start := len(p.elements)
	var element Node // outside of the loop, so that it is not on the heap
	for more := true; more; more = p.next(']', "array") {
		element = Node{}
		p.path.Index(len(p.elements) - start)
		p.value(&element)
		p.path.Pop()
		p.elements = append(p.elements, element)
	}
	n.Elements = slices.Clone(p.elements[start:])
	p.elements = p.elements[:start]
}

// next reads what follows an element: a comma before another one, or the end.
func (p *parser) next(end byte, what string) (more bool) {
	p.space()
	switch p.peek() {
	case end:
		p.pos++
		return false
	case ',':
		comma := p.pos
		p.pos++
		if p.space(); p.peek() == end {
			p.problem(Syntax, comma, "trailing comma in the %s", what)
			p.suggest("remove the comma", &edit{Offset: comma, End: comma + 1})
			panic(stop{})
		}
		return true
	}
	p.unexpected("a comma or '" + string(end) + "'")
	return false
}

func (p *parser) object(n *Node) {
	if p.peek() == '}' {
		p.pos++
		return
	}
	start := len(p.members)
	var keys keyIndex
	var m Member // outside of the loop, so that it is not on the heap
	for more := true; more; more = p.next('}', "object") {
		m = Member{}
		p.key(&m)
		p.path.Key(m.Key)
		if before := keys.add(p.members[start:], m.Key); before != nil {
			before.Shadowed = true
			p.problem(DuplicateKey, m.KeyStart, "duplicate key %s", Quote(m.Key))
			p.suggest("keep one of them", nil)
		}
		p.memberValue(&m)
		p.path.Pop()
		p.members = append(p.members, m)
	}
	n.Members = p.keep(p.members[start:])
	p.members = p.members[:start]
}

// keep returns a copy of members. Blocks are as large as the rest of the text needs, because
// one allocation for every object takes longer.
func (p *parser) keep(members []Member) []Member {
	if cap(p.block)-len(p.block) < len(members) {
		p.block = make([]Member, 0, max(len(members), min(fewest+(len(p.Text)-p.pos)/bytesPerMember, mostGuessed)))
	}
	start := len(p.block)
	p.block = append(p.block, members...)
	return p.block[start:len(p.block):len(p.block)]
}

func (p *parser) key(m *Member) {
	if p.peek() != '"' {
		p.unexpected("a key in double quotes")
	}
	m.KeyStart = p.pos
	m.Key = p.string()
	m.KeyEnd = p.pos
	if p.space(); p.peek() != ':' {
		p.unexpected("':' after the key")
	}
	p.pos++
	p.space()
}

func (p *parser) memberValue(m *Member) {
	outer := p.maxDepth
	if p.depth == 1 && p.limits.Key != "" && m.Key == p.limits.Key {
		p.maxDepth = depthLimit(p.limits.KeyDepth)
	}
	p.value(&m.Value)
	p.maxDepth = outer
}

// keyIndex finds duplicate keys of an object while it is read: by comparison if there
// are few members, with a map if there are many.
type keyIndex struct {
	index map[string]int
}

const fewKeys = 16

// add notes the key of a member that follows others, and returns the one with the same key
// among these, or nil.
func (k *keyIndex) add(others []Member, key string) *Member {
	if len(others) < fewKeys {
		for i := range others {
			if others[i].Key == key && !others[i].Shadowed {
				return &others[i]
			}
		}
		return nil
	}
	if k.index == nil {
		k.index = make(map[string]int, 2*len(others))
		for i := range others {
			k.index[others[i].Key] = i
		}
	}
	i, found := k.index[key]
	k.index[key] = len(others)
	if !found {
		return nil
	}
	return &others[i]
}
