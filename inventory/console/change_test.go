package console_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/console"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

// shelf and book are records of a program, with fields of all kinds.
type shelf struct {
	records.Base
	Name string  `json:"name" field:"required,max=50,search"`
	Hall *string `json:"hall_id" field:"ref=halls:null"`
}

type hall struct {
	records.Base
	Name string `json:"name" field:"required,unique,max=50"`
}

type book struct {
	records.Base
	Title   string   `json:"title" field:"required,unique,max=100,search"`
	Shelf   *string  `json:"shelf_id" field:"ref=shelves:restrict"`
	Pages   *int64   `json:"pages" field:"min=1,max=9000"`
	Weight  *float64 `json:"weight"`
	Lent    bool     `json:"lent"`
	Signed  *bool    `json:"signed"`
	Subject []string `json:"subject" field:"max=5"`
	Text    string   `json:"text" field:"format=text,max=1000"`
}

// anybody is an application's own authentication: the role is the token.
type anybody struct{}

func (anybody) Authenticate(r *http.Request) (*auth.Identity, error) {
	return &auth.Identity{UserID: "x", Username: "x", Role: auth.Role(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))}, nil
}

// pages is a browser without JavaScript.
type pages struct {
	t      *testing.T
	client *http.Client
	url    string
}

// openLibrary serves the records of a program, without accounts.
func openLibrary(t *testing.T) *pages {
	t.Helper()
	schema, err := records.NewSchema(
		records.Define[hall](records.Definition{Name: "halls", Label: "Hall"}),
		records.Define[shelf](records.Definition{Name: "shelves", Label: "Shelf", Keys: [][]string{{"hall_id", "name"}}}),
		records.Define[book](records.Definition{Name: "books", Label: "Book"}))
	require.NoError(t, err)
	api, err := httpapi.New(records.New(records.NewMemStore(schema), nil), anybody{}, &httpapi.Options{Features: standard.Features()})
	require.NoError(t, err)
	c, err := console.New(api, &console.Options{Prefix: "/console"})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/console/", http.StripPrefix("/console", c))
	mux.Handle("/", api)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &pages{t: t, url: server.URL, client: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// send sends a request and returns status, address of a redirect, and body.
func (p *pages) send(method, path, kind, body string) (status int, location, text string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	require.NoError(p.t, err)
	r.Header.Set("Authorization", "Bearer admin")
	r.Header.Set("Content-Type", kind)
	response, err := p.client.Do(r)
	require.NoError(p.t, err)
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	require.NoError(p.t, err)
	return response.StatusCode, response.Header.Get("Location"), string(all)
}

// make creates a record through the API and returns its id.
func (p *pages) make(resource, body string) string {
	p.t.Helper()
	status, _, text := p.send("POST", "/"+resource, "application/json", body)
	require.Equal(p.t, 201, status, text)
	return p.decode(text)["id"].(string)
}

func (p *pages) decode(text string) (rec map[string]any) {
	p.t.Helper()
	require.NoError(p.t, json.Unmarshal([]byte(text), &rec))
	return rec
}

// get reads a record through the API.
func (p *pages) get(path string) map[string]any {
	p.t.Helper()
	_, _, text := p.send("GET", path, "", "")
	return p.decode(text)
}

// hidden are the hidden values of a form.
var hidden = regexp.MustCompile(`<input type="hidden" name="(_token|_match|_key|(?:was|base)\.[a-z_]+|[a-z_]+(?:\.id|\.label)?)" value="([^"]*)">`)

// submit sends the form of a page with some values, as a browser would send its hidden ones too.
func (p *pages) submit(form, action string, typed url.Values) (status int, location, text string) {
	p.t.Helper()
	status, _, text = p.send("GET", form, "", "")
	require.Equal(p.t, 200, status, text)
	return p.submitPage(text, action, typed)
}

// submitPage is submit for the form of a page that is open.
func (p *pages) submitPage(text, action string, typed url.Values) (status int, location, answer string) {
	p.t.Helper()
	values := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(text, -1) {
		values.Set(m[1], strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&#43;", "+", "&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(m[2]))
	}
	for name, v := range typed {
		values[name] = v
	}
	return p.send("POST", action, "application/x-www-form-urlencoded", values.Encode())
}

// TestFormValues: a value that a form lacks stays as it is, an emptied one is cleared, and an unchanged one is not
// sent.
func TestFormValues(t *testing.T) {
	p := openLibrary(t)
	id := p.make("books", `{"title":"Go","pages":300,"weight":1.5,"lent":true,"signed":true,"subject":["a, b","c"],"text":"one\ntwo"}`)
	form, action := "/console/r/books/"+id+"/edit", "/console/r/books/"+id
	status, location, text := p.submit(form, action, url.Values{"title": {"Go"}, "pages": {""}, "lent": {"false", "true"}, "signed": {""}, "subject": {"a, b\r\nc\r\nd,e"}, "text": {"one\r\ntwo"}})
	require.Equal(t, 303, status, text)
	require.Equal(t, "/console/r/books/"+id+"?done=saved", location)
	rec := p.get("/books/" + id)
	require.Equal(t, []any{"Go", nil, 1.5, true, nil, []any{"a, b", "c", "d", "e"}, "one\ntwo"},
		[]any{rec["title"], rec["pages"], rec["weight"], rec["lent"], rec["signed"], rec["subject"], rec["text"]})

	status, _, _ = p.submit(form, action, url.Values{"title": {"Go"}, "subject": {""}, "text": {""}})
	require.Equal(t, 303, status)
	rec = p.get("/books/" + id)
	require.Equal(t, []any{false, []any{}, "", 3.0}, []any{rec["lent"], rec["subject"], rec["text"], rec["version"]})

	status, _, _ = p.submit(form, action, url.Values{"title": {"Go"}, "lent": {"false"}, "text": {""}})
	require.Equal(t, 303, status)
	require.Equal(t, 3.0, p.get("/books/" + id)["version"], "nothing was changed")

	status, _, text = p.submit(form, action, url.Values{"title": {"<>&\"'"}, "pages": {"many"}})
	require.Equal(t, 400, status)
	require.Contains(t, text, `id="f-pages-e">must be a whole number`)
	require.Contains(t, text, `value="&lt;&gt;&amp;&#34;&#39;"`, "what was typed is kept, and escaped")

	status, _, _ = p.send("POST", action, "application/x-www-form-urlencoded", "title=Go")
	require.Equal(t, 403, status, "a form without the token of its page")
}

// TestFormReferences: a reference is written by name; one that fits several records says how to write it.
func TestFormReferences(t *testing.T) {
	p := openLibrary(t)
	north, south := p.make("halls", `{"name":"North"}`), p.make("halls", `{"name":"South"}`)
	p.make("shelves", `{"name":"A","hall_id":"`+north+`"}`)
	wanted := p.make("shelves", `{"name":"A","hall_id":"`+south+`"}`)
	create := func(name string) (status int, location, text string) {
		return p.submit("/console/r/books/new", "/console/r/books", url.Values{"title": {"On " + name}, "shelf_id": {name}})
	}
	status, _, text := create("B")
	require.Equal(t, 422, status)
	require.Contains(t, text, "no shelf is called &#34;B&#34;")
	status, _, text = create("A")
	require.Equal(t, 422, status)
	require.Contains(t, text, "several shelves")
	status, location, text := create("A @ South")
	require.Equal(t, 303, status, text)
	id := strings.TrimSuffix(strings.TrimPrefix(location, "/console/r/books/"), "?done=created")
	require.Equal(t, wanted, p.get("/books/" + id)["shelf_id"])

	status, _, text = p.send("GET", "/console/r/shelves/"+wanted+"/delete", "", "")
	require.Equal(t, 200, status)
	require.Contains(t, text, "refer to it")
	require.Contains(t, text, `href="/console/r/books?shelf_id=`+wanted)
	require.NotContains(t, text, "button-bad", "a deletion that is refused is not offered")

	status, _, text = p.send("GET", "/console/pick?resource=shelves&field=shelf_id&q=A", "", "")
	require.Equal(t, 200, status)
	require.Contains(t, text, `data-id="`+wanted+`"`)
	require.Contains(t, text, "<small>South</small>")
}

// TestFormConflict: a form of an old version changes nothing before every field that both have changed has a choice.
func TestFormConflict(t *testing.T) {
	p := openLibrary(t)
	id := p.make("books", `{"title":"Go","pages":300,"text":"old"}`)
	action := "/console/r/books/" + id
	_, _, form := p.send("GET", action+"/edit", "", "")
	status, _, text := p.send("PATCH", "/books/"+id, "application/json", `{"pages":301,"text":"theirs"}`)
	require.Equal(t, 200, status, text)
	status, _, conflict := p.submitPage(form, action, url.Values{"title": {"Go 2"}, "pages": {"300"}, "text": {"mine"}})
	require.Equal(t, 412, status)
	status, _, conflict = p.submitPage(conflict, action, url.Values{"take.title": {"mine"}, "take.pages": {"theirs"}})
	require.Equal(t, 422, status, "the text needs a choice")
	require.Contains(t, conflict, "theirs")
	require.Equal(t, "Go", p.get("/books/" + id)["title"])
	status, _, text = p.send("PATCH", "/books/"+id, "application/json", `{"weight":2}`)
	require.Equal(t, 200, status, text)
	choices := url.Values{"take.title": {"mine"}, "take.pages": {"theirs"}, "take.text": {"mine"}}
	status, _, conflict = p.submitPage(conflict, action, choices)
	require.Equal(t, 412, status, "it has been changed again")
	status, _, text = p.submitPage(conflict, action, url.Values{"take.title": {"mine"}, "take.text": {"mine"}, "take.weight": {"theirs"}})
	require.Equal(t, 303, status, text)
	rec := p.get("/books/" + id)
	require.Equal(t, []any{"Go 2", 301.0, "mine", 2.0}, []any{rec["title"], rec["pages"], rec["text"], rec["weight"]})
}
