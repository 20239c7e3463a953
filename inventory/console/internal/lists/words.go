package lists

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// operators are the comparisons of filters in words. They stand between the name of a field and a value.
var operators = map[records.Op]string{
	records.Eq: "is", records.Host: "is", records.Ne: "is not", records.Contains: "contains", records.StartsWith: "starts with",
	records.In: "is one of", records.Gt: "is above", records.Gte: "is at least", records.Lt: "is below", records.Lte: "is at most",
	records.IsNull: "is empty", records.Within: "is in the network", records.AnyWithin: "is in the network", records.Covers: "contains the address",
}

// timeOperators are those of times.
var timeOperators = map[records.Op]string{
	records.Gt: "is after", records.Gte: "is from", records.Lt: "is before", records.Lte: "is until",
}

// operator returns a comparison in words.
func operator(f *records.Field, op records.Op) string {
	if f.Kind == records.List {
		return "has"
	}
	if word := timeOperators[op]; word != "" && (f.Kind == records.Time || f.Format == "date") {
		return word
	}
	return operators[op]
}

// agoUnits are the units of times before now.
var agoUnits = map[byte]string{'m': "minute", 'h': "hour", 'd': "day", 'w': "week"}

// ago returns a time before now in words, such as 30 days ago for -30d, empty for other times.
func ago(value string) string {
	number, ok := strings.CutPrefix(value, "-")
	if !ok || number == "" || agoUnits[number[len(number)-1]] == "" {
		return ""
	}
	unit := agoUnits[number[len(number)-1]]
	if number = number[:len(number)-1]; number != "1" {
		unit += "s"
	}
	return number + " " + unit + " ago"
}

// fieldName returns the name of the field of a filter.
func fieldName(p records.Parameter) string {
	if p.Op == records.AnyWithin {
		return "Any address"
	}
	return site.FieldLabel(p.Field)
}

// parameterOf returns the filter that a parameter of the list is.
func parameterOf(r *records.Resource, name string) (records.Parameter, bool) {
	all := r.Parameters()
	if i := slices.IndexFunc(all, func(p records.Parameter) bool { return p.Name == name }); i >= 0 {
		return all[i], true
	}
	return records.Parameter{}, false
}

// belowParam filters by a location and those within it (REFERENCE.md, 1.13).
const belowParam = "below"

// chip is a filter that is in force.
type chip struct {
	Field, Operator string
	Values          []string
	Remove          string // the address without it
}

// Text returns the filter in words.
func (c chip) Text() string {
	return strings.TrimSpace(c.Field + " " + c.Operator + " " + strings.Join(c.Values, " or "))
}

// chips returns the filters that are in force.
func (v *view) chips() ([]chip, error) {
	var all []chip
	for _, name := range v.filters() {
		c := chip{Field: name, Operator: "is", Values: v.query[name], Remove: v.with(name)}
		p, ok := parameterOf(v.resource, name)
		switch {
		case ok:
			var err error
			if c.Values, err = v.valuesInWords(p, v.query[name]); err != nil {
				return nil, err
			}
			c.Field, c.Operator = fieldName(p), operator(p.Field, p.Op)
			if p.Op == records.IsNull && v.query.Get(name) == "false" {
				c.Operator = "has a value"
			}
			if older := ago(v.query.Get(name)); older != "" && (p.Op == records.Lt || p.Op == records.Lte) {
				c.Operator = "is more than"
			} else if older != "" {
				c.Operator = "is less than"
			}
			if p.Op == records.In {
				c.Operator = "is"
			}
		case name == belowParam:
			labels, err := v.labelsOf(v.Places(), split(v.query.Get(name)))
			if err != nil {
				return nil, err
			}
			c.Field, c.Operator, c.Values = "Location", "is within", labels
		}
		all = append(all, c)
	}
	return all, nil
}

// valuesInWords returns the values of a filter as people know them.
func (v *view) valuesInWords(p records.Parameter, values []string) ([]string, error) {
	switch {
	case p.Op == records.IsNull:
		return nil, nil
	case p.Op == records.In:
		values = strings.Split(values[0], ",")
	}
	const most = 5
	more := len(values) > most
	values = slices.Clone(values[:min(len(values), most)])
	if p.Field.Ref != nil {
		labels, err := v.labelsOf(p.Field.Ref.To, values)
		if err != nil {
			return nil, err
		}
		values = labels
	}
	for i, value := range values {
		if p.Field.Kind == records.Bool {
			values[i] = site.BoolText(p.Field, value)
		} else if p.Field.Kind == records.Time || p.Field.Format == "date" {
			values[i] = cmp.Or(ago(value), value)
		}
	}
	if more {
		values = append(values, "others")
	}
	return values, nil
}

// labelsOf returns what people call records, or the ids of those that are not found.
func (v *view) labelsOf(resource string, ids []string) ([]string, error) {
	labels, err := v.Labels(resource, ids)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = cmp.Or(labels[id], id)
	}
	return names, nil
}
