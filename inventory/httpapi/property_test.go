package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// documented checks responses against the document.
type documented struct {
	t        testing.TB
	doc      any
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
}

func readDocument(t testing.TB, g *harness) *documented {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(g.on(t, "").Send("GET", "/openapi.json", nil).Want(200).Body)
	ok(t, err)
	d := &documented{t: t, doc: doc, compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	ok(t, d.compiler.AddResource("openapi.json", doc))
	return d
}

// at returns a part of the document, following references.
func (d *documented) at(pointer ...string) (any, []string) {
	v := d.doc
	for i, part := range pointer {
		v = v.(map[string]any)[part]
		if o, isObject := v.(map[string]any); isObject {
			if ref, isRef := o["$ref"].(string); isRef && i < len(pointer)-1 {
				rest := pointer[i+1:]
				return d.at(append(strings.Split(strings.TrimPrefix(ref, "#/"), "/"), rest...)...)
			}
		}
		if v == nil {
			return nil, nil
		}
	}
	return v, pointer
}

// check returns an error if the document does not allow the response of an operation.
func (d *documented) check(op openapi.Operation, w *httptest.ResponseRecorder) error {
	status := strconv.Itoa(w.Code)
	response := []string{"paths", op.Path, strings.ToLower(op.Method), "responses", status}
	if w.Code >= 400 { // one response for all, whose description lists them
		response[4] = "default"
	}
	found, _ := d.at(response...)
	if found == nil || w.Code >= 400 && !strings.Contains(found.(map[string]any)["description"].(string), status+" ") {
		return fmt.Errorf("the status %s is not documented", status)
	}
	kind := w.Header().Get("Content-Type")
	if kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return nil
	}
	schema, pointer := d.at(append(response, "content", kind, "schema")...)
	if schema == nil {
		return fmt.Errorf("a body of %s with status %s is not documented", kind, status)
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		return err
	}
	return d.schema(pointer).Validate(body)
}

func (d *documented) schema(pointer []string) *jsonschema.Schema {
	for i, part := range pointer {
		pointer[i] = url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	at := "openapi.json#/" + strings.Join(pointer, "/")
	if d.schemas[at] == nil {
		compiled, err := d.compiler.Compile(at)
		ok(d.t, err)
		d.schemas[at] = compiled
	}
	return d.schemas[at]
}

// TestAnything sends random valid and invalid requests to all routes. There must be no 5xx,
// and every response must be documented, including its body. The store is a database;
// package storetest compares it with the memory store.
func TestAnything(t *testing.T) {
	t.Parallel()
	g := newHarness(t, &choices{store: database(t)})
	d, ids := readDocument(t, g), g.population()
	ops := slices.DeleteFunc(httpapi.Operations(g.api), func(op openapi.Operation) bool { return op.ID == "streamChanges" }) // it does not end
	token := g.token("root")
	rapid.Check(t, func(t *rapid.T) {
		for range 6 {
			op := rapid.SampledFrom(ops).Draw(t, "operation")
			target, body := randomTarget(t, op, ids), randomBody(t, op, ids)
			r := httptest.NewRequest(op.Method, "/", strings.NewReader(body))
			r.URL = target
			if op.ID != "logout" { // which would end the session
				r.Header.Set("Authorization", "Bearer "+token)
			}
			if body != "" {
				r.Header.Set("Content-Type", "application/json")
			}
			for _, p := range op.Parameters {
				if p.In == "header" && rapid.IntRange(0, 3).Draw(t, p.Name) == 0 {
					r.Header.Set(p.Name, rapid.SampledFrom([]string{"*", "a", `"x.1"`, `W/"a"`, ""}).Draw(t, p.Name))
				}
			}
			w := httptest.NewRecorder()
			g.api.ServeHTTP(w, r)
			if err := d.check(op, w); err != nil || w.Code >= 500 {
				t.Fatalf("%s %s %s: %d %s: %v", op.Method, target, body, w.Code, w.Body, err)
			}
		}
		g.clock.forward(1e9)
	})
}

// population creates some records of each kind and returns ids by resource.
func (g *harness) population() map[string][]string {
	ids := map[string][]string{}
	add := func(list string, body any) string {
		id := g.create(list, body)["id"].(string)
		ids[list[1:]] = append(ids[list[1:]], id)
		return id
	}
	for i := range 3 {
		site := add("/locations", location(fmt.Sprint("site-", i)))
		d := add("/devices", with(device(fmt.Sprint("core-", i)), "location_id", site))
		a, b := add("/interfaces", port(d, "a")), add("/interfaces", port(d, "b"))
		add("/vlans", object{"vlan_id": i + 1, "name": "x"})
		add("/links", object{"a_interface_id": a, "b_interface_id": b})
		add("/events", object{"severity": "low", "type": "x", "message": "y", "device_id": d})
		add("/metrics", object{"device_id": d, "cpu": i})
		add("/users", user(fmt.Sprint("user-", i)))
	}
	return ids
}

// randomTarget returns a path with an id that may exist, and a query that may be valid.
func randomTarget(t *rapid.T, op openapi.Operation, ids map[string][]string) *url.URL {
	id := rapid.SampledFrom(append([]string{unknown, "x"}, allOf(ids)...)).Draw(t, "id")
	path := strings.NewReplacer("{id}", id, "{code}", id).Replace(op.Path)
	query := url.Values{}
	for range rapid.IntRange(0, 2).Draw(t, "parameters") {
		name, value := randomParameter(t, op)
		query.Add(name, value)
	}
	return &url.URL{Path: path, RawQuery: query.Encode()}
}

func allOf(ids map[string][]string) []string {
	var all []string
	for _, r := range builtIn.Resources() {
		all = append(all, ids[r.Name]...)
	}
	return all
}

func randomParameter(t *rapid.T, op openapi.Operation) (name, value string) {
	wild := rapid.SampledFrom([]string{"", "1", "true", "false", "x", "-1", "2026-01-31T12:00:00Z", "id:asc", "name:desc", "id,version", "<b>", "\x00", "99999999999999999999"}).Draw(t, "value")
	if op.List == nil || rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
		return rapid.SampledFrom([]string{"dry_run", "frob", "page", "latest", "sort"}).Draw(t, "name"), wild
	}
	parameters := op.List.Parameters()
	switch n := rapid.IntRange(0, len(parameters)+6).Draw(t, "name"); {
	case n < 7:
		return []string{"page", "limit", "sortby", "q", "fields", "count", "cursor"}[n], wild
	default:
		p := parameters[n-7]
		if rapid.Bool().Draw(t, "valid") && p.Op != records.IsNull {
			return p.Name, sampleOf(p.Field)
		}
		return p.Name, wild
	}
}

