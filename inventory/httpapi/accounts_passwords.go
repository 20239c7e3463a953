package httpapi

import (
	"context"
	"net/http"
	"strings"

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
	current := openapi.String("Required from users who change their own password, unless the server is configured otherwise.")
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
	if err := c.accounts.Service.ChangePassword(c.r.Context(), c.request(), id, sent.New, sent.Current); err != nil {
		return err
	}
	if c.dryRun {
		return c.sendPreview("")
	}
	c.accounts.Forget(id)
	return c.confirm("Password updated successfully")
}

func forgotPassword() operation {
	return operation{openapi.Operation{
		ID: "forgotPassword", Tag: "accounts", Summary: "Send a reset code to the user with this email address, if there is one",
		Parameters: []openapi.Parameter{dryRun("true: send no email.")},
		Body:       openapi.Request("ForgottenPassword", openapi.Required("email", openapi.BoundedString(1, 254))),
		Responses:  []openapi.Response{confirmed()},
	}, withBody((*call).forgotPassword)}
}

// forgotPassword responds alike, after the same work, whether the address is known or not.
func (c *call) forgotPassword(sent forgottenPassword) error {
	if err := notEmpty("email", sent.Email); err != nil {
		return err
	}
	if err := c.accounts.Service.ForgotPassword(c.r.Context(), c.request(), sent.Email); err != nil {
		return err
	}
	if c.dryRun {
		c.preview = records.Preview{} // it would reveal whether the address is known
		return c.sendPreview("Would send a reset code to the address, if it is known")
	}
	return c.confirm("If the address is known, a reset code has been sent to it")
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
	if err := c.accounts.Service.CheckResets(c.r.Context(), c.request()); err != nil {
		return err
	}
	if err := notEmpty("new_password", sent.New, "confirm_password", sent.Confirm); err != nil {
		return err
	}
	if sent.New != sent.Confirm {
		return badField("confirm_password", records.Inconsistent("the same as new_password"))
	}
	u, err := c.accounts.Service.ResetPassword(c.r.Context(), c.request(), resetCode(c.r), sent.New)
	if err != nil {
		return err
	}
	if c.dryRun {
		return c.sendPreview("")
	}
	c.accounts.Forget(u.ID)
	return c.confirm("Password reset successfully")
}

// resetPath is the path of resets up to the code.
const resetPath = "/users/reset-password/"

// hiddenResetPath is their path after hideResetCode.
const hiddenResetPath = resetPath + "..."

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
	u.Path, u.RawPath = hiddenResetPath, ""
	r.URL = &u
	return r
}

// resetCode returns the code that hideResetCode moved.
func resetCode(r *http.Request) string {
	code, _ := r.Context().Value(resetCodeKey{}).(string)
	return code
}
