package httpapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/httpapi"
	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/apidocs"
	"github.com/ashlar-go/ashlar/httpx/httpxtest"
)

// catalogDocument returns the OpenAPI document that the handler serves.
func catalogDocument(t *testing.T, c *httpxtest.Client) *openapi3.T {
	t.Helper()
	response := c.Send("GET", "/openapi.json", nil).Want(200)
	doc, err := openapi3.NewLoader().LoadFromData(response.Body.Bytes())
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context(), openapi3.EnableExamplesValidation()))
	c.Send("GET", "/openapi.json", nil, "If-None-Match", response.Header().Get("ETag")).Want(304)
	return doc
}

// TestDocument compares the document with the routes, the parameters and the fields of a book.
func TestDocument(t *testing.T) {
	t.Parallel()
	c := client(t, nil)
	doc := catalogDocument(t, c)
	assert.ElementsMatch(t, []string{"/api/books", "/api/books/{id}"}, slices.Collect(maps.Keys(doc.Paths.Map())))
	for path, item := range doc.Paths.Map() {
		methods := append(slices.Collect(maps.Keys(item.Operations())), "HEAD")
		slices.Sort(methods)
		c.Send("PATCH", path, nil).Want(405).WantHeader("Allow", strings.Join(methods, ", "))
	}

	var documented []string
	for _, p := range doc.Paths.Find("/api/books").Get.Parameters {
		if p.Value.In == "query" {
			documented = append(documented, p.Value.Name)
		}
	}
	message := c.Send("GET", "/api/books?frob=1", nil).WantError(400, "unknown query parameter").Message
	_, known, _ := strings.Cut(message, ": use ")
	assert.ElementsMatch(t, strings.Split(known, ", "), documented)

	for name, typ := range map[string]reflect.Type{
		"Book": reflect.TypeFor[bookcatalog.Book](), "BookDraft": reflect.TypeFor[bookcatalog.Book](),
		"Author": reflect.TypeFor[bookcatalog.Author](), "Address": reflect.TypeFor[bookcatalog.Address](),
	} {
		var fields []string
		for i := range typ.NumField() {
			field, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			fields = append(fields, field)
		}
		assert.ElementsMatch(t, fields, slices.Collect(maps.Keys(doc.Components.Schemas[name].Value.Properties)), name)
	}
}