// sampleOf returns a value for a filter, which may be a list.
func sampleOf(f *records.Field) string {
	if f.Kind == records.List {
		return "x"
	}
	return sample(f)
}

// randomBody returns a document that the operation accepts, or nearly so.
func randomBody(t *rapid.T, op openapi.Operation, ids map[string][]string) string {
	if op.Body == nil {
		return ""
	}
	r, isRecord := builtIn.Named(op.Tag)
	if rapid.IntRange(0, 9).Draw(t, "garbage") == 0 || !isRecord {
		return rapid.SampledFrom([]string{
			``, `{}`, `[]`, `null`, `1`, `"x"`, `[1]`, `[{}]`, `{"a":`, `{"username":"user-0","password":"x"}`, `{"email":"user-0@example.net"}`,
			`{"new_password":"a long new one","confirm_password":"a long new one"}`, `{"new_password":"a long new one"}`, `["x"]`, `[[]]`,
			`{"acknowledged":true}`, "\xff", strings.Repeat("[", 50),
		}).Draw(t, "body")
	}
	var v any = randomObject(t, r, ids)
	if strings.HasPrefix(op.Summary, "Change some fields of several") || op.Method == "POST" && rapid.IntRange(0, 2).Draw(t, "array") == 0 {
		items := []any{}
		for range rapid.IntRange(1, 3).Draw(t, "items") {
			o := randomObject(t, r, ids)
			if op.Method == "PATCH" {
				o["id"] = rapid.SampledFrom(append([]string{unknown}, ids[r.Name]...)).Draw(t, "id")
			}
			items = append(items, o)
		}
		v = items
	}
	if op.Method == "DELETE" {
		v = []string{rapid.SampledFrom(append([]string{unknown, "x"}, ids[r.Name]...)).Draw(t, "id")}
		if rapid.IntRange(0, 9).Draw(t, "really") != 0 {
			v = []string{unknown} // or there is soon nothing left to play with
		}
	}
	doc, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

// randomObject returns an object with fields of a resource, most of them with valid values.
func randomObject(t *rapid.T, r *records.Resource, ids map[string][]string) object {
	o := object{}
	for _, f := range r.Fields() {
		if f.Hidden || f.ReadOnly && rapid.IntRange(0, 9).Draw(t, "own") != 0 {
			continue
		}
		switch n := rapid.IntRange(0, 9).Draw(t, f.Name); {
		case n == 0 || !f.Required && n < 5:
		case n == 1:
			o[f.Name] = rapid.SampledFrom([]any{nil, 1, -1, 1.5, "", "x", true, []any{}, []any{1}, object{}, "<b>", "a\nb", 1e300, unknown}).Draw(t, "wild")
		case f.Ref != nil && len(ids[f.Ref.To]) > 0:
			o[f.Name] = rapid.SampledFrom(ids[f.Ref.To]).Draw(t, f.Name)
		default:
			o[f.Name] = proper(t, f)
		}
	}
	return o
}

// proper returns a valid value of a field.
func proper(t *rapid.T, f *records.Field) any {
	switch {
	case f.Kind == records.List:
		return []string{"a", "b"}
	case f.Kind == records.Bool:
		return rapid.Bool().Draw(t, f.Name)
	case f.Kind == records.Int, f.Kind == records.Float:
		return rapid.IntRange(1, 100).Draw(t, f.Name)
	case f.Format == "line" && f.Enum == nil:
		return fmt.Sprint("text & more ", rapid.IntRange(0, 1000).Draw(t, f.Name))
	case f.Format == "email":
		return fmt.Sprintf("a%d@example.org", rapid.IntRange(0, 1000).Draw(t, f.Name))
	}
	return sample(f)
}
