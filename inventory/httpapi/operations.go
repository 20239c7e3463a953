package httpapi

import (
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/openapi"
)

// Operations that resources have in common, and what the OpenAPI document tells of them.

// get is GET of one record.
func (a *API) get(r *inventory.Resource) operation {
	return operation{
		openapi.Operation{
			ID: "get" + name(r), Tag: r.Name(), Summary: "Read one " + noun(r),
			Parameters: []openapi.Parameter{openapi.IfNoneMatch()},
			Answers:    []openapi.Answer{record(http.StatusOK, r), {Status: http.StatusNotModified, Headers: tagged()}},
		},
		func(c *call) error { return c.getOne(r) },
	}
}

// list is GET of the records of a resource.
func (a *API) list(r *inventory.Resource) operation {
	return operation{
		openapi.Operation{
			ID: "list" + names(r), Tag: r.Name(), Summary: "List " + nouns(r),
			List: r, Answers: []openapi.Answer{page(r)},
		},
		func(c *call) error { return c.listAll(r) },
	}
}

// listOf is GET of the records that belong to one of another resource.
func (a *API) listOf(parent, r *inventory.Resource, field string) operation {
	return operation{
		openapi.Operation{
			ID: "list" + names(r) + "Of" + name(parent), Tag: parent.Name(),
			Summary: "List the " + nouns(r) + " of one " + noun(parent),
			List:    r, Answers: []openapi.Answer{page(r)},
		},
		func(c *call) error { return c.listOf(parent, r, field) },
	}
}

// countOf is the number of those records.
func (a *API) countOf(parent, r *inventory.Resource, field string) operation {
	return operation{
		openapi.Operation{
			ID: "count" + names(r) + "Of" + name(parent), Tag: parent.Name(),
			Summary: "Count the " + nouns(r) + " of one " + noun(parent),
			Answers: []openapi.Answer{{Status: http.StatusOK, Schema: openapi.Count()}},
		},
		func(c *call) error { return c.countOf(parent, r, field) },
	}
}

// create is POST of one record, or of an array of them.
func (a *API) create(r *inventory.Resource) operation {
	draft, many := openapi.Draft(r), bulk(r, "Created", openapi.Record(r))
	return operation{
		openapi.Operation{
			ID: "create" + name(r), Tag: r.Name(), Summary: "Create one " + noun(r) + ", or several: all or none",
			Parameters: []openapi.Parameter{openapi.DryRun(), openapi.IdempotencyKey()},
			Body:       &openapi.Body{Schema: openapi.OneOf(draft, items(draft))},
			Answers: []openapi.Answer{{
				Status: http.StatusCreated, Schema: openapi.OneOf(openapi.Record(r), many),
				Headers: append(tagged(), openapi.Location()),
			}},
			Errors: []int{http.StatusConflict, http.StatusUnprocessableEntity},
		},
		func(c *call) error { return c.createAny(r) },
	}
}

// replace is PUT of one record.
func (a *API) replace(r *inventory.Resource) operation {
	return operation{
		editing(r, openapi.Operation{
			ID: "replace" + name(r), Summary: "Replace all fields of one " + noun(r),
			Body: &openapi.Body{Schema: openapi.Replacement(r)},
		}),
		func(c *call) error { return c.replaceOne(r) },
	}
}

// change is PATCH of one record.
func (a *API) change(r *inventory.Resource) operation {
	return operation{
		editing(r, openapi.Operation{
			ID: "change" + name(r), Summary: "Change some fields of one " + noun(r),
			Body: &openapi.Body{Schema: openapi.Change(r)},
		}),
		func(c *call) error { return c.changeOne(r) },
	}
}

// editing adds what changes of one record have in common.
func editing(r *inventory.Resource, doc openapi.Operation) openapi.Operation {
	doc.Tag = r.Name()
	doc.Parameters = []openapi.Parameter{openapi.DryRun(), openapi.IfMatch(), openapi.IfNoneMatch()}
	doc.Answers = []openapi.Answer{record(http.StatusOK, r)}
	doc.Errors = []int{http.StatusConflict, http.StatusPreconditionFailed}
	return doc
}