// TestDocumentedRequests sends valid and invalid requests, and validates requests and responses
// against the document.
func TestDocumentedRequests(t *testing.T) {
	t.Parallel()
	handler := httpapi.NewHandler(bookcatalog.NewMemStore(), &httpapi.Options{Chain: &httpx.StandardOptions{Log: slog.New(slog.DiscardHandler)}})
	c := httpxtest.New(t, handler)
	doc := catalogDocument(t, c)
	doc.Servers = openapi3.Servers{{URL: "/"}} // the router can't read a relative one
	router, err := legacy.NewRouter(doc)
	require.NoError(t, err)
	book := "/api/books/" + add(t, c, emma).ID
	long := func(n int) string { return strings.Repeat("é", n) }
	many := func(n int, element string) string { return strings.TrimSuffix(strings.Repeat(element+",", n), ",") }
	for _, tc := range []struct {
		request, body string
		status        int
		valid         bool // by the document
	}{
		{"GET /api/books", "", 200, true},
		{"GET /api/books?q=e&title=e&author=e&isbn=0&subject=e&year=1&year_gte=-3000&year_lte=9999&page=1&limit=2", "", 200, true},
		{"GET /api/books?sortby=title:asc&sortby=created_at:desc&cursor=", "", 200, true},
		{"GET /api/books?sortby=pages:asc", "", 400, false},
		{"GET /api/books?sortby=title:asc&sortby=title:asc", "", 400, false},
		{"GET /api/books?limit=0", "", 400, false},
		{"GET /api/books?year=10000", "", 400, false},
		{"GET /api/books?q=", "", 400, false},
		{"GET " + book, "", 200, true},
		{"GET /api/books/1", "", 400, false},
		{"GET /api/books/018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f", "", 404, true},
		{"POST /api/books", emma, 409, true},
		{"POST /api/books", `{"title":"` + long(500) + `","author":null,"isbn":""}`, 201, true},
		{"POST /api/books", `{"title":"` + long(501) + `"}`, 400, false},
		{"POST /api/books", `{"title":""}`, 400, false},
		{"POST /api/books", `{"title":" "}`, 400, false},
		{"POST /api/books", `{"title":"a\tb"}`, 400, false},
		{"POST /api/books", `{}`, 400, false},
		{"POST /api/books", ``, 400, false},
		{"POST /api/books", `{"title":"A","colour":"red"}`, 400, false},
		{"POST /api/books", `{"title":"A","author":{"firstname":"B"}}`, 400, false},
		{"POST /api/books", `{"title":"A","author":{"lastname":"B","born":"1775-12-16","address":{"street":"S","city":"C","region":"R","postcode":"P","country":"GB"}}}`, 201, true},
		{"POST /api/books", `{"title":"A","author":{"lastname":"B","born":"yesterday"}}`, 400, false},
		{"POST /api/books", `{"title":"A","author":{"lastname":"B","address":{"country":"England"}}}`, 400, false},
		{"POST /api/books", `{"title":"A","authors":[` + many(50, `{"lastname":"B"}`) + `]}`, 201, true},
		{"POST /api/books", `{"title":"A","authors":[` + many(51, `{"lastname":"B"}`) + `]}`, 400, false},
		{"POST /api/books", `{"title":"A","subjects":[` + many(50, `"`+long(100)+`"`) + `],"publisher":"` + long(200) + `","language":"en"}`, 201, true},
		{"POST /api/books", `{"title":"A","subjects":["` + long(101) + `"]}`, 400, false},
		{"POST /api/books", `{"title":"A","subjects":[` + many(51, `"a"`) + `]}`, 400, false},
		{"POST /api/books", `{"title":"A","publisher":"` + long(201) + `"}`, 400, false},
		{"POST /api/books", `{"title":"A","published_year":-3000,"pages":100000,"price_minor":1000000000,"currency":"EUR"}`, 201, true},
		{"POST /api/books", `{"title":"A","published_year":-3001}`, 400, false},
		{"POST /api/books", `{"title":"A","pages":100001}`, 400, false},
		{"POST /api/books", `{"title":"A","price_minor":1000000001,"currency":"EUR"}`, 400, false},
		{"POST /api/books", `{"title":"A","price_minor":1,"currency":"euro"}`, 400, false},
		{"POST /api/books", `{"title":"A","isbn":"1"}`, 400, true}, // a schema has no check digits
		{"PUT " + book, `{"title":"B"}`, 200, true},
		{"DELETE " + book, "", 200, true},
		{"DELETE " + book, "", 404, true},
	} {
		method, target, _ := strings.Cut(tc.request, " ")
		r := httptest.NewRequest(method, target, strings.NewReader(tc.body))
		if tc.body != "" || method == "POST" {
			r.Header.Set("Content-Type", "application/json")
		}
		route, params, err := router.FindRoute(r)
		require.NoError(t, err, tc.request)
		input := &openapi3filter.RequestValidationInput{
			Request: r, PathParams: params, Route: route,
			Options: &openapi3filter.Options{
				IncludeResponseStatus: true, SkipSettingDefaults: true,
				SchemaValidationOptions: []openapi3.SchemaValidationOption{openapi3.EnableJSONSchema2020(), openapi3.EnableFormatValidation()},
			},
		}
		err = openapi3filter.ValidateRequest(t.Context(), input)
		assert.Equal(t, tc.valid, err == nil, "%s %s: %v", tc.request, tc.body, err)
		r.Body = io.NopCloser(strings.NewReader(tc.body)) // the filter has read it
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		assert.Equal(t, tc.status, w.Code, "%s %s: %s", tc.request, tc.body, w.Body)
		assert.NoError(t, openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: input, Status: w.Code, Header: w.Header(),
			Body: io.NopCloser(bytes.NewReader(w.Body.Bytes())), Options: input.Options,
		}), "%s: %s", tc.request, w.Body)
	}
}

// TestDocs checks that the page works under a prefix, and is absent by default.
func TestDocs(t *testing.T) {
	t.Parallel()
	handler := httpapi.NewHandler(bookcatalog.NewMemStore(), &httpapi.Options{Docs: apidocs.New(&apidocs.Options{Title: "Books"})})
	server := httptest.NewServer(http.StripPrefix("/shop", handler))
	t.Cleanup(server.Close)
	response, err := server.Client().Get(server.URL + "/shop/docs")
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	assert.Equal(t, 200, response.StatusCode)
	assert.Equal(t, "/shop/docs/", response.Request.URL.Path)
	page, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Contains(t, string(page), `data-document="../openapi.json"`)

	var doc struct{ Servers []struct{ URL string } }
	c := client(t, nil)
	require.NoError(t, json.Unmarshal(c.Send("GET", "/openapi.json", nil).Want(200).Body.Bytes(), &doc))
	base, err := url.Parse("/shop/openapi.json")
	require.NoError(t, err)
	at, err := base.Parse(doc.Servers[0].URL)
	require.NoError(t, err)
	assert.Equal(t, "/shop/", at.Path)
	c.Send("GET", "/docs/", nil).Want(404)
}
