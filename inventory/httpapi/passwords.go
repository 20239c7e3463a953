package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// The bodies of requests about passwords.
type (
	newPassword struct {
		New     string  `json:"new_password"`
		Current *string `json:"current_password"`
	}
	forgottenPassword struct {
		Email string `json:"email"`
	}
	confirmedPassword struct {
		New     string `json:"new_password"`
		Confirm string `json:"confirm_password"`
	}
)

func passwordSchema() *openapi.Schema {
	return openapi.BoundedString(auth.MinPasswordLength, auth.MaxPasswordBytes)
}

func changePassword() operation {
	current := openapi.String("For users who change their own password; may be required.")
	current.Type = []string{"string", "null"}
	return operation{openapi.Operation{
		ID: "changePassword", Tag: "accounts", Summary: "Change a password, which ends all sessions of the user",
		Parameters: []openapi.Parameter{openapi.DryRun()},
		Body: openapi.Request("NewPassword",
			openapi.Required("new_password", passwordSchema()), openapi.Optional("current_password", current)),
		Responses: []openapi.Response{confirmed()},
	}, withBody((*call).changePassword)}
}

func (c *call) changePassword(sent newPassword) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	u, err := c.freshUser(id)
	if err != nil {
		return err
	}
	if c.isSender(id) {
		if err := c.checkCurrentPassword(u, sent.Current); err != nil {
			return err
		}
	}
	hash, err := c.hashPassword("new_password", sent.New, u)
	if err != nil {
		return err
	}
	done, err := c.inventory().Update(c.r.Context(), c.caller(), records.Of[inventory.User](c.schema), records.Edit{
		ID: id, Action: "password_change",
		Apply: func(rec records.Record) error {
			now := rec.(*inventory.User)
			if sent.Current != nil && c.isSender(id) && !sameTime(now.PasswordChangedAt, u.PasswordChangedAt) {
				return wrongCurrentPassword() // changed since it was checked
			}
			c.setPassword(now, hash)
			return nil
		},
	})
	if err != nil {
		return err
	}
	if c.dryRun {
		return c.sendPreview("")
	}
	c.forgetUsers(done...)
	return c.confirm("Password updated successfully")
}

// checkCurrentPassword verifies the current password of a user who changes their own
// (REFERENCE.md, 3.3). Failures count as those of a login, because the token may be stolen.
func (c *call) checkCurrentPassword(u *inventory.User, current *string) error {
	if current == nil {
		if c.accounts.RequireCurrentPassword {
			return badField("current_password", "must not be empty")
		}
		return nil
	}
	g, err := c.beginGuess(u.Username)
	if err != nil {
		return err
	}
	defer g.end()
	ok, err := g.verify(u.PasswordHash, *current)
	if err == nil && !ok {
		err = cmp.Or(c.note(c.caller(), passwordWrong, u.ID, nil), wrongCurrentPassword())
	}
	return err
}

func wrongCurrentPassword() error { return badField("current_password", "is not the current password") }

func forgotPassword() operation {
	return operation{openapi.Operation{
		ID: "forgotPassword", Tag: "accounts", Summary: "Send a reset code to the user with this email address, if there is one",
		Parameters: []openapi.Parameter{dryRun("true: send no email; an earlier code stays valid.")},
		Body:       openapi.Request("ForgottenPassword", openapi.Required("email", openapi.BoundedString(1, 254))),
		Responses:  []openapi.Response{confirmed()},
	}, withBody((*call).forgotPassword)}
}

// forgotPassword responds alike, and in the same time, whether the address is known or not.
func (c *call) forgotPassword(sent forgottenPassword) error {
	email := strings.ToLower(sent.Email)
	if err := notEmpty("email", email); err != nil {
		return err
	}
	start := time.Now()
	if err := c.countLimit(c.throttle.networkResets, c.network()); err != nil {
		return err
	}
	if err := c.countLimit(c.throttle.mailboxResets, email); err != nil {
		return err
	}
	u, err := c.findUser(c.userField("email"), email)
	if err != nil {
		return err
	}
	if u != nil && !u.InactiveStatus {
		if err := c.sendReset(u); err != nil {
			// An error response would reveal that the address is known.
			c.opts.Log.ErrorContext(c.r.Context(), "password reset not sent",
				"user", u.ID, "request_id", httpx.RequestIDFrom(c.r.Context()), "error", err)
		}
	}
	roundDuration(c.r.Context(), start)
	if c.dryRun {
		c.preview = records.Preview{} // it would reveal whether the address is known
		return c.sendPreview("Would send a reset code to the address, if it is known")
	}
	return c.confirm("If the address is known, a reset code has been sent to it")
}

// durationStep is the step to which the time of a response is rounded up that must not
// reveal anything.
const durationStep = 100 * time.Millisecond

