package logins

import (
	"context"
	"net/http"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// credentials are the body of a login.
type credentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
	Code     string `json:"code"` // of the second factor
}

// session is the response to a login (REFERENCE.md, 3.1).
type session struct {
	Status   string    `json:"status"`
	Message  string    `json:"message"`
	Token    string    `json:"token"`
	UserID   string    `json:"user_id"`
	Username string    `json:"username"`
	Role     auth.Role `json:"role"`
}

// login exchanges a password for a token.
func (l *logins) login() feature.Operation {
	return feature.Operation{Operation: openapi.Operation{
		Method: http.MethodPost, Path: "/users/login", ID: "login", Summary: "Exchange a user name and a password for a token",
		Body: openapi.Request("Credentials",
			openapi.Required("username", openapi.BoundedString(1, 100)), openapi.Required("password", openapi.BoundedString(1, auth.MaxPasswordBytes)),
			openapi.Optional("code", openapi.String("Of the second factor, if the user has one: from the app, or a recovery code."))),
		Responses: []openapi.Response{{Status: http.StatusOK, Headers: []openapi.Header{openapi.SetCookie()}, Schema: sessionSchema()}},
		Errors:    []int{http.StatusUnauthorized},
	}, Access: auth.Public(), Handle: feature.WithBody(l.serveLogin)}
}

func sessionSchema() *openapi.Schema {
	return openapi.Confirmation("Session",
		openapi.Required("token", openapi.String("For the header Authorization: Bearer <token>.")),
		openapi.Required("user_id", openapi.ID("")), openapi.Required("username", openapi.String("")), openapi.Required("role", openapi.String("")))
}

func (l *logins) serveLogin(ctx context.Context, r *feature.Request, sent credentials) (*feature.Response, error) {
	if err := notEmpty("username", sent.Username, "password", sent.Password); err != nil {
		return nil, err
	}
	if err := checkCode(sent.Code); err != nil {
		return nil, err
	}
	q := l.account(r)
	q.Code = sent.Code
	who, err := l.Login(ctx, q, sent.Username, sent.Password)
	if err != nil {
		return nil, err
	}
	began, err := l.begin(who)
	if err != nil {
		return nil, err
	}
	return &feature.Response{Send: func(w http.ResponseWriter, _ *http.Request) error {
		l.Cookie.Set(w, began.Token)
		return httpx.WriteJSON(w, http.StatusOK, began)
	}}, nil
}

// account returns the request as the accounts know it, with the lifetime of the session that it may begin.
func (l *logins) account(r *feature.Request) *accounts.Request {
	q := r.Inventory.Account()
	q.Lifetime = l.Lifetime
	return q
}

// begin returns the session of a user who has logged in.
func (l *logins) begin(who *auth.Identity) (*session, error) {
	token, _, err := l.tokens.Issue(*who)
	return &session{"success", "Login successful", token, who.UserID, who.Username, who.Role}, err
}

// logout ends the session of the sender of a valid token, or all sessions of the user. Without one it only clears the
// cookie.
func (l *logins) logout() feature.Operation {
	return feature.Operation{Operation: openapi.Operation{
		Method: http.MethodPost, Path: "/users/logout", ID: "logout", Summary: "End the session whose token is sent, and clear the cookie",
		Parameters: []openapi.Parameter{
			{Name: "everywhere", Schema: openapi.Boolean(""), Description: "true: end all sessions of the user."},
			dryRun("true: the token and the cookie stay valid."),
		},
		Responses: []openapi.Response{{
			Status: http.StatusOK, Schema: openapi.Confirmation(""), Headers: []openapi.Header{openapi.SetCookie()},
		}},
	}, Access: auth.Public(), Handle: l.serveLogout}
}

func (l *logins) serveLogout(ctx context.Context, r *feature.Request) (*feature.Response, error) {
	everywhere := r.Query.Get("everywhere")
	if r.Query.Has("everywhere") && everywhere != "true" && everywhere != "false" {
		return nil, records.Refuse("everywhere", records.WrongKind(records.Bool))
	}
	who, err := r.Inventory.Authenticate()
	switch {
	case who != nil && who.Token != "":
		return nil, auth.Denied()
	case auth.KindOf(err).Unauthorized():
	case err != nil:
		return nil, err
	case who != nil:
		if err := l.endSession(ctx, r, who, everywhere == "true"); err != nil {
			return nil, err
		}
	}
	return &feature.Response{Message: "Would log out", Send: func(w http.ResponseWriter, _ *http.Request) error {
		l.Cookie.Clear(w)
		return httpx.WriteJSON(w, http.StatusOK, httpx.Confirm("Logged out"))
	}}, nil
}

// endSession ends one or all sessions of a user, even if the client disconnects meanwhile.
func (l *logins) endSession(ctx context.Context, r *feature.Request, who *auth.Identity, everywhere bool) error {
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	q := l.account(r)
	q.Identity = who
	err := l.Logout(ctx, q, everywhere)
	r.Inventory.Forget(who.UserID)
	return err
}
