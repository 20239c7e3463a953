package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/openapi"
)

// credentials are what a user logs in with.
type credentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// session is the answer to a login (specification, Authentication 2; reference, ruling 2).
type session struct {
	Status   string         `json:"status"`
	Message  string         `json:"message"`
	Token    string         `json:"token"`
	UserID   string         `json:"user_id"`
	Username string         `json:"username"`
	Role     inventory.Role `json:"role"`
}

// login is POST /users/login.
func (a *API) login() operation {
	body := httpx.NewBody[credentials](nil)
	return operation{
		openapi.Operation{
			ID: "login", Tag: "accounts", Summary: "Exchange a user name and a password for a token",
			Parameters: []openapi.Parameter{dryRun("Do everything but log in: the token is empty, no cookie is set, nothing is noted. A wrong password counts as a guess all the same.")},
			Body: &openapi.Body{Schema: openapi.Request("Credentials",
				openapi.Must("username", openapi.Bounded("", 1, 100)), openapi.Must("password", openapi.Bounded("", 1, auth.MaxPasswordBytes)))},
			Answers: []openapi.Answer{{
				Status: http.StatusOK, Headers: []openapi.Header{openapi.SetCookie()},
				Schema: openapi.Confirmation("Session",
					openapi.Must("token", openapi.String("For the header Authorization: Bearer <token>.")),
					openapi.Must("user_id", openapi.ID("")), openapi.Must("username", openapi.String("")), openapi.Must("role", openapi.String(""))),
			}},
			Errors: []int{http.StatusUnauthorized},
		},
		func(c *call) error {
			sent, err := body.Read(c.r)
			if err != nil {
				return err
			}
			return c.login(sent)
		},
	}
}

// login lets a user in. Who is not let in learns the same, in the same time, whether
// there is such a user or not.
func (c *call) login(sent credentials) error {
	if err := notEmpty("username", sent.Username, "password", sent.Password); err != nil {
		return err
	}
	if err := c.guessing(sent.Username); err != nil {
		return err
	}
	u, err := c.userBy(userField("username"), sent.Username)
	if err != nil {
		return err
	}
	stored := ""
	if u != nil {
		stored = u.PasswordHash
	}
	right, err := c.accounts.Hasher.Verify(c.r.Context(), stored, sent.Password)
	if err != nil {
		return err
	}
	if !right {
		return c.refuse(sent.Username, u)
	}
	if err := c.guessing(sent.Username); err != nil {
		return err // of many guesses at once, this one came too late
	}
	if u.InactiveStatus {
		return c.inactive(u)
	}
	return c.admitted(u, sent.Password)
}

// refuse counts and logs a failed login. It is not logged as the user's, who did not do it.
func (c *call) refuse(username string, u *inventory.User) error {
	if err := c.failed(username); err != nil {
		return err
	}
	if err := c.note(c.stranger(username), "login_failed", u); err != nil {
		return err
	}
	return &httpx.Error{
		Status: http.StatusUnauthorized, Message: "Invalid credentials",
		Header: http.Header{"Www-Authenticate": {"Bearer"}},
	}
}

// inactive refuses a user who has shown the right password.
func (c *call) inactive(u *inventory.User) error {
	if err := c.note(c.stranger(u.Username), "login_failed", u); err != nil {
		return err
	}
	return &httpx.Error{Status: http.StatusForbidden, Message: "Account is inactive"}
}

// note adds an entry to the audit log about a user, who may be nobody.
func (c *call) note(by inventory.Caller, action string, u *inventory.User) error {
	id := ""
	if u != nil {
		id = u.ID
	}
	entry, err := c.changes.AuditEntry(by, action, inventory.Of[inventory.User]().Kind(), id, nil)
	if err != nil {
		return err
	}
	ctx := c.r.Context()
	return c.store.Change(ctx, func(tx inventory.Tx) error { return tx.Create(ctx, entry) })
}

// admitted answers with a token, after it is noted that it was given out.
func (c *call) admitted(u *inventory.User, password string) error {
	ctx := c.r.Context()
	rehashed := ""
	if c.accounts.Hasher.NeedsRehash(u.PasswordHash) {
		var err error
		if rehashed, err = c.accounts.Hasher.Hash(ctx, password); err != nil {
			return err
		}
	}
	done, err := c.inventory().Update(ctx, c.as(u), inventory.Of[inventory.User](), inventory.Edit{
		ID: u.ID, Action: "login",
		Apply: func(rec inventory.Record) error { return c.loggedIn(rec.(*inventory.User), u, rehashed) },
	})
	if err != nil {
		return err
	}
	return c.issue(done[0].(*inventory.User))
}

