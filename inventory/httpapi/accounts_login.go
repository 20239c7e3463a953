package httpapi

import (
	"context"
	"net/http"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/auth"
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

func login() operation {
	return operation{openapi.Operation{
		ID: "login", Tag: "accounts", Summary: "Exchange a user name and a password for a token",
		Body: openapi.Request("Credentials",
			openapi.Required("username", openapi.BoundedString(1, 100)), openapi.Required("password", openapi.BoundedString(1, auth.MaxPasswordBytes)),
			openapi.Optional("code", openapi.String("Of the second factor, if the user has one: from the app, or a recovery code."))),
		Responses: []openapi.Response{{
			Status: http.StatusOK, Headers: []openapi.Header{openapi.SetCookie()},
			Schema: openapi.Confirmation("Session",
				openapi.Required("token", openapi.String("For the header Authorization: Bearer <token>.")),
				openapi.Required("user_id", openapi.ID("")), openapi.Required("username", openapi.String("")), openapi.Required("role", openapi.String(""))),
		}},
		Errors: []int{http.StatusUnauthorized},
	}, withBody((*call).login)}
}

// login issues a token, in the body and as a cookie.
func (c *call) login(sent credentials) error {
	if err := notEmpty("username", sent.Username, "password", sent.Password); err != nil {
		return err
	}
	if err := checkCode(sent.Code); err != nil {
		return err
	}
	q := c.request()
	q.Code = sent.Code
	who, err := c.accounts.Service.Login(c.r.Context(), q, sent.Username, sent.Password)
	if err != nil {
		return err
	}
	response := session{"success", "Login successful", "", who.UserID, who.Username, who.Role}
	if response.Token, _, err = c.accounts.Tokens.Issue(*who); err != nil {
		return err
	}
	c.accounts.Cookie.Set(c.w, response.Token)
	return httpx.WriteJSON(c.w, http.StatusOK, response)
}

func logout() operation {
	return operation{openapi.Operation{
		ID: "logout", Tag: "accounts", Summary: "End the session whose token is sent, and clear the cookie",
		Parameters: []openapi.Parameter{
			{Name: "everywhere", Schema: openapi.Boolean(""), Description: "true: end all sessions of the user."},
			dryRun("true: the token and the cookie stay valid."),
		},
		Responses: []openapi.Response{{
			Status: http.StatusOK, Schema: openapi.Confirmation(""), Headers: []openapi.Header{openapi.SetCookie()},
		}},
	}, (*call).logout}
}

// logout ends the session of the sender of a valid token, or all sessions of the user. Without one
// it only clears the cookie.
func (c *call) logout() error {
	everywhere := c.query.Get("everywhere") == "true"
	if value := c.query.Get("everywhere"); c.query.Has("everywhere") && value != "true" && value != "false" {
		return badField("everywhere", records.WrongKind(records.Bool))
	}
	who, err := c.authenticate()
	switch {
	case who != nil && who.Token != "":
		return auth.Denied()
	case auth.KindOf(err).Unauthorized():
	case err != nil:
		return err
	case who != nil:
		if err := c.endSession(who, everywhere); err != nil {
			return err
		}
	}
	if c.dryRun {
		return c.sendPreview("Would log out")
	}
	c.accounts.Cookie.Clear(c.w)
	return c.confirm("Logged out")
}

// endSession ends one or all sessions of a user, even if the client disconnects meanwhile.
func (c *call) endSession(who *auth.Identity, everywhere bool) error {
	c.identity = who
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), c.opts.Timeout)
	defer cancel()
	err := c.accounts.Service.Logout(ctx, c.request(), everywhere)
	c.accounts.Forget(who.UserID)
	return err
}
