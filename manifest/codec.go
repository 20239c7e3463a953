package manifest

import (
	"fmt"
	"slices"
)

// fields is one object on its way from a document to a struct or back. A type
// names its keys once, in its method fields, for both ways.
type fields struct {
	// Reading: the object, which of its members are taken, and what is wrong.
	c     *codec
	from  *Node
	taken []bool
	// Writing: the text so far.
	to *[]byte
}

// codec is a whole document on its way.
type codec struct {
	text  string
	trail trail
	found Problems
}

// record is what consists of fields.
type record interface{ fields(f *fields) }

// Server returns the manifest as a struct that shares the document's memory. It
// returns Problems if the text is not JSON, if a required key is missing or if a
// value is not of its key's type. Whether the values are right is for
// [Document.Validate] to say.
func (d *Document) Server() (*Server, error) {
	if err := d.syntax().Err(); err != nil {
		return nil, err
	}
	s := new(Server)
	if err := decode(d.text, d.root, s); err != nil {
		return nil, err
	}
	return s, nil
}

func decode(text string, n *Node, to record) error {
	c := codec{text: text}
	c.record(n, to)
	if len(c.found) == 0 {
		return nil
	}
	slices.SortStableFunc(c.found, func(a, b Problem) int { return a.Offset - b.Offset })
	locate(text, c.found)
	return c.found
}

// unmarshal is the method UnmarshalJSON of all types. The bounds are those of
// encoding/json, which has read the text before.
func unmarshal(data []byte, to record) error {
	d, err := Parse(data, &Options{MaxBytes: len(data), MaxDepth: stackDepth, MaxMetaDepth: stackDepth, MaxValues: len(data)})
	if err != nil {
		return err
	}
	return decode(d.text, d.root, to)
}

// marshal is the method MarshalJSON of all types.
func marshal(from record) ([]byte, error) {
	var text []byte
	write(&text, from)
	return text, nil
}

func write(to *[]byte, from record) {
	*to = append(*to, '{')
	from.fields(&fields{to: to})
	*to = append(*to, '}')
}

func (c *codec) fault(rule Rule, n *Node, format string, args ...any) {
	c.found = append(c.found, Problem{
		Rule: rule, Severity: Error, Pointer: c.trail.pointer(), Offset: n.Start, End: n.End,
		Message: fmt.Sprintf(format, args...),
	})
}

func (c *codec) is(n *Node, kind Kind) bool {
	if n.Kind != kind && len(c.found) < defaultProblems {
		c.fault(RuleType, n, "%s must be %s and is %s", c.trail.subject(), kind, n.Kind)
	}
	return n.Kind == kind
}

func (c *codec) record(n *Node, to record) {
	if c.is(n, KindObject) {
		to.fields(&fields{c: c, from: n, taken: make([]bool, len(n.Members))})
	}
}

func (f *fields) writing() bool { return f.to != nil }

// take returns the value of a key that is being read, or nil. The key is then no
// longer among the rest.
func (f *fields) take(key string) *Node {
	for i := range f.from.Members {
		if m := &f.from.Members[i]; m.Key == key && !m.Shadowed {
			f.taken[i] = true
			return &m.Value
		}
	}
	return nil
}

// require is take for a key that has to be there.
func (f *fields) require(key string) *Node {
	n := f.take(key)
	if n == nil && len(f.c.found) < defaultProblems {
		f.c.fault(RuleRequired, f.from, "%s lacks the required key %q", f.c.trail.subject(), key)
	}
	return n
}

// key begins a member of an object that is being written.
func (f *fields) key(name string) {
	if t := *f.to; t[len(t)-1] != '{' {
		*f.to = append(*f.to, ',')
	}
	*f.to = append(appendString(*f.to, name), ':')
}

// at reads the value of a key if it is there.
func (f *fields) at(key string, n *Node, read func(n *Node)) {
	if n != nil {
		f.c.trail.key(key)
		read(n)
		f.c.trail.pop()
	}
}

// required is a string that is always there.
func required[T ~string](f *fields, key string, s *T) {
	if f.writing() {
		f.key(key)
		*f.to = appendString(*f.to, string(*s))
		return
	}
	f.at(key, f.require(key), func(n *Node) {
		if f.c.is(n, KindString) {
			*s = T(n.Text)
		}
	})
}

// text is a string that may be absent.
func (f *fields) text(key string, s **string) {
	if !f.writing() {
		f.at(key, f.take(key), func(n *Node) {
			if f.c.is(n, KindString) {
				*s = &n.Text
			}
		})
	} else if *s != nil {
		f.key(key)
		*f.to = appendString(*f.to, **s)
	}
}