// loggedIn is what a login changes. The password must still be the one that was shown,
// though another login may have hashed it anew.
func (c *call) loggedIn(u, shown *inventory.User, rehashed string) error {
	if u.InactiveStatus || !sameTime(u.PasswordChangedAt, shown.PasswordChangedAt) {
		return &httpx.Error{Status: http.StatusUnauthorized, Message: "Invalid credentials"}
	}
	if rehashed != "" && u.PasswordHash == shown.PasswordHash {
		u.PasswordHash = rehashed
	}
	now := c.opts.Now()
	if u.LastLogin != nil && !now.After(*u.LastLogin) {
		now = u.LastLogin.Add(time.Microsecond) // two logins are two changes, whatever the clock says
	}
	u.LastLogin = &now
	return nil
}

// sameTime reports whether two times, which may be missing, are alike.
func sameTime(a, b *time.Time) bool {
	return a == b || a != nil && b != nil && a.Equal(*b)
}

// issue answers with a token, which is delivered twice. In a dry run nobody gets one: it
// would be good for what it says it has not begun.
func (c *call) issue(u *inventory.User) error {
	answer := session{"success", "Login successful", "", u.ID, u.Username, u.Role}
	if c.dry {
		return httpx.WriteJSON(c.w, http.StatusOK, answer)
	}
	var err error
	answer.Token, _, err = c.accounts.Tokens.Issue(auth.Identity{
		UserID: u.ID, Username: u.Username, Role: auth.Role(u.Role), Epoch: u.Epoch,
	})
	if err != nil {
		return err
	}
	auth.SetCookie(c.w, answer.Token)
	return httpx.WriteJSON(c.w, http.StatusOK, answer)
}

// as is a user as the one who does something.
func (c *call) as(u *inventory.User) inventory.Caller {
	by := c.stranger(u.Username)
	by.UserID = u.ID
	return by
}

// logout is POST /users/logout.
func (a *API) logout() operation {
	return operation{
		openapi.Operation{
			ID: "logout", Tag: "accounts", Summary: "End all sessions of the user whose token is sent, and clear the cookie",
			Parameters: []openapi.Parameter{dryRun("Do everything but log out: the token and the cookie stay good.")},
			Answers: []openapi.Answer{{
				Status: http.StatusOK, Schema: openapi.Confirmation(""), Headers: []openapi.Header{openapi.SetCookie()},
			}},
		},
		(*call).logout,
	}
}

// logout ends the sessions of whoever has a token that is good. Without one there is only
// the cookie to clear (specification, Access rule).
func (c *call) logout() error {
	claims, err := c.gate.Authenticate(c.r)
	switch {
	case auth.KindOf(err).Unauthorized():
	case err != nil:
		return err
	case claims != nil:
		if err := c.endSessions(claims); err != nil {
			return err
		}
	}
	if !c.dry {
		auth.ClearCookie(c.w)
	}
	return c.confirm("Logged out")
}

// endSessions goes on if the client does not wait for it: they mean to be logged out.
func (c *call) endSessions(claims *auth.Claims) error {
	c.claims = claims
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), c.opts.Timeout)
	defer cancel()
	_, err := c.inventory().Update(ctx, c.caller(), inventory.Of[inventory.User](), inventory.Edit{
		ID: claims.UserID, Action: "logout",
		Apply: func(rec inventory.Record) error {
			rec.(*inventory.User).Epoch++
			return nil
		},
	})
	c.accounts.Forget(claims.UserID)
	return err
}

// notEmpty refuses members without a value: name, value, name, value.
func notEmpty(pairs ...string) error {
	var wrong []inventory.FieldError
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			wrong = append(wrong, inventory.FieldError{Field: pairs[i], Reason: "must not be empty"})
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	message := wrong[0].Field + " " + wrong[0].Reason
	return &inventory.Error{Kind: inventory.Invalid, Message: message, Fields: wrong}
}
