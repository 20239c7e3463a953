package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// Server returns the manifest as a struct that shares the document's memory. It returns
// [Problems] if the text is not JSON, if a required key is missing or if a value has the
// wrong type. [Document.Validate] checks the values.
func (d *Document) Server() (*Server, error) {
	if err := d.syntaxError(); err != nil {
		return nil, err
	}
	s := new(Server)
	if err := decode(d.json, s); err != nil {
		return nil, err
	}
	return s, nil
}

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (s Server) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON reads the known keys, and all others into Extra.
func (s *Server) UnmarshalJSON(data []byte) error { return unmarshal(data, s) }

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (i Icon) MarshalJSON() ([]byte, error) { return marshal(i) }

// UnmarshalJSON reads the known keys, and all others into Extra.
func (i *Icon) UnmarshalJSON(data []byte) error { return unmarshal(data, i) }

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (r Repository) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON reads the known keys, and all others into Extra.
func (r *Repository) UnmarshalJSON(data []byte) error { return unmarshal(data, r) }

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (p Package) MarshalJSON() ([]byte, error) { return marshal(p) }

// UnmarshalJSON reads the known keys, and all others into Extra.
func (p *Package) UnmarshalJSON(data []byte) error { return unmarshal(data, p) }

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (t Transport) MarshalJSON() ([]byte, error) { return marshal(t) }

// UnmarshalJSON reads the known keys, and all others into Extra.
func (t *Transport) UnmarshalJSON(data []byte) error { return unmarshal(data, t) }

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (r Remote) MarshalJSON() ([]byte, error) { return marshal(r) }

// UnmarshalJSON reads the known keys, and all others into Extra.
func (r *Remote) UnmarshalJSON(data []byte) error { return unmarshal(data, r) }

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (i Input) MarshalJSON() ([]byte, error) { return marshal(i) }

// UnmarshalJSON reads the known keys, and all others into Extra.
func (i *Input) UnmarshalJSON(data []byte) error { return unmarshal(data, i) }

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (k KeyValueInput) MarshalJSON() ([]byte, error) { return marshal(k) }

// UnmarshalJSON reads the known keys, and all others into Extra.
func (k *KeyValueInput) UnmarshalJSON(data []byte) error { return unmarshal(data, k) }

// MarshalJSON writes the known keys in the order of the fields, then Extra.
func (a Argument) MarshalJSON() ([]byte, error) { return marshal(a) }

// UnmarshalJSON reads the known keys, and all others into Extra.
func (a *Argument) UnmarshalJSON(data []byte) error { return unmarshal(data, a) }

// marshal implements MarshalJSON of all types.
func marshal(from any) ([]byte, error) { return appendValue(nil, reflect.ValueOf(from)), nil }

// unmarshal implements UnmarshalJSON of all types. It needs no limits, because
// encoding/json has read the text before.
func unmarshal[T any](data []byte, to *T) error {
	doc := jsonpos.Parse(data, nil)
	if doc.Count > 0 {
		_, err := Parse(data, &Options{MaxBytes: noLimit, MaxDepth: noLimit, MaxValues: noLimit})
		return err
	}
	*to = *new(T)
	return decode(doc, to)
}

// layout guides the reading and writing of a struct: its known keys in their order, and the
// index of its field Extra.
type layout struct {
	fields []layoutField
	extra  []int
}

type layoutField struct {
	key      string
	index    []int // for reflect.Value.FieldByIndex
	required bool
	// onlyType restricts the key to objects of one type, or with a leading ! to objects of
	// all other types. The type is the first field.
	onlyType string
}

var layouts = newLayouts(Server{}, Icon{}, Repository{}, Package{}, Transport{}, Remote{}, Input{}, KeyValueInput{}, Argument{})

func newLayouts(examples ...any) map[reflect.Type]*layout {
	all := make(map[reflect.Type]*layout)
	for _, e := range examples {
		l, t := new(layout), reflect.TypeOf(e)
		for _, f := range reflect.VisibleFields(t) { // with those of an embedded Input
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous:
			case key == "-":
				l.extra = f.Index
			default:
				required := f.Type.Kind() == reflect.String || f.Type.Kind() == reflect.Struct
				l.fields = append(l.fields, layoutField{key, f.Index, required, f.Tag.Get("only")})
			}
		}
		all[t] = l
	}
	return all
}

// applies reports whether the key exists in objects of the type of v.
func (f *layoutField) applies(v reflect.Value) bool {
	if f.onlyType == "" {
		return true
	}
	name, other := strings.CutPrefix(f.onlyType, "!")
	return (v.Field(0).String() == name) != other
}

// decoder reads a tree without duplicate keys into structs.
type decoder struct {
	walker
	text string
}

func decode(doc *jsonpos.Document, to any) error {
	d := decoder{text: doc.Text, walker: walker{found: &findings{max: defaultProblems}}}
	d.value(doc.Root, reflect.ValueOf(to).Elem())
	return d.found.report(doc.Text, &origin{}).Err()
}

func (d *decoder) value(n *Node, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if d.mustBe(n, KindString) {
			v.SetString(n.Text)
		}
	case reflect.Bool:
		if d.mustBe(n, KindBoolean) {
			v.SetBool(n.Text == "true")
		}
	case reflect.Pointer:
		to, before := reflect.New(v.Type().Elem()), d.found.nErrors
		d.value(n, to.Elem())
		if d.found.nErrors == before || n.Kind == KindObject && to.Elem().Kind() == reflect.Struct {
			v.Set(to)
		}
	case reflect.Struct:
		if d.mustBe(n, KindObject) {
			d.object(n, v)
		}
	case reflect.Slice:
		d.list(n, v)
	}
}

