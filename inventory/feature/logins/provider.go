package logins

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Provider logs users in through an identity provider, to which it sends their browsers. An *oidc.Provider
// is one. It is used concurrently.
type Provider interface {
	// Begin returns the URL to redirect the browser to, and sets a cookie for Finish. returnTo is "" or
	// an [auth.LocalPath].
	Begin(w http.ResponseWriter, r *http.Request, returnTo string) (location string, err error)
	// Finish returns the user who comes back from the provider, and what Begin got as returnTo, with an error
	// too if it is known. The error is an [*auth.Error] of the kind LoginRefused or ProviderUnavailable, or a
	// failure.
	Finish(w http.ResponseWriter, r *http.Request) (who *auth.External, returnTo string, err error)
}

// oidcMethod is the way to log in, in the audit log.
const oidcMethod = "oidc"

// provided returns the operations of logins through an identity provider (REFERENCE.md, 3.10).
func (l *logins) provided() []feature.Operation {
	if l.Provider == nil {
		return nil
	}
	local := openapi.BoundedString(1, auth.MaxLocalPath)
	return []feature.Operation{
		{Operation: openapi.Operation{
			Method: http.MethodGet, Path: "/users/oidc/login", ID: "oidcLogin", Summary: "Log in through the identity provider, to which it redirects",
			Parameters: []openapi.Parameter{{Name: "return_to", Schema: local, Description: "A path of this server to go to after the login, such as /docs/."}},
			Responses:  []openapi.Response{{Status: http.StatusFound, Headers: []openapi.Header{openapi.SetCookie(), openapi.Location()}}},
		}, Access: auth.Public(), Handle: l.beginProvided},
		{Operation: openapi.Operation{
			Method: http.MethodGet, Path: "/users/oidc/callback", ID: "oidcCallback", Summary: "Finish a login through the identity provider, which redirects here",
			AnyQuery: true, // RFC 6749, section 4.1.2
			Parameters: []openapi.Parameter{
				{Name: "state", Schema: openapi.String(""), Description: "That of the login."},
				{Name: "code", Schema: openapi.String(""), Description: "The code of the identity provider."},
				{Name: "iss", Schema: openapi.String(""), Description: "The URL of the identity provider."},
				{Name: "error", Schema: openapi.String(""), Description: "Why the identity provider refused the login."},
			},
			Responses: []openapi.Response{
				{Status: http.StatusOK, Schema: openapi.String("A page that leads to return_to, as after a refusal."), ContentType: "text/html"},
				{Status: http.StatusOK, Schema: sessionSchema(), Headers: []openapi.Header{openapi.SetCookie()}},
			},
			Errors: []int{http.StatusUnauthorized, http.StatusConflict},
		}, Access: auth.Public(), Handle: l.finishProvided},
	}
}

// beginProvided redirects to the identity provider.
func (l *logins) beginProvided(_ context.Context, r *feature.Request) (*feature.Response, error) {
	returnTo := r.Query.Get("return_to")
	if r.Query.Has("return_to") && !auth.LocalPath(returnTo) {
		return nil, records.Refuse("return_to", records.BadFormat("a path of this server, such as /docs/"))
	}
	return &feature.Response{Send: func(w http.ResponseWriter, _ *http.Request) error {
		location, err := l.Provider.Begin(w, r.HTTP, returnTo)
		if err != nil {
			return err
		}
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusFound)
		return nil
	}}, nil
}

// finishProvided issues a token like a login with a password.
func (l *logins) finishProvided(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	q := l.account(r)
	if err := l.CheckExternal(ctx, q); err != nil {
		return nil, err
	}
	return &feature.Response{Send: func(w http.ResponseWriter, _ *http.Request) error {
		user, returnTo, err := l.Provider.Finish(w, r.HTTP)
		var who *auth.Identity
		if err != nil {
			err = l.RefuseExternal(ctx, q, oidcMethod, err)
		} else {
			unmarked(r, &user.Username, &user.Email)
			who, err = l.LoginExternal(ctx, q, user)
		}
		switch {
		case err != nil && returnTo != "":
			l.refuseTo(w, r, returnTo, err)
			return nil
		case err != nil:
			return err
		}
		r.Inventory.Forget(who.UserID) // the role may have changed
		began, err := l.begin(who)
		if err != nil {
			return err
		}
		l.Cookie.Set(w, began.Token)
		if returnTo == "" {
			return httpx.WriteJSON(w, http.StatusOK, began)
		}
		leadTo(w, http.StatusOK, "You are logged in.", returnTo)
		return nil
	}}, nil
}

// unmarked empties texts of the identity provider that the API would refuse in a body, such as markup.
func unmarked(r *feature.Request, texts ...*string) {
	for _, text := range texts {
		if doc, err := json.Marshal([]string{*text}); err != nil || r.Inventory.Check(doc) != nil {
			*text = ""
		}
	}
}

// leadTo responds with a page that leads to a path. Browsers do not send the cookie, which is
// SameSite=Strict, after a redirect that the identity provider began.
func leadTo(w http.ResponseWriter, status int, message, path string) {
	message, path = html.EscapeString(message), html.EscapeString(path)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=%s">`+
		`<title>Login</title><p>%s <a href="%s">Continue</a></p></html>`+"\n", path, message, path)
}

// The cookie with the message of a refused login, for the page that it leads to.
const (
	refusalCookie   = "login_refused"
	refusalLifetime = 60 // seconds
	maxRefusal      = 500
)

// refuseTo responds to a refused login with its status, and a page that leads to a path.
func (l *logins) refuseTo(w http.ResponseWriter, r *feature.Request, path string, refusal error) {
	render := func(w http.ResponseWriter, _ *http.Request, e *httpx.Error) {
		http.SetCookie(w, l.refusalCookie(base64.RawURLEncoding.EncodeToString([]byte(printable.Truncate(e.Message, maxRefusal))), refusalLifetime))
		leadTo(w, e.Status, e.Message+".", path)
	}
	httpx.RenderErrors(render)(http.HandlerFunc(func(w http.ResponseWriter, sent *http.Request) {
		httpx.WriteError(w, sent, r.Inventory.Refusal(refusal))
	})).ServeHTTP(w, r.HTTP)
}

func (l *logins) refusalCookie(value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: refusalCookie, Value: value, Path: cmp.Or(l.Cookie.Path, "/"), MaxAge: age,
		HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode,
	}
}

// finished returns what a login through the identity provider has left in cookies for the page at its
// return_to: the token, or else why it was refused. Both are empty without such a login. It deletes the cookies.
func (l *logins) finished(w http.ResponseWriter, r *http.Request) (token, refusal string) {
	if sent, err := r.Cookie(refusalCookie); err == nil {
		text, _ := base64.RawURLEncoding.DecodeString(sent.Value) // empty if it is malformed
		http.SetCookie(w, l.refusalCookie("", -1))
		return "", printable.Truncate(string(text), maxRefusal)
	}
	token, err := l.Cookie.FromRequest(r)
	if err != nil {
		return "", ""
	}
	l.Cookie.Clear(w)
	return token, ""
}