// changeMany is PATCH of several records.
func (a *API) changeMany(r *inventory.Resource) operation {
	return operation{
		openapi.Operation{
			ID: "change" + names(r), Tag: r.Name(), Summary: "Change some fields of several " + nouns(r) + ": all or none",
			Parameters: []openapi.Parameter{openapi.DryRun()},
			Body:       &openapi.Body{Schema: items(openapi.ItemChange(r))},
			Answers:    []openapi.Answer{{Status: http.StatusOK, Schema: bulk(r, "Updated", openapi.Record(r))}},
			Errors:     []int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed},
		},
		func(c *call) error { return c.changeMany(r) },
	}
}

// delete is DELETE of one record.
func (a *API) delete(r *inventory.Resource) operation {
	return operation{
		openapi.Operation{
			ID: "delete" + name(r), Tag: r.Name(), Summary: "Delete one " + noun(r),
			Parameters: []openapi.Parameter{openapi.DryRun(), openapi.IfMatch(), openapi.IfNoneMatch()},
			Answers:    []openapi.Answer{{Status: http.StatusOK, Schema: openapi.Confirmation("")}},
			Errors:     []int{http.StatusConflict, http.StatusPreconditionFailed},
		},
		func(c *call) error { return c.deleteOne(r) },
	}
}

// deleteMany is DELETE of several records.
func (a *API) deleteMany(r *inventory.Resource) operation {
	return operation{
		openapi.Operation{
			ID: "delete" + names(r), Tag: r.Name(), Summary: "Delete several " + nouns(r) + ": all or none",
			Parameters: []openapi.Parameter{openapi.DryRun()},
			Body:       &openapi.Body{Schema: items(openapi.ID(""))},
			Answers:    []openapi.Answer{{Status: http.StatusOK, Schema: bulk(r, "Deleted", openapi.ID(""))}},
			Errors:     []int{http.StatusNotFound, http.StatusConflict},
		},
		func(c *call) error { return c.deleteMany(r) },
	}
}

// countLocations is the count that needs no token.
func (a *API) countLocations() operation {
	return operation{
		openapi.Operation{
			ID: "countLocations", Tag: "system", Summary: "Count the locations",
			Answers: []openapi.Answer{{Status: http.StatusOK, Schema: openapi.Object("", openapi.Must("count", openapi.Integer("", 0)))}},
		},
		(*call).countLocations,
	}
}

// running says that the API is.
func (a *API) running() operation {
	return operation{
		openapi.Operation{
			ID: "running", Tag: "system", Summary: "Say that the API is running",
			Answers: []openapi.Answer{{Status: http.StatusOK, Schema: openapi.Const("Running API v1"), ContentType: "text/plain"}},
		},
		(*call).running,
	}
}

// record is an answer with a record.
func record(status int, r *inventory.Resource) openapi.Answer {
	return openapi.Answer{Status: status, Schema: openapi.Record(r), Headers: tagged()}
}

func tagged() []openapi.Header { return []openapi.Header{openapi.ETag()} }

// page is the answer of a list.
func page(r *inventory.Resource) openapi.Answer {
	return openapi.Answer{Status: http.StatusOK, Schema: openapi.Page(r)}
}

// items is an array with at least one.
func items(of *openapi.Schema) *openapi.Schema {
	s := openapi.Items(of)
	s.MinItems = 1
	return s
}

// bulk is what is answered to several items: "Created", "Updated" or "Deleted".
func bulk(r *inventory.Resource, done string, result *openapi.Schema) *openapi.Schema {
	return openapi.Confirmation(names(r)+done,
		openapi.Must(strings.ToLower(done), openapi.Integer("How many.", 0)),
		openapi.Must("results", openapi.Items(result)))
}
