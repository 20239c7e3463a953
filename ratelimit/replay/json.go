package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxNesting bounds the nesting of a line's objects and lists.
const maxNesting = 100

// names are the members of an object that are looked for, by the length of their name.
type names struct {
	byLength [][]*member
}

// member is a name that an object may have.
type member struct {
	name    string
	targets []target // slots that its value is for
	inner   *names   // members of its value that are looked for
}

// target is a slot and the rank of a source among those of the slot: the lowest rank that a line
// has wins.
type target struct{ slot, rank int }

func (n *names) find(name string) *member {
	if len(name) >= len(n.byLength) {
		return nil
	}
	for _, m := range n.byLength[len(name)] {
		if m.name == name {
			return m
		}
	}
	return nil
}

func (n *names) member(name string) *member {
	if m := n.find(name); m != nil {
		return m
	}
	for len(n.byLength) <= len(name) {
		n.byLength = append(n.byLength, nil)
	}
	m := &member{name: name}
	n.byLength[len(name)] = append(n.byLength[len(name)], m)
	return m
}

// add looks for a path: its parts are separated by dots, which names may contain too.
func (n *names) add(path string, t target) {
	m := n.member(path)
	m.targets = append(m.targets, t)
	for i := range len(path) {
		if path[i] == '.' && i > 0 && i < len(path)-1 {
			outer := n.member(path[:i])
			if outer.inner == nil {
				outer.inner = &names{}
			}
			outer.inner.add(path[i+1:], t)
		}
	}
}

// jsonLine reads the values of one line at a time. It accepts exactly the objects of RFC 8259, with
// at most maxNesting levels. The last of duplicate members counts.
type jsonLine struct {
	names  *names
	s      string
	i      int
	values []string
	ranks  []int // of the sources of values
}

var errNotObject = errors.New("not a JSON object")

func (p *jsonLine) read(line string, values []string) error {
	p.s, p.i, p.values = line, 0, values
	for i := range p.ranks {
		p.ranks[i] = int(^uint(0) >> 1)
	}
	p.space()
	if p.i == len(p.s) || p.s[p.i] != '{' {
		return errNotObject
	}
	if err := p.object(p.names, 1); err != nil {
		return err
	}
	if p.space(); p.i < len(p.s) {
		return p.errorf("text after the object")
	}
	return nil
}

func (p *jsonLine) errorf(format string, args ...any) error {
	if p.i >= len(p.s) {
		return errors.New("invalid JSON: the line ends within the object")
	}
	return fmt.Errorf("invalid JSON at byte %d: %s", p.i+1, fmt.Sprintf(format, args...))
}

func (p *jsonLine) space() {
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case ' ', '\t', '\r', '\n':
			p.i++
		default:
			return
		}
	}
}

// accept skips white space and the byte c, if it comes next.
func (p *jsonLine) accept(c byte) bool {
	p.space()
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *jsonLine) object(names *names, depth int) error {
	if depth > maxNesting {
		return p.errorf("more than %d levels", maxNesting)
	}
	p.i++ // {
	if p.accept('}') {
		return nil
	}
	for {
		p.space()
		name, err := p.text()
		if err != nil {
			return err
		}
		if !p.accept(':') {
			return p.errorf("a colon is missing")
		}
		var m *member
		if names != nil {
			m = names.find(name)
		}
		if err := p.value(m, depth); err != nil {
			return err
		}
		switch {
		case p.accept('}'):
			return nil
		case !p.accept(','):
			return p.errorf("a comma or } is missing")
		}
	}
}

func (p *jsonLine) value(m *member, depth int) error {
	p.space()
	if p.i == len(p.s) {
		return p.errorf("")
	}
	start := p.i
	switch c := p.s[p.i]; {
	case c == '"':
		text, err := p.text()
		p.set(m, text)
		return err
	case c == '{':
		var inner *names
		if m != nil {
			inner = m.inner
		}
		return p.object(inner, depth+1)
	case c == '[':
		return p.list(depth + 1)
	case c == '-' || c >= '0' && c <= '9':
		err := p.number()
		p.set(m, p.s[start:p.i])
		return err
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(p.s[p.i:], word) {
			p.i += len(word)
			if word == "null" {
				word = ""
			}
			p.set(m, word)
			return nil
		}
	}
	return p.errorf("invalid value")
}

func (p *jsonLine) set(m *member, text string) {
	if m == nil {
		return
	}
	for _, t := range m.targets {
		if t.rank <= p.ranks[t.slot] && (text != "" || t.rank == p.ranks[t.slot]) {
			p.ranks[t.slot], p.values[t.slot] = t.rank, text
		}
	}
}

func (p *jsonLine) list(depth int) error {
	if depth > maxNesting {
		return p.errorf("more than %d levels", maxNesting)
	}
	p.i++ // [
	if p.accept(']') {
		return nil
	}
	for {
		if err := p.value(nil, depth); err != nil {
			return err
		}
		switch {
		case p.accept(']'):
			return nil
		case !p.accept(','):
			return p.errorf("a comma or ] is missing")
		}
	}
}

// text reads a string. One without escapes shares the memory of the line.
func (p *jsonLine) text() (string, error) {
	if p.i == len(p.s) || p.s[p.i] != '"' {
		return "", p.errorf("a string is missing")
	}
	start, escaped := p.i+1, false
	for i := start; i < len(p.s); i++ {
		switch c := p.s[i]; {
		case c == '"':
			raw := p.s[p.i : i+1]
			if !escaped {
				p.i = i + 1
				return raw[1 : len(raw)-1], nil
			}
			var text string
			if err := json.Unmarshal([]byte(raw), &text); err != nil {
				return "", p.errorf("invalid escape in a string")
			}
			p.i = i + 1
			return text, nil
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			p.i = i
			return "", p.errorf("control character in a string")
		}
	}
	p.i = len(p.s)
	return "", p.errorf("")
}

func (p *jsonLine) number() error {
	if p.s[p.i] == '-' {
		p.i++
	}
	if p.i < len(p.s) && p.s[p.i] == '0' {
		p.i++
	} else if !p.digits() {
		return p.errorf("invalid number")
	}
	if p.i < len(p.s) && p.s[p.i] == '.' {
		p.i++
		if !p.digits() {
			return p.errorf("invalid number")
		}
	}
	if p.i < len(p.s) && (p.s[p.i] == 'e' || p.s[p.i] == 'E') {
		p.i++
		if p.i < len(p.s) && (p.s[p.i] == '+' || p.s[p.i] == '-') {
			p.i++
		}
		if !p.digits() {
			return p.errorf("invalid number")
		}
	}
	return nil
}

func (p *jsonLine) digits() bool {
	start := p.i
	for p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' {
		p.i++
	}
	return p.i > start
}
