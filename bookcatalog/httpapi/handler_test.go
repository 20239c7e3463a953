package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/httpapi"
	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/logtest"
)

func noon() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }

func client(t testing.TB, opts *httpapi.Options) *httpxtest.Client {
	t.Helper()
	if opts == nil {
		opts = &httpapi.Options{}
	}
	opts.Now = noon
	opts.Chain = &httpx.StandardOptions{Log: slog.New(slog.DiscardHandler)}
	return httpxtest.New(t, httpapi.NewHandler(bookcatalog.NewMemStore(), opts))
}

const emma = `{"title":"Emma","isbn":"0-14-143958-0","author":{"firstname":"Jane","lastname":"Austen"}}`

func add(t testing.TB, c *httpxtest.Client, body string) bookcatalog.Book {
	t.Helper()
	var b bookcatalog.Book
	c.Send("POST", "/api/books", body).Want(201).JSON(&b)
	return b
}

// TestFull adds a book to a store without space.
func TestFull(t *testing.T) {
	t.Parallel()
	store := bookcatalog.NewMemStore()
	if err := store.Create(t.Context(), &bookcatalog.Book{ID: "1", Title: strings.Repeat("x", bookcatalog.MaxMemBytes-2000), Version: 1}); err != nil {
		t.Fatal(err)
	}
	c := httpxtest.New(t, httpapi.NewHandler(store, &httpapi.Options{Chain: &httpx.StandardOptions{Log: slog.New(slog.DiscardHandler)}}))
	c.Send("POST", "/api/books", emma).Want(507).WantHeader("Retry-After", "60")
	c.Send("GET", "/api/books?title=Emma", nil).Want(200)
}

// TestAllRoutes creates, reads, replaces and deletes a book.
func TestAllRoutes(t *testing.T) {
	t.Parallel()
	c := client(t, nil)
	if got := c.Send("GET", "/api/books", nil).Want(200).Body.String(); got != "[]\n" {
		t.Errorf("an empty catalog is %q", got)
	}
	created := c.Send("POST", "/api/books", emma).Want(201)
	var b bookcatalog.Book
	created.JSON(&b)
	tag1 := `"` + b.ID + `.1"`
	created.WantHeader("Location", "/api/books/"+b.ID).WantHeader("ETag", tag1)
	want := `{"id":"` + b.ID + `","isbn":"0-14-143958-0","isbn13":"9780141439587","title":"Emma",` +
		`"author":{"firstname":"Jane","lastname":"Austen"},"created_at":"2026-01-31T12:00:00Z",` +
		`"updated_at":"2026-01-31T12:00:00Z","version":1}` + "\n"
	for _, response := range []*httpxtest.Response{created, c.Send("GET", "/api/books/"+b.ID, nil).Want(200).WantHeader("ETag", tag1)} {
		if got := response.Body.String(); got != want {
			t.Errorf("the book is %s, want %s", got, want)
		}
	}
	if got := c.Send("GET", "/api/books", nil).Want(200).Body.String(); got != "["+strings.TrimSpace(want)+"]\n" {
		t.Errorf("the list is %s", got)
	}
	b.Title = "Emma II"
	c.Send("PUT", "/api/books/"+b.ID, b).Want(200).WantHeader("ETag", `"`+b.ID+`.2"`).JSON(&b)
	if b.Title != "Emma II" || b.Version != 2 {
		t.Errorf("the response to PUT is %+v", b)
	}
	gone := c.Send("DELETE", "/api/books/"+b.ID, nil).Want(200)
	if got := gone.Body.String(); got != `{"status":"success","message":"Book deleted"}`+"\n" {
		t.Errorf("the response to DELETE is %s", got)
	}
	for _, method := range []string{"GET", "DELETE"} {
		c.Send(method, "/api/books/"+b.ID, nil).WantError(404, "Book not found")
	}
	c.Send("PUT", "/api/books/"+b.ID, emma).WantError(404, "Book not found")
}

