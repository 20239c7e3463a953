package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/sanitize"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// Authenticator identifies who sends a request. A jwt.Guard is one; an application with accounts
// of its own provides another.
type Authenticator interface {
	// Authenticate returns the sender of the request, not nil, which the API does not change. Its
	// role is one that the permissions of resources name. The error is an [*auth.Error] of an
	// Unauthorized kind, a 401 of httpx with another WWW-Authenticate than Bearer, or a failure. It is called once for each request to a route that is not
	// public, concurrently. With accounts ([feature.Feature]) the sender is a user of the inventory, by
	// their id, and the epoch is that of their record, and the locations are those of their record
	// or some of them (auth.AccountState.Limit).
	Authenticate(r *http.Request) (*auth.Identity, error)
}

// Options configure an [API]. Nil means the defaults.
type Options struct {
	// Chain configures the middleware around the routes. Its Check, which may read bodies, runs
	// in each route after the sender has been authenticated; it defaults to a sanitize.Policy.
	// It also has the origins, headers of CORS and the form of errors. Default: the defaults of
	// httpx.Standard.
	Chain *httpx.StandardOptions
	// Clients determines the addresses of clients, for the audit log and for throttling.
	// Default: that of Chain, or the peer of the connection.
	Clients *httpx.Clients
	// Features are the parts of the inventory besides the records. Without one that has accounts, such as that of package
	// logins, the accounts are those of the application, and there are no routes of users. Default: none.
	Features []*feature.Feature
	// Docs is mounted at /docs/, without that prefix, and is public. Default: no such page.
	Docs http.Handler
	// ServerURL is the address of the API in its OpenAPI document. Default: relative to the
	// document.
	ServerURL string
	// Version is the version of the program in the document. Default: "1".
	Version string
	// Permit decides about a request to a resource: denied is nil, or why the description of the
	// resource denies it (records.Access). It returns denied to agree, nil to allow, or an
	// [*auth.Error] of kind Forbidden, such as [auth.Denied]. The scopes of the sender restrict
	// what it allows. It is called for each request, concurrently. Default: the description
	// decides.
	Permit func(r *http.Request, sender *auth.Identity, resource *records.Resource, operation records.Routes, denied error) error
	// Observe is called after each request with its context, for metrics and traces, concurrently. Default: nothing.
	Observe func(context.Context, Observation)
	// Heavy bounds the queries that may read many records.
	Heavy HeavyOptions
	// Changes bounds the change feed.
	Changes ChangesOptions
	// PrivateTargets permits administrators to make the server read from addresses outside of the public network that they
	// name, such as a NetBox to import from. Default: public ones only.
	PrivateTargets bool
	// Key encrypts the secrets of features, such as those of webhooks, in the database. It has any length, and the jobs of the
	// features get the same (feature.Background). Default: a random one, which is stored in the database.
	Key []byte
	// Timeout bounds how long a request waits for the store and for password hashing; then
	// it fails with 503. Default: 30 seconds.
	Timeout time.Duration
	// Log receives errors that no response reports, such as an email that could not be sent.
	// Default: slog.Default().
	Log *slog.Logger
}

// API serves an inventory over HTTP. It is an http.Handler, safe for concurrent use, and
// needs no closing. Create it with [New].
type API struct {
	store         records.Store
	changes       *records.Engine
	authenticator Authenticator
	opts          Options
	accounts      *accounts.Service         // nil for those of the application
	rules         map[string]*feature.Rules // by resource
	secrets       []string                  // paths of operations with a secret, up to it
	proposals     *feature.Proposals        // nil for none
	review        map[string]bool           // see setReview
	notes         *ratelimit.Limiter        // of events of accounts, once a minute
	now           func() time.Time
	heavy         *heavyQueries
	feed          *waiters         // nil if the store keeps no chain of its audit log
	check         httpx.Middleware // Chain.Check
	maxBody       int64            // in bytes
	encoders      encode.Cache
	bodies        bodies
	buffers       sync.Pool // *[]byte
	routes        []route
	states        map[*feature.Feature]any // set by New
	documents     documents
	bare, handler http.Handler // without and with the chain
}

