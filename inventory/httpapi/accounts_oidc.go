package httpapi

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"html"
	"net/http"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory/auth"
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

// oidcRoutes returns the routes of logins through an identity provider (REFERENCE.md, 3.10).
func (a *API) oidcRoutes() []route {
	if a.accounts.Provider == nil {
		return nil
	}
	local := openapi.BoundedString(1, auth.MaxLocalPath)
	session := login().doc.Responses[0].Schema
	return []route{
		{method: "GET", path: "/users/oidc/login", access: auth.Public(), operation: operation{openapi.Operation{
			ID: "oidcLogin", Tag: "accounts", Summary: "Log in through the identity provider, to which it redirects",
			Parameters: []openapi.Parameter{{Name: "return_to", Schema: local, Description: "A path of this server to go to after the login, such as /docs/."}},
			Responses:  []openapi.Response{{Status: http.StatusFound, Headers: []openapi.Header{openapi.SetCookie(), openapi.Location()}}},
		}, (*call).beginOIDC}},
		{method: "GET", path: "/users/oidc/callback", access: auth.Public(), operation: operation{openapi.Operation{
			ID: "oidcCallback", Tag: "accounts", Summary: "Finish a login through the identity provider, which redirects here",
			AnyQuery: true, // RFC 6749, section 4.1.2
			Parameters: []openapi.Parameter{
				{Name: "state", Schema: openapi.String(""), Description: "That of the login."},
				{Name: "code", Schema: openapi.String(""), Description: "The code of the identity provider."},
				{Name: "iss", Schema: openapi.String(""), Description: "The URL of the identity provider."},
				{Name: "error", Schema: openapi.String(""), Description: "Why the identity provider refused the login."},
			},
			Responses: []openapi.Response{
				{Status: http.StatusOK, Schema: openapi.String("A page that leads to return_to, as after a refusal."), ContentType: "text/html"},
				{Status: http.StatusOK, Schema: session, Headers: []openapi.Header{openapi.SetCookie()}},
			},
			Errors: []int{http.StatusUnauthorized, http.StatusConflict},
		}, (*call).finishOIDC}},
	}
}

// beginOIDC redirects to the identity provider.
func (c *call) beginOIDC() error {
	returnTo := c.query.Get("return_to")
	if c.query.Has("return_to") && !auth.LocalPath(returnTo) {
		return badField("return_to", records.BadFormat("a path of this server, such as /docs/"))
	}
	location, err := c.accounts.Provider.Begin(c.w, c.r, returnTo)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", location)
	c.w.WriteHeader(http.StatusFound)
	return nil
}

// finishOIDC issues a token like a login with a password.
func (c *call) finishOIDC() error {
	service, ctx := c.accounts.Service, c.r.Context()
	if err := service.CheckExternal(ctx, c.request()); err != nil {
		return err
	}
	user, returnTo, err := c.accounts.Provider.Finish(c.w, c.r)
	var who *auth.Identity
	if err != nil {
		err = service.RefuseExternal(ctx, c.request(), oidcMethod, err)
	} else {
		who, err = service.LoginExternal(ctx, c.request(), user)
	}
	switch {
	case err != nil && returnTo != "":
		c.refuseTo(returnTo, err)
		return nil
	case err != nil:
		return err
	}
	c.accounts.Forget(who.UserID) // the role may have changed
	response := session{"success", "Login successful", "", who.UserID, who.Username, who.Role}
	if response.Token, _, err = c.accounts.Tokens.Issue(*who); err != nil {
		return err
	}
	c.accounts.Cookie.Set(c.w, response.Token)
	if returnTo == "" {
		return httpx.WriteJSON(c.w, http.StatusOK, response)
	}
	c.leadTo(http.StatusOK, "You are logged in.", returnTo)
	return nil
}

// leadTo responds with a page that leads to a path. Browsers do not send the cookie, which is
// SameSite=Strict, after a redirect that the identity provider began.
func (c *call) leadTo(status int, message, path string) {
	message, path = html.EscapeString(message), html.EscapeString(path)
	c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	c.w.WriteHeader(status)
	_, _ = fmt.Fprintf(c.w, `<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=%s">`+
		`<title>Login</title><p>%s <a href="%s">Continue</a></p></html>`+"\n", path, message, path)
}

// The cookie with the message of a refused login, for the page that it leads to.
const (
	refusalCookie   = "login_refused"
	refusalLifetime = 60 // seconds
	maxRefusal      = 500
)

// refuseTo responds to a refused login with its status, and a page that leads to a path.
func (c *call) refuseTo(path string, refusal error) {
	render := func(w http.ResponseWriter, _ *http.Request, e *httpx.Error) {
		http.SetCookie(w, c.refusalCookie(base64.RawURLEncoding.EncodeToString([]byte(printable.Truncate(e.Message, maxRefusal))), refusalLifetime))
		c.leadTo(e.Status, e.Message+".", path)
	}
	httpx.RenderErrors(render)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpx.WriteError(w, r, translate(refusal))
	})).ServeHTTP(c.w, c.r)
}

func (a *API) refusalCookie(value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: refusalCookie, Value: value, Path: cmp.Or(a.accounts.Cookie.Path, "/"), MaxAge: age,
		HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode,
	}
}

// FinishedLogin returns what a login through the identity provider has left in cookies for the page at its
// return_to: the token, or else why it was refused. Both are empty without such a login. It deletes the cookies.
func (a *API) FinishedLogin(w http.ResponseWriter, r *http.Request) (token, refusal string) {
	if sent, err := r.Cookie(refusalCookie); err == nil {
		text, _ := base64.RawURLEncoding.DecodeString(sent.Value) // empty if it is malformed
		http.SetCookie(w, a.refusalCookie("", -1))
		return "", printable.Truncate(string(text), maxRefusal)
	}
	token, err := a.accounts.Cookie.FromRequest(r)
	if err != nil {
		return "", ""
	}
	a.accounts.Cookie.Clear(w)
	return token, ""
}
