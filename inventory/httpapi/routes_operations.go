package httpapi

import (
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// The operations that resources have in common.

func get(r *records.Resource) operation {
	responses := reading(openapi.RecordOrPart(r))
	responses[1].Headers = []openapi.Header{openapi.ETag()}
	return operation{openapi.Operation{
		ID: "get" + openapi.Name(r), Tag: r.Name, Summary: "Get one " + r.Noun(),
		Parameters: []openapi.Parameter{openapi.Fields(r), openapi.IfNoneMatch()},
		Responses:  append(responses, notModified()),
	}, (*call).get}
}

func list(r *records.Resource) operation {
	return operation{openapi.Operation{
		ID: "list" + plural(r), Tag: r.Name, Summary: "List " + r.Plural(r.Noun()),
		List: r, Responses: reading(openapi.PageOrPart(r)),
	}, (*call).list}
}

// listOf lists the records that refer to a record of another resource by a field.
func listOf(parent, r *records.Resource, field string) operation {
	return operation{openapi.Operation{
		ID: "list" + plural(r) + "Of" + openapi.Name(parent), Tag: parent.Name,
		Summary: "List the " + r.Plural(r.Noun()) + " of one " + parent.Noun(),
		List:    r, Responses: reading(openapi.PageOrPart(r)),
	}, func(c *call) (*feature.Response, error) { return c.listOf(c.current(parent), c.current(r), field) }}
}

// countOf counts those records.
func countOf(parent, r *records.Resource, field string) operation {
	count := openapi.Object("Count",
		openapi.Required("status", openapi.Const("success")), openapi.Required("count", openapi.Integer("", 0)))
	return operation{openapi.Operation{
		ID: "count" + plural(r) + "Of" + openapi.Name(parent), Tag: parent.Name,
		Summary:   "Count the " + r.Plural(r.Noun()) + " of one " + parent.Noun(),
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: count}},
	}, func(c *call) (*feature.Response, error) { return c.countOf(c.current(parent), c.current(r), field) }}
}

// create creates one record, or those of an array.
func create(r *records.Resource) operation {
	draft := openapi.Draft(r)
	return operation{openapi.Operation{
		ID: "create" + openapi.Name(r), Tag: r.Name, Summary: "Create one " + r.Noun() + ", or several atomically",
		Parameters: []openapi.Parameter{openapi.DryRun(), openapi.IdempotencyKey()},
		Body:       openapi.OneOf(openapi.Name(r)+"Input", draft, items(draft).Named(openapi.Name(r)+"Drafts")),
		Responses: []openapi.Response{{
			Status: http.StatusCreated, Schema: openapi.OneOf(openapi.Name(r)+"Result", openapi.Record(r), bulk(plural(r), "Created", openapi.Record(r))),
			Headers: []openapi.Header{openapi.ETag(), openapi.Location()},
		}},
		Errors: []int{http.StatusConflict, http.StatusUnprocessableEntity},
	}, (*call).create}
}

func (a *API) replace(r *records.Resource) operation {
	return operation{editing(r, openapi.Operation{
		ID: "replace" + openapi.Name(r), Summary: "Replace all fields of one " + r.Noun(), Body: openapi.Replacement(r, a.input(r)...),
	}), (*call).replace}
}

func (a *API) change(r *records.Resource) operation {
	return operation{editing(r, openapi.Operation{
		ID: "change" + openapi.Name(r), Summary: "Change some fields of one " + r.Noun(), Body: openapi.Change(r, a.input(r)...),
	}), (*call).changeOne}
}

// input returns the members of a change that are no fields.
func (a *API) input(r *records.Resource) []openapi.Property {
	if rules := a.rules[r.Name]; rules != nil {
		return rules.Input
	}
	return nil
}

// editing completes an operation that changes one record.
func editing(r *records.Resource, doc openapi.Operation) openapi.Operation {
	doc.Tag = r.Name
	doc.Parameters = []openapi.Parameter{openapi.DryRun(), openapi.IfMatch()}
	doc.Responses = []openapi.Response{recordResponse(r)}
	doc.Errors = []int{http.StatusConflict, http.StatusPreconditionFailed, http.StatusUnprocessableEntity}
	return doc
}

