package change

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// input is a field of a form, and what was typed.
type input struct {
	*records.Field
	Control  string // input, secret, area, check, checks, select, pick or picks
	Type     string // of an input
	Hint     string // what values look like
	Limit    string // how long or large values may be
	Must     bool   // a value is required
	Wide     bool   // takes the whole width
	Focus    bool   // has the focus first
	Options  []option
	Examples []string // values of other records
	To       string   // the resource whose records the input names; empty for none
	Near     string   // the ids of locations, separated by commas, whose records are suggested first

	Value string // as it is typed
	Typed string // of picks: what names no record
	Was   string // the stored value that the form was made from
	Base  string // the stored value that the user has seen first, if the form shows a conflict
	Fault string

	ID, Chosen string // the id of the record that Value names, if Value is Chosen

	Fills  string // the form with the values that the record it names determines
	Filled bool   // the value is that of the record
	From   string // the label of the field that named the record

	absent bool // the form had no such input
}

// option is a value of a select.
type option struct{ Value, Label string }

// Label is the name of the field for people.
func (in *input) Label() string {
	return site.FieldLabel(in.Field)
}

// Describe returns the ids of the elements that describe the input.
func (in *input) Describe() string {
	var ids []string
	if in.Limit != "" && in.Control != "check" {
		ids = append(ids, "f-"+in.Name+"-l")
	}
	switch { // a fault takes the place of the hint
	case in.Fault != "":
		ids = append(ids, "f-"+in.Name+"-e")
	case in.Hint != "" || in.Filled:
		ids = append(ids, "f-"+in.Name+"-h")
	}
	return strings.Join(ids, " ")
}

// Quiet reports whether the limit is only shown while the input has the focus: that of a line is seldom reached.
func (in *input) Quiet() bool { return in.Control == "input" && in.Kind == records.Text }

// show returns a stored value for people. The labels of references are in names.
func (in *input) show(value string, names map[string]string) string {
	switch {
	case in.Ref != nil && names[value] != "":
		return names[value]
	case in.Kind == records.List:
		all := strings.Split(value, "\n")
		for i, e := range all {
			all[i] = cmp.Or(names[e], e)
		}
		return strings.Join(all, ", ")
	case in.Kind == records.Bool && value != "":
		return site.BoolText(in.Field, value)
	case in.Kind == records.Time && value != "":
		return strings.Replace(shown(in.Field, value), "T", " ", 1) + " UTC"
	}
	return value
}

// newInput returns the input of a field.
func newInput(q *site.Request, r *records.Resource, f *records.Field, create bool) *input {
	in := &input{Field: f, Must: (f.Required || f.OnCreate && create) && !(create && slices.Contains(q.Edits[r.Name].Optional, f.Name)), Hint: hints[f.Format], Limit: limit(f)}
	in.Control, in.Type = "input", "text"
	switch {
	case f.WriteOnly:
		in.Control, in.Type = "secret", "password"
		if f.Name == "password" {
			in.Hint = "Not a common one, and not the name of the user."
			if !create {
				in.Hint = "Empty leaves it unchanged."
			}
		}
	case f.Ref != nil && !q.MaySee(f.Ref.To):
		in.Hint = "The id of a record that you may not see."
	case f.Ref != nil:
		in.Control, in.To = "pick", f.Ref.To
	case f.Kind == records.Bool && !f.Nullable && site.BoolText(f, "true") != "yes": // a state
		in.Control, in.Must, in.Options = "select", false, []option{{"false", site.BoolText(f, "false")}, {"true", site.BoolText(f, "true")}}
	case f.Kind == records.Bool && !f.Nullable:
		in.Control, in.Must = "check", false
	case f.Kind == records.Bool:
		in.Control, in.Options = "select", []option{{"", "–"}, {"true", "yes"}, {"false", "no"}}
	case choices(q, r, f) != nil:
		in.Control = "select"
		in.setOptions(choices(q, r, f))
	case f.Kind == records.List, f.Kind == records.Object, f.Format == "text":
		in.area(q)
	case f.Kind == records.Time:
		in.Type, in.Hint = "datetime-local", "In UTC."
	case f.Kind == records.Int, f.Kind == records.Float:
		in.Type = "number"
	case f.Format == "date", f.Format == "email", f.Format == "url":
		in.Type = f.Format
	}
	if in.Control == "select" || in.Control == "pick" {
		in.Limit = ""
	}
	if hint := q.Edits[r.Name].Hints[f.Name]; hint != "" && (create || !slices.Contains(q.Edits[r.Name].Optional, f.Name)) { // what is left out
		in.Hint = hint
	}
	if f.Pattern != "" {
		in.Hint = "Matches the pattern " + f.Pattern
	}
	return in
}

// Step is the step of a number.
func (in *input) Step() string {
	if in.Kind == records.Int {
		return "1"
	}
	return "any"
}

// area makes the input one of several lines.
func (in *input) area(q *site.Request) {
	in.Control, in.Wide = "area", true
	switch in.Kind {
	case records.List:
		in.Hint = "Separated by commas, or one on each line."
		if to := q.Refers(in.Field); to != "" && q.MaySee(to) {
			in.Control, in.To, in.Hint = "picks", to, ""
		}
	case records.Object:
		in.Type, in.Hint = "json", "An object in JSON."
	}
}

// choices returns the values that a field may have, nil for any.
func choices(q *site.Request, r *records.Resource, f *records.Field) []option {
	var all []option
	for _, v := range f.Enum {
		all = append(all, option{v, v})
	}
	if edit := q.Edits[r.Name]; edit.Choices != nil && f.Enum == nil {
		for _, c := range edit.Choices(q, f.Name) {
			all = append(all, option{c[0], c[1]})
		}
	}
	return all
}

