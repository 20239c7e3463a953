package logins

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"rsc.io/qr"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// account is the data of the page of one's own account, or after a form of an admin failed, of that of a user.
type account struct {
	User    site.Record
	Parts   []*site.Part
	Must    bool // change the password first
	Problem string
	ID      string
}

// access is the data of the sections about how a user signs in.
type access struct {
	ID        string
	User      site.Record
	Own, May  bool // change it
	Password  bool // the user has one
	Invited   bool
	Sessions  []shownSession
	Tokens    []shownToken
	Resources []site.Choice // that a token may be limited to
	Named     string        // the name of the new token that a link proposes
}

type shownToken struct{ tokenEntry }

// Expired reports whether the token is of no use any more.
func (t shownToken) Expired() bool { return t.ExpiresAt != nil && time.Now().After(*t.ExpiresAt) }

// Allows returns what the token may do.
func (t shownToken) Allows() (all []string) {
	for _, scope := range t.Scopes {
		resource, verb, _ := strings.Cut(scope, ":")
		what := map[string]string{"read": "read ", "write": "change ", "*": "read and change "}[verb]
		if resource == "*" {
			resource = "everything"
		}
		all = append(all, what+strings.ReplaceAll(resource, "-", " "))
	}
	return all
}

type shownSession struct{ sessionEntry }

