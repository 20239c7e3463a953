// Package logins is the feature of the accounts of an inventory: users log in with a password, a second factor or an
// identity provider, change and reset passwords, and have sessions and API tokens (REFERENCE.md, 3). It has the rules of
// the records of users too, so that an inventory without the feature has no routes of users.
//
//	own, err := logins.New(service, tokens, nil)
//	api, err := httpapi.New(engine, guard, &httpapi.Options{Features: append(standard.Features(), own)})
package logins

import (
	"errors"
	"net/http"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// Issuer issues tokens, which the Authenticator of the API accepts. A *jwt.Tokens is one.
type Issuer interface {
	// Issue returns a token for a user, and when it expires.
	Issue(who auth.Identity) (token string, expires time.Time, err error)
}

// Options configure the feature. Nil means the defaults.
type Options struct {
	// Provider logs users in through an identity provider, at /users/oidc/login. Default: no such route.
	Provider Provider
	// Lifetime is that of the sessions that logins begin. Default: what the method Lifetime of the issuer returns, if it
	// has one, as jwt.Tokens have, or else 24 hours.
	Lifetime time.Duration
	// Cookie is the cookie that logins set, which the Authenticator of the API reads. Default: that of auth, as of a
	// jwt.Guard.
	Cookie auth.Cookie
	// Mail says that codes are sent by email: the page to sign in leads to one for a forgotten password.
	Mail bool
	// PublicURL is the URL of the server for links that are passed on, without a final slash. Default: that of the page.
	PublicURL string
}

// CodePath is the path, below the prefix of the pages and before a code, of the page where a password is chosen.
const CodePath = "/password?code="

// logins are the accounts of an inventory.
type logins struct {
	*accounts.Service
	tokens Issuer
	Options
}

// New returns the feature of the accounts of a service, which is one over the engine of the API. The tokens are those of
// logins. Both are required; opts may be nil.
func New(service *accounts.Service, tokens Issuer, opts *Options) (*feature.Feature, error) {
	if service == nil || tokens == nil {
		return nil, errors.New("logins: service and tokens are required")
	}
	l := &logins{Service: service, tokens: tokens}
	if opts != nil {
		l.Options = *opts
	}
	if t, ok := tokens.(interface{ Lifetime() time.Duration }); ok && l.Lifetime == 0 {
		l.Lifetime = t.Lifetime()
	}
	f := &feature.Feature{
		Needs:    map[string]records.Record{"users": &inventory.User{}},
		Accounts: service,
		Rules:    []feature.Rules{l.rules()},
		Tags:     map[string]string{"accounts": "Logins and passwords."},
		Pages:    l.pages(),
	}
	for _, some := range [][]feature.Operation{{l.login(), l.logout(), l.forgotten(), l.reset()}, l.provided(), {l.changed()}, l.sessions(), l.apiTokens(), l.factors(), l.invitations()} {
		f.Operations = append(f.Operations, some...)
	}
	for i := range f.Operations {
		op := &f.Operations[i]
		op.Tag, op.Login = "accounts", op.Resource != ""
	}
	return f, nil
}

// confirmed is the response to a request that succeeded.
func confirmed() []openapi.Response {
	return []openapi.Response{{Status: http.StatusOK, Schema: openapi.Confirmation("")}}
}

func confirm(message string) *feature.Response { return feature.OK(httpx.Confirm(message)) }

// ended responds that something of a user has ended, or what would end.
func ended(r *feature.Request, userID, message, would string) *feature.Response {
	if !r.DryRun {
		r.Inventory.Forget(userID)
	}
	return &feature.Response{Body: httpx.Confirm(message), Message: would}
}

// dryRun returns the parameter dry_run with its effect in this operation.
func dryRun(effect string) openapi.Parameter {
	p := openapi.DryRun()
	p.Description = effect
	return p
}

// notEmpty refuses empty members, given as name, value, name, value.
func notEmpty(pairs ...string) error {
	var wrong []records.FieldError
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			wrong = append(wrong, records.InField(pairs[i], records.Missing("")))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return &records.Error{Kind: records.Invalid, Message: wrong[0].Error(), Fields: wrong}
}

// pages returns the pages to sign in and of accounts.
func (l *logins) pages() site.Pages {
	const user = "/account/{id}"
	return site.Pages{
		Files: files, Style: "style-logins.css", SignIn: "/signin", Account: "/account",
		Sections: sections(),
		Edits: map[string]site.Edit{"users": {
			Verb: "Invite", Create: l.createUser, Optional: []string{"username", "password"},
			Hints: map[string]string{
				"username":     "Empty is the email address.",
				"password":     "Leave it empty: the user gets a link to choose one, valid once and for 48 hours.",
				"location_ids": "The user sees only what is there. Empty is no limit.",
			},
		}},
		Routes: []site.Route{
			{Pattern: "GET /signin", Handle: l.showSignIn, Public: true},
			{Pattern: "POST /signin", Handle: l.signIn, Public: true},
			{Pattern: "GET /signin/provider", Handle: toProvider, Public: true},
			{Pattern: "GET /signin/done", Handle: l.fromProvider, Public: true},
			{Pattern: "POST /signout", Handle: signOut, Public: true},
			{Pattern: "GET /forgot", Handle: l.showForgot, Public: true},
			{Pattern: "POST /forgot", Handle: l.forgot, Public: true},
			{Pattern: "GET /password", Handle: showChoose, Public: true},
			{Pattern: "POST /password", Handle: choose, Public: true},
			{Pattern: "GET /account", Handle: showAccount},
			{Pattern: "POST " + user + "/password", Handle: changePassword},
			{Pattern: "POST " + user + "/invitation", Handle: l.inviteAgain},
			{Pattern: "POST " + user + "/totp", Handle: startFactor},
			{Pattern: "POST " + user + "/totp/on", Handle: recoveryCodes(http.MethodPut, "/totp")},
			{Pattern: "POST " + user + "/totp/codes", Handle: recoveryCodes(http.MethodPost, "/totp/recovery-codes")},
			{Pattern: "POST " + user + "/totp/off", Handle: endFactor},
			{Pattern: "POST " + user + "/tokens", Handle: createToken},
			{Pattern: "POST " + user + "/tokens/{one}", Handle: end("tokens", "ended")},
			{Pattern: "POST " + user + "/sessions/{one}", Handle: end("sessions", "ended")},
		},
	}
}
