package console

import (
	"net/http"
	"net/url"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// accountRoutes are the routes of signing in and of one's own account.
func (c *Console) accountRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET /signin", Handle: showSignIn, Public: true},
		{Pattern: "POST /signin", Handle: signIn, Public: true},
		{Pattern: "GET /signin/provider", Handle: toProvider, Public: true},
		{Pattern: "GET /signin/done", Handle: fromProvider, Public: true},
		{Pattern: "GET /signin/link", Handle: c.followLink, Public: true},
		{Pattern: "POST /signout", Handle: signOut, Public: true},
		{Pattern: "GET /account", Handle: showAccount},
		{Pattern: "POST /account/password", Handle: changePassword},
		{Pattern: "POST /account/sessions/{session}", Handle: endSession},
	}
}

// signInForm is the data of the page to sign in.
type signInForm struct {
	Username, Back, Problem string
	CodeFault               string // what is wrong with the code of the second factor
	Provider                bool
}

func showSignIn(q *site.Request) error {
	if q.SignIn == "" {
		return httpx.Errorf(http.StatusNotFound, "The application that this console belongs to signs users in")
	}
	if q.Sender != nil {
		return q.Redirect("/")
	}
	_, provider := q.API.Users()
	return q.Page("signin.html", "Sign in", signInForm{Back: ui.LocalPath(q.R.URL.Query().Get("back")), Provider: provider})
}

// The messages of the API about the second factor.
const (
	codeRequired = "A code of the second factor is required"
	codeWrong    = "The code of the second factor is wrong"
)

// signIn exchanges a password for a token.
func signIn(q *site.Request) error {
	if q.SignIn == "" {
		return httpx.Errorf(http.StatusNotFound, "Not Found")
	}
	form := signInForm{Username: q.R.PostFormValue("username"), Back: ui.LocalPath(q.R.PostFormValue("back"))}
	_, form.Provider = q.API.Users()
	body := map[string]string{"username": form.Username, "password": q.R.PostFormValue("password")}
	if code := q.R.PostFormValue("code"); code != "" {
		body["code"] = code
	}
	var session struct{ Token string }
	_, err := q.Do(&site.Call{Method: http.MethodPost, Path: "/users/login", Body: body}, &session)
	if f, ok := site.AsFault(err); ok {
		switch {
		case f.Message == codeRequired || f.Message == codeWrong:
			form.CodeFault = f.Message
		case len(f.Fields) > 0:
			form.Problem = f.Fields[0].Field + " " + f.Fields[0].Reason
		default:
			form.Problem = f.Message
		}
		if f.RetryAfter != "" {
			q.W.Header().Set("Retry-After", f.RetryAfter)
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
func fromProvider(q *site.Request) error {
	if _, provider := q.API.Users(); !provider {
		return httpx.Errorf(http.StatusNotFound, "There is no such page")
	}
	back := ui.LocalPath(q.R.URL.Query().Get("back"))
	token, refusal := q.API.FinishedLogin(q.W, q.R)
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
	path := "/signin"
	if q.SignIn == "" {
		path = "/"
	}
	if q.Sender != nil && q.SignIn != "" {
		if _, err := q.Do(&site.Call{Method: http.MethodPost, Path: "/users/logout"}, nil); err != nil {
			return err
		}
	}
	q.Forget()
	return q.Redirect(path)
}

// Link returns a path, with the prefix, that signs a browser in with a token of the API, once and within
// 10 minutes. It is for programs that show the link to somebody on the same machine.
func (c *Console) Link(token string) string {
	return c.site.UI.URL("/signin/link?code=" + c.links.Issue(token, time.Now()))
}

func (c *Console) followLink(q *site.Request) error {
	token, ok := c.links.Use(q.R.URL.Query().Get("code"), time.Now())
	if !ok {
		return q.PageStatus(http.StatusGone, "signin.html", "Sign in", signInForm{Back: "/", Problem: "The link has been used, or is too old. Sign in, or get a new link."})
	}
	q.Keep(token)
	return q.Redirect("/")
}