// New returns the API of an inventory. All changes go through the engine, with its clock and its
// hooks (records.Engine.BeforeCommit). opts may be nil. The error names a missing argument or an
// invalid option.
func New(engine *records.Engine, authenticator Authenticator, opts *Options) (*API, error) {
	if engine == nil || authenticator == nil {
		return nil, errors.New("httpapi: engine and authenticator are required")
	}
	if err := records.CheckStore(engine.Store(), &records.AuditLog{}); err != nil {
		return nil, fmt.Errorf("httpapi: %w", err)
	}
	a := &API{store: engine.Store(), changes: engine, now: engine.Now, authenticator: authenticator, states: map[*feature.Feature]any{}}
	a.bodies = bodies{httpx.NewBody[records.Patch](nil), httpx.NewBody[[]records.Patch](&httpx.BodyOptions{MaxValues: feature.MaxValues}), httpx.NewBody[[]json.RawMessage](nil), httpx.NewBody[[]part](&httpx.BodyOptions{MaxValues: feature.MaxValues})}
	if opts != nil {
		a.opts = *opts
	}
	if slices.Contains(a.opts.Features, nil) {
		return nil, errors.New("httpapi: Options.Features: a feature is nil")
	}
	a.opts.Log = cmp.Or(a.opts.Log, slog.Default())
	a.opts.Version = cmp.Or(a.opts.Version, "1")
	if a.opts.Timeout <= 0 {
		a.opts.Timeout = 30 * time.Second
	}
	chain := httpx.StandardOptions{}
	if a.opts.Chain != nil {
		chain = *a.opts.Chain
	}
	if chain.Repeatable == nil {
		chain.Repeatable = []string{"sortby", "tags", "resource"}
	}
	a.maxBody = cmp.Or(chain.MaxBody, httpx.DefaultBodyLimit)
	chain.MaxBody = a.maxBody
	for _, f := range a.Features() {
		for i := range f.Operations {
			chain.MaxBody = max(chain.MaxBody, f.Operations[i].MaxBody) // each route has its own
		}
	}
	a.check, chain.Check = chain.Check, nil
	if a.check == nil {
		a.check = sanitize.New(nil).Middleware
	}
	a.opts.Clients = cmp.Or(a.opts.Clients, chain.Clients)
	err := a.setAccounts()
	if err != nil {
		return nil, err
	}
	if a.notes, err = newNotes(engine); err != nil {
		return nil, err
	}
	a.heavy = newHeavyQueries(a.opts.Heavy, a.store)
	a.feed = newWaiters(a.store, a.opts.Changes, a.opts.Timeout)
	if a.routes, err = a.table(); err != nil {
		return nil, err
	}
	if err = cmp.Or(a.checkRoles(), a.setReview()); err != nil {
		return nil, err
	}
	router, err := a.router()
	if err != nil {
		return nil, err
	}
	for _, rt := range a.routes {
		if rt.feature != nil && rt.feature.Foreign {
			path, _, _ := strings.Cut(rt.path, "{")
			chain.Repeatable = append(slices.Clip(chain.Repeatable), path)
		}
	}
	a.handler = httpx.Standard(&chain)(router)
	a.bare = httpx.Chain(httpx.RenderErrors(chain.RenderError), httpx.SingleParams(chain.Repeatable...), httpx.BodyLimit(chain.MaxBody))(router)
	return a, nil
}

// setAccounts finds the accounts, the rules and the secrets of the features.
func (a *API) setAccounts() error {
	a.rules = map[string]*feature.Rules{}
	for _, f := range a.Features() {
		if f.Accounts != nil {
			if a.accounts != nil {
				return errors.New("httpapi: Options.Features: two have Accounts")
			}
			a.accounts = f.Accounts
		}
		a.proposals = cmp.Or(a.proposals, f.Proposals)
		for i := range f.Rules {
			own := &f.Rules[i]
			_, known := a.store.Schema().Named(own.Resource)
			if !known || a.rules[own.Resource] != nil || own.Check == nil || own.New == nil || own.Edit == nil || own.Delete == nil || own.Action == nil || own.Done == nil {
				return fmt.Errorf("httpapi: Options.Features: the rules of %q: the resource is unknown or has other rules, or a function is missing", own.Resource)
			}
			a.rules[own.Resource] = own
		}
		for i := range f.Operations {
			if op := &f.Operations[i]; op.Secret {
				a.secrets = append(a.secrets, op.Path[:strings.LastIndexByte(op.Path, '/')+1])
			}
		}
	}
	if users := a.Users(); users != nil && a.rules[users.Name] == nil {
		return errors.New("httpapi: Options.Features: one has Accounts, and none has the rules of the records of users")
	}
	return nil
}

// forget makes the authenticator and the accounts read a user again.
func (a *API) forget(userID string) {
	if f, ok := a.authenticator.(interface{ Forget(userID string) }); ok {
		f.Forget(userID)
	}
	a.accounts.Forget(userID)
}

// ServeHTTP serves one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.serveWith(a.handler, w, r)
}

// Bare returns the API without the middleware of Options.Chain, for a program with middleware of its
// own. Of the chain it has what its routes rely on: the limit of bodies, the refusal of repeated
// parameters, RenderError and Check. It is safe for concurrent use beside the API itself.
func (a *API) Bare() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.serveWith(a.bare, w, r) })
}

// serveWith serves one request with a handler.
func (a *API) serveWith(h http.Handler, w http.ResponseWriter, r *http.Request) {
	r = a.hideSecret(r)
	if a.opts.Observe == nil {
		h.ServeHTTP(w, r)
		return
	}
	a.observe(h, w, r)
}
