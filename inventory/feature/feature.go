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
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/accounts"
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
	// Reserved are names that custom fields may not have: parameters beside filters, and members beside fields.
	Reserved []string
	// Tags has a sentence about each tag of the operations that is no resource.
	Tags  map[string]string
	Pages site.Pages
	// Jobs run while a server runs (server.Server.Serve).
	Jobs []Job
	// Accounts, if not nil, are those of the senders of all requests: the API asks them about API tokens, roles and
	// locations, and checks the account of the sender in the transaction of each change. At most one feature has them.
	Accounts *accounts.Service
	// Rules are those of the records of some resources, in addition to their descriptions.
	Rules []Rules
	// Proposals, if not nil, store requests that change records, for another user to make. At most one feature has them.
	Proposals *Proposals
	// State, if not nil, returns what the handlers keep for an inventory, such as a cache. It is called once for
	// each API, with the store of its records, and Request.State has the result.
	State func(store records.Store) any
}

// Parts returns what features add to a schema:
//
//	schema, err := inventory.NewSchema(feature.Parts(features...)...)
func Parts(features ...*Feature) (parts []records.Part) {
	for _, f := range features {
		if f != nil {
			parts = append(append(parts, f.Schema...), records.Reserve(f.Reserved...))
		}
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

// Job is work in the background of all processes that serve a database. It ends with ctx and returns nil then; what fails
// it logs and tries again. An error ends the server.
type Job = func(ctx context.Context, b *Background) error

// Background is what a job gets of a server.
type Background struct {
	Engine *records.Engine
	Log    *slog.Logger
	// Keep says how many records are kept and how long, by the name of their resource; no entry or a zero one keeps all.
	// Metrics, which are summarized first, are metrics-raw, and their summaries metrics-5m and metrics-1h.
	Keep map[string]records.Retention
	// PrivateTargets permits connections to addresses outside of the public network that administrators name. Key encrypts
	// secrets in the database; empty for one that is stored there.
	PrivateTargets bool
	Key            []byte
	// Count adds 1 to a counter of the server with the values of its labels. Nil for none.
	Count func(metric string, labels ...string)
	// Ran is called after each run of a task, such as prune, with its error, for metrics. Nil for none.
	Ran func(task string, err error)
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
	// Login says that API tokens may not use the operation, whatever their scopes.
	Login bool
	// BeforePassword says that senders who must change their password first may use the operation, for their own record.
	BeforePassword bool
	// Secret says that the last segment of Path, "{code}" for example, is a secret: neither logs nor the audit log have
	// it. The handler gets it as the path value.
	Secret bool
	// Foreign says that the operation is one of another API: the OpenAPI document leaves it out, and a parameter may occur
	// more than once.
	Foreign bool
	// MaxBody is the maximum size of a body in bytes, if it is larger than that of other requests.
	MaxBody int64
	// RawBody says that the body is not checked (httpapi.Options.Chain): the handler passes what it reads to
	// Inventory.Check.
	RawBody bool
	// Joins says that the handler can be a part of a transaction (Request.Joined): it changes records by Inventory.Engine only.
	Joins bool
	// Approves says that the operation decides about proposals: Proposals.Review does not count.
	Approves bool
	// Handle serves a request of a sender who may use the operation. It runs outside of transactions. The response is not
	// nil without an error.
	Handle func(ctx context.Context, r *Request) (*Response, error)
}

// Proposals store requests: all bulk requests, and those of operations that Join.
type Proposals struct {
	// Review names what users have to propose: pairs of a resource and a role such as devices:editor, in which * is all.
	Review []string
	// Propose responds to a request with the parameter propose, which is a comment. Schema describes the response, 202.
	Propose func(ctx context.Context, r *Request, sent *Sent) (*Response, error)
	Schema  *openapi.Schema
}

// Sent is a request that changes records (Inventory.Repeat).
type Sent struct {
	Method, Path, ID string // Path is that of the operation, with {id} for the ID
	Query, Type      string // the parameters, and the type of the body
	Body             []byte
}

// Rules are those that the API applies when it changes records of a resource, in addition to the description of the
// resource. All functions are required.
type Rules struct {
	Resource string
	// Input are members of a change that are no fields, for the description of the API.
	Input []openapi.Property
	// Secrets are members of new records, such as passwords, that do not count when a repeated request is recognized,
	// because the inventory would have to keep a hash of them.
	Secrets []string
	// Keep are the fields that a PUT without them leaves unchanged.
	Keep []string
	// Check refuses objects of a request before anything is done for them.
	Check func(sent []records.Patch) error
	// New and Edit do what is to be done before the transaction, such as to hash a password. finish is called in the
	// transaction, perhaps more than once: it completes a new record, or checks and completes a changed one. Edit removes
	// the members of sent that are no fields.
	New  func(ctx context.Context, r *Request, sent records.Patch) (finish func(rec records.Record) error, err error)
	Edit func(ctx context.Context, r *Request, id string, sent records.Patch) (finish func(before, after records.Record) error, err error)
	// Delete is called with a record, in the transaction that deletes it.
	Delete func(r *Request, rec records.Record) error
	// Action returns the action of a change in the audit log, empty for the usual one.
	Action func(before, after records.Record) string
	// Done is called with the ids of records that have been changed or deleted.
	Done func(ctx context.Context, r *Request, ids ...string)
}

// Request is a request to an operation.
type Request struct {
	HTTP      *http.Request // with its body, path values and header
	Query     url.Values    // nil for none; all parameters are known ones
	DryRun    bool
	Joined    bool // it is a part of a transaction, which may still fail
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

	// Repeat makes a request again as the sender, in one transaction, and then calls last in it with an engine that places do not limit. The audit
	// log names the author too, unless that is empty. Without commit nothing is stored. A response that is not nil is that of a
	// request that was refused.
	Repeat(ctx context.Context, sent *Sent, author string, commit bool, last func(ctx context.Context, in *records.Engine, p *records.Preview) error) (*Response, error)
	// Seen returns what the sender sees of entries of the audit log, by their right to list the records.
	Seen(ctx context.Context, entries []*records.AuditLog) ([]*records.AuditLog, error)

	// Account is the request as the accounts know it, nil without Feature.Accounts.
	Account() *accounts.Request
	// Authenticate returns the sender of a request to a public operation, which the API does not ask for. The error is
	// that of a request without a valid token.
	Authenticate() (*auth.Identity, error)
	// Forget makes the API read a user again before the next request, after their tokens have been invalidated.
	Forget(userID string)

	// Refusal returns an error as the API responds with it, for a handler that sends it in another form.
	Refusal(err error) error
	// Check refuses a document in JSON that no body may contain, such as one with markup.
	Check(doc []byte) *httpx.Error
	// Unbounded returns ctx without the limit of the duration of requests, for a handler that bounds each of its
	// steps. It ends when the client disconnects.
	Unbounded(ctx context.Context) context.Context
	// PrivateTargets reports whether a handler may connect to addresses outside of the public network that the sender names.
	PrivateTargets() bool
	// Key encrypts secrets in the database; empty for one that is stored there.
	Key() []byte
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
	// Append, if not nil, appends the body in JSON, in place of Body, and Tag is its entity tag, empty for none.
	Append func(b []byte) []byte
	Tag    string
	// Message is that of the preview of a dry run. Default: it counts the changes.
	Message string
	// Send, if not nil, sends the response in place of Status, Header and Body.
	Send func(w http.ResponseWriter, r *http.Request) error
}

// WithBody returns a handler that decodes the body in JSON first.
func WithBody[T any](handle func(ctx context.Context, r *Request, sent T) (*Response, error)) func(ctx context.Context, r *Request) (*Response, error) {
	body := httpx.NewBody[T](nil)
	return func(ctx context.Context, r *Request) (*Response, error) {
		sent, err := body.Read(r.HTTP)
		if err != nil {
			return nil, err
		}
		return handle(ctx, r, sent)
	}
}

// WithID returns a handler that gets the id of the path in its stored form.
func WithID(handle func(ctx context.Context, r *Request, id string) (*Response, error)) func(ctx context.Context, r *Request) (*Response, error) {
	return func(ctx context.Context, r *Request) (*Response, error) {
		id, err := r.ID()
		if err != nil {
			return nil, err
		}
		return handle(ctx, r, id)
	}
}

// OK is a response with status 200.
func OK(body any) *Response { return &Response{Body: body} }