func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	c := client(t, nil)
	b := add(t, c, emma)
	path := "/api/books/" + b.ID
	for _, tc := range []struct {
		why, method, target string
		body                any
		headers             []string
		status              int
		message, field      string
	}{
		{"no JSON", "POST", "/api/books", `{`, nil, 400, "not JSON at", "body"},
		{"nothing", "POST", "/api/books", ``, nil, 400, "empty", "body"},
		{"a wrong type", "POST", "/api/books", `{"title":7}`, nil, 400, "title string column 10", "title"},
		{"an unknown field", "POST", "/api/books", `{"titel":"x"}`, nil, 400, "titel: unknown field", "titel"},
		{"a key twice", "POST", "/api/books", `{"title":"x","title":"y"}`, nil, 400, "duplicate field", "title"},
		{"no title", "POST", "/api/books", `{}`, nil, 400, "title empty", "title"},
		{"a wrong ISBN", "POST", "/api/books", `{"title":"x","isbn":"55555"}`, nil, 400, "isbn 10 13", "isbn"},
		{"a wrong author", "POST", "/api/books", `{"title":"x","author":{"firstname":"a"}}`, nil, 400, "author.lastname must not be empty", "author.lastname"},
		{"an ISBN that is taken", "POST", "/api/books", `{"title":"x","isbn":"9780141439587"}`, nil, 409, "9780141439587 exists", "isbn"},
		{"markup", "POST", "/api/books", `{"title":"<script>alert(1)</script>"}`, nil, 400, "HTML is not allowed", "title"},
		{"a form", "POST", "/api/books", `title=x`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "send application/json", ""},
		{"a huge body", "POST", "/api/books", `{"title":"` + strings.Repeat("x", 1<<20) + `"}`, nil, 413, "too large", ""},
		{"a foreign page", "GET", "/api/books", nil, []string{"Origin", "https://evil.example"}, 403, "origin", ""},
		{"cross-site", "POST", "/api/books", emma, []string{"Sec-Fetch-Site", "cross-site"}, 403, "cross-site", ""},
		{"an id that is none", "GET", "/api/books/1", nil, nil, 400, "id UUID", "id"},
		{"an id that is none", "PUT", "/api/books/1", emma, nil, 400, "id UUID", "id"},
		{"an id that is none", "DELETE", "/api/books/x%2Fy", nil, nil, 400, "id UUID", "id"},
		{"another book's id", "PUT", path, `{"id":"018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f","title":"x"}`, nil, 400, "match path", "id"},
		{"an old version", "PUT", path, emma, []string{"If-Match", `"x"`}, 412, "has changed", ""},
		{"an old version", "DELETE", path, nil, []string{"If-Match", `"x"`}, 412, "has changed", ""},
		{"only if there is none", "PUT", path, emma, []string{"If-None-Match", `*`}, 412, "exists", ""},
		{"a method", "PATCH", path, `{}`, nil, 405, "use DELETE, GET, HEAD, PUT", ""},
		{"a path", "GET", "/api/book", nil, nil, 404, "No such path", ""},
		{"a parameter twice", "GET", "/api/books?q=a&q=b", nil, nil, 400, "Duplicate query parameter forbidden: q", ""},
		{"an unknown parameter", "GET", "/api/books?writer=x", nil, nil, 400, "writer unknown page limit", "writer"},
		{"a bad year", "GET", "/api/books?year=old", nil, nil, 400, "must be a year", "year"},
		{"a control character", "GET", "/api/books?q=%00", nil, nil, 400, "control", "q"},
		{"a bad order", "GET", "/api/books?sortby=pages:asc", nil, nil, 400, "title, updated_at", "sortby"},
		{"page 0", "GET", "/api/books?page=0", nil, nil, 400, "one integer", "page"},
		{"page and cursor", "GET", "/api/books?page=1&cursor=", nil, nil, 400, "together with page", "cursor"},
		{"a made-up cursor", "GET", "/api/books?cursor=abc", nil, nil, 400, "Link header", "cursor"},
	} {
		body := c.Send(tc.method, tc.target, tc.body, tc.headers...).WantError(tc.status, tc.message)
		if tc.field != "" && (len(body.Errors) == 0 || body.Errors[0].Field != tc.field) {
			t.Errorf("%s: %+v, want the field %s", tc.why, body, tc.field)
		}
	}
	if got := titles(t, c, "/api/books"); got != "Emma" {
		t.Errorf("after invalid requests the books are %s", got)
	}
}

