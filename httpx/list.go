package httpx

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The pages of a list (specification, "List query parameters").
const (
	DefaultLimit = 10
	MaxLimit     = 100
	// maxPage keeps the place of a page's first record within 32 bits times 100.
	maxPage = 1<<31 - 1
	// maxSortKeys is more than any list has fields to sort by.
	maxSortKeys = 16
)

// Field is one that a list may be filtered or sorted by.
type Field struct {
	Name string
	// Parse reads the value of an equality filter. Nil: there is no such filter. See
	// [Text], [Int], [Bool] and [Timestamp]. Its error says what would be right.
	Parse func(string) (any, error)
	Sort  bool // sortby may name it
	Multi bool // the filter may come more than once, each time as a Filter
}

// List is what a list query asks for.
type List struct {
	Page, Limit int
	Filters     []Filter  // in the order of the fields
	Sort        []SortKey // in the order of the query
}

// Filter is an equality filter.
type Filter struct {
	Field string
	Value any // what the field's Parse returned
}

// SortKey is a field to sort by.
type SortKey struct {
	Field string
	Desc  bool
}

// Offset is how many records come before the page.
func (l *List) Offset() int64 { return (int64(l.Page) - 1) * int64(l.Limit) }

// ParseList reads page, limit, sortby and the filters of the allowed fields. A limit
// above [MaxLimit] counts as that; everything else that is not as it should be is
// a 400 that says what is allowed, for a filter that is ignored may be the one
// that mattered. other are parameters that somebody else reads.
func ParseList(query url.Values, fields []Field, other ...string) (*List, error) {
	l := &List{Page: 1, Limit: DefaultLimit}
	if err := known(query, fields, other); err != nil {
		return nil, err
	}
	var err error
	if l.Page, err = positive(query, "page", 1); err != nil {
		return nil, err
	}
	if l.Limit, err = positive(query, "limit", DefaultLimit); err != nil {
		return nil, err
	}
	l.Limit = min(l.Limit, MaxLimit)
	if l.Filters, err = filters(query, fields); err != nil {
		return nil, err
	}
	l.Sort, err = sortKeys(query["sortby"], fields)
	return l, err
}

// known refuses parameters that nobody reads, the first in the order of their names.
func known(query url.Values, fields []Field, other []string) error {
	names := append([]string{"page", "limit", "sortby"}, other...)
	for _, f := range fields {
		if f.Parse != nil {
			names = append(names, f.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(names, name) {
			return invalidField(show(name), "is no known query parameter: use "+strings.Join(names, ", "))
		}
	}
	return nil
}

func positive(query url.Values, name string, byDefault int) (int, error) {
	values := query[name]
	if len(values) == 0 {
		return byDefault, nil
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if len(values) > 1 || err != nil || n < 1 || n > maxPage {
		return 0, invalidField(name, fmt.Sprintf("must be one whole number from 1 to %d", maxPage))
	}
	return int(n), nil
}

func filters(query url.Values, fields []Field) ([]Filter, error) {
	var found []Filter
	for _, f := range fields {
		values := query[f.Name]
		if f.Parse == nil || len(values) == 0 {
			continue
		}
		if len(values) > 1 && !f.Multi {
			return nil, Errorf(http.StatusBadRequest, "Duplicate query parameter forbidden: %s", f.Name)
		}
		for _, value := range values {
			parsed, err := f.Parse(value)
			if err != nil {
				return nil, invalidField(f.Name, err.Error())
			}
			found = append(found, Filter{f.Name, parsed})
		}
	}
	return found, nil
}

func sortKeys(values []string, fields []Field) ([]SortKey, error) {
	if len(values) > maxSortKeys {
		return nil, invalidField("sortby", fmt.Sprintf("may come at most %d times", maxSortKeys))
	}
	var keys []SortKey
	for _, value := range values {
		name, order, _ := strings.Cut(value, ":")
		sortable := func(f Field) bool { return f.Sort && f.Name == name }
		switch {
		case order != "asc" && order != "desc" || !slices.ContainsFunc(fields, sortable):
			return nil, invalidField("sortby", "must be <field>:asc or <field>:desc with one of the fields "+sortables(fields))
		case slices.ContainsFunc(keys, func(k SortKey) bool { return k.Field == name }):
			return nil, invalidField("sortby", "names "+name+" twice: name it once")
		}
		keys = append(keys, SortKey{name, order == "desc"})
	}
	return keys, nil
}

func sortables(fields []Field) string {
	var names []string
	for _, f := range fields {
		if f.Sort {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}
