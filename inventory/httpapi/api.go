package httpapi

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/sanitize"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Authenticator identifies who sends a request. An [auth.Guard] is one; an application with
// accounts of its own provides another.
type Authenticator interface {
	// Authenticate returns the sender of the request, with one of the roles of auth. The
	// error is an [*auth.Error] of an Unauthorized kind, or a failure. It is called once for
	// each request to a route that is not public, concurrently. With [Options].Accounts the
	// sender is a user of the inventory, by their id.
	Authenticate(r *http.Request) (*auth.Claims, error)
}

// Options configure an [API]. Nil means the defaults.
type Options struct {
	// Accounts enables the routes under /users. Default, when nil: no such routes, because
	// the accounts are the application's own.
	Accounts *Accounts
	// Chain configures the middleware around the routes. Its Check, which may read bodies, runs
	// in each route after the sender has been authenticated; it defaults to a sanitize.Policy.
	// Default: the defaults of httpx.Standard.
	Chain *httpx.StandardOptions
	// Clients determines the addresses of clients, for the audit log and for throttling.
	// Default: that of Chain, or the peer of the connection.
	Clients *httpx.Clients
	// Docs is mounted at /docs/, without that prefix, and is public. Default: no such page.
	Docs http.Handler
	// ServerURL is the address of the API in its OpenAPI document. Default: relative to the
	// document.
	ServerURL string
	// Version is the version of the program in the document. Default: "1".
	Version string
	// Permit makes the final decision about a request to a resource: denied is nil, or why the
	// description of the resource denies it (records.Access). It returns denied to agree, nil to
	// allow, or an [*auth.Error] of kind Forbidden. It is called for each request, concurrently.
	// Default: the description decides.
	Permit func(r *http.Request, sender *auth.Claims, resource *records.Resource, operation records.Routes, denied error) error
	// Observe is called after each request, for metrics, concurrently. Default: nothing.
	Observe func(Observation)
	// Heavy bounds the queries that may read many records.
	Heavy HeavyOptions
	// Changes bounds the change feed.
	Changes ChangesOptions
	// Timeout bounds how long a request waits for the store and for password hashing; then
	// it fails with 503. Default: 30 seconds.
	Timeout time.Duration
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Log receives errors that no response reports, such as an email that could not be sent.
	// Default: slog.Default().
	Log *slog.Logger
}

// Accounts configure logins and passwords.
type Accounts struct {
	Tokens *auth.Tokens // required
	Hasher *auth.Hasher // required
	// SendReset sends a reset code to a user who forgot their password. It must not wait for
	// the delivery. The user is a copy. Required.
	SendReset func(ctx context.Context, to *inventory.User, code string, valid time.Duration) error
	// Forget is called with the id of a user whose tokens have been invalidated. Default: the
	// method of that name of the Authenticator, if it has one, as an [auth.Guard] has.
	Forget func(userID string)
	// RequireCurrentPassword makes current_password mandatory when users change their own
	// password. Default: it is checked if present (REFERENCE.md, 3.3).
	RequireCurrentPassword bool
}

// maxValues is the maximum number of JSON values in a body: those of records.MaxItems devices
// with 50 tags each, and some more. Decoding so many takes a bit less than the share that one
// client has of the memory for requests (httpx.BudgetOptions).
const maxValues = 75_000

// API serves an inventory over HTTP. It is an http.Handler, safe for concurrent use, and
// needs no closing. Create it with [New].
type API struct {
	store         records.Store
	changes       *records.Engine
	authenticator Authenticator
	opts          Options
	accounts      *Accounts
	throttle      *throttle
	heavy         *heavyQueries
	feed          *feed            // nil if the store keeps no chain of its audit log
	check         httpx.Middleware // Chain.Check
	encoders      *encoders
	bodies        bodies
	buffers       sync.Pool // *[]byte
	routes        []route
	documents     documents
	handler       http.Handler
}

// New returns the API of the inventory in a store. opts may be nil. The error names a
// missing argument or an invalid option.
func New(store records.Store, authenticator Authenticator, opts *Options) (*API, error) {
	if store == nil || authenticator == nil {
		return nil, errors.New("httpapi: store and authenticator are required")
	}
	a := &API{store: store, authenticator: authenticator, encoders: &encoders{}}
	a.bodies = bodies{httpx.NewBody[records.Patch](nil), httpx.NewBody[[]records.Patch](&httpx.BodyOptions{MaxValues: maxValues}), httpx.NewBody[[]string](nil)}
	if opts != nil {
		a.opts = *opts
	}
	if a.opts.Now == nil {
		a.opts.Now = time.Now
	}
	a.opts.Log = cmp.Or(a.opts.Log, slog.Default())
	a.opts.Version = cmp.Or(a.opts.Version, "1")
	if a.opts.Timeout <= 0 {
		a.opts.Timeout = 30 * time.Second
	}
	a.changes = records.New(store, &records.Options{Now: a.opts.Now})
	chain := httpx.StandardOptions{}
	if a.opts.Chain != nil {
		chain = *a.opts.Chain
	}
	if chain.Repeatable == nil {
		chain.Repeatable = []string{"sortby", "tags", "resource"}
	}
	a.check, chain.Check = chain.Check, nil
	if a.check == nil {
		a.check = sanitize.New(nil).Middleware
	}
	a.opts.Clients = cmp.Or(a.opts.Clients, chain.Clients)
	if err := a.setAccounts(); err != nil {
		return nil, err
	}
	a.heavy = newHeavyQueries(a.opts.Heavy, store)
	a.feed = newFeed(store, a.opts.Changes, a.opts.Timeout)
	a.routes = a.table()
	a.handler = httpx.Standard(&chain)(a.router())
	return a, nil
}

// setAccounts validates Options.Accounts and sets its defaults.
func (a *API) setAccounts() error {
	if a.opts.Accounts == nil {
		return nil
	}
	accounts := *a.opts.Accounts
	if accounts.Tokens == nil || accounts.Hasher == nil || accounts.SendReset == nil {
		return errors.New("httpapi: Options.Accounts: Tokens, Hasher and SendReset are required")
	}
	if accounts.Forget == nil {
		accounts.Forget = func(string) {}
		if f, ok := a.authenticator.(interface{ Forget(userID string) }); ok {
			accounts.Forget = f.Forget
		}
	}
	a.accounts = &accounts
	var err error
	a.throttle, err = newThrottle(a.opts.Now)
	return err
}

// ServeHTTP serves one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = hideResetCode(r)
	if a.opts.Observe == nil {
		a.handler.ServeHTTP(w, r)
		return
	}
	a.observe(w, r)
}

// AccountStates implements auth.Accounts with the users of a store. It bypasses replicas
// ([records.Fresh]), because an [auth.Guard] caches what it returns.
type AccountStates struct{ users records.Reader }

// NewAccountStates returns the AccountStates of the users in a store.
func NewAccountStates(users records.Reader) *AccountStates {
	return &AccountStates{records.Fresh(users)}
}

// AccountState returns the current state of the user with an id: the zero state if there is
// no such user. The error is a failure of the store.
func (s *AccountStates) AccountState(ctx context.Context, userID string) (auth.AccountState, error) {
	if !records.ValidID(userID) {
		return auth.AccountState{}, nil
	}
	u, err := records.Get[inventory.User](ctx, s.users, strings.ToLower(userID))
	switch {
	case records.KindOf(err) == records.NotFound:
		return auth.AccountState{}, nil
	case err != nil:
		return auth.AccountState{}, err
	}
	return auth.AccountState{Active: !u.InactiveStatus, Role: auth.Role(u.Role), Epoch: u.Epoch}, nil
}
