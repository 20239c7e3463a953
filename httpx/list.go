package httpx

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/listquery"
	"github.com/ashlar-go/ashlar/internal/printable"
)

// The limits of a page.
const (
	DefaultLimit = listquery.DefaultLimit
	MaxLimit     = listquery.MaxLimit // larger limits count as this
)

// Field is a field that a list can be filtered or sorted by.
type Field struct {
	Name string
	// Parse reads the value of an equality filter: see [Text], [Int], [Bool], [Timestamp] and
	// [OneOf]. Its error says what is valid. Nil means that there is no filter.
	Parse func(string) (any, error)
	Sort  bool // sortby may name it
	Multi bool // the filter may occur more than once, each time as a Filter
}

// List is a parsed list query.
type List struct {
	Page, Limit int
	Filters     []Filter  // in the order of the fields
	Sort        []SortKey // in the order of the query
}

// Filter is an equality filter.
type Filter struct {
	Field string
	Value any // the result of the field's Parse
}

// SortKey is a field to sort by.
type SortKey struct {
	Field string
	Desc  bool
}

// Offset returns the number of records before the page.
func (l *List) Offset() int64 { return (int64(l.Page) - 1) * int64(l.Limit) }

// ParseList reads page, limit, sortby and the filters of the given fields; other names
// parameters that the caller reads. A limit above [MaxLimit] counts as MaxLimit. Every other
// invalid or unknown parameter is a 400 that says what is valid, because a filter that is
// ignored returns records that the client wanted to exclude.
func ParseList(query url.Values, fields []Field, other ...string) (*List, error) {
	known := append([]string{"page", "limit", "sortby"}, other...)
	var sortable []string
	for _, f := range fields {
		if f.Parse != nil {
			known = append(known, f.Name)
		}
		if f.Sort {
			sortable = append(sortable, f.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, name) {
			return nil, invalidField(printable.Truncate(name, maxPrinted), "unknown", "unknown query parameter: use "+strings.Join(known, ", "))
		}
	}
	page, err := listquery.Positive(query["page"], 1)
	if err != nil {
		return nil, invalidField("page", "out_of_range", err.Error())
	}
	limit, err := listquery.Positive(query["limit"], DefaultLimit)
	if err != nil {
		return nil, invalidField("limit", "out_of_range", err.Error())
	}
	filters, err := parseFilters(query, fields)
	if err != nil {
		return nil, err
	}
	keys, err := listquery.Sort(query["sortby"], sortable)
	if err != nil {
		return nil, invalidField("sortby", "not_one_of", err.Error())
	}
	l := &List{Page: int(page), Limit: int(min(limit, MaxLimit)), Filters: filters}
	for _, key := range keys {
		l.Sort = append(l.Sort, SortKey(key))
	}
	return l, nil
}

func parseFilters(query url.Values, fields []Field) ([]Filter, error) {
	var found []Filter
	for _, f := range fields {
		values := query[f.Name]
		if f.Parse == nil || len(values) == 0 {
			continue
		}
		if len(values) > 1 && !f.Multi {
			return nil, repeatedParameter(f.Name)
		}
		for _, value := range values {
			parsed, err := f.Parse(value)
			if err != nil {
				return nil, invalidField(f.Name, "bad_format", err.Error())
			}
			found = append(found, Filter{f.Name, parsed})
		}
	}
	return found, nil
}

// Text is a [Field.Parse] for strings. An empty string is invalid: forms send it for fields that
// were not filled in.
func Text(s string) (any, error) {
	if s == "" {
		return nil, errors.New("must not be empty: leave it out")
	}
	return s, nil
}

// Int is a [Field.Parse] for an int64.
func Int(s string) (any, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return nil, errors.New("must be an integer")
	}
	return n, nil
}

// Bool is a [Field.Parse] for true and false.
func Bool(s string) (any, error) {
	if s != "true" && s != "false" {
		return nil, errors.New("must be true or false")
	}
	return s == "true", nil
}

// Timestamp is a [Field.Parse] for a time.Time, in UTC.
func Timestamp(s string) (any, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return nil, errors.New("must be a timestamp such as 2026-01-31T12:00:00Z")
	}
	return t.UTC(), nil
}

// OneOf returns a [Field.Parse] for a set of strings.
func OneOf(allowed ...string) func(string) (any, error) {
	return func(s string) (any, error) {
		if !slices.Contains(allowed, s) {
			return nil, errors.New("must be one of " + strings.Join(allowed, ", "))
		}
		return s, nil
	}
}

// Meta is the position of a page in a list.
type Meta struct {
	CurrentPage int   `json:"current_page"`
	Limit       int   `json:"limit"`
	TotalPages  int64 `json:"total_pages"`
	TotalCount  int64 `json:"total_count"`
}

// Page is the body of a list response.
type Page[T any] struct {
	Meta Meta `json:"meta"`
	Data []T  `json:"data"` // never null
}

// NewPage returns the body for a list query of which total records exist.
func NewPage[T any](l *List, total int64, data []T) Page[T] {
	if data == nil {
		data = []T{}
	}
	return Page[T]{Meta{l.Page, l.Limit, l.pages(total), total}, data}
}

// pages returns the number of pages, 0 for an empty list.
func (l *List) pages(total int64) int64 {
	return (total + int64(l.Limit) - 1) / int64(l.Limit)
}

// SetPageLinks sets X-Total-Count and Link (RFC 8288: first, prev, next, last), for lists whose
// body has no [Meta]. The links are relative to the request's path, so that they work wherever
// the handler is mounted.
func SetPageLinks(w http.ResponseWriter, r *http.Request, l *List, total int64) {
	h := w.Header()
	h.Set("X-Total-Count", strconv.FormatInt(total, 10))
	page, last := int64(l.Page), max(l.pages(total), 1)
	if l.Limit != DefaultLimit {
		query := r.URL.Query()
		query.Set("limit", strconv.Itoa(l.Limit))
		r = &http.Request{URL: &url.URL{RawQuery: query.Encode()}}
	}
	link := func(page int64, rel string) string { return Link(r, "page", strconv.FormatInt(page, 10), rel) }
	links := []string{link(1, "first")}
	if page > 1 {
		links = append(links, link(min(page-1, last), "prev"))
	}
	if page < last {
		links = append(links, link(page+1, "next"))
	}
	h.Set("Link", strings.Join(append(links, link(last, "last")), ", "))
}

// Link returns an element of a Link header for the request's query with one parameter changed.
func Link(r *http.Request, name, value, rel string) string {
	query := r.URL.Query()
	query.Set(name, value)
	return "<" + (&url.URL{RawQuery: query.Encode()}).String() + `>; rel="` + rel + `"`
}
