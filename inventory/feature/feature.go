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
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// Feature is a part of an inventory. It is not changed after it was handed over.
type Feature struct {
	// Needs are the resources, with a record of the type of each, without which the feature is left out.
	Needs map[string]records.Record
	// Schema has the resources, fields and hooks that the feature adds to the schema of the inventory (see Parts):
	// records.Define, records.Extend, records.OnChange, records.AfterCommit.
	Schema     []records.Part
	Operations []Operation
	// Tags has a sentence about each tag of the operations that is no resource.
	Tags  map[string]string
	Pages site.Pages
	// State, if not nil, returns what the handlers keep for an inventory, such as a cache. It is called once for
	// each API, with the store of its records, and Request.State has the result.
	State func(store records.Store) any
}

// Parts returns what features add to a schema:
//
//	schema, err := inventory.NewSchema(feature.Parts(features...)...)
func Parts(features ...*Feature) (parts []records.Part) {
	for _, f := range features {
		parts = append(parts, f.Schema...)
	}
	return parts
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
//
// One with the method and path of an operation that all resources have, such as PATCH /events/{id}, takes its place.
// Then what it leaves empty is that of the other one, and its Parameters are further ones.
type Operation struct {
	// Operation describes it, with Method and Path. The parameter dry_run, if it is among Parameters, makes a
	// request a dry run.
	openapi.Operation
	// Describe, if not nil, completes the description with what depends on the schema, such as the fields of records.
	Describe func(schema *records.Schema, op *openapi.Operation)
	// Resource names the records that the operation reads or changes, and Does says how: those who may do that may
	// use it, by all rules of resources. Empty for an operation with Access.
	Resource string
	Does     records.Routes
	// Access says who may use an operation without Resource.
	Access auth.Permission
	// Scoped says that the handler asks Inventory.May about each resource that a request concerns. Senders with
	// scopes may use no other operations without Resource, except GET with Lists.
	Scoped bool
	// Lists names resources of which the sender has to be allowed to list the records too. Those that the schema
	// lacks are ignored.
	Lists []string
	// OwnPreview says that a dry run gets one of Responses. Otherwise it gets the preview that dry runs have in
	// common, which the API sends.
	OwnPreview bool
	// MaxBody is the maximum size of a body in bytes, if it is larger than that of other requests.
	MaxBody int64
	// RawBody says that the body is not checked (httpapi.Options.Chain): the handler passes what it reads to
	// Inventory.Check.
	RawBody bool
	// Handle serves a request of a sender who may use the operation. It runs outside of transactions.
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
		return 0, records.Refuse(name, records.OutOfRange(least, most, ""))
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
		return "", records.Refuse(name, records.NotOneOf(value, values...))
	}
	return value, nil
}

// ID returns the id of the path in its stored form.
func (r *Request) ID() (string, error) {
	id := strings.ToLower(r.HTTP.PathValue("id"))
	if !records.ValidID(id) {
		return "", records.Refuse("id", records.BadID())
	}
	return id, nil
}

