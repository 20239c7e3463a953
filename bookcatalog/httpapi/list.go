package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/httpx"
)

// list responds with an array, for pages too.
func (a *api) list(w http.ResponseWriter, r *http.Request) error {
	l, err := parse(r.URL.Query())
	if err != nil {
		return err
	}
	body, err := a.find(w, r, l)
	if err != nil {
		return err
	}
	tag := contentTag(body)
	httpx.SetTag(w, tag)
	if httpx.NotModified(w, r, tag) {
		return nil
	}
	httpx.WriteStream(w, http.StatusOK, "application/json", int64(len(body)), func(w io.Writer) error {
		_, err := w.Write(body)
		return err
	})
	return nil
}

const (
	// maxLarge is the maximum number of large lists that are read and encoded at the same time, so
	// that small requests do not wait for the processor.
	maxLarge = 2
	// typicalBook is the memory in bytes that a book of a list takes, and its JSON.
	typicalBook = 2 << 10
)

// find returns the JSON of a list and sets its header.
func (a *api) find(w http.ResponseWriter, r *http.Request, l *request) ([]byte, error) {
	ctx := r.Context()
	if l.Limit > httpx.DefaultLimit {
		select {
		case a.large <- struct{}{}:
			defer func() { <-a.large }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	expected := int64(l.Limit) * typicalBook
	if err := httpx.Reserve(ctx, expected); err != nil {
		return nil, err
	}
	books, total, err := a.catalog.List(ctx, &l.query)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if books = l.links(w, r, books, total); books == nil {
		books = []bookcatalog.Book{} // [] in JSON
	}
	if err := encoder.Encode(books); err != nil {
		return nil, fmt.Errorf("encode a list: %w", err)
	}
	return body.Bytes(), httpx.Reserve(ctx, int64(body.Len())-expected)
}

// request is a parsed list request.
type request struct {
	httpx.List
	query  bookcatalog.Query
	paged  bool // has page or limit
	cursor bool // has cursor
}

// fields returns the filters and sort fields of lists.
func fields() []httpx.Field {
	return []httpx.Field{
		{Name: "q", Parse: words},
		{Name: "title", Parse: words, Sort: true},
		{Name: "author", Parse: words, Sort: true},
		{Name: "isbn", Parse: words, Sort: true},
		{Name: "subject", Parse: words},
		{Name: "year", Parse: year},
		{Name: "year_gte", Parse: year},
		{Name: "year_lte", Parse: year},
		{Name: "published_year", Sort: true},
		{Name: "created_at", Sort: true},
		{Name: "updated_at", Sort: true},
	}
}

// words reads a search string.
func words(s string) (any, error) {
	if s == "" || len(s) > 500 || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return nil, errors.New("must be a string of 1 to 500 bytes without control characters")
	}
	return s, nil
}

func year(s string) (any, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < -3000 || n > 9999 {
		return nil, errors.New("must be a year from -3000 to 9999")
	}
	return n, nil
}

// parse reads a query.
func parse(values url.Values) (*request, error) {
	list, err := httpx.ParseList(values, fields(), "cursor")
	if err != nil {
		return nil, err
	}
	_, page := values["page"]
	_, limit := values["limit"]
	_, cursor := values["cursor"]
	if page && cursor {
		return nil, badField("cursor", "can't be used together with page: use one of them")
	}
	l := &request{List: *list, paged: page || limit, cursor: cursor}
	for _, f := range list.Filters {
		l.filter(f.Field, f.Value)
	}
	for _, key := range list.Sort {
		l.query.Sort = append(l.query.Sort, bookcatalog.SortKey{Field: bookcatalog.SortField(key.Field), Desc: key.Desc})
	}
	return l, l.bounds(values.Get("cursor"))
}

// filter sets one field of the query.
func (l *request) filter(field string, value any) {
	text := map[string]*string{
		"q": &l.query.Text, "title": &l.query.Title, "author": &l.query.Author, "isbn": &l.query.ISBN, "subject": &l.query.Subject,
	}
	years := map[string]**int{"year": &l.query.Year, "year_gte": &l.query.YearMin, "year_lte": &l.query.YearMax}
	switch value := value.(type) {
	case string:
		*text[field] = value
	case int:
		*years[field] = &value
	}
}

// bounds sets the page, the first with the most books by default. With a cursor it selects one book
// more, to see whether there is a next page.
func (l *request) bounds(cursor string) error {
	switch {
	case l.cursor:
		l.query.Limit = int64(l.Limit) + 1
		return l.after(cursor)
	case !l.paged:
		l.Limit = httpx.MaxLimit
	}
	l.query.Offset, l.query.Limit = l.Offset(), int64(l.Limit)
	return nil
}

// links sets X-Total-Count and Link and returns the books of the page.
func (l *request) links(w http.ResponseWriter, r *http.Request, books []bookcatalog.Book, total int64) []bookcatalog.Book {
	switch {
	case l.cursor:
		links := []string{httpx.Link(r, "cursor", "", "first")}
		if len(books) > l.Limit {
			books = books[:l.Limit]
			links = append(links, httpx.Link(r, "cursor", l.cursorAfter(&books[l.Limit-1]), "next"))
		}
		w.Header().Set("Link", strings.Join(links, ", "))
		w.Header().Set("X-Total-Count", strconv.FormatInt(total, 10))
	case l.paged:
		httpx.SetPageLinks(w, r, &l.List, total)
	case total > int64(len(books)):
		httpx.SetPageLinks(w, withLimit(r, l.Limit), &l.List, total)
	default:
		w.Header().Set("X-Total-Count", strconv.FormatInt(total, 10))
	}
	return books
}

// withLimit returns the request with a limit in its query, for links to other pages.
func withLimit(r *http.Request, limit int) *http.Request {
	query := r.URL.Query()
	query.Set("limit", strconv.Itoa(limit))
	u := *r.URL
	u.RawQuery = query.Encode()
	linked := *r
	linked.URL = &u
	return &linked
}
