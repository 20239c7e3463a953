package openapi_test

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

func about() openapi.Info { return openapi.Info{Title: "Inventory", Version: "1.0.0"} }

// whole returns operations that use every feature, for every resource.
func whole() []openapi.Operation {
	var ops []openapi.Operation
	for _, r := range schema.Resources() {
		path, name := "/"+r.Name, openapi.Name(r)
		page, parts := openapi.PageOrPart(r)
		ok := []openapi.Response{{Status: 200, Schema: openapi.Record(r), Headers: []openapi.Header{openapi.ETag()}}}
		ops = append(ops,
			openapi.Operation{
				Method: "GET", Path: path, ID: "list" + name, Tag: r.Name, Summary: "List them", Access: "Everybody.",
				List: r, Responses: []openapi.Response{{Status: 200, Schema: page}, {Status: 200, Schema: parts, ContentType: openapi.PartType}},
			},
			openapi.Operation{
				Method: "POST", Path: path, ID: "create" + name, Tag: r.Name, Summary: "Add one, or several", Access: "Admins.",
				Parameters: []openapi.Parameter{openapi.DryRun(), openapi.IdempotencyKey()},
				Body:       openapi.OneOf(name+"Input", openapi.Draft(r), openapi.Array(openapi.Draft(r), 0, records.MaxItems).Named(name+"Drafts")),
				Responses:  []openapi.Response{{Status: 201, Schema: openapi.Record(r), Headers: []openapi.Header{openapi.ETag(), openapi.Location()}}},
				Errors:     []int{409},
			},
			openapi.Operation{
				Method: "GET", Path: path + "/{id}", ID: "get" + name, Tag: r.Name, Summary: "Read one", Access: "Everybody.",
				Parameters: []openapi.Parameter{openapi.IfNoneMatch()}, Responses: append(ok, openapi.Response{Status: 304}),
			},
			openapi.Operation{
				Method: "PUT", Path: path + "/{id}", ID: "put" + name, Tag: r.Name, Summary: "Replace one", Access: "Admins.",
				Parameters: []openapi.Parameter{openapi.IfMatch()}, Body: openapi.Replacement(r), Responses: ok, Errors: []int{409, 412},
			},
			openapi.Operation{
				Method: "PATCH", Path: path + "/{id}", ID: "patch" + name, Tag: r.Name, Summary: "Change one", Access: "Admins.",
				Body: openapi.Change(r), Responses: ok,
			},
			openapi.Operation{
				Method: "PATCH", Path: path, ID: "patchAll" + name, Tag: r.Name, Summary: "Change several", Access: "Admins.",
				Body:      openapi.Array(openapi.ItemChange(r), 0, records.MaxItems),
				Responses: []openapi.Response{{Status: 200, Schema: openapi.Confirmation(name+"Done", openapi.Required("updated", openapi.Integer("", 0)))}},
			},
			openapi.Operation{
				Method: "DELETE", Path: path, ID: "deleteAll" + name, Tag: r.Name, Summary: "Delete several", Access: "Admins.",
				Body: openapi.Array(openapi.ID(""), 0, records.MaxItems), Responses: []openapi.Response{{Status: 200, Schema: openapi.Confirmation("")}},
			},
		)
	}
	return append(ops, openapi.Operation{
		Method: "POST", Path: "/users/login", ID: "login", Tag: "users", Summary: "Log in", Access: "Everybody.", Public: true,
		Body: openapi.Request("Login",
			openapi.Required("username", openapi.BoundedString(1, 100)), openapi.Required("password", openapi.BoundedString(1, 1024))),
		Responses: []openapi.Response{{Status: 200, Schema: openapi.Confirmation("Token", openapi.Required("token", openapi.String(""))), Headers: []openapi.Header{openapi.SetCookie()}}},
		Errors:    []int{401},
	})
}

func document(t *testing.T, ops []openapi.Operation) []byte {
	t.Helper()
	doc, err := openapi.Document(about(), ops)
	require.NoError(t, err)
	return doc
}

// decoded decodes a JSON document for validators.
func decoded(t require.TestingT, doc []byte) any {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	require.NoError(t, err)
	return v
}

// compiler returns the compiled schema of a component of the document.
type compiler func(name string) *jsonschema.Schema

// schemas compiles components of the whole document, with formats asserted.
func schemas(t *testing.T) compiler {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	require.NoError(t, c.AddResource("mem:///openapi.json", decoded(t, document(t, whole()))))
	return func(name string) *jsonschema.Schema {
		s, err := c.Compile("mem:///openapi.json#/components/schemas/" + name)
		require.NoError(t, err)
		return s
	}
}

// schema is the schema of the tests.
var schema = inventory.Schema()

// resourceOf returns the resource of a record.
func resourceOf(rec records.Record) *records.Resource {
	r, err := schema.Of(rec)
	if err != nil {
		panic(err)
	}
	return r
}
