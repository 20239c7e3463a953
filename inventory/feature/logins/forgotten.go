package logins

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/site"
)

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