// Find returns the id of a record that the sender may see, from a query parameter or else from the path.
func (r *Request) Find(ctx context.Context, name string, of *records.Resource) (string, error) {
	id := strings.ToLower(cmp.Or(r.Query.Get(name), r.HTTP.PathValue(name)))
	if !records.ValidID(id) {
		return "", records.Refuse(name, records.BadID())
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
	// Sender returns the sender as the audit log names them.
	Sender() records.Caller

	// Read runs a query of many records in its turn (httpapi.HeavyOptions).
	Read(ctx context.Context, query func(ctx context.Context) error) error
	// Query returns the query of the parameters of lists (records.ParseQuery) that the request has. Those of the
	// operation are no filters.
	Query(r *records.Resource) (*records.Query, error)
	// Export calls part with all records of a query, page by page, each in its turn. part returns how many bytes it
	// has made of one.
	Export(ctx context.Context, q *records.Query, part func(ctx context.Context, recs []records.Record) (size int, err error)) error
	// List responds with a list.
	List(ctx context.Context, l *List) (*Response, error)

	// Engine makes changes of the sender, each in a transaction of its own. A dry run commits none.
	Engine() *records.Engine
	// Change runs inTransaction in one transaction, which a dry run does not commit, and returns what it changes.
	// inTransaction may run more than once. It neither waits for the network nor hashes passwords.
	Change(ctx context.Context, inTransaction func(ctx context.Context, tx *Transaction) error) (*Preview, error)
	// Create responds with a record that create creates in a transaction of the engine it gets. A request with an
	// Idempotency-Key and the same body is executed once.
	Create(ctx context.Context, body []byte, create func(v *records.Engine) (records.Record, error)) (*Response, error)
	// Draft returns the record that was sent, with ids in place of natural keys, of which the sender has to be allowed
	// to list the records. in is the engine of a transaction (records.Engine.Together).
	Draft(ctx context.Context, in *records.Engine, r *records.Resource, sent records.Patch) (records.Record, error)
	// Edit changes the record of the path, or those of the body for a path without id, as PATCH of a resource does.
	// plan returns the change for what was sent about one of them.
	Edit(ctx context.Context, r *records.Resource, plan func(sent records.Patch) (apply func(records.Record) error, err error)) (*Response, error)
	// Delete deletes the record of the path, as DELETE of a resource does. check, if not nil, is called with it.
	Delete(ctx context.Context, r *records.Resource, check func(records.Record) error) (*Response, error)

	// Check refuses a document in JSON that no body may contain, such as one with markup.
	Check(doc []byte) *httpx.Error
	// Unbounded returns ctx without the limit of the duration of requests, for a handler that bounds each of its
	// steps. It ends when the client disconnects.
	Unbounded(ctx context.Context) context.Context
}

// List is a list that differs from that of every resource.
type List struct {
	Resource *records.Resource
	Query    url.Values // the parameters, in place of those of the request
	// Read reads a page, and Heavy reports whether that is a heavy query.
	Read  func(ctx context.Context, q *records.Query) (*records.Page, error)
	Heavy func(q *records.Query) bool
	// ExportSort is the order of an export; nil for that of Query.
	ExportSort []records.SortKey
	// Also, if not nil, returns a further member of the records of a page in JSON, by their ids.
	Also func(ctx context.Context, recs []records.Record) (*Member, error)
}

// Member is a text that a list adds to its records.
type Member struct {
	After, Name string            // the field before it, and its name
	Values      map[string]string // by id
}

// Transaction makes changes of the sender. Its methods check the account of the sender, and that each record is at their
// locations. The roles and scopes are those of the operation: ask Inventory.May about other resources.
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

// Changes returns entries of the audit log that were not written, for a response.
func Changes(entries []*records.AuditLog) []Change {
	changes := make([]Change, len(entries))
	for i, e := range entries {
		changes[i] = Change{Action: e.Action, ResourceType: e.ResourceType, ResourceID: e.ResourceID, Changes: e.Changes, Cause: e.Cause}
		if e.Action == "create" {
			changes[i].ResourceID = ""
		}
	}
	return changes
}

// MaxValues is the maximum number of JSON values in a body: those of records.MaxItems devices
// with 50 tags each, and some more. Decoding so many takes a bit less than the share that one
// client has of the memory for requests (httpx.BudgetOptions).
const MaxValues = 75_000

// Response is the response to a request.
type Response struct {
	Status int // default: 200
	Header http.Header
	// Body is encoded as JSON. A record is encoded like others, with its entity tag, and the request may be conditional.
	Body any
	// Message is that of the preview of a dry run. Default: it counts the changes.
	Message string
	// Send, if not nil, sends the response in place of Status, Header and Body.
	Send func(w http.ResponseWriter, r *http.Request) error
}

// OK is a response with status 200.
func OK(body any) *Response { return &Response{Body: body} }