func (a *API) changeMany(r *records.Resource) operation {
	return operation{openapi.Operation{
		ID: "change" + plural(r), Tag: r.Name, Summary: "Change some fields of several " + r.Plural(r.Noun()) + " atomically",
		Parameters: []openapi.Parameter{openapi.DryRun()},
		Body:       items(openapi.ItemChange(r, a.input(r)...)),
		Responses:  []openapi.Response{{Status: http.StatusOK, Schema: bulk(plural(r), "Updated", openapi.Record(r))}},
		Errors:     []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed, http.StatusUnprocessableEntity},
	}, (*call).changeMany}
}

func deleteOne(r *records.Resource) operation {
	return operation{openapi.Operation{
		ID: "delete" + openapi.Name(r), Tag: r.Name, Summary: "Delete one " + r.Noun(),
		Parameters: []openapi.Parameter{openapi.DryRun(), openapi.IfMatch()},
		Responses:  []openapi.Response{confirmed()},
		Errors:     []int{http.StatusConflict, http.StatusPreconditionFailed},
	}, (*call).deleteOne}
}

func deleteMany(r *records.Resource) operation {
	return operation{openapi.Operation{
		ID: "delete" + plural(r), Tag: r.Name, Summary: "Delete several " + r.Plural(r.Noun()) + " atomically",
		Parameters: []openapi.Parameter{openapi.DryRun()},
		Body:       items(openapi.OneOf("Deletion", openapi.ID(""), openapi.ItemDeletion())),
		Responses:  []openapi.Response{{Status: http.StatusOK, Schema: bulk("Records", "Deleted", openapi.ID(""))}},
		Errors:     []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed},
	}, (*call).deleteMany}
}

// countAll counts the records of a resource without a token.
func countAll(r *records.Resource) operation {
	count := openapi.Object("", openapi.Required("count", openapi.Integer("", 0)))
	return operation{openapi.Operation{
		ID: "count" + plural(r), Tag: "system", Summary: "Count the " + r.Plural(r.Noun()),
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: count}},
	}, func(c *call) (*feature.Response, error) { return c.countAll(c.current(r)) }}
}

// health reports that the API is running.
func health() operation {
	return operation{openapi.Operation{
		ID: "running", Tag: "system", Summary: "Report that the API is running",
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Const(running), ContentType: "text/plain"}},
	}, (*call).health}
}

// plural returns the name of several records in operation ids: "Devices".
func plural(r *records.Resource) string { return r.Plural(openapi.Name(r)) }

func recordResponse(r *records.Resource) openapi.Response {
	return openapi.Response{Status: http.StatusOK, Schema: openapi.Record(r), Headers: []openapi.Header{openapi.ETag()}}
}

// reading returns the responses with whole records and, with the parameter fields, with parts of them.
func reading(whole, part *openapi.Schema) []openapi.Response {
	return []openapi.Response{
		{Status: http.StatusOK, Schema: whole},
		{Status: http.StatusOK, Schema: part, ContentType: openapi.PartType},
	}
}

func notModified() openapi.Response {
	return openapi.Response{Status: http.StatusNotModified}
}

func confirmed() openapi.Response {
	return openapi.Response{Status: http.StatusOK, Schema: openapi.Confirmation("")}
}

// items returns the array of a bulk request.
func items(of *openapi.Schema) *openapi.Schema { return openapi.Array(of, 1, records.MaxItems) }

// bulk returns the response to a bulk request: "Created", "Updated" or "Deleted".
func bulk(what, done string, result *openapi.Schema) *openapi.Schema {
	return openapi.Confirmation(what+done,
		openapi.Required(strings.ToLower(done), openapi.Integer("The number of records.", 0)),
		openapi.Required("results", openapi.Array(result, 0, records.MaxItems)))
}
