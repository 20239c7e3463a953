package httpx

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Meta tells where in a list a page lies (specification, "List response shape").
type Meta struct {
	CurrentPage int   `json:"current_page"`
	Limit       int   `json:"limit"`
	TotalPages  int64 `json:"total_pages"`
	TotalCount  int64 `json:"total_count"`
}

// Page is the body of a list.
type Page[T any] struct {
	Meta Meta `json:"meta"`
	Data []T  `json:"data"` // [] if there is nothing, never null
}

// NewPage makes the body for what a list asked for, of total records in all.
func NewPage[T any](l *List, total int64, data []T) Page[T] {
	if data == nil {
		data = []T{}
	}
	return Page[T]{Meta{l.Page, l.Limit, l.pages(total), total}, data}
}

// pages is how many there are. It is 0 for an empty list.
func (l *List) pages(total int64) int64 {
	return (total + int64(l.Limit) - 1) / int64(l.Limit)
}

// SetPageLinks puts X-Total-Count and Link (RFC 8288: first, prev, next, last) on an
// answer, for lists that have no room for a [Meta]. The links are relative to the
// request's path, so that they hold wherever the handler is mounted.
func SetPageLinks(w http.ResponseWriter, r *http.Request, l *List, total int64) {
	h := w.Header()
	h.Set("X-Total-Count", strconv.FormatInt(total, 10))
	last := max(l.pages(total), 1)
	page := int64(l.Page)
	links := []string{pageLink(r, 1, "first")}
	if page > 1 {
		links = append(links, pageLink(r, min(page-1, last), "prev"))
	}
	if page < last {
		links = append(links, pageLink(r, page+1, "next"))
	}
	h.Set("Link", strings.Join(append(links, pageLink(r, last, "last")), ", "))
}

func pageLink(r *http.Request, page int64, rel string) string {
	return Link(r, "page", strconv.FormatInt(page, 10), rel)
}

// Link is the element of a Link header that leads to the same query with one parameter
// changed.
func Link(r *http.Request, name, value, rel string) string {
	query := r.URL.Query()
	query.Set(name, value)
	return "<" + (&url.URL{RawQuery: query.Encode()}).String() + `>; rel="` + rel + `"`
}
