package httpapi

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/sanitize"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
)

// Authenticator says who sends a request. An [auth.Guard] is one; an application that knows its
// users by other means has one of its own.
type Authenticator interface {
	// Authenticate returns who sends the request, with one of the roles of auth. The
	// error is an [*auth.Error] of a kind that is Unauthorized, or a failure. It
	// is called once for each request of a route that is not public, and by many goroutines.
	// With [Options].Accounts, who sends it is a user of the inventory, by their id.
	Authenticate(r *http.Request) (*auth.Claims, error)
}

// Options are the choices of an [API]. Nil means the defaults.
type Options struct {
	// Accounts is what the routes under /users need. Default, when nil: accounts are the
	// application's own, and there are no such routes.
	Accounts *Accounts
	// Chain is what the routes stand behind. Where it has no Check, that is a
	// sanitize.Policy. Default: the defaults of httpx.Standard.
	Chain *httpx.StandardOptions
	// Clients says where requests come from, for the audit log and for throttling logins.
	// Default: that of Chain, or the peer of the connection.
	Clients *httpx.Clients
	// Docs is mounted at /docs/, without that prefix, and is public. Default: no such page.
	Docs http.Handler
	// ServerURL is where the API is, for its OpenAPI document. Default: where
	// the document was found.
	ServerURL string
	// Version is that of the program, for the document. Default: "1".
	Version string
	// Timeout is how long a request may wait for the store, and for its turn to have a
	// password hashed; then it is answered with 503. Default: 30 seconds.
	Timeout time.Duration
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Log takes what goes wrong behind an answer that can't tell of it, such as a mail
	// that could not be handed over. Default: slog.Default().
	Log *slog.Logger
}

// Accounts is what it takes to log in, and to see to passwords.
type Accounts struct {
	Tokens *auth.Tokens // required
	Hasher *auth.Hasher // required
	// SendReset has a code sent to a user who forgot their password. It must not wait for
	// the mail to arrive: it takes it, or says why not. The user is a copy. Required.
	SendReset func(ctx context.Context, to *inventory.User, code string, valid time.Duration) error
	// Forget is called with the id of a user whose tokens have lost their force. Default:
	// the Authenticator's own method of that name, if it has one, as an [auth.Guard] has.
	Forget func(userID string)
	// RequireCurrentPassword demands current_password of everybody who changes their own
	// password. Default: it is checked if it is sent (reference, ruling 12).
	RequireCurrentPassword bool
}

// API is an inventory over HTTP. It is an http.Handler for any number of goroutines, and
// there is nothing to close. Make one with [New].
type API struct {
	store    inventory.Store
	changes  *inventory.Inventory
	gate     Authenticator
	opts     Options
	accounts *Accounts
	throttle *throttle
	encoders map[*inventory.Resource]*encoder
	bodies   bodies
	buffers  buffers
	routes   []route
	document func() (*document, error)
	handler  http.Handler
}

// New makes the API of the inventory in a store. opts may be nil. The error says which
// part is missing, or what is wrong with it.
func New(store inventory.Store, gate Authenticator, opts *Options) (*API, error) {
	if store == nil || gate == nil {
		return nil, errors.New("httpapi: an API needs a store and a gate")
	}
	a := &API{store: store, gate: gate, bodies: newBodies(), encoders: map[*inventory.Resource]*encoder{}}
	for _, r := range inventory.Resources() {
		a.encoders[r] = newEncoder(r)
	}
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
	a.changes = inventory.New(store, &inventory.Options{Now: a.opts.Now})
	chain := a.chain()
	a.opts.Clients = cmp.Or(a.opts.Clients, chain.Clients)
	if err := a.withAccounts(); err != nil {
		return nil, err
	}
	a.routes = a.table()
	a.document = sync.OnceValues(a.describe)
	a.handler = httpx.Standard(chain)(a.router())
	return a, nil
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.handler.ServeHTTP(w, withoutCode(r))
}

// chain is what the routes stand behind.
func (a *API) chain() *httpx.StandardOptions {
	chain := httpx.StandardOptions{}
	if a.opts.Chain != nil {
		chain = *a.opts.Chain
	}
	if chain.Check == nil {
		chain.Check = sanitize.New(nil).Middleware
	}
	return &chain
}

// withAccounts takes over what the routes of users need.
func (a *API) withAccounts() error {
	if a.opts.Accounts == nil {
		return nil
	}
	accounts := *a.opts.Accounts
	if accounts.Tokens == nil || accounts.Hasher == nil || accounts.SendReset == nil {
		return errors.New("httpapi: accounts need Tokens, a Hasher and SendReset")
	}
	if accounts.Forget == nil {
		accounts.Forget = func(string) {}
		if gate, ok := a.gate.(interface{ Forget(userID string) }); ok {
			accounts.Forget = gate.Forget
		}
	}
	a.accounts = &accounts
	var err error
	a.throttle, err = newThrottle(a.opts.Now)
	return err
}
