package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/openapi"
)

// resetPath is what stands before a code in a path.
const resetPath = "/users/reset-password/"

type codeKey struct{}

// withoutCode takes a reset code out of the path, where the reference service has put it,
// before anything can log the path: who reads logs must not be able to use the code.
func withoutCode(r *http.Request) *http.Request {
	code, found := strings.CutPrefix(r.URL.Path, resetPath)
	if !found {
		return r
	}
	r = r.WithContext(context.WithValue(r.Context(), codeKey{}, code))
	u := *r.URL
	u.Path, u.RawPath = resetPath+"...", ""
	r.URL = &u
	return r
}

// codeOf is the code that was taken out.
func codeOf(r *http.Request) string {
	code, _ := r.Context().Value(codeKey{}).(string)
	return code
}

// resetPassword is POST /users/reset-password/{code}.
func (a *API) resetPassword() operation {
	body := httpx.NewBody[confirmedPassword](nil)
	return operation{
		openapi.Operation{
			ID: "resetPassword", Tag: "accounts", Summary: "Change a forgotten password, with the code that was mailed",
			Parameters: []openapi.Parameter{dryRun("Do everything but change the password: the code stays good. A wrong one counts as a guess all the same.")},
			Body: &openapi.Body{Schema: openapi.Request("ConfirmedPassword",
				openapi.Must("new_password", passwordSchema()), openapi.Must("confirm_password", passwordSchema()))},
			Answers: []openapi.Answer{{Status: http.StatusOK, Schema: openapi.Confirmation("")}},
		},
		func(c *call) error {
			sent, err := body.Read(c.r)
			if err != nil {
				return err
			}
			return c.resetPassword(sent)
		},
	}
}

func (c *call) resetPassword(sent confirmedPassword) error {
	if err := c.guessing(""); err != nil {
		return err
	}
	if err := notEmpty("new_password", sent.New, "confirm_password", sent.Confirm); err != nil {
		return err
	}
	if sent.New != sent.Confirm {
		return badField("confirm_password", "must be the same as new_password")
	}
	u, codeHash, err := c.userWithCode(codeOf(c.r))
	if auth.KindOf(err) == auth.ResetInvalid {
		if err := c.failed(""); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	hash, err := c.newHash(sent.New, u)
	if err != nil {
		return err
	}
	return c.finishReset(u, codeHash, hash)
}

// userWithCode is the user whom a code was mailed to, if it still counts.
func (c *call) userWithCode(code string) (*inventory.User, string, error) {
	codeHash, err := auth.LookupReset(code)
	if err != nil {
		return nil, "", err
	}
	u, err := c.userBy(userField("reset_hash"), codeHash)
	if err != nil {
		return nil, "", err
	}
	if u == nil || !c.counts(u, codeHash) {
		return nil, "", auth.ResetNotFound()
	}
	return u, codeHash, nil
}

// counts reports whether a code is a user's, in time, and not used up.
func (c *call) counts(u *inventory.User, codeHash string) bool {
	return !u.InactiveStatus && u.ResetHash == codeHash && u.ResetExpiresAt != nil && c.opts.Now().Before(*u.ResetExpiresAt)
}

// finishReset changes the password, and looks at the code again in the same transaction:
// it serves once.
func (c *call) finishReset(u *inventory.User, codeHash, hash string) error {
	done, err := c.inventory().Update(c.r.Context(), c.as(u), inventory.Of[inventory.User](), inventory.Edit{
		ID: u.ID, Action: "password_reset",
		Apply: func(rec inventory.Record) error {
			now := rec.(*inventory.User)
			if !c.counts(now, codeHash) {
				return auth.ResetNotFound()
			}
			c.setPassword(now, hash)
			return nil
		},
	})
	if err != nil {
		return err
	}
	c.forget(done...)
	return c.confirm("Password reset successfully")
}