func (d *decoder) object(n *Node, v reflect.Value) {
	l := layouts[v.Type()]
	known := make([]bool, len(n.Members))
	for i := range l.fields {
		f := &l.fields[i]
		if !f.applies(v) {
			continue
		}
		at := slices.IndexFunc(n.Members, func(m Member) bool { return m.Key == f.key })
		if at >= 0 {
			known[at] = true
			d.path.Key(f.key)
			d.value(&n.Members[at].Value, v.FieldByIndex(f.index))
			d.path.Pop()
		} else if f.required {
			d.found.add(Error, ruleRequired, d.path, n, "missing required key %q in %s", f.key, d.subject())
		}
	}
	extra := v.FieldByIndex(l.extra).Addr().Interface().(*[]Field)
	for i := range n.Members {
		if !known[i] {
			*extra = append(*extra, d.field(&n.Members[i]))
		}
	}
}

// field returns a member with the text of its value.
func (d *decoder) field(m *Member) Field {
	return Field{Name: m.Key, Value: Raw(d.text[m.Value.Start:m.Value.End])}
}

// list reads an array, or an object whose members have an order.
func (d *decoder) list(n *Node, v reflect.Value) {
	switch list := v.Addr().Interface().(type) {
	case *[]Field:
		if d.mustBe(n, KindObject) {
			*list = []Field{}
			for i := range n.Members {
				*list = append(*list, d.field(&n.Members[i]))
			}
		}
	case *[]Variable:
		if d.mustBe(n, KindObject) {
			*list = make([]Variable, len(n.Members))
			for i := range n.Members {
				(*list)[i].Name = n.Members[i].Key
				d.path.Key(n.Members[i].Key)
				d.value(&n.Members[i].Value, reflect.ValueOf(&(*list)[i].Input).Elem())
				d.path.Pop()
			}
		}
	default:
		if d.mustBe(n, KindArray) {
			v.Set(reflect.MakeSlice(v.Type(), len(n.Elements), len(n.Elements)))
			for i := range n.Elements {
				d.path.Index(i)
				d.value(&n.Elements[i], v.Index(i))
				d.path.Pop()
			}
		}
	}
}

// appendValue appends a value as JSON.
func appendValue(to []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.String:
		return jsonpos.AppendValue(to, v.String())
	case reflect.Bool:
		return strconv.AppendBool(to, v.Bool())
	case reflect.Pointer:
		return appendValue(to, v.Elem())
	case reflect.Struct:
		return appendObject(to, v)
	}
	begin, end := byte('{'), byte('}')
	var each func(i int)
	switch list := v.Interface().(type) {
	case []Field:
		each = func(i int) { to = append(appendKey(to, list[i].Name), list[i].Value...) }
	case []Variable:
		each = func(i int) { to = appendObject(appendKey(to, list[i].Name), reflect.ValueOf(list[i].Input)) }
	default:
		begin, end = '[', ']'
		each = func(i int) { to = appendValue(appendComma(to), v.Index(i)) }
	}
	to = append(to, begin)
	for i := range v.Len() {
		each(i)
	}
	return append(to, end)
}

func appendObject(to []byte, v reflect.Value) []byte {
	l := layouts[v.Type()]
	to = append(to, '{')
	for i := range l.fields {
		f := &l.fields[i]
		if field := v.FieldByIndex(f.index); f.applies(v) && (f.required || !field.IsNil()) {
			to = appendValue(appendKey(to, f.key), field)
		}
	}
	for _, x := range v.FieldByIndex(l.extra).Interface().([]Field) {
		to = append(appendKey(to, x.Name), x.Value...)
	}
	return append(to, '}')
}

func appendKey(to []byte, key string) []byte {
	return append(jsonpos.AppendValue(appendComma(to), key), ':')
}

// appendComma appends a comma unless to ends with an opening bracket.
func appendComma(to []byte) []byte {
	if last := to[len(to)-1]; last == '{' || last == '[' {
		return to
	}
	return append(to, ',')
}

// walker walks along a document and collects problems. The validator and the decoder
// share it.
type walker struct {
	path  jsonpos.Path
	found *findings
}

// mustBe reports a value of another kind.
func (w *walker) mustBe(n *Node, kind Kind) bool {
	if n.Kind == kind {
		return true
	}
	p := w.found.add(Error, ruleType, w.path, n, "%s must be %s, not %s", w.subject(), kind, n.Kind)
	switch {
	case n.Kind == KindNull:
		p.suggest("write %s, or leave the key out if it is not required", kind)
	case kind == KindString && (n.Kind == KindNumber || n.Kind == KindBoolean):
		p.suggest("write it in double quotes")
	case kind == KindBoolean && n.Kind == KindString:
		p.suggest("write true or false, without quotes")
	case kind == KindArray:
		p.suggest("write it in square brackets")
	}
	return false
}

// maxSteps is more steps than any known value is away from the root.
const maxSteps = 12

// subject names the value at the end of the path, such as packages[0].transport. Of a long
// path it returns the end.
func (w *walker) subject() string {
	if len(w.path) == 0 {
		return "the manifest"
	}
	var b strings.Builder
	for i, s := range w.path[max(0, len(w.path)-maxSteps):] {
		switch {
		case s.Indexed:
			fmt.Fprintf(&b, "[%d]", s.Index)
		case len(s.Key) > grammar.MaxKey || !grammar.Only(s.Key, "_$"):
			b.WriteString("[" + jsonpos.Quote(s.Key) + "]")
		case i > 0:
			b.WriteString("." + s.Key)
		default:
			b.WriteString(s.Key)
		}
	}
	return b.String()
}