// TestSpecialCharacters checks that &, < and quotes in text are stored unchanged.
func TestSpecialCharacters(t *testing.T) {
	t.Parallel()
	c := client(t, nil)
	title := `AT&T's "<3" & 1 < 2 > 0`
	var b bookcatalog.Book
	c.Send("POST", "/api/books", bookcatalog.Book{Title: title, Author: &bookcatalog.Author{LastName: "O'Brien"}}).Want(201).JSON(&b)
	response := c.Send("GET", "/api/books/"+b.ID, nil).Want(200)
	if !strings.Contains(response.Body.String(), `"AT&T's \"<3\" & 1 < 2 > 0"`) {
		t.Errorf("the title reads %s", response.Body)
	}
	if got := titles(t, c, "/api/books?author=O%27Brien&title=AT%26T"); got != title {
		t.Errorf("found %q", got)
	}
}

func TestLenientISBN(t *testing.T) {
	t.Parallel()
	c := client(t, &httpapi.Options{LenientISBN: true})
	for range 2 {
		add(t, c, `{"isbn":"55555","title":"One","author":{"firstname":"Carl","lastname":"Ng"}}`)
	}
}

func TestPreconditions(t *testing.T) {
	t.Parallel()
	c := client(t, nil)
	b := add(t, c, emma)
	path, tag := "/api/books/"+b.ID, `"`+b.ID+`.1"`
	c.Send("GET", path, nil, "If-None-Match", tag).Want(304).WantHeader("ETag", tag)
	c.Send("PUT", path, emma, "If-Match", tag).Want(200)
	c.Send("PUT", path, emma, "If-Match", tag).WantError(412, "has changed")
	c.Send("GET", path, nil, "If-None-Match", tag).Want(200)
	c.Send("DELETE", path, nil, "If-Match", `"`+b.ID+`.2-gzip"`).Want(200)
}

func TestListTag(t *testing.T) {
	t.Parallel()
	c := client(t, nil)
	add(t, c, emma)
	tag := c.Send("GET", "/api/books", nil).Want(200).Header().Get("ETag")
	c.Send("GET", "/api/books", nil, "If-None-Match", tag).Want(304)
	add(t, c, `{"title":"Persuasion"}`)
	c.Send("GET", "/api/books", nil, "If-None-Match", tag).Want(200)
}

// titles returns the titles of a list.
func titles(t testing.TB, c *httpxtest.Client, target string) string {
	t.Helper()
	var books []bookcatalog.Book
	c.Send("GET", target, nil).Want(200).JSON(&books)
	var all []string
	for _, b := range books {
		all = append(all, b.Title)
	}
	return strings.Join(all, ", ")
}

func sampleCatalog(t testing.TB) *httpxtest.Client {
	c := client(t, nil)
	for _, body := range []string{
		emma,
		`{"title":"persuasion","published_year":1817,"author":{"firstname":"Jane","lastname":"Austen"},"subjects":["Novel"]}`,
		`{"title":"Beowulf","authors":[{"firstname":"Seamus","lastname":"Heaney"}],"published_year":1999}`,
		`{"title":"At Swim-Two-Birds","published_year":1939,"author":{"firstname":"Flann","lastname":"O'Brien"}}`,
	} {
		add(t, c, body)
	}
	return c
}

