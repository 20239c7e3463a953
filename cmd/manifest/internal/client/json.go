package client

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// node is an object or array of a JSON file with its position.
type node struct {
	*hujson.Value
	unit string // the indentation of one level
}

func (n node) members() []hujson.ObjectMember {
	o, _ := n.Value.Value.(*hujson.Object)
	return o.Members
}

// addJSON adds an entry to a JSON file, and the inputs that it refers to.
func (f *text) addJSON(p *Program, e *Entry) error {
	if len(bytes.TrimSpace(f.data)) == 0 {
		f.data = []byte("{}" + f.newline)
	}
	root, err := f.root()
	if err != nil {
		return err
	}
	servers, err := root.object(p.key)
	switch {
	case err != nil:
		return err
	case servers == nil:
		f.addMember(root, p.key, []member{{e.Name, p.members(e)}})
	default:
		if at := find(*servers, e.Name); at >= 0 {
			m := &servers.members()[at]
			f.replace(m.Value.StartOffset, m.Value.EndOffset, f.json(p.members(e), f.indentation(m.Name.StartOffset), root.unit))
			break
		}
		f.addMember(*servers, e.Name, p.members(e))
	}
	if p.inputs {
		return f.addInputs(e.Needs)
	}
	return nil
}

// removeJSON removes an entry, and the inputs that nothing else refers to.
func (f *text) removeJSON(p *Program, name string) error {
	if len(bytes.TrimSpace(f.data)) == 0 {
		return nil
	}
	root, err := f.root()
	if err != nil {
		return err
	}
	servers, err := root.object(p.key)
	if err != nil || servers == nil {
		return err
	}
	at := find(*servers, name)
	if at < 0 {
		return nil
	}
	m := &servers.members()[at]
	entry := string(f.data[m.Value.StartOffset:m.Value.EndOffset])
	var values []*hujson.Value
	for i := range servers.members() {
		values = append(values, &servers.members()[i].Value)
	}
	f.cut(values, at, m.Name.StartOffset)
	if p.inputs {
		return f.removeInputs(p, entry)
	}
	return nil
}

// addInputs adds what the program asks for. An input of the same id is replaced.
func (f *text) addInputs(needs []Need) error {
	for i := range needs {
		if !needs[i].Asked {
			continue
		}
		root, err := f.root()
		if err != nil {
			return err
		}
		in := inputMembers(&needs[i])
		at := find(root, "inputs")
		if at < 0 {
			f.addMember(root, "inputs", [][]member{in})
			continue
		}
		list, err := root.inputs(at)
		if err != nil {
			return err
		}
		all := list.Value.Value.(*hujson.Array).Elements
		if j := slices.IndexFunc(all, func(v hujson.Value) bool { return inputID(&v) == needs[i].Name }); j >= 0 {
			f.replace(all[j].StartOffset, all[j].EndOffset, f.json(in, f.indentation(all[j].StartOffset), root.unit))
			continue
		}
		f.addElement(list, in)
	}
	return nil
}

// inputMembers returns an input as Visual Studio Code has it.
func inputMembers(n *Need) []member {
	all := []member{{"type", "promptString"}, {"id", n.Name}, {"description", cmp.Or(n.Description, n.Key)}}
	if len(n.Choices) > 0 {
		all[0].value = "pickString"
		all = append(all, member{"options", n.Choices})
	} else if n.Secret {
		all = append(all, member{"password", true})
	}
	if n.Default != "" {
		all = append(all, member{"default", n.Default})
	}
	return all
}

// removeInputs removes the inputs to which a removed entry referred and nothing else refers.
func (f *text) removeInputs(p *Program, entry string) error {
	for {
		root, err := f.root()
		if err != nil {
			return err
		}
		at := find(root, "inputs")
		if at < 0 {
			return nil
		}
		list, err := root.inputs(at)
		if err != nil {
			return err
		}
		all := list.Value.Value.(*hujson.Array).Elements
		var values []*hujson.Value
		for i := range all {
			values = append(values, &all[i])
		}
		i := slices.IndexFunc(all, func(v hujson.Value) bool {
			reference := p.reference(inputID(&v))
			return strings.Contains(entry, reference) && !bytes.Contains(f.data, []byte(reference))
		})
		if i < 0 {
			return nil
		}
		f.cut(values, i, all[i].StartOffset)
	}
}

