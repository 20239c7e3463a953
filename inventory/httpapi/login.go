package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// credentials are the body of a login.
type credentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// session is the response to a login (REFERENCE.md, 3.1).
type session struct {
	Status   string         `json:"status"`
	Message  string         `json:"message"`
	Token    string         `json:"token"`
	UserID   string         `json:"user_id"`
	Username string         `json:"username"`
	Role     inventory.Role `json:"role"`
}

func login() operation {
	return operation{openapi.Operation{
		ID: "login", Tag: "accounts", Summary: "Exchange a user name and a password for a token",
		Body: openapi.Request("Credentials",
			openapi.Required("username", openapi.BoundedString(1, 100)), openapi.Required("password", openapi.BoundedString(1, auth.MaxPasswordBytes))),
		Responses: []openapi.Response{{
			Status: http.StatusOK, Headers: []openapi.Header{openapi.SetCookie()},
			Schema: openapi.Confirmation("Session",
				openapi.Required("token", openapi.String("For the header Authorization: Bearer <token>.")),
				openapi.Required("user_id", openapi.ID("")), openapi.Required("username", openapi.String("")), openapi.Required("role", openapi.String(""))),
		}},
		Errors: []int{http.StatusUnauthorized},
	}, withBody((*call).login)}
}

// login issues a token. Failures have the same response and take the same time whether the
// user exists or not.
func (c *call) login(sent credentials) error {
	if err := notEmpty("username", sent.Username, "password", sent.Password); err != nil {
		return err
	}
	g, err := c.beginGuess(sent.Username)
	if err != nil {
		return err
	}
	defer g.end()
	u, err := c.findUser(c.userField("username"), sent.Username)
	if err != nil {
		return err
	}
	stored := ""
	if u != nil {
		stored = u.PasswordHash
	}
	ok, err := g.verify(stored, sent.Password)
	if err != nil {
		return err
	}
	if !ok {
		return c.refuseLogin(sent.Username, u, invalidCredentials())
	}
	if u.InactiveStatus {
		return c.refuseLogin(sent.Username, u, &httpx.Error{Status: http.StatusForbidden, Message: "Account is inactive"})
	}
	return c.acceptLogin(u, sent.Password)
}

func invalidCredentials() *httpx.Error {
	return &httpx.Error{
		Status: http.StatusUnauthorized, Message: "Invalid credentials",
		Header: http.Header{"Www-Authenticate": {"Bearer"}},
	}
}

// refuseLogin writes an audit log entry for a failed login, which names the user if there is one but
// is not attributed to them, and returns the refusal.
func (c *call) refuseLogin(username string, u *inventory.User, refusal error) error {
	by, id := c.claimed(username, u)
	return cmp.Or(c.note(by, loginFailed, id, nil), refusal)
}

// acceptLogin records the login and responds with a token, in the body and as a cookie.
func (c *call) acceptLogin(u *inventory.User, password string) error {
	ctx := c.r.Context()
	rehashed := ""
	if c.accounts.Hasher.NeedsRehash(u.PasswordHash) {
		var err error
		if rehashed, err = c.accounts.Hasher.Hash(c.hashing(c.r.Context(), u.Username), password); err != nil {
			return err
		}
	}
	done, err := c.inventory().Update(ctx, c.asUser(u), records.Of[inventory.User](c.schema), records.Edit{
		ID: u.ID, Action: "login",
		Apply: func(rec records.Record) error { return c.recordLogin(rec.(*inventory.User), u, rehashed) },
	})
	if err != nil {
		return err
	}
	now := done[0].(*inventory.User)
	response := session{"success", "Login successful", "", now.ID, now.Username, now.Role}
	response.Token, _, err = c.accounts.Tokens.Issue(auth.Identity{
		UserID: now.ID, Username: now.Username, Role: auth.Role(now.Role), Epoch: now.Epoch,
	})
	if err != nil {
		return err
	}
	c.accounts.Cookie.Set(c.w, response.Token)
	return httpx.WriteJSON(c.w, http.StatusOK, response)
}

// recordLogin updates a user at a login. The password must still be the one that was
// verified, though a concurrent login may have rehashed it.
func (c *call) recordLogin(u, verified *inventory.User, rehashed string) error {
	if u.InactiveStatus || !sameTime(u.PasswordChangedAt, verified.PasswordChangedAt) {
		return invalidCredentials()
	}
	if rehashed != "" && u.PasswordHash == verified.PasswordHash {
		u.PasswordHash = rehashed
	}
	now := c.now()
	if u.LastLogin != nil && !now.After(*u.LastLogin) {
		now = u.LastLogin.Add(time.Microsecond) // two logins are two changes, whatever the clock
	}
	u.LastLogin = &now
	return nil
}

// sameTime reports whether two optional times are equal.
func sameTime(a, b *time.Time) bool {
	return a == b || a != nil && b != nil && a.Equal(*b)
}

// asUser returns a user as the caller of a change.
func (c *call) asUser(u *inventory.User) records.Caller {
	by := c.unverified(u.Username)
	by.UserID = u.ID
	return by
}

func logout() operation {
	return operation{openapi.Operation{
		ID: "logout", Tag: "accounts", Summary: "End all sessions of the user whose token is sent, and clear the cookie",
		Parameters: []openapi.Parameter{dryRun("true: the token and the cookie stay valid.")},
		Responses: []openapi.Response{{
			Status: http.StatusOK, Schema: openapi.Confirmation(""), Headers: []openapi.Header{openapi.SetCookie()},
		}},
	}, (*call).logout}
}

// logout ends the sessions of the sender of a valid token. Without one it only clears the
// cookie.
func (c *call) logout() error {
	who, err := c.authenticator.Authenticate(c.r)
	switch {
	case auth.KindOf(err).Unauthorized():
	case err != nil:
		return err
	case who != nil:
		if err := c.endSessions(who); err != nil {
			return err
		}
	}
	if c.dryRun {
		return c.sendPreview("Would log out")
	}
	c.accounts.Cookie.Clear(c.w)
	return c.confirm("Logged out")
}

// endSessions invalidates the tokens of a user, even if the client disconnects meanwhile.
func (c *call) endSessions(who *auth.Identity) error {
	c.identity = who
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), c.opts.Timeout)
	defer cancel()
	_, err := c.unchecked().Update(ctx, c.caller(), records.Of[inventory.User](c.schema), records.Edit{
		ID: who.UserID, Action: "logout",
		Apply: func(rec records.Record) error {
			rec.(*inventory.User).Epoch++
			return nil
		},
	})
	c.accounts.Forget(who.UserID)
	return err
}