func TestListQueries(t *testing.T) {
	t.Parallel()
	c := sampleCatalog(t)
	for query, want := range map[string]string{
		"":                              "Emma, persuasion, Beowulf, At Swim-Two-Birds",
		"?q=austen":                     "Emma, persuasion",
		"?title=EMM":                    "Emma",
		"?author=heaney":                "Beowulf",
		"?isbn=978-0141439587":          "Emma",
		"?subject=novel":                "persuasion",
		"?year=1939":                    "At Swim-Two-Birds",
		"?year_gte=1900&year_lte=1950":  "At Swim-Two-Birds",
		"?sortby=title:asc":             "At Swim-Two-Birds, Beowulf, Emma, persuasion",
		"?sortby=author:asc":            "Beowulf, Emma, persuasion, At Swim-Two-Birds",
		"?sortby=isbn:desc":             "Emma, persuasion, Beowulf, At Swim-Two-Birds",
		"?sortby=published_year:desc":   "Beowulf, At Swim-Two-Birds, persuasion, Emma",
		"?sortby=created_at:asc":        "Emma, persuasion, Beowulf, At Swim-Two-Birds",
		"?sortby=updated_at:desc":       "Emma, persuasion, Beowulf, At Swim-Two-Birds",
		"?limit=2":                      "Emma, persuasion",
		"?limit=3&page=2":               "At Swim-Two-Birds",
		"?page=2":                       "",
		"?limit=1000&sortby=title:desc": "persuasion, Emma, Beowulf, At Swim-Two-Birds",
	} {
		if got := titles(t, c, "/api/books"+query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	c.Send("GET", "/api/books", nil).WantHeader("X-Total-Count", "4").WantHeader("Link", "")
	c.Send("GET", "/api/books?limit=3&q=jane", nil).WantHeader("X-Total-Count", "2").
		WantHeader("Link", `<?limit=3&page=1&q=jane>; rel="first", <?limit=3&page=1&q=jane>; rel="last"`)
}

// TestLongList checks that a list without a page is bounded, and that its links lead to the rest.
func TestLongList(t *testing.T) {
	t.Parallel()
	c := client(t, nil)
	for i := range 103 {
		add(t, c, `{"title":"Volume `+strconv.Itoa(i)+`"}`)
	}
	first := c.Send("GET", "/api/books?q=volume", nil).Want(200).WantHeader("X-Total-Count", "103")
	var books, rest []bookcatalog.Book
	first.JSON(&books)
	next := nextLink(first)
	c.Send("GET", "/api/books"+next, nil).Want(200).JSON(&rest)
	if len(books) != 100 || len(rest) != 3 || rest[2].Title != "Volume 102" {
		t.Errorf("%d books, then %d at %q: %+v", len(books), len(rest), next, rest)
	}
}

// TestSortFields checks that every sort field of the domain is accepted.
func TestSortFields(t *testing.T) {
	t.Parallel()
	c := client(t, nil)
	for _, field := range bookcatalog.SortFields() {
		c.Send("GET", "/api/books?sortby="+string(field)+":desc", nil).Want(200)
	}
}

// TestCursors goes through lists by their links, in every order, while books are removed.
func TestCursors(t *testing.T) {
	t.Parallel()
	c := sampleCatalog(t)
	for _, field := range bookcatalog.SortFields() {
		for _, direction := range []string{"asc", "desc"} {
			order := "sortby=" + string(field) + ":" + direction
			if got, want := follow(t, c, "?cursor=&limit=1&"+order), titles(t, c, "/api/books?"+order); got != want {
				t.Errorf("%s: %s, want %s", order, got, want)
			}
		}
	}
	first := c.Send("GET", "/api/books?cursor=&limit=2", nil).Want(200).WantHeader("X-Total-Count", "4")
	next := nextLink(first)
	var books []bookcatalog.Book
	first.JSON(&books)
	c.Send("DELETE", "/api/books/"+books[1].ID, nil).Want(200)
	if got := titles(t, c, "/api/books"+next); got != "Beowulf, At Swim-Two-Birds" {
		t.Errorf("after a deleted book: %s", got)
	}
	c.Send("GET", "/api/books"+next+"&sortby=title:asc", nil).WantError(400, "cursor of another order")
}

func follow(t testing.TB, c *httpxtest.Client, query string) string {
	t.Helper()
	var all []string
	for query != "" && len(all) < 10 {
		all = append(all, titles(t, c, "/api/books"+query))
		query = nextLink(c.Send("GET", "/api/books"+query, nil))
	}
	return strings.Join(all, ", ")
}

// nextLink returns the query of the next page, or "".
func nextLink(a *httpxtest.Response) string {
	for link := range strings.SplitSeq(a.Header().Get("Link"), ", ") {
		if target, ok := strings.CutSuffix(link, `>; rel="next"`); ok {
			return strings.TrimPrefix(target, "<")
		}
	}
	return ""
}

// TestMounted checks that Location is right within http.StripPrefix.
func TestMounted(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle("/shop/", http.StripPrefix("/shop", httpapi.NewHandler(bookcatalog.NewMemStore(), nil)))
	c := httpxtest.New(t, mux)
	location := c.Send("POST", "/shop/api/books", emma).Want(201).Header().Get("Location")
	if !strings.HasPrefix(location, "/shop/api/books/") {
		t.Errorf("Location is %s", location)
	}
	c.Send("GET", location, nil).Want(200)
}

// failing is a store that fails.
type failing struct{ bookcatalog.Store }

func (failing) List(context.Context, *bookcatalog.Query) ([]bookcatalog.Book, int64, error) {
	return nil, 0, errors.New("disk on fire")
}

// TestFailure checks that the error of a failing store is not shown.
func TestFailure(t *testing.T) {
	t.Parallel()
	var log logtest.Log
	opts := &httpapi.Options{Chain: &httpx.StandardOptions{Log: log.Logger()}}
	c := httpxtest.New(t, httpapi.NewHandler(failing{}, opts))
	c.Send("GET", "/api/books", nil).WantError(500, "Internal Server Error")
	if !strings.Contains(log.String(), "disk on fire") {
		t.Errorf("the log is %s", &log)
	}
}

// waiting is a store whose lists wait.
type waiting struct {
	bookcatalog.Store
	began, finish chan struct{}
}

func (s waiting) List(ctx context.Context, q *bookcatalog.Query) ([]bookcatalog.Book, int64, error) {
	if q.Limit > 10 {
		s.began <- struct{}{}
		<-s.finish
	}
	return nil, 0, nil
}

// TestLargeLists checks that only two large lists are built at the same time, and that small ones do
// not wait for them.
func TestLargeLists(t *testing.T) {
	t.Parallel()
	store := waiting{began: make(chan struct{}, 10), finish: make(chan struct{})}
	c := httpxtest.New(t, httpapi.NewHandler(store, &httpapi.Options{Chain: &httpx.StandardOptions{Log: slog.New(slog.DiscardHandler)}}))
	var lists sync.WaitGroup
	for range 5 {
		lists.Go(func() { c.Send("GET", "/api/books", nil).Want(200) })
	}
	<-store.began
	<-store.began
	c.Send("GET", "/api/books?limit=10", nil).Want(200)
	select {
	case <-store.began:
		t.Error("a third large list is being built")
	default:
	}
	close(store.finish)
	lists.Wait()
}

func FuzzCursor(f *testing.F) {
	c := sampleCatalog(f)
	for _, query := range []string{"?cursor=&limit=1", "?cursor=&limit=1&sortby=author:desc"} {
		f.Add(strings.TrimPrefix(nextLink(c.Send("GET", "/api/books"+query, nil)), "?cursor="))
	}
	f.Add("e30")
	handler := httpapi.NewHandler(bookcatalog.NewMemStore(), &httpapi.Options{Chain: &httpx.StandardOptions{Log: slog.New(slog.DiscardHandler)}})
	f.Fuzz(func(t *testing.T, text string) {
		query := url.Values{"cursor": {text}}.Encode()
		response := httpxtest.New(t, handler).Send("GET", "/api/books?"+query, nil)
		if response.Code != 200 && response.Code != 400 || !json.Valid(response.Body.Bytes()) {
			t.Errorf("the cursor %q gives %d %s", text, response.Code, response.Body)
		}
	})
}
