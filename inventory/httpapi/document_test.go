package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/ashlar-go/ashlar/httpx/apidocs"
	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestDocument checks that the OpenAPI document has exactly the routes of the API, and
// that it is compressed and revalidated.
func TestDocument(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	c := g.as("")
	a := c.Send("GET", "/openapi.json", nil).Want(200).WantHeader("Content-Type", "application/json")
	var doc struct {
		OpenAPI string                       `json:"openapi"`
		Paths   map[string]map[string]object `json:"paths"`
	}
	ok(t, json.Unmarshal(a.Body.Bytes(), &doc))
	var routes []string
	for path, methods := range doc.Paths {
		for method := range methods {
			if method != "parameters" {
				routes = append(routes, strings.ToUpper(method)+" "+path)
			}
		}
	}
	want := httpapi.Routes(g.api)
	slices.Sort(routes)
	slices.Sort(want)
	if !slices.Equal(routes, want) || !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("the document is OpenAPI %s and has\n%s, want\n%s", doc.OpenAPI, strings.Join(routes, "\n"), strings.Join(want, "\n"))
	}
	tag := a.Header().Get("ETag")
	c.Send("GET", "/openapi.json", nil, "If-None-Match", tag).Want(304)
	zipped := c.Send("GET", "/openapi.json", nil, "Accept-Encoding", "gzip").Want(200).
		WantHeader("Content-Encoding", "gzip").WantHeader("ETag", strings.TrimSuffix(tag, `"`)+`-gzip"`)
	unzip, err := gzip.NewReader(zipped.Body)
	ok(t, err)
	plain, err := io.ReadAll(unzip)
	ok(t, err)
	if !bytes.Equal(bytes.TrimSpace(plain), bytes.TrimSpace(a.Body.Bytes())) {
		t.Error("compressed it is another document")
	}
	c.Send("GET", "/openapi.json", nil, "If-None-Match", zipped.Header().Get("ETag")).Want(304)
}

// TestDocumentSize holds the size of the document, which that of generated clients follows: with these numbers oapi-codegen
// makes 48,000 lines of code of all operations (TestOpenAPITools counts them).
func TestDocumentSize(t *testing.T) {
	t.Parallel()
	text := newHarness(t, nil).as("").Send("GET", "/openapi.json", nil).Want(200).Body.Bytes()
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []object
			Responses  map[string]object
		}
	}
	ok(t, json.Unmarshal(text, &doc))
	operations, parameters, responses := 0, 0, 0
	for _, methods := range doc.Paths {
		for _, op := range methods {
			operations, parameters, responses = operations+1, parameters+len(op.Parameters), responses+len(op.Responses)
		}
	}
	t.Logf("%d operations, %d parameters, %d responses, %d bytes", operations, parameters, responses, len(text))
	if parameters > 7*operations/2 || responses > 5*operations/2 || len(text) > 3700*operations {
		t.Errorf("%d operations have %d parameters, %d responses and %d bytes", operations, parameters, responses, len(text))
	}
}

// TestDocumentParameters checks that the API accepts exactly the parameters in the
// document.
func TestDocumentParameters(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	g := newHarness(t, nil)
	c := g.as("root")
	doc, err := openapi3.NewLoader().LoadFromData(c.Send("GET", "/openapi.json", nil).Want(200).Body.Bytes())
	ok(t, err)
	for _, op := range httpapi.Operations(g.api) {
		if op.Method != "GET" {
			continue
		}
		path := strings.ReplaceAll(op.Path, "{id}", unknown)
		known := queryParameters(doc.Paths.Find(op.Path).Get)
		if op.List != nil && len(known) < 7+len(op.List.Parameters()) {
			t.Errorf("%s has %d parameters in the document", op.Path, len(known))
		}
		for _, name := range append(known, "frob", "dry_run", "filter") {
			a := c.Send("GET", path+"?"+name+"=%01", nil)
			if refused := strings.Contains(a.Body.String(), name+" is an unknown query parameter"); refused == slices.Contains(known, name) {
				t.Errorf("%s with %s: %d %s", op.Path, name, a.Code, a.Body)
			}
		}
	}
}

// queryParameters returns the names of the query parameters of an operation. An object in the
// style form stands for a parameter of each of its properties.
func queryParameters(op *openapi3.Operation) []string {
	known := []string{}
	for _, p := range op.Parameters {
		switch {
		case p.Value.In != "query":
		case p.Value.Schema.Value.Type.Is("object"):
			known = slices.AppendSeq(known, maps.Keys(p.Value.Schema.Value.Properties))
		default:
			known = append(known, p.Value.Name)
		}
	}
	return known
}

// TestDryRunEverywhere checks that every route that changes something accepts dry_run, except a
// login and the second factor.
func TestDryRunEverywhere(t *testing.T) {
	t.Parallel()
	for _, op := range httpapi.Operations(newHarness(t, nil).api) {
		takes := slices.ContainsFunc(op.Parameters, func(p openapi.Parameter) bool { return p.Name == "dry_run" })
		if takes == (op.Method == "GET" || op.ID == "login" || op.ID == "readNetBox" || strings.Contains(op.Path, "/totp")) {
			t.Errorf("%s %s takes dry_run: %v", op.Method, op.Path, takes)
		}
	}
}

// TestDocs checks that the page is public and works under a prefix.
func TestDocs(t *testing.T) {
	t.Parallel()
	api, err := httpapi.New(records.New(records.NewMemStore(builtIn), nil), authenticatorOf("viewer"), &httpapi.Options{Docs: apidocs.New(nil)})
	ok(t, err)
	server := httptest.NewServer(http.StripPrefix("/inventory", api))
	defer server.Close()
	response, err := http.Get(server.URL + "/inventory/docs")
	ok(t, err)
	defer response.Body.Close()
	if at := response.Request.URL.Path; at != "/inventory/docs/" || response.StatusCode != 200 {
		t.Errorf("/docs leads to %s: %d", at, response.StatusCode)
	}
	c := httpxtest.New(t, api)
	c.Send("GET", "/docs/", nil).Want(200)
	c.Send("GET", "/docs/none", nil).WantError(404, "")
	c.Send("POST", "/docs/", nil).Want(405)
}
