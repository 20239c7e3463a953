package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
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
	hash := sha256.New()
	length, err := body.writeTo(r.Context(), hash)
	if err != nil {
		return err
	}
	tag := `"` + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:16]) + `"`
	httpx.SetTag(w, tag)
	if httpx.NotModified(w, r, tag) {
		return nil
	}
	if err := httpx.Reserve(r.Context(), length-int64(l.Limit)*typicalBook); err != nil {
		return err // the books take about as much as their JSON
	}
	body.turns = nil // the budget bounds how many large lists are sent at the same time
	httpx.WriteStream(w, http.StatusOK, "application/json", length, func(w io.Writer) error {
		_, err := body.writeTo(r.Context(), w)
		return err
	})
	return nil
}

// maxLarge is the maximum number of large lists that are read or encoded at the same time, so that
// small requests do not wait for the processor.
const maxLarge = 2

// typicalBook is the memory in bytes that a book of a list takes.
const typicalBook = 2 << 10

// find reads the books of a list and sets its header.
func (a *api) find(w http.ResponseWriter, r *http.Request, l *request) (*array, error) {
	body := new(array)
	if l.Limit > httpx.DefaultLimit {
		body.turns = a.large
	}
	if err := body.begin(r.Context()); err != nil {
		return nil, err
	}
	defer body.end()
	if err := httpx.Reserve(r.Context(), int64(l.Limit)*typicalBook); err != nil {
		return nil, err
	}
	books, total, err := a.catalog.List(r.Context(), &l.query)
	if err != nil {
		return nil, err
	}
	body.books = l.links(w, r, books, total)
	return body, nil
}

// array is a JSON array of books. It is encoded in chunks, once for the entity tag and once for the
// client, because a hundred books may take 10 MB.
type array struct {
	books []bookcatalog.Book
	turns chan struct{} // held while a chunk of a large list is encoded; nil for small lists
}

// begin waits for a turn.
func (a *array) begin(ctx context.Context) error {
	if a.turns == nil {
		return nil
	}
	select {
	case a.turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *array) end() {
	if a.turns != nil {
		<-a.turns
	}
}

// chunkSize is the size in bytes from which on a chunk is written.
const chunkSize = 32 << 10

// writeTo writes the array and returns its length in bytes.
func (a *array) writeTo(ctx context.Context, w io.Writer) (length int64, err error) {
	var chunk bytes.Buffer
	encoder := json.NewEncoder(&chunk)
	encoder.SetEscapeHTML(false)
	chunk.WriteByte('[')
	for next, last := 0, false; !last; {
		if err := a.begin(ctx); err != nil {
			return length, err
		}
		for ; next < len(a.books) && chunk.Len() < chunkSize && err == nil; next++ {
			if next > 0 {
				chunk.WriteByte(',')
			}
			if err = encoder.Encode(&a.books[next]); err == nil {
				chunk.Truncate(chunk.Len() - 1) // the line feed
			}
		}
		a.end()
		if err != nil {
			return length, fmt.Errorf("encode a list: %w", err)
		}
		if last = next == len(a.books); last {
			chunk.WriteString("]\n")
		}
		n, err := chunk.WriteTo(w)
		if length += n; err != nil {
			return length, err
		}
	}
	return length, nil
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
			links = append(links, httpx.Link(r, "cursor", l.place(&books[l.Limit-1]), "next"))
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