// inputID returns the id of an input, "" if it has none.
func inputID(v *hujson.Value) string {
	if _, ok := v.Value.(*hujson.Object); !ok {
		return ""
	}
	n := node{Value: v}
	at := find(n, "id")
	if at < 0 {
		return ""
	}
	id, _ := n.members()[at].Value.Value.(hujson.Literal)
	return id.String()
}

// root parses the file, whose root must be an object.
func (f *text) root() (node, error) {
	if depth(f.data) > maxDepth {
		return node{}, fmt.Errorf("the file has more than %d levels", maxDepth)
	}
	v, err := hujson.Parse(f.data)
	if err != nil {
		return node{}, fmt.Errorf("the file is not JSON: %s", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	if _, ok := v.Value.(*hujson.Object); !ok {
		return node{}, errors.New("the file must be a JSON object")
	}
	root := node{&v, "  "}
	if all := root.members(); len(all) > 0 {
		root.unit = cmp.Or(f.indentation(all[0].Name.StartOffset), root.unit)
	}
	return root, nil
}

// depth returns how deep brackets are nested, those in strings and comments included.
func depth(data []byte) int {
	deepest, now := 0, 0
	for _, c := range data {
		switch c {
		case '{', '[':
			now++
			deepest = max(deepest, now)
		case '}', ']':
			now = max(now-1, 0)
		}
	}
	return deepest
}

// find returns the index of the last member with a name, which is the one that programs use, or
// -1.
func find(n node, name string) int {
	all := n.members()
	for i := len(all) - 1; i >= 0; i-- {
		if key, _ := all[i].Name.Value.(hujson.Literal); key.String() == name {
			return i
		}
	}
	return -1
}

// object returns the object of a key, nil if there is none.
func (n node) object(key string) (*node, error) {
	at := find(n, key)
	if at < 0 {
		return nil, nil
	}
	v := &n.members()[at].Value
	if _, ok := v.Value.(*hujson.Object); !ok {
		return nil, fmt.Errorf("%q must be an object", key)
	}
	return &node{v, n.unit}, nil
}

// inputs returns the array at a member.
func (n node) inputs(at int) (node, error) {
	v := &n.members()[at].Value
	if _, ok := v.Value.(*hujson.Array); !ok {
		return node{}, errors.New(`"inputs" must be an array`)
	}
	return node{v, n.unit}, nil
}

// addMember adds a member at the end of an object.
func (f *text) addMember(n node, name string, value any) {
	o := n.Value.Value.(*hujson.Object)
	var last *hujson.Value
	outer := ""
	if len(o.Members) > 0 {
		m := &o.Members[len(o.Members)-1]
		last, outer = &m.Value, f.lineIndentation(m.Name.StartOffset)
	}
	f.append(n, last, len(o.AfterExtra), outer, quoted(name)+": ", value)
}

// addElement adds an element at the end of an array.
func (f *text) addElement(n node, value any) {
	a := n.Value.Value.(*hujson.Array)
	var last *hujson.Value
	outer := ""
	if len(a.Elements) > 0 {
		last = &a.Elements[len(a.Elements)-1]
		outer = f.lineIndentation(last.StartOffset)
	}
	f.append(n, last, len(a.AfterExtra), outer, "", value)
}

// append adds a value with what is before it to an object or array: on a line of its own, unless
// the others are on one line. last is the last value, nil if there is none, and inner its
// indentation. rest is the length of what is before the closing bracket and after the last value
// or its comma.
func (f *text) append(n node, last *hujson.Value, rest int, inner, before string, value any) {
	if last == nil { // after the comments that it may have
		outer, end := f.lineIndentation(n.StartOffset), n.EndOffset-1
		inner = outer + n.unit
		at := end - rest + len(bytes.TrimRight(f.data[end-rest:end], " \t\r\n"))
		f.replace(at, end, f.newline+inner+before+f.json(value, inner, n.unit)+f.newline+outer)
		return
	}
	end, comma := last.EndOffset, last.AfterExtra != nil // hujson sets it for a trailing comma
	from := end
	if comma {
		from += len(last.AfterExtra) + 1
	}
	at := from + len(bytes.TrimRight(f.data[from:from+rest], " \t\r\n"))
	added := f.newline + inner + before + f.json(value, inner, n.unit)
	if !bytes.Contains(f.data[n.StartOffset:n.EndOffset], []byte("\n")) {
		at, added = from, " "+before+f.json(value, "", oneLine)
	}
	if comma {
		added += ","
	}
	f.replace(at, at, added)
	if !comma {
		f.replace(end, end, ",")
	}
}

// cut removes the member or element i, which begins at an offset, with its comma and, if nothing
// else is there, its lines.
func (f *text) cut(all []*hujson.Value, i, from int) {
	to, last := all[i].EndOffset, i == len(all)-1
	comma := !last || all[i].AfterExtra != nil
	if comma && len(bytes.TrimSpace(all[i].AfterExtra)) == 0 {
		to += len(all[i].AfterExtra) + 1
	}
	if rest := f.data[to:f.lineEnd(to)]; len(bytes.TrimSpace(rest)) == 0 && len(bytes.TrimSpace(f.data[f.lineStart(from):from])) == 0 {
		from, to = f.lineStart(from), f.lineEnd(to)
	} else if i > 0 && len(bytes.TrimSpace(all[i].BeforeExtra)) == 0 {
		from = len(bytes.TrimRight(f.data[:from], " \t")) // the white space on the line before it too
	}
	f.replace(from, to, "")
	if i > 0 && last && !comma { // the one before is the last one now
		before := all[i-1].EndOffset + len(all[i-1].AfterExtra)
		f.replace(before, before+1, "")
	}
}

// oneLine is the unit of JSON text on one line.
const oneLine = "-"

// json returns a value as JSON text, with an indentation for the lines after the first.
func (f *text) json(value any, outer, unit string) string {
	newline := f.newline
	if unit == oneLine {
		outer, unit, newline = "", "", " "
	}
	var b bytes.Buffer
	_ = json.Indent(&b, []byte(inline(value, ":")), outer, unit) // it is JSON
	return strings.ReplaceAll(b.String(), "\n", newline)
}

// inline returns a value as text on one line: of TOML, of YAML or, with a colon, of JSON.
func inline(value any, equals string) string {
	var all []string
	switch v := value.(type) {
	case string:
		return quoted(v)
	case []string:
		for _, s := range v {
			all = append(all, quoted(s))
		}
		return "[" + strings.Join(all, ", ") + "]"
	case [][]member:
		for _, m := range v {
			all = append(all, inline(m, equals))
		}
		return "[" + strings.Join(all, ", ") + "]"
	case []member:
		for _, m := range v {
			all = append(all, quoted(m.key)+equals+inline(m.value, equals))
		}
		return "{ " + strings.Join(all, ", ") + " }"
	}
	return fmt.Sprint(value)
}

// quoted returns a string as JSON text, which is a string of TOML and YAML too: all that these do
// not allow is escaped.
func quoted(s string) string {
	text := string(jsonpos.AppendValue(nil, s))
	return control.ReplaceAllStringFunc(text, func(c string) string { return fmt.Sprintf(`\u%04x`, []rune(c)[0]) })
}

// control matches a character that JSON allows in strings, and TOML or YAML do not.
var control = regexp.MustCompile(`[\x{7f}-\x{9f}\x{feff}\x{fffe}\x{ffff}]`)
