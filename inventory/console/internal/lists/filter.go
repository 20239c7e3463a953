package lists

import (
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// editor is the form that adds a filter: a field, then a comparison and a value of it.
type editor struct {
	Action, Suggest string // addresses
	State           []pair
	Fields          []site.Choice
	Name            string // of the field, empty until one is chosen
	Label           string
	Operators       []site.Choice
	Type            string // of the input
	Value           string
	NoValue         bool // the suggestions are all values
	Suggestions     []suggestion
}

// suggestion is a value that adds the filter with one click.
type suggestion struct {
	Value, Label, URL string
	Count             string // of the records with it, or what else is said about it
}

// editor returns the form, with the field and the comparison that the address names.
func (v *view) editor() (*editor, error) {
	given := v.R.URL.Query()
	e := &editor{
		Action: v.ListURL(v.resource.Name), Suggest: v.UI.URL("/suggest/" + v.resource.Name), State: v.hidden(),
		Name: given.Get(fieldParam), Value: given.Get(valueParam),
	}
	for _, p := range v.resource.Parameters() {
		if p.Op == records.Eq || p.Op == records.AnyWithin {
			e.Fields = append(e.Fields, site.Choice{Label: fieldName(p), Value: p.Name, Chosen: p.Name == e.Name})
		}
	}
	slices.SortStableFunc(e.Fields, func(a, b site.Choice) int { return strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)) })
	if e.Name == "" {
		return e, nil
	}
	p, ok := v.chosenFilter(e.Name, given.Get(opParam))
	if !ok {
		e.Name = ""
		return e, nil
	}
	e.Label = fieldName(p)
	for _, other := range v.comparisons(p) {
		e.Operators = append(e.Operators, site.Choice{Label: operator(other.Field, other.Op), Value: other.Op.String(), Chosen: other.Op == p.Op})
	}
	e.Type = inputType(p)
	e.NoValue = p.Op == records.IsNull || p.Field.Kind == records.Bool
	var err error
	e.Suggestions, err = v.suggestions(p, e.Value)
	return e, err
}

// comparisons returns the filters with the field of another one.
func (v *view) comparisons(p records.Parameter) []records.Parameter {
	return slices.DeleteFunc(v.resource.Parameters(), func(o records.Parameter) bool {
		return o.Field != p.Field || (o.Op == records.AnyWithin) != (p.Op == records.AnyWithin)
	})
}

// chosenFilter returns the filter with a field and a comparison. A comparison that the field does not support
// is replaced by its first one.
func (v *view) chosenFilter(field, op string) (records.Parameter, bool) {
	first, ok := parameterOf(v.resource, field)
	if !ok {
		return first, false
	}
	for _, p := range v.comparisons(first) {
		if p.Op.String() == op {
			return p, true
		}
	}
	return first, true
}

// inputType returns the type of the input for a value.
func inputType(p records.Parameter) string {
	switch {
	case p.Op == records.In, p.Op == records.Contains, p.Op == records.StartsWith:
		return "search"
	case p.Field.Kind == records.Time:
		return "datetime-local"
	case p.Field.Format == "date":
		return "date"
	case p.Field.Kind == records.Int, p.Field.Kind == records.Float:
		return "number"
	}
	return "search"
}

// withAdded returns the address of the view with the filters that its form adds, or "" if it adds none.
func (v *view) withAdded() string {
	given, without := v.R.URL.Query(), ""
	if given.Has(pickedParam) {
		v.pick(given[pickParam])
		without = v.address(v.state())
	}
	value := strings.TrimSpace(given.Get(valueParam))
	p, ok := v.chosenFilter(given.Get(fieldParam), given.Get(opParam))
	if !ok || value == "" {
		return without
	}
	return v.adding(p, v.named(p.Field, value))
}

// named returns the id of the record that a text names, the first one that is suggested for it; other texts as they are.
func (v *view) named(f *records.Field, text string) string {
	if f.Ref == nil || records.ValidID(strings.ToLower(text)) || strings.Contains(text, ",") {
		return text
	}
	all, err := v.references(f, text)
	if err != nil || len(all) == 0 {
		return text // the list says what is wrong
	}
	i := slices.IndexFunc(all, func(s suggestion) bool { return strings.EqualFold(s.Label, text) })
	return all[max(i, 0)].Value
}

// adding returns the address of the view with a further filter. A second value of a field is an alternative
// to the first one.
func (v *view) adding(p records.Parameter, value string) string {
	state := v.state()
	value = complete(p.Field, value)
	in, ok := v.chosenFilter(p.Field.Name, records.In.String())
	switch {
	case p.Op == records.Eq && v.facetName(p.Field) == belowParam && !state.Has(belowParam):
		state.Set(belowParam, value)
	case p.Field.Kind == records.List:
		if !slices.Contains(state[p.Name], value) {
			state.Add(p.Name, value)
		}
	case ok && in.Op == records.In && (p.Op == records.In || p.Op == records.Eq && !strings.Contains(value+state.Get(p.Name), ",")):
		values := unique(slices.Concat(split(state.Get(p.Field.Name)), split(state.Get(in.Name)), split(value)))
		state.Del(p.Field.Name)
		state.Del(in.Name)
		if len(values) == 1 {
			state.Set(p.Field.Name, values[0])
		} else {
			state.Set(in.Name, strings.Join(values, ","))
		}
	default:
		state.Set(p.Name, value)
	}
	return v.address(state)
}

// split returns the values of an alternative.
func split(values string) []string {
	if values == "" {
		return nil
	}
	return strings.Split(values, ",")
}

// unique returns the values without repetitions and white space around them, in their order.
func unique(values []string) (all []string) {
	for _, value := range values {
		if value = strings.TrimSpace(value); value != "" && !slices.Contains(all, value) {
			all = append(all, value)
		}
	}
	return all
}

// complete turns a local time of an input, which means UTC, into one of the API.
func complete(f *records.Field, value string) string {
	if f.Kind != records.Time {
		return value
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02"} {
		if t, err := time.Parse(layout, value); err == nil {
			return t.Format(time.RFC3339)
		}
	}
	return value
}

// suggest serves the comparisons and the values for a field that somebody has chosen.
func suggest(q *site.Request) error {
	v, err := parseView(q)
	if err != nil {
		return err
	}
	e, err := v.editor()
	if err != nil {
		return err
	}
	part := "lists-operand"
	if q.R.Header.Get("HX-Target") == "lists-suggestions" {
		part = "lists-suggestions"
	}
	return q.Part(listTemplate, part, e)
}
