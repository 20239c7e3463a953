package logins

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
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

// changed changes a password.
func (l *logins) changed() feature.Operation {
	current := openapi.String("Required from users who change their own password, unless the server is configured otherwise.")
	current.Type = []string{"string", "null"}
	return feature.Operation{Operation: openapi.Operation{
		Method: http.MethodPut, Path: "/users/{id}/password", ID: "changePassword", Summary: "Change a password, which ends all sessions of the user",
		Parameters: []openapi.Parameter{openapi.DryRun()},
		Body: openapi.Request("NewPassword",
			openapi.Required("new_password", passwordSchema()), openapi.Optional("current_password", current)),
		Responses: confirmed(),
	}, Resource: "users", Does: records.RouteChange, BeforePassword: true, Handle: feature.WithBody(l.serveChanged)}
}

func (l *logins) serveChanged(ctx context.Context, r *feature.Request, sent newPassword) (*feature.Response, error) {
	id, err := r.ID()
	if err != nil {
		return nil, err
	}
	if err := l.ChangePassword(ctx, l.account(r), id, sent.New, sent.Current); err != nil {
		return nil, err
	}
	if !r.DryRun {
		r.Inventory.Forget(id)
	}
	return confirm("Password updated successfully"), nil
}

// maxEmail is the maximum number of characters of an email address.
const maxEmail = 254

// forgotten sends a reset code.
func (l *logins) forgotten() feature.Operation {
	return feature.Operation{Operation: openapi.Operation{
		Method: http.MethodPost, Path: "/users/forgot-password", ID: "forgotPassword", Summary: "Send a reset code to the user with this email address, if there is one",
		Parameters: []openapi.Parameter{dryRun("true: send no email.")},
		Body:       openapi.Request("ForgottenPassword", openapi.Required("email", openapi.BoundedString(1, maxEmail))),
		Responses:  confirmed(),
	}, Access: auth.Public(), Handle: feature.WithBody(l.serveForgotten)}
}

// serveForgotten responds alike, after the same work, whether the address is known or not.
func (l *logins) serveForgotten(ctx context.Context, r *feature.Request, sent forgottenPassword) (*feature.Response, error) {
	if err := notEmpty("email", sent.Email); err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(sent.Email) > maxEmail {
		return nil, records.Refuse("email", records.TooLong(maxEmail, "characters"))
	}
	q := l.account(r)
	if err := l.ForgotPassword(ctx, q, sent.Email); err != nil {
		return nil, err
	}
	if r.DryRun {
		*q.Preview = records.Preview{} // it would reveal whether the address is known
	}
	return &feature.Response{
		Body: httpx.Confirm("If the address is known, a reset code has been sent to it"), Message: "Would send a reset code to the address, if it is known",
	}, nil
}

// reset changes a forgotten password.
func (l *logins) reset() feature.Operation {
	return feature.Operation{Operation: openapi.Operation{
		Method: http.MethodPost, Path: "/users/reset-password/{code}", ID: "resetPassword", Summary: "Change a forgotten password with the code from the email",
		Parameters: []openapi.Parameter{dryRun("true: the password stays unchanged and the code valid. A wrong code still counts as a failed attempt.")},
		Body: openapi.Request("ConfirmedPassword",
			openapi.Required("new_password", passwordSchema()), openapi.Required("confirm_password", passwordSchema())),
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Confirmation("PasswordReset", openapi.Required("username", openapi.String("To log in with.")))}},
	}, Access: auth.Public(), Secret: true, Handle: feature.WithBody(l.serveReset)}
}

func (l *logins) serveReset(ctx context.Context, r *feature.Request, sent confirmedPassword) (*feature.Response, error) {
	q := l.account(r)
	if err := l.CheckResets(ctx, q); err != nil {
		return nil, err
	}
	if err := notEmpty("new_password", sent.New, "confirm_password", sent.Confirm); err != nil {
		return nil, err
	}
	if sent.New != sent.Confirm {
		return nil, records.Refuse("confirm_password", records.Inconsistent("the same as new_password"))
	}
	u, err := l.ResetPassword(ctx, q, r.HTTP.PathValue("code"), sent.New)
	if err != nil {
		return nil, err
	}
	if !r.DryRun {
		r.Inventory.Forget(u.ID)
	}
	return feature.OK(struct {
		httpx.Confirmation
		Username string `json:"username"`
	}{httpx.Confirm("Password reset successfully"), u.Username}), nil
}

// chooseForm is the data of the page where a password is chosen with a code, and of that which asks for an address.
type chooseForm struct{ Code, Email, Problem string }

func (l *logins) showForgot(q *site.Request) error {
	if !l.Mail {
		return httpx.Errorf(http.StatusNotFound, "There is no such page")
	}
	return q.Page("forgot.html", "Forgot your password?", chooseForm{})
}

// forgot has a code sent. It leads on in the same way whether the address is known or not.
func (l *logins) forgot(q *site.Request) error {
	form := chooseForm{Email: q.R.PostFormValue("email")}
	_, err := q.Do(&site.Call{Method: http.MethodPost, Path: "/users/forgot-password", Body: map[string]string{"email": form.Email}}, nil)
	if status := refused(q, &form, err); status != 0 {
		return q.PageStatus(status, "forgot.html", "Forgot your password?", form)
	}
	if err != nil {
		return err
	}
	return q.Redirect("/password?done=sent")
}

func showChoose(q *site.Request) error {
	return q.Page("password.html", "Choose a password", chooseForm{Code: q.R.URL.Query().Get("code")})
}

// choose sets a password with a code. The user signs in with it, so that a second factor is asked for as always.
func choose(q *site.Request) error {
	form := chooseForm{Code: strings.TrimSpace(q.R.PostFormValue("code"))}
	if _, err := auth.LookupReset(form.Code); err != nil {
		form.Problem = err.Error()
		return q.PageStatus(http.StatusNotFound, "password.html", "Choose a password", form)
	}
	body := map[string]string{"new_password": q.R.PostFormValue("password"), "confirm_password": q.R.PostFormValue("again")}
	var done struct{ Username string }
	_, err := q.Do(&site.Call{Method: http.MethodPost, Path: "/users/reset-password/" + form.Code, Body: body}, &done)
	if status := refused(q, &form, err); status != 0 {
		return q.PageStatus(status, "password.html", "Choose a password", form)
	}
	if err != nil {
		return err
	}
	q.Forget() // of whoever was signed in here
	return q.Redirect("/signin?" + url.Values{"done": {"password"}, "username": {done.Username}}.Encode())
}

// refused sets what the API refuses about a form, and returns the status, 0 for nothing.
func refused(q *site.Request, form *chooseForm, err error) int {
	f, ok := site.Refused(err)
	if !ok {
		return 0
	}
	form.Problem = problemOf(f)
	if f.RetryAfter != "" {
		q.W.Header().Set("Retry-After", f.RetryAfter)
	}
	return f.Status
}