// roundDuration waits until the time since start is a multiple of durationStep, or ctx ends.
func roundDuration(ctx context.Context, start time.Time) {
	timer := time.NewTimer(durationStep - time.Since(start)%durationStep)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// sendReset stores a new code, which replaces an earlier one, and sends it.
func (c *call) sendReset(u *inventory.User) error {
	code, reset := auth.NewReset(u.ID, u.PasswordHash, c.now())
	ctx := c.r.Context()
	_, err := c.inventory().Update(ctx, c.unverified(u.Username), records.Of[inventory.User](c.schema), records.Edit{
		ID: u.ID, Action: "password_forgotten",
		Apply: func(rec records.Record) error {
			u := rec.(*inventory.User)
			u.ResetHash, u.ResetPassword, u.ResetExpiresAt = reset.CodeHash, reset.Password, &reset.ExpiresAt
			return nil
		},
	})
	if err != nil || c.dryRun {
		return err
	}
	return c.accounts.SendReset(ctx, records.Clone(u), code, auth.ResetLifetime)
}

func resetPassword() operation {
	return operation{openapi.Operation{
		ID: "resetPassword", Tag: "accounts", Summary: "Change a forgotten password with the code from the email",
		Parameters: []openapi.Parameter{dryRun("true: the password stays unchanged and the code valid. A wrong code still counts as a failed attempt.")},
		Body: openapi.Request("ConfirmedPassword",
			openapi.Required("new_password", passwordSchema()), openapi.Required("confirm_password", passwordSchema())),
		Responses: []openapi.Response{confirmed()},
	}, withBody((*call).resetPassword)}
}

func (c *call) resetPassword(sent confirmedPassword) error {
	if err := c.peekLimit(c.throttle.network, c.network()); err != nil {
		return err
	}
	if err := notEmpty("new_password", sent.New, "confirm_password", sent.Confirm); err != nil {
		return err
	}
	if sent.New != sent.Confirm {
		return badField("confirm_password", "must be the same as new_password")
	}
	u, codeHash, err := c.findReset(resetCode(c.r))
	if auth.KindOf(err) == auth.ResetInvalid {
		if err := c.countLimit(c.throttle.network, c.network()); err != nil {
			return err
		}
		if err := c.note(c.unverified(""), resetFailed, "", nil); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	hash, err := c.hashPassword("new_password", sent.New, u)
	if err != nil {
		return err
	}
	done, err := c.inventory().Update(c.r.Context(), c.asUser(u), records.Of[inventory.User](c.schema), records.Edit{
		ID: u.ID, Action: "password_reset",
		Apply: func(rec records.Record) error {
			now := rec.(*inventory.User)
			if !c.resetValid(now, codeHash) { // again, in the transaction: a code works once
				return auth.ResetNotFound()
			}
			c.setPassword(now, hash)
			return nil
		},
	})
	if err != nil {
		return err
	}
	if c.dryRun {
		return c.sendPreview("")
	}
	c.forgetUsers(done...)
	return c.confirm("Password reset successfully")
}

// findReset returns the user with a valid reset code.
func (c *call) findReset(code string) (*inventory.User, string, error) {
	codeHash, err := auth.LookupReset(code)
	if err != nil {
		return nil, "", err
	}
	u, err := c.findUser(c.userField("reset_hash"), codeHash)
	if err != nil {
		return nil, "", err
	}
	if u == nil || !c.resetValid(u, codeHash) {
		return nil, "", auth.ResetNotFound()
	}
	return u, codeHash, nil
}

func (c *call) resetValid(u *inventory.User, codeHash string) bool {
	if u.InactiveStatus || u.ResetHash != codeHash || u.ResetExpiresAt == nil {
		return false
	}
	reset := auth.Reset{CodeHash: u.ResetHash, UserID: u.ID, Password: u.ResetPassword, ExpiresAt: *u.ResetExpiresAt}
	return reset.Check(u.ID, u.PasswordHash, c.now()) == nil
}

// resetPath is the path of resets up to the code.
const resetPath = "/users/reset-password/"

type resetCodeKey struct{}

// hideResetCode moves a reset code from the path to the context before anything can log the
// path: readers of logs must not be able to use the code.
func hideResetCode(r *http.Request) *http.Request {
	code, found := strings.CutPrefix(r.URL.Path, resetPath)
	if !found {
		return r
	}
	r = r.WithContext(context.WithValue(r.Context(), resetCodeKey{}, code))
	u := *r.URL
	u.Path, u.RawPath = resetPath+"...", ""
	r.URL = &u
	return r
}

// resetCode returns the code that hideResetCode moved.
func resetCode(r *http.Request) string {
	code, _ := r.Context().Value(resetCodeKey{}).(string)
	return code
}