// Browser returns the names of the browser and of the system, as far as the user agent has them.
func (s shownSession) Browser() string {
	find := func(names [][2]string) string {
		for _, n := range names {
			if strings.Contains(s.UserAgent, n[0]) {
				return n[1]
			}
		}
		return ""
	}
	// The first one counts: each also has the names of those that follow.
	browser := find([][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Chrome/", "Chrome"}, {"CriOS/", "Chrome"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"Safari/", "Safari"}})
	system := find([][2]string{{"Windows", "Windows"}, {"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"}})
	switch {
	case browser == "":
		return s.UserAgent
	case system == "":
		return browser
	}
	return browser + " on " + system
}

// sections returns the sections of the page of a user, which that of one's own account has too.
func sections() []site.Section {
	of := func(order int, id, title string, load func(p *site.Part, a *access) error) site.Section {
		return site.Section{On: "users", ID: id, Title: title, Template: id, Order: order, Load: func(p *site.Part) error {
			a := &access{ID: p.Rec.ID(), User: p.Rec, Own: p.IsOwn("users", p.Rec.ID()), Named: printable.Truncate(p.R.URL.Query().Get("token"), 100)}
			a.May = a.Own || p.May("users", records.RouteChange)
			a.Password = p.Rec.Text("external") == "" || p.Rec.Text("password_changed_at") != ""
			a.Invited = !a.Password && p.Rec.Text("external") == inventory.Invited
			if err := load(p, a); err != nil {
				return err
			}
			p.Data = a
			return nil
		}}
	}
	return []site.Section{
		of(10, "account-access", "Signing in", func(p *site.Part, a *access) error {
			if !a.May {
				return &site.Fault{Status: http.StatusForbidden}
			}
			return nil
		}),
		of(20, "account-tokens", "API tokens", func(p *site.Part, a *access) error {
			for _, r := range p.Schema.Resources() {
				if !r.Internal && p.May(r.Name, records.RouteList) {
					a.Resources = append(a.Resources, site.Choice{Label: site.Title(r), Value: r.Name})
				}
			}
			slices.SortFunc(a.Resources, func(x, y site.Choice) int { return strings.Compare(x.Label, y.Label) })
			return p.Get("/users/"+a.ID+"/tokens", nil, &struct{ Data *[]shownToken }{&a.Tokens})
		}),
		of(30, "account-sessions", "Sessions", func(p *site.Part, a *access) error {
			return p.Get("/users/"+a.ID+"/sessions", nil, &struct{ Data *[]shownSession }{&a.Sessions})
		}),
	}
}

func showAccount(q *site.Request) error {
	return accountPage(q, q.Sender.UserID, http.StatusOK, "")
}

func accountPage(q *site.Request, id string, status int, problem string) (err error) {
	title := "Your account"
	data := account{Must: q.Sender.MustChangePassword, Problem: problem, ID: id}
	if !data.Must {
		if data.User, _, err = q.One("users", id); err != nil {
			return err
		}
		if !q.IsOwn("users", id) {
			title = data.User.Text("username")
		}
		data.Parts = q.Parts("users", site.Main, data.User)
		if done, err := site.LoadAll(q, "account.html", data.Parts); done || err != nil {
			return err
		}
	}
	return q.PageStatus(status, "account.html", title, data)
}

// send sends a form about the user of the path to the API. It shows their page with what the API refuses.
func send(q *site.Request, method, path string, body, into any) (done bool, err error) {
	id := q.R.PathValue("id")
	_, err = q.Do(&site.Call{Method: method, Path: "/users/" + id + path, Body: body}, into)
	if f, ok := site.Refused(err); ok && f.Status != http.StatusNotFound && f.Status != http.StatusForbidden {
		return true, accountPage(q, id, f.Status, problemOf(f))
	}
	return err != nil, err
}

// problemOf says what the API refuses, with the labels of the fields.
func problemOf(f *site.Fault) string {
	var all []string
	for _, field := range f.Fields {
		all = append(all, site.FieldLabel(&records.Field{Name: field.Field})+": "+field.Reason)
	}
	if len(all) == 0 {
		return f.Message
	}
	return strings.Join(all, "; ")
}

// back leads to the page of the user of the path, or of one's own account.
func back(q *site.Request, notice string) error {
	id := q.R.PathValue("id")
	if q.IsOwn("users", id) {
		return q.Redirect("/account?done=" + notice)
	}
	return q.Redirect("/r/users/" + id + "?done=" + notice)
}

// proof returns the fields of a form that prove who sends it.
func proof(q *site.Request) map[string]any {
	body := map[string]any{}
	for field, name := range map[string]string{"current": "current_password", "code": "code"} {
		if value := q.R.PostFormValue(field); value != "" {
			body[name] = value
		}
	}
	return body
}

func changePassword(q *site.Request) error {
	body := proof(q)
	body["new_password"] = q.R.PostFormValue("password")
	if q.R.PostFormValue("password") != q.R.PostFormValue("again") {
		return accountPage(q, q.R.PathValue("id"), http.StatusBadRequest, "The two new passwords differ: enter the same twice.")
	}
	if done, err := send(q, http.MethodPut, "/password", body, nil); done {
		return err
	}
	if !q.IsOwn("users", q.R.PathValue("id")) {
		return back(q, "password")
	}
	q.Forget() // the sessions have ended with the old password
	return q.Redirect("/signin?done=password")
}

// end returns a handler that ends what an element of the path names.
func end(what, notice string) func(q *site.Request) error {
	return func(q *site.Request) error {
		if done, err := send(q, http.MethodDelete, "/"+what+"/"+q.R.PathValue("one"), nil, nil); done {
			return err
		}
		return back(q, notice)
	}
}

// once is the data of a page with something that is shown only now.
type once struct {
	ID, Lead, Back string
	Shown          []string
	All            string // to copy
}

// showOnce shows something of a user that nothing can show again.
func showOnce(q *site.Request, id, title, lead string, shown ...string) error {
	data := once{ID: id, Lead: lead, Back: "/account", Shown: shown, All: strings.Join(shown, "\n")}
	if !q.IsOwn("users", id) {
		data.Back = "/r/users/" + id
	}
	return q.Page("once.html", title, data)
}

// createToken creates an API token.
func createToken(q *site.Request) error {
	body := proof(q)
	name := strings.TrimSpace(q.R.PostFormValue("name"))
	body["name"] = name
	switch q.R.PostFormValue("access") {
	case "read":
		body["scopes"] = []string{"*:read"}
	case "change":
		body["scopes"] = []string{"*:*"}
	default:
		scopes := slices.DeleteFunc(slices.Clone(q.R.PostForm["scope"]), func(s string) bool { return s == "" })
		if len(scopes) == 0 {
			return accountPage(q, q.R.PathValue("id"), http.StatusBadRequest, "The token may do nothing: choose what it may read or change.")
		}
		body["scopes"] = scopes
	}
	if days, err := strconv.Atoi(q.R.PostFormValue("days")); err == nil && days > 0 && days <= 3660 { // the API has a lower bound
		body["expires_at"] = time.Now().UTC().AddDate(0, 0, days)
	}
	var token struct{ Token string }
	if done, err := send(q, http.MethodPost, "/tokens", body, &token); done {
		return err
	}
	return showOnce(q, q.R.PathValue("id"), "API token "+name, "Copy the token now: it is shown only this once. Programs send it as Authorization: Bearer.", token.Token)
}

// startFactor shows the secret of a second factor, to be confirmed by a code.
func startFactor(q *site.Request) error {
	var factor struct{ Secret, URL string }
	if done, err := send(q, http.MethodPost, "/totp", proof(q), &factor); done {
		return err
	}
	code, err := qr.Encode(factor.URL, qr.M)
	if err != nil {
		return err
	}
	var path strings.Builder
	for i := range code.Size * code.Size {
		if x, y := i%code.Size, i/code.Size; code.Black(x, y) {
			path.WriteString("M" + strconv.Itoa(x) + " " + strconv.Itoa(y) + "h1v1h-1z")
		}
	}
	return q.Page("factor.html", "Set up the authenticator", map[string]any{"ID": q.R.PathValue("id"), "Secret": factor.Secret, "Frame": code.Size + 8, "Path": path.String()})
}

// recoveryCodes returns a handler that gets recovery codes of the API and shows them.
func recoveryCodes(method, path string) func(q *site.Request) error {
	return func(q *site.Request) error {
		var got struct {
			Codes []string `json:"recovery_codes"`
		}
		if done, err := send(q, method, path, proof(q), &got); done {
			return err
		}
		return showOnce(q, q.R.PathValue("id"), "Recovery codes", "Keep these codes where you find them without the device: each signs you in once in place of a code of the app. They are shown only now.", got.Codes...)
	}
}

func endFactor(q *site.Request) error {
	var body any // of another user's factor there is no proof
	if q.IsOwn("users", q.R.PathValue("id")) {
		body = proof(q)
	}
	if done, err := send(q, http.MethodDelete, "/totp", body, nil); done {
		return err
	}
	return back(q, "saved")
}