// flag is a boolean that may be absent.
func (f *fields) flag(key string, b **bool) {
	if !f.writing() {
		f.at(key, f.take(key), func(n *Node) {
			if f.c.is(n, KindBoolean) {
				*b = new(n.Text == "true")
			}
		})
	} else if *b != nil {
		f.key(key)
		*f.to = fmt.Append(*f.to, **b)
	}
}

// texts is an array of strings that may be absent.
func (f *fields) texts(key string, l *[]string) {
	list(f, key, l, func(s *string, n *Node) {
		if f.c.is(n, KindString) {
			*s = n.Text
		}
	}, func(s *string) { *f.to = appendString(*f.to, *s) })
}

// list is an array that may be absent.
func list[T any](f *fields, key string, l *[]T, read func(*T, *Node), write func(*T)) {
	if f.writing() {
		if *l != nil {
			f.key(key)
			writeList(f, *l, write)
		}
		return
	}
	f.at(key, f.take(key), func(n *Node) {
		if !f.c.is(n, KindArray) {
			return
		}
		*l = make([]T, len(n.Elements))
		for i := range n.Elements {
			f.c.trail.index(i)
			read(&(*l)[i], &n.Elements[i])
			f.c.trail.pop()
		}
	})
}

func writeList[T any](f *fields, l []T, write func(*T)) {
	*f.to = append(*f.to, '[')
	for i := range l {
		if i > 0 {
			*f.to = append(*f.to, ',')
		}
		write(&l[i])
	}
	*f.to = append(*f.to, ']')
}

// records is an array of objects that may be absent.
func records[T any, P interface {
	*T
	record
}](f *fields, key string, l *[]T) {
	list(f, key, l,
		func(r *T, n *Node) { f.c.record(n, P(r)) },
		func(r *T) { write(f.to, P(r)) })
}

// object is an object that is always there.
func (f *fields) object(key string, r record) {
	if f.writing() {
		f.key(key)
		write(f.to, r)
		return
	}
	f.at(key, f.require(key), func(n *Node) { f.c.record(n, r) })
}

// variables is a map of inputs in the order of the document.
func (f *fields) variables(vs *[]Variable) {
	const key = "variables"
	if f.writing() {
		if *vs != nil {
			f.key(key)
			write(f.to, variableMap{vs})
		}
		return
	}
	f.at(key, f.take(key), func(n *Node) {
		*vs = []Variable{}
		f.c.record(n, variableMap{vs})
	})
}

type variableMap struct{ list *[]Variable }

func (m variableMap) fields(f *fields) {
	if f.writing() {
		for i := range *m.list {
			f.object((*m.list)[i].Name, &(*m.list)[i].Input)
		}
		return
	}
	for i := range f.from.Members {
		if member := &f.from.Members[i]; !member.Shadowed {
			v := Variable{Name: member.Key}
			f.at(member.Key, &member.Value, func(n *Node) { f.c.record(n, &v.Input) })
			*m.list = append(*m.list, v)
		}
	}
}

// rest is the keys that have not been named. It comes last.
func (f *fields) rest(extra *[]Field) {
	if f.writing() {
		for _, x := range *extra {
			f.key(x.Name)
			*f.to = append(*f.to, x.Value...)
		}
		return
	}
	for i := range f.from.Members {
		if m := &f.from.Members[i]; !f.taken[i] && !m.Shadowed {
			*extra = append(*extra, Field{Name: m.Key, Value: Raw(f.c.text[m.Value.Start:m.Value.End])})
		}
	}
}

// free is an object of which nothing is known, each member as it stands.
func (f *fields) free(key string, members *[]Field) {
	if f.writing() {
		if *members != nil {
			f.key(key)
			write(f.to, freeObject{members})
		}
		return
	}
	f.at(key, f.take(key), func(n *Node) {
		*members = []Field{}
		f.c.record(n, freeObject{members})
	})
}

type freeObject struct{ members *[]Field }

func (o freeObject) fields(f *fields) { f.rest(o.members) }

// optional is an object that may be absent.
func optional[T any, P interface {
	*T
	record
}](f *fields, key string, r **T) {
	if !f.writing() {
		f.at(key, f.take(key), func(n *Node) {
			*r = new(T)
			f.c.record(n, P(*r))
		})
	} else if *r != nil {
		f.key(key)
		write(f.to, P(*r))
	}
}
