package inventory

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The pages of a list (specification, "List query parameters").
const (
	DefaultLimit = 10
	MaxLimit     = 100 // a larger one counts as this
)

// The bounds of a query.
const (
	maxPage    = 1<<31 - 1 // keeps the offset far from overflowing
	maxValue   = 500       // bytes of the value of a filter
	maxIn      = 100       // values of one __in
	maxFilters = 50
	maxSort    = 16
	maxWrong   = 20 // problems that an error tells of, here and in patches
)

// ParseQuery reads the parameters of a list:
//
//	page, limit      whole numbers from 1; the defaults are 1 and DefaultLimit
//	sortby           <field>:asc or <field>:desc; more than once, in the order given
//	<field>          has this value; tags may come more than once, and all must be there
//	<field>__<op>    ne, contains, startswith, in (values with commas between them), gt, gte,
//	                 lt, lte, isnull (true or false), where the field can be compared like that
//	q                is part of one of the fields that are searched
//	fields           the names of the fields wanted, with commas between them
//	count            false: without the total
//	cursor           empty: begin; else: continue behind a place, see [Query.Cursor]
//
// Other parameters are refused, unless their names are in other, which somebody else
// reads: a filter that is ignored may be the one that mattered. The error is an [*Error]
// of kind [Invalid] with all that is wrong, up to 20 problems, which says what would be
// right.
func ParseQuery(r *Resource, values url.Values, other ...string) (*Query, error) {
	p := &parser{values: values, q: &Query{Resource: r, Count: true, Page: 1}}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(other, name) {
			continue
		}
		if len(values[name]) > 1 && name != "sortby" && name != "tags" {
			return nil, &Error{
				Kind: Invalid, Message: "Duplicate query parameter forbidden: " + show(name),
				Fields: []FieldError{{show(name), "must come only once"}},
			}
		}
		p.read(name)
	}
	p.bounds()
	if len(p.wrong) > 0 {
		return nil, invalidQuery(p.wrong)
	}
	return p.q, nil
}

func invalidQuery(wrong []FieldError) *Error {
	messages := make([]string, len(wrong))
	for i, f := range wrong {
		messages[i] = f.Field + " " + f.Reason
	}
	return &Error{Kind: Invalid, Message: "Invalid query: " + strings.Join(messages, "; "), Fields: wrong}
}

// parser is the reading of one query.
type parser struct {
	values url.Values
	q      *Query
	wrong  []FieldError
}

// refuse notes what is wrong with a parameter.
func (p *parser) refuse(name, reason string) {
	if len(p.wrong) < maxWrong {
		p.wrong = append(p.wrong, FieldError{show(name), reason})
	}
}

// read takes one parameter.
func (p *parser) read(name string) {
	value := p.values.Get(name)
	switch name {
	case "page", "limit", "cursor": // see bounds
	case "sortby":
		p.sort(p.values[name])
	case "q":
		p.text(value)
	case "fields":
		p.fields(value)
	case "count":
		var err error
		if p.q.Count, err = parseBool(value); err != nil {
			p.refuse(name, err.Error())
		}
	default:
		p.filter(name)
	}
}

// bounds reads which part of the list is wanted.
func (p *parser) bounds() {
	limit := min(p.positive("limit", DefaultLimit), MaxLimit)
	page := p.positive("page", 1)
	p.q.Page, p.q.Limit, p.q.Offset = int(page), limit, (page-1)*limit
	if !p.values.Has("cursor") {
		return
	}
	if p.values.Has("page") {
		p.refuse("cursor", "can't be used together with page: use one of them")
	}
	p.q.Page, p.q.Offset = 0, 0
	// A cursor is one of an order. Where that is wrong already, it can't be told.
	if len(p.wrong) == 0 {
		if err := p.q.continueAt(p.values.Get("cursor")); err != nil {
			p.refuse("cursor", err.Error())
		}
	}
}

func (p *parser) positive(name string, byDefault int64) int64 {
	if !p.values.Has(name) {
		return byDefault
	}
	n, err := strconv.ParseInt(p.values.Get(name), 10, 64)
	if err != nil || n < 1 || n > maxPage {
		p.refuse(name, fmt.Sprintf("must be a whole number from 1 to %d", maxPage))
		return byDefault
	}
	return n
}

func (p *parser) sort(values []string) {
	if len(values) > maxSort {
		p.refuse("sortby", fmt.Sprintf("may come at most %d times", maxSort))
		return
	}
	for _, value := range values {
		name, order, _ := strings.Cut(value, ":")
		f, ok := p.q.Resource.byName[name]
		switch {
		case order != "asc" && order != "desc" || !ok || !f.Sortable():
			p.refuse("sortby", "must be <field>:asc or <field>:desc with one of the fields "+names(p.q.Resource.fields, (*Field).Sortable))
		case slices.ContainsFunc(p.q.Sort, func(k SortKey) bool { return k.Field == f }):
			p.refuse("sortby", "names "+name+" twice: name it once")
		default:
			p.q.Sort = append(p.q.Sort, SortKey{f, order == "desc"})
		}
	}
}

func names(fields []*Field, which func(*Field) bool) string {
	var names []string
	for _, f := range fields {
		if which(f) {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}

func (p *parser) text(value string) {
	if err := checkWords(value); err != nil {
		p.refuse("q", err.Error())
		return
	}
	p.q.Text = value
}

// shown reports whether a field is part of what lists show.
func (f *Field) shown() bool { return !f.Hidden && !f.WriteOnly }

func (p *parser) fields(value string) {
	if len(value) > 16*maxValue {
		p.refuse("fields", "is too long")
		return
	}
	for name := range strings.SplitSeq(value, ",") {
		f, ok := p.q.Resource.byName[name]
		switch {
		case !ok || !f.shown():
			p.refuse("fields", show(name)+" is no field of this list: use "+names(p.q.Resource.fields, (*Field).shown))
			return
		case !slices.Contains(p.q.Fields, f):
			p.q.Fields = append(p.q.Fields, f)
		}
	}
}

// filter reads a condition.
func (p *parser) filter(name string) {
	field, suffix, looked := strings.Cut(name, "__")
	f, ok := p.q.Resource.byName[field]
	if !ok || len(f.ops()) == 0 {
		p.refuse(name, "is no known query parameter: use page, limit, sortby, q, fields, count, cursor, "+
			names(p.q.Resource.fields, func(f *Field) bool { return len(f.ops()) > 0 }))
		return
	}
	i := slices.IndexFunc(f.ops(), func(op Op) bool { return op.suffix() == suffix && (suffix != "") == looked })
	if i < 0 {
		p.refuse(name, field+" can be compared like this: "+comparisons(f))
		return
	}
	for _, value := range p.values[name] {
		if len(p.q.Filters) == maxFilters {
			p.refuse(name, fmt.Sprintf("is one too many: a query may have %d filters", maxFilters))
			return
		}
		v, err := f.operand(f.ops()[i], value)
		if err != nil {
			p.refuse(name, err.Error())
			continue
		}
		p.q.Filters = append(p.q.Filters, Filter{f, f.ops()[i], v})
	}
}

func comparisons(f *Field) string {
	var names []string
	for _, op := range f.ops() {
		names = append(names, parameter(f, op))
	}
	return strings.Join(names, ", ")
}
