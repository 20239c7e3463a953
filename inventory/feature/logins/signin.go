package logins

import (
	"embed"
	"net/http"
	"net/url"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// signInForm is the data of the page to sign in.
type signInForm struct {
	Username, Back, Problem string
	CodeFault               string // what is wrong with the code of the second factor
	Code                    bool   // one is asked for
	Provider, Mail          bool
}

// newSignIn returns an empty form.
func (l *logins) newSignIn(back string) signInForm {
	return signInForm{Back: ui.LocalPath(back), Provider: l.Provider != nil, Mail: l.Mail}
}

func (l *logins) showSignIn(q *site.Request) error {
	if q.Sender != nil {
		return q.Redirect("/")
	}
	form := l.newSignIn(q.R.URL.Query().Get("back"))
	form.Username = q.R.URL.Query().Get("username")
	return q.Page("signin.html", "Sign in", form)
}

// The messages of the API about the second factor.
const (
	codeRequired = "A code of the second factor is required"
	codeWrong    = "The code of the second factor is wrong"
)

// signIn exchanges a password for a token.
func (l *logins) signIn(q *site.Request) error {
	form := l.newSignIn(q.R.PostFormValue("back"))
	form.Username = q.R.PostFormValue("username")
	body := map[string]string{"username": form.Username, "password": q.R.PostFormValue("password")}
	if code := q.R.PostFormValue("code"); code != "" {
		body["code"] = code
	}
	var session struct{ Token string }
	_, err := q.Do(&site.Call{Method: http.MethodPost, Path: "/users/login", Body: body}, &session)
	if f, ok := site.AsFault(err); ok {
		switch {
		case f.Message == codeRequired:
			form.Code = true
		case f.Message == codeWrong:
			form.Code, form.CodeFault = true, f.Message
		case len(f.Fields) > 0:
			form.Problem = problemOf(f)
		default:
			form.Problem = f.Message
		}
		if f.RetryAfter != "" {
			q.W.Header().Set("Retry-After", f.RetryAfter)
		}
		if ui.IsPart(q.R) { // the browser keeps what was typed
			return q.Part("signin.html", "signin-form", form)
		}
		return q.PageStatus(f.Status, "signin.html", "Sign in", form)
	}
	if err != nil {
		return err
	}
	q.Keep(session.Token)
	return q.Redirect(form.Back)
}

// toProvider leads to the identity provider, through the API.
func toProvider(q *site.Request) error {
	form := signInForm{Back: ui.LocalPath(q.R.URL.Query().Get("back")), Provider: true}
	back := q.UI.URL("/signin/done") + "?" + url.Values{"back": {form.Back}}.Encode()
	err := q.Forward(&site.Call{Path: "/users/oidc/login", Query: url.Values{"return_to": {back}}}, nil)
	if f, ok := site.AsFault(err, http.StatusServiceUnavailable); ok {
		form.Problem = f.Message
		return q.PageStatus(f.Status, "signin.html", "Sign in", form)
	}
	return err
}

// fromProvider takes over the token that the API has set as its cookie, or shows why it has set none.
func (l *logins) fromProvider(q *site.Request) error {
	if l.Provider == nil {
		return httpx.Errorf(http.StatusNotFound, "There is no such page")
	}
	back := ui.LocalPath(q.R.URL.Query().Get("back"))
	token, refusal := l.finished(q.W, q.R)
	switch {
	case refusal != "":
		return q.PageStatus(http.StatusForbidden, "signin.html", "Sign in", signInForm{Back: back, Problem: refusal, Provider: true})
	case token == "":
		return q.Redirect("/signin")
	}
	q.Keep(token)
	return q.Redirect(back)
}

func signOut(q *site.Request) error {
	if q.Sender != nil {
		if _, err := q.Do(&site.Call{Method: http.MethodPost, Path: "/users/logout"}, nil); err != nil {
			return err
		}
	}
	q.Forget()
	return q.Redirect("/signin")
}
