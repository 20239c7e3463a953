package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/openapi"
)

// The bodies of requests about passwords.
type (
	newPassword struct {
		New     string  `json:"new_password"`
		Current *string `json:"current_password"`
	}
	forgotten struct {
		Email string `json:"email"`
	}
	confirmedPassword struct {
		New     string `json:"new_password"`
		Confirm string `json:"confirm_password"`
	}
)

func passwordSchema() *openapi.Schema {
	return openapi.Bounded("", auth.MinPasswordLength, auth.MaxPasswordBytes)
}

// changePassword is PUT /users/{id}/password.
func (a *API) changePassword() operation {
	body := httpx.NewBody[newPassword](nil)
	current := openapi.String("Of the user themselves, who may have to send it.")
	current.Type = openapi.Types{"string", "null"}
	return operation{
		openapi.Operation{
			ID: "changePassword", Tag: "accounts", Summary: "Change a password, which ends all sessions of the user",
			Parameters: []openapi.Parameter{openapi.DryRun()},
			Body: &openapi.Body{Schema: openapi.Request("NewPassword",
				openapi.Must("new_password", passwordSchema()), openapi.May("current_password", current))},
			Answers: []openapi.Answer{{Status: http.StatusOK, Schema: openapi.Confirmation("")}},
		},
		func(c *call) error {
			sent, err := body.Read(c.r)
			if err != nil {
				return err
			}
			return c.changePassword(sent)
		},
	}
}

func (c *call) changePassword(sent newPassword) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	u, err := c.userNow(id)
	if err != nil {
		return err
	}
	if c.mine(id) {
		if err := c.checkCurrent(u, sent.Current); err != nil {
			return err
		}
	}
	hash, err := c.newHash(sent.New, u)
	if err != nil {
		return err
	}
	done, err := c.inventory().Update(c.r.Context(), c.caller(), inventory.Of[inventory.User](), inventory.Edit{
		ID: id, Action: "password_change",
		Apply: func(rec inventory.Record) error {
			now := rec.(*inventory.User)
			if sent.Current != nil && c.mine(id) && !sameTime(now.PasswordChangedAt, u.PasswordChangedAt) {
				return notCurrent() // it was, when it was checked
			}
			c.setPassword(now, hash)
			return nil
		},
	})
	if err != nil {
		return err
	}
	c.forget(done...)
	return c.confirm("Password updated successfully")
}

// newHash is the hash of new_password, if it will do for a user.
func (c *call) newHash(password string, u *inventory.User) (string, error) {
	if err := auth.CheckPassword(password, u.Username, u.Email); err != nil {
		return "", weakPassword("new_password", err)
	}
	return c.accounts.Hasher.Hash(c.r.Context(), password)
}

// checkCurrent is about the current password of somebody who changes their own (reference,
// ruling 12). Guesses count as those of a login: the token may be stolen.
func (c *call) checkCurrent(u *inventory.User, current *string) error {
	if current == nil {
		if c.accounts.RequireCurrentPassword {
			return badField("current_password", "must not be empty")
		}
		return nil
	}
	if err := c.guessing(u.Username); err != nil {
		return err
	}
	right, err := c.accounts.Hasher.Verify(c.r.Context(), u.PasswordHash, *current)
	if err != nil {
		return err
	}
	if !right {
		if err := c.failed(u.Username); err != nil {
			return err
		}
		return notCurrent()
	}
	return c.guessing(u.Username)
}

func notCurrent() error { return badField("current_password", "is not the current password") }

// forgotPassword is POST /users/forgot-password.
func (a *API) forgotPassword() operation {
	body := httpx.NewBody[forgotten](nil)
	return operation{
		openapi.Operation{
			ID: "forgotPassword", Tag: "accounts", Summary: "Have a reset code mailed to the user with this address, if there is one",
			Parameters: []openapi.Parameter{dryRun("Do everything but mail: a code from before stays good.")},
			Body: &openapi.Body{Schema: openapi.Request("ForgottenPassword",
				openapi.Must("email", openapi.Bounded("", 1, 254)))},
			Answers: []openapi.Answer{{Status: http.StatusOK, Schema: openapi.Confirmation("")}},
		},
		func(c *call) error {
			sent, err := body.Read(c.r)
			if err != nil {
				return err
			}
			return c.forgotPassword(strings.ToLower(sent.Email))
		},
	}
}

// forgotPassword answers the same, in the same time, whether the mail address is known or not.
func (c *call) forgotPassword(email string) error {
	if err := notEmpty("email", email); err != nil {
		return err
	}
	start := time.Now()
	if err := c.take(c.throttle.mailAddress, c.addressKey()); err != nil {
		return err
	}
	if err := c.take(c.throttle.mailbox, email); err != nil {
		return err
	}
	u, err := c.userBy(userField("email"), email)
	if err != nil {
		return err
	}
	if u != nil && !u.InactiveStatus {
		if err := c.mailReset(u); err != nil {
			// Not for the client: that it went wrong would say that the address is known.
			c.opts.Log.ErrorContext(c.r.Context(), "a password reset could not be sent",
				"user", u.ID, "request_id", httpx.RequestIDFrom(c.r.Context()), "error", err)
		}
	}
	evenOut(c.r.Context(), start)
	return c.confirm("If the address is known, a reset code has been sent to it")
}

// evenly is what answers whose time must not tell anything take a multiple of.
const evenly = 100 * time.Millisecond

// evenOut waits until the time since start is the next multiple, or ctx ends.
func evenOut(ctx context.Context, start time.Time) {
	timer := time.NewTimer(evenly - time.Since(start)%evenly)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// mailReset keeps a new code, in place of the one of before, and hands it over to be sent.
func (c *call) mailReset(u *inventory.User) error {
	code, reset := auth.NewReset(u.ID, u.PasswordHash, c.opts.Now())
	ctx := c.r.Context()
	_, err := c.inventory().Update(ctx, c.stranger(u.Username), inventory.Of[inventory.User](), inventory.Edit{
		ID: u.ID, Action: "password_forgotten",
		Apply: func(rec inventory.Record) error {
			u := rec.(*inventory.User)
			u.ResetHash, u.ResetExpiresAt = reset.CodeHash, &reset.ExpiresAt
			return nil
		},
	})
	if err != nil || c.dry {
		return err
	}
	return c.accounts.SendReset(ctx, inventory.Clone(u), code, auth.ResetLifetime)
}