// setOptions sets the options of a select, with one for no value if there may be none.
func (in *input) setOptions(all []option) {
	switch {
	case in.Must:
		in.Options = append([]option{{"", "Choose…"}}, all...)
	case in.Default == "":
		in.Options = append([]option{{"", "–"}}, all...)
	default:
		in.Options = all
	}
}

// Selected returns the options with the current value, which may be one that is no choice any more.
func (in *input) Selected() []option {
	if slices.ContainsFunc(in.Options, func(o option) bool { return o.Value == in.Value }) {
		return in.Options
	}
	return append([]option{{in.Value, in.Value}}, in.Options...)
}

// hints say what the values of formats look like.
var hints = map[string]string{
	"ip": "Such as 192.0.2.1 or 2001:db8::1.", "cidr": "Such as 192.0.2.0/24 or 2001:db8::/32.", "network": "Such as 192.0.2.0/24 or 2001:db8::/32.",
	"interface-ip": "Such as 192.0.2.1/24 or 2001:db8::1.", "mac": "Such as 00:1a:2b:3c:4d:5e.", "speed": "Such as 10G, 100Mbps or auto.",
	"timezone": "Such as Europe/Berlin.", "email": "Such as jane@example.org.", "url": "Such as https://example.org/.",
}

// limit says how long or large the values of a field may be.
func limit(f *records.Field) string {
	plain := func(n float64) string { return ui.Count(strconv.FormatFloat(n, 'f', -1, 64)) }
	isNumber := f.Kind == records.Int || f.Kind == records.Float
	switch {
	case f.Enum != nil || f.Ref != nil:
		return ""
	case isNumber && f.Min != nil && f.Max != nil:
		return plain(*f.Min) + " to " + plain(*f.Max)
	case isNumber && f.Min != nil:
		return "from " + plain(*f.Min)
	case isNumber && f.Max != nil:
		return "up to " + plain(*f.Max)
	case f.Kind == records.Text && f.Min != nil:
		return "at least " + plain(*f.Min) + " characters"
	case f.Kind == records.Text && f.Max != nil && hints[f.Format] == "":
		return "up to " + plain(*f.Max) + " characters"
	case f.Kind == records.List && f.Max != nil:
		return "up to " + plain(*f.Max)
	}
	return ""
}

// fieldsOf returns the fields of a form: those that the sender may set.
func fieldsOf(q *site.Request, r *records.Resource, create bool) []*records.Field {
	edit := q.Edits[r.Name]
	if edit.Instead != nil && !create {
		return edit.Instead
	}
	own := isOwn(q) && !create
	var all []*records.Field
	for _, f := range r.Fields() {
		switch {
		case f.Hidden || f.ReadOnly, f.AdminOnly && own, f.WriteOnly && own:
		case edit.Replaced[f.Name] != "" && create:
		case edit.Only != nil && !create && !slices.Contains(edit.Only, f.Name):
		default:
			all = append(all, f)
		}
	}
	if own {
		all = append(all, &records.Field{
			Name: "current_password", Kind: records.Text, WriteOnly: true, Label: "Current password, to change the email address",
		})
	}
	return all
}

// group is a titled part of a form.
type group struct {
	Title  string
	Inputs []*input
}

// groups arranges inputs: what is required first, the sides of a connection, what the record refers to, texts
// and lists, and fields that were added.
func groups(r *records.Resource, inputs []*input) []group {
	all := []group{{Title: r.Label}, {Title: "Side A"}, {Title: "Side B"}, {Title: "Place and relations"}, {Title: "Tags and notes"}, {Title: "Further fields"}}
	stems := map[string]bool{}
	for _, in := range inputs {
		if stem, ok := strings.CutSuffix(in.Name, "_id"); ok && in.Ref != nil && !in.Required {
			stems[stem] = true
		}
	}
	for _, in := range inputs {
		at := place(r, in, stems)
		all[at].Inputs = append(all[at].Inputs, in)
	}
	for _, i := range []int{3, 4} {
		if len(all[i].Inputs) == 1 && len(all[1].Inputs) == 0 { // too few for a part of its own
			all[0].Inputs, all[i].Inputs = append(all[0].Inputs, all[i].Inputs...), nil
		}
	}
	for i := range all {
		slices.SortStableFunc(all[i].Inputs, func(a, b *input) int { return rank(a) - rank(b) })
	}
	if len(all[1].Inputs) > 0 {
		all = append(all[1:3:3], all[0], all[3], all[4], all[5]) // what is connected comes first
	}
	return slices.DeleteFunc(all, func(g group) bool { return len(g.Inputs) == 0 })
}

// place returns the index of the group of an input.
func place(r *records.Resource, in *input, stems map[string]bool) int {
	sided := func(side, other string) bool {
		rest, ok := strings.CutPrefix(in.Name, side)
		_, both := r.Field(other + rest)
		return ok && both
	}
	first, _, _ := strings.Cut(in.Name, "_")
	switch {
	case in.Extra:
		return 5
	case sided("a_", "b_"):
		return 1
	case sided("b_", "a_"):
		return 2
	case in.Ref != nil && !in.Required, in.Control == "checks", stems[first] && first != in.Name:
		return 3
	case in.Wide:
		return 4
	}
	return 0
}

// rank orders inputs within their group.
func rank(in *input) int {
	switch {
	case in.Must:
		return 0
	case in.Ref != nil && !in.Extra:
		return 1
	case in.Control == "check":
		return 3
	case in.Wide:
		return 4
	}
	return 2
}
