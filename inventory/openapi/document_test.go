package openapi_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestDocument validates the document with kin-openapi and checks its routes and lists.
func TestDocument(t *testing.T) {
	t.Parallel()
	text := document(t, whole())
	doc, err := openapi3.NewLoader().LoadFromData(text)
	require.NoError(t, err)
	t.Run("valid", func(t *testing.T) { testValid(t, doc) })
	t.Run("routes", func(t *testing.T) { testRoutes(t, doc, text) })
	t.Run("lists", func(t *testing.T) { testLists(t, doc) })
	t.Run("bodies", func(t *testing.T) { testBodies(t, doc) })
	t.Run("requests", func(t *testing.T) { testRequests(t, doc) })
}

// testValid validates the document with its examples and defaults.
func testValid(t *testing.T, doc *openapi3.T) {
	require.NoError(t, doc.Validate(t.Context(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaDefaultsValidation()))
	assert.True(t, doc.IsOpenAPI31OrLater())
	assert.Equal(t, 2*len(schema.Resources())+1, doc.Paths.Len())
}

func TestDocumentIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	first := document(t, whole())
	require.Equal(t, string(first), string(document(t, whole())))
	assert.Less(t, len(first), 36_000*len(schema.Resources()))
}

// testRoutes checks what all routes have in common.
func testRoutes(t *testing.T, doc *openapi3.T, text []byte) {
	var raw struct { // with the descriptions beside references, which the library ignores
		Paths map[string]map[string]struct {
			Responses map[string]struct{ Description string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &raw))
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			where := method + " " + path
			has := func(status int) bool {
				require.NotNil(t, op.Responses.Default().Value.Content.Get("application/json"), where)
				return strings.Contains(raw.Paths[path][strings.ToLower(method)].Responses["default"].Description, fmt.Sprint(status, " "))
			}
			for _, status := range []int{400, 403, 421, 429, 500, 503} {
				assert.True(t, has(status), "%s: %d", where, status)
			}
			public := path == "/users/login"
			assert.Equal(t, public, op.Security != nil && len(*op.Security) == 0, where)
			assert.True(t, has(401), where)
			for _, status := range []int{408, 413, 415} {
				assert.Equal(t, op.RequestBody != nil, has(status), "%s: %d", where, status)
			}
			assert.Equal(t, len(item.Parameters) > 0 || op.Parameters.GetByInAndName("path", "id") != nil, has(404), where)
		}
	}
	assert.Contains(t, doc.Components.SecuritySchemes, "bearer")
	assert.Contains(t, doc.Components.SecuritySchemes, "cookie")
}

// sample returns a value of a parameter according to its schema.
func sample(t *testing.T, name string, s *openapi3.Schema) string {
	t.Helper()
	switch {
	case s.Type.Is("array"):
		return sample(t, name, s.Items.Value)
	case len(s.Examples) > 0:
		return fmt.Sprint(s.Examples[0])
	case len(s.Enum) > 0:
		return fmt.Sprint(s.Enum[0])
	case s.Type.Is("boolean"):
		return "true"
	case s.Type.Is("integer"), s.Type.Is("number"):
		return "7"
	case name == "cursor":
		return ""
	}
	return "words"
}

// sent returns the query parameters that a parameter describes: its own name, or the properties
// of an object, with their schemas.
func sent(p *openapi3.Parameter) map[string]*openapi3.Schema {
	if !p.Schema.Value.Type.Is("object") {
		return map[string]*openapi3.Schema{p.Name: p.Schema.Value}
	}
	all := map[string]*openapi3.Schema{}
	if p.Style == "form" && *p.Explode {
		for name, property := range p.Schema.Value.Properties {
			all[name] = property.Value
		}
	}
	return all
}

// testBodies checks that alternatives are components of objects and arrays that are components
// too, because generators name their types after them.
func testBodies(t *testing.T, doc *openapi3.T) {
	named := func(s *openapi3.SchemaRef, where string) {
		assert.True(t, s.Ref != "" || len(s.Value.OneOf)+len(s.Value.AnyOf) == 0, "%s has alternatives without a name", where)
		for _, one := range append(s.Value.OneOf, s.Value.AnyOf...) {
			assert.NotEmpty(t, one.Ref, "%s has an alternative without a name", where)
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody != nil {
				named(op.RequestBody.Value.Content.Get("application/json").Schema, method+" "+path)
			}
			for status, response := range op.Responses.Map() {
				if body := response.Value.Content.Get("application/json"); body != nil {
					named(body.Schema, method+" "+path+" "+status)
				}
			}
		}
	}
}

// TestPatterns checks that patterns are in the common subset of ECMA 262 with and without the
// flag u, and RE2.
func TestPatterns(t *testing.T) {
	t.Parallel()
	found := 0
	for _, m := range regexp.MustCompile(`"pattern":("(?:[^"\\]|\\.)*")`).FindAllSubmatch(document(t, whole()), -1) {
		var pattern string
		require.NoError(t, json.Unmarshal(m[1], &pattern))
		found++
		_, err := regexp.Compile(pattern)
		assert.NoError(t, err)
		assert.NotRegexp(t, `\\[^nrtx.]|\\x[^0-9a-f]|\(\?|[^ -~]`, pattern)
	}
	assert.Greater(t, found, 100)
}

// testLists checks that the document has exactly the parameters that the inventory accepts.
func testLists(t *testing.T, doc *openapi3.T) {
	for _, r := range schema.Resources() {
		parameters := doc.Paths.Find("/" + r.Name).Get.Parameters
		var names []string
		for _, p := range parameters {
			for name, s := range sent(p.Value) {
				names = append(names, name)
				_, err := records.ParseQuery(r, url.Values{name: {sample(t, name, s)}})
				assert.NoError(t, err, "%s: %s", r.Name, name)
			}
		}
		want := []string{"page", "limit", "sortby", "q", "fields", "count", "cursor"}
		assert.Equal(t, want, names[:len(want)], "the main parameters are the first")
		for _, p := range r.Parameters() {
			want = append(want, p.Name)
		}
		assert.ElementsMatch(t, want, names, r.Name)
		assert.LessOrEqual(t, len(parameters), 9, r.Name)
		for _, f := range r.Fields() {
			_, err := records.ParseQuery(r, url.Values{"sortby": {f.Name + ":desc"}})
			values := parameters.GetByInAndName("query", "sortby").Schema.Value.Items.Value.Pattern
			assert.Equal(t, err == nil, regexp.MustCompile(values).MatchString(f.Name+":desc"), "%s by %s", r.Name, f.Name)
		}
	}
}

// TestDocumentErrors checks the mistakes that would lose a part of the document.
func TestDocumentErrors(t *testing.T) {
	t.Parallel()
	r := records.Of[inventory.Device](schema)
	good := openapi.Operation{
		Method: "GET", Path: "/devices/{id}", ID: "get", Tag: "devices", Summary: "Read",
		Responses: []openapi.Response{{Status: 200, Schema: openapi.Record(r)}},
	}
	unknown, conflict := good, good
	unknown.Method = "FETCH"
	conflict.Method, conflict.Body = "POST", openapi.Object("Device")
	for want, ops := range map[string][]openapi.Operation{
		"FETCH /devices/{id}: unknown method": {unknown},
		"GET /devices/{id}: duplicate":        {good, good},
		"schemas Device":                      {good, conflict},
	} {
		_, err := openapi.Document(about(), ops)
		errtest.Want(t, err, want)
	}
	_, err := openapi.Document(about(), []openapi.Operation{good})
	assert.NoError(t, err)
}
