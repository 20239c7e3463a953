// Package feature describes a part of an inventory as one value: its operations of the API, and its pages of
// the console. A server and an embedding program hand a list of such values to httpapi.Options; what no
// feature brings does not exist.
//
//	api, err := httpapi.New(engine, guard, &httpapi.Options{Features: []*feature.Feature{drift.New()}})
//	pages, err := console.New(api, nil) // with those of the features
//
// A feature imports neither the API nor the console: a handler is a function of a request to a response, and
// asks for everything through [Inventory]. The features of this module have no access that others lack.
package feature

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// Feature is a part of an inventory. It is not changed after it was handed over.
type Feature struct {
	// Needs are the resources, with a record of the type of each, without which the feature is left out.
	Needs      map[string]records.Record
	Operations []Operation
	Pages      site.Pages
	// State, if not nil, returns what the handlers keep for an inventory, such as a cache. It is called once for
	// each API, with the store of its records, and Request.State has the result.
	State func(store records.Store) any
}

// Fits reports whether a schema has the resources that the feature needs, with its types.
func (f *Feature) Fits(schema *records.Schema) bool {
	for name, rec := range f.Needs {
		if r, ok := schema.Named(name); !ok || !r.Is(rec) {
			return false
		}
	}
	return true
}

// Operation is an operation of the API: one method of a path.
type Operation struct {
	// Operation describes it, with Method and Path. The parameter dry_run, if it is among Parameters, makes a
	// request a dry run.
	openapi.Operation
	// Access says who may use it.
	Access auth.Permission
	// Scoped says that the handler asks Inventory.May about each resource that a request concerns. Senders with
	// scopes may use no other operations.
	Scoped bool
	// OwnPreview says that a dry run gets one of Responses. Otherwise it gets the preview that dry runs have in
	// common, which the API sends.
	OwnPreview bool
	// Handle serves a request of a sender with Access. It runs outside of transactions.
	Handle func(ctx context.Context, r *Request) (*Response, error)
}

// Request is a request to an operation.
type Request struct {
	HTTP      *http.Request // with its body, path values and header
	Query     url.Values    // nil for none; all parameters are known ones
	DryRun    bool
	Inventory Inventory
	State     any // see Feature
}

// Number returns the value of a query parameter, a whole number from least to most.
func (r *Request) Number(name string, least, most, byDefault int) (int, error) {
	if !r.Query.Has(name) {
		return byDefault, nil
	}
	n, err := strconv.Atoi(r.Query.Get(name))
	if err != nil || n < least || n > most {
		return 0, records.InvalidField(name, fmt.Sprintf("must be a whole number from %d to %d", least, most))
	}
	return n, nil
}

// Choice returns the value of a query parameter, one of several; without it the first.
func (r *Request) Choice(name string, values ...string) (string, error) {
	value := r.Query.Get(name)
	switch {
	case !r.Query.Has(name):
		return values[0], nil
	case !slices.Contains(values, value):
		return "", records.InvalidField(name, "must be "+strings.Join(values, " or "))
	}
	return value, nil
}

// Find returns the id of a record that the sender may see, from a query parameter or else from the path.
func (r *Request) Find(ctx context.Context, name string, of *records.Resource) (string, error) {
	id := strings.ToLower(cmp.Or(r.Query.Get(name), r.HTTP.PathValue(name)))
	if !records.ValidID(id) {
		return "", records.InvalidField(name, "must be the id of a "+of.Noun()+", such as 018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f")
	}
	_, err := r.Inventory.Records().Get(ctx, of, id)
	return id, err
}

// Inventory gives a handler the inventory with the rights of the sender.
type Inventory interface {
	// Records has what the sender may see.
	Records() records.Reader
	// SeesAll reports whether that is every record, because the sender is not limited to locations.
	SeesAll() bool
	// May returns why the sender may not perform an operation on a resource, nil if the sender may.
	May(r *records.Resource, does records.Routes) error
	// Read runs a query of many records in its turn (httpapi.HeavyOptions).
	Read(ctx context.Context, query func(ctx context.Context) error) error
	// Change runs inTransaction in one transaction, which a dry run does not commit, and returns what it changes.
	// inTransaction may run more than once. It neither waits for the network nor hashes passwords.
	Change(ctx context.Context, inTransaction func(ctx context.Context, tx *Transaction) error) (*Preview, error)
}

// Transaction makes changes of the sender. Its methods check the sender's rights on each record.
type Transaction struct {
	*records.Engine
	By      records.Caller // the sender
	Records records.Reader // what the sender may see, with the changes of the transaction
}

// Preview lists what a transaction changes that the sender may see.
type Preview struct {
	Message   string   // in one sentence
	Changes   []Change // at most records.MaxPreview
	Truncated bool     // whether there are more
}

// Change is an entry of the audit log, in the form of a response to a dry run.
type Change struct {
	Action       string          `json:"action"`
	ResourceType string          `json:"resource_type"`
	ResourceID   string          `json:"resource_id"` // empty for a new record
	Changes      records.Changes `json:"changes"`
	Cause        string          `json:"cause"`
}

// MaxValues is the maximum number of JSON values in a body: those of records.MaxItems devices
// with 50 tags each, and some more. Decoding so many takes a bit less than the share that one
// client has of the memory for requests (httpx.BudgetOptions).
const MaxValues = 75_000

// Response is the response to a request.
type Response struct {
	Status int
	Body   any // encoded as JSON
}
