package httpapi

import (
	"bytes"
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
	"github.com/ashlar-go/ashlar/internal/listquery"
)

// list responds with an array, for pages too. A hundred books may take 10 MB, so the array is never
// in memory: its books are encoded one by one, for the tag and the length first, and then for the
// client.
func (a *api) list(w http.ResponseWriter, r *http.Request) error {
	l, err := parse(r.URL.Query())
	if err != nil {
		return err
	}
	books, tag, length, err := a.find(w, r, l)
	if err != nil {
		return err
	}
	httpx.SetTag(w, tag)
	if httpx.NotModified(w, r, tag) {
		return nil
	}
	httpx.WriteStream(w, http.StatusOK, "application/json", length, func(w io.Writer) error {
		_, err := encode(w, books)
		return err
	})
	return nil
}

const (
	// maxLarge is the maximum number of large lists that are read at the same time, so that small
	// requests do not wait for the processor.
	maxLarge = 2
	// typicalBook is the typical memory in bytes of a book of a list.
	typicalBook = 2 << 10
)

// find returns the books of a list with the tag and the length of their JSON, and sets the header
// of the list.
func (a *api) find(w http.ResponseWriter, r *http.Request, l *request) (books []bookcatalog.Book, tag string, length int64, err error) {
	ctx := r.Context()
	if l.Limit > httpx.DefaultLimit {
		select {
		case a.large <- struct{}{}:
			defer func() { <-a.large }()
		case <-ctx.Done():
			return nil, "", 0, ctx.Err()
		}
	}
	expected := int64(l.Limit) * typicalBook
	if err := httpx.Reserve(ctx, expected); err != nil {
		return nil, "", 0, err
	}
	books, total, err := a.catalog.List(ctx, &l.query)
	if err != nil {
		return nil, "", 0, err
	}
	books = l.links(w, r, books, total)
	hash := sha256.New()
	if length, err = encode(hash, books); err != nil {
		return nil, "", 0, err
	}
	// The books take about as much memory as their JSON.
	tag = `"` + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:16]) + `"`
	return books, tag, length, httpx.Reserve(ctx, length-expected)
}

// encode writes books as a JSON array and returns its length in bytes.
func encode(w io.Writer, books []bookcatalog.Book) (length int64, err error) {
	buffer := bytes.NewBufferString("[")
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	for i := range books {
		if i > 0 {
			buffer.WriteByte(',')
		}
		if err := encoder.Encode(&books[i]); err != nil {
			return length, fmt.Errorf("encode a list: %w", err)
		}
		buffer.Truncate(buffer.Len() - 1) // the line feed
		n, err := buffer.WriteTo(w)
		if length += n; err != nil {
			return length, err
		}
	}
	buffer.WriteString("]\n")
	n, err := buffer.WriteTo(w)
	return length + n, err
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
	l := &request{List: *list, paged: values.Has("page") || values.Has("limit"), cursor: values.Has("cursor")}
	if l.cursor && values.Has("page") {
		return nil, badField("cursor", "can't be used together with page: use one of them")
	}
	q := &l.query
	text := map[string]*string{"q": &q.Text, "title": &q.Title, "author": &q.Author, "isbn": &q.ISBN, "subject": &q.Subject}
	years := map[string]**int{"year": &q.Year, "year_gte": &q.YearMin, "year_lte": &q.YearMax}
	for _, f := range list.Filters {
		switch value := f.Value.(type) {
		case string:
			*text[f.Field] = value
		case int:
			*years[f.Field] = &value
		}
	}
	for _, key := range list.Sort {
		q.Sort = append(q.Sort, bookcatalog.SortKey{Field: bookcatalog.SortField(key.Field), Desc: key.Desc})
	}
	if l.cursor {
		q.Limit = int64(l.Limit) + 1 // one more, to see whether there is a next page
		return l, l.after(values.Get("cursor"))
	}
	if !l.paged {
		l.Limit = httpx.MaxLimit
	}
	q.Offset, q.Limit = l.Offset(), int64(l.Limit)
	return l, nil
}

// links sets X-Total-Count and Link and returns the books of the page.
func (l *request) links(w http.ResponseWriter, r *http.Request, books []bookcatalog.Book, total int64) []bookcatalog.Book {
	w.Header().Set("X-Total-Count", strconv.FormatInt(total, 10))
	switch {
	case l.cursor:
		links := httpx.Link(r, "cursor", "", "first")
		if len(books) > l.Limit {
			books = books[:l.Limit]
			links += ", " + httpx.Link(r, "cursor", l.cursorAfter(&books[l.Limit-1]), "next")
		}
		w.Header().Set("Link", links)
	case l.paged || total > int64(len(books)):
		httpx.SetPageLinks(w, r, &l.List, total)
	}
	return books
}

// cursor is a position in a list: the sort order, and the last book with the id and, in an order
// by other fields, the fields to sort by.
type cursor struct {
	Order string           `json:"o"`
	After bookcatalog.Book `json:"b"`
}

// cursorAfter returns the cursor after a book.
func (l *request) cursorAfter(b *bookcatalog.Book) string {
	after := bookcatalog.Book{ID: b.ID}
	if len(l.query.Sort) > 0 {
		after.Title, after.ISBN13, after.PublishedYear = b.Title, b.ISBN13, b.PublishedYear
		after.CreatedAt, after.UpdatedAt = b.CreatedAt, b.UpdatedAt
		if b.Author != nil {
			after.Author = &bookcatalog.Author{FirstName: b.Author.FirstName, LastName: b.Author.LastName}
		}
	}
	return listquery.EncodeCursor(cursor{fmt.Sprint(l.query.Sort), after})
}

// after continues after the position of a cursor. An empty one is the beginning.
func (l *request) after(text string) error {
	if text == "" {
		return nil
	}
	var c cursor
	if !listquery.DecodeCursor(text, &c) || !bookcatalog.ValidID(c.After.ID) {
		return badField("cursor", "invalid cursor: use one from the Link header, or send cursor= to begin")
	}
	if c.Order != fmt.Sprint(l.query.Sort) {
		return badField("cursor", "cursor of another order: send the same sortby, or cursor= to begin")
	}
	l.query.After = &c.After
	return nil
}
