package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
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
		Parameters: []openapi.Parameter{dryRun("true: check the credentials only. The token is empty, no cookie is set and no login is recorded. A wrong password still counts as a failed attempt.")},
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
	if err := c.checkFailures(sent.Username); err != nil {
		return err
	}
	u, err := c.findUser(userField("username"), sent.Username)
	if err != nil {
		return err
	}
	stored := ""
	if u != nil {
		stored = u.PasswordHash
	}
	ok, err := c.accounts.Hasher.Verify(c.r.Context(), stored, sent.Password)
	if err != nil {
		return err
	}
	if !ok {
		if err := c.countFailure(sent.Username); err != nil {
			return err
		}
		return c.refuseLogin(sent.Username, u, invalidCredentials())
	}
	if err := c.checkFailures(sent.Username); err != nil {
		return err // concurrent attempts have used up the allowance
	}
	if u.InactiveStatus {
		return c.refuseLogin(u.Username, u, &httpx.Error{Status: http.StatusForbidden, Message: "Account is inactive"})
	}
	return c.acceptLogin(u, sent.Password)
}

func invalidCredentials() *httpx.Error {
	return &httpx.Error{
		Status: http.StatusUnauthorized, Message: "Invalid credentials",
		Header: http.Header{"Www-Authenticate": {"Bearer"}},
	}
}

// refuseLogin writes an audit log entry for a failed login, which is not attributed to the
// user, and returns the refusal.
func (c *call) refuseLogin(username string, u *inventory.User, refusal error) error {
	id := ""
	if u != nil {
		id = u.ID
	}
	entry, err := c.changes.AuditEntry(c.unverified(username), "login_failed", inventory.Of[inventory.User]().Kind(), id, nil)
	if err != nil {
		return err
	}
	ctx := c.r.Context()
	if err := c.store.Change(ctx, func(tx inventory.Tx) error { return tx.Create(ctx, entry) }); err != nil {
		return err
	}
	return refusal
}

// acceptLogin records the login and responds with a token, in the body and as a cookie. In a
// dry run the token is empty.
func (c *call) acceptLogin(u *inventory.User, password string) error {
	ctx := c.r.Context()
	rehashed := ""
	if c.accounts.Hasher.NeedsRehash(u.PasswordHash) {
		var err error
		if rehashed, err = c.accounts.Hasher.Hash(ctx, password); err != nil {
			return err
		}
	}
	done, err := c.inventory().Update(ctx, c.asUser(u), inventory.Of[inventory.User](), inventory.Edit{
		ID: u.ID, Action: "login",
		Apply: func(rec inventory.Record) error { return c.recordLogin(rec.(*inventory.User), u, rehashed) },
	})
	if err != nil {
		return err
	}
	now := done[0].(*inventory.User)
	response := session{"success", "Login successful", "", now.ID, now.Username, now.Role}
	if !c.dryRun {
		response.Token, _, err = c.accounts.Tokens.Issue(auth.Identity{
			UserID: now.ID, Username: now.Username, Role: auth.Role(now.Role), Epoch: now.Epoch,
		})
		if err != nil {
			return err
		}
		auth.SetCookie(c.w, response.Token)
	}
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
	now := c.opts.Now()
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
func (c *call) asUser(u *inventory.User) inventory.Caller {
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
	claims, err := c.authenticator.Authenticate(c.r)
	switch {
	case auth.KindOf(err).Unauthorized():
	case err != nil:
		return err
	case claims != nil:
		if err := c.endSessions(claims); err != nil {
			return err
		}
	}
	if !c.dryRun {
		auth.ClearCookie(c.w)
	}
	return c.confirm("Logged out")
}

// endSessions invalidates the tokens of a user, even if the client disconnects meanwhile.
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

// The throttle of guesses (REFERENCE.md, 3.5). IPv6 addresses count by /64.
const (
	accountFailures = 10 // wrong passwords per user name and minute
	addressFailures = 50 // wrong passwords and reset codes per address and minute
	mailboxResets   = 5  // requested resets per email address and hour
	addressResets   = 20 // requested resets per address and hour
	throttleMemory  = 8 << 20
)

// throttle counts failures and requested resets in bounded memory.
type throttle struct {
	account, address             *ratelimit.Limiter // failures
	mailboxResets, addressResets *ratelimit.Limiter
}

func newThrottle(now func() time.Time) (*throttle, error) {
	store := memstore.New(&memstore.Options{MaxBytes: throttleMemory, Now: now})
	t := &throttle{}
	for _, row := range []struct {
		limiter **ratelimit.Limiter
		name    string
		limit   uint32
		unit    ratelimit.Unit
	}{
		{&t.account, "account", accountFailures, ratelimit.Minute},
		{&t.address, "address", addressFailures, ratelimit.Minute},
		{&t.mailboxResets, "mailbox", mailboxResets, ratelimit.Hour},
		{&t.addressResets, "mail-address", addressResets, ratelimit.Hour},
	} {
		var err error
		if *row.limiter, err = ratelimit.NewLimiter(row.name, store, ratelimit.Per(row.limit, row.unit), &ratelimit.Options{Now: now}); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// checkFailures refuses an attempt after too many failures of the account or the address.
// Callers check before the attempt and again after it, so that concurrent attempts beyond
// the limit learn nothing. username is empty for an attempt without an account.
func (c *call) checkFailures(username string) error {
	if err := c.peekLimit(c.throttle.address, c.opts.Clients.Key(c.r)); err != nil || username == "" {
		return err
	}
	return c.peekLimit(c.throttle.account, strings.ToLower(username))
}

// countFailure counts a failed attempt. The error is that it exceeds a limit.
func (c *call) countFailure(username string) error {
	err := c.countLimit(c.throttle.address, c.opts.Clients.Key(c.r))
	if username == "" {
		return err
	}
	return cmp.Or(c.countLimit(c.throttle.account, strings.ToLower(username)), err)
}

// peekLimit refuses if a limit is used up, without counting.
func (c *call) peekLimit(limiter *ratelimit.Limiter, key string) error {
	status, err := limiter.AllowN(c.r.Context(), key, 0)
	if err == nil && (status.Code == ratelimit.OverLimit || status.Remaining == 0) {
		err = tooMany(status)
	}
	return err
}

// countLimit counts one, and refuses if that exceeds the limit.
func (c *call) countLimit(limiter *ratelimit.Limiter, key string) error {
	status, err := limiter.Allow(c.r.Context(), key)
	if err == nil && status.Code == ratelimit.OverLimit {
		err = tooMany(status)
	}
	return err
}

func tooMany(status ratelimit.Status) error {
	return &httpx.Error{
		Status: http.StatusTooManyRequests, Message: "Too many requests",
		Header: http.Header{"Retry-After": {strconv.FormatUint(uint64(max(status.ResetSeconds, 1)), 10)}},
	}
}
