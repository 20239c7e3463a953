// Package site has what the pages of the inventory's console share: the sender of a request and their rights,
// calls of the API, and how fields and records are shown.
//
// Pages read and change nothing but through the API, in the same process and with the token of the sender.
// So its rules hold for pages: rights, locations, validation, dry runs, audit.
package site

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// cookieName is the name of the cookie with the token of the sender. The API does not read it.
const cookieName = "ashlar_session"

// API is what pages need of the API of an inventory, an httpapi.API.
type API interface {
	// Bare returns the API without its middleware.
	Bare() http.Handler
	// Schema returns the description of the records as it is now.
	Schema() *records.Schema
	// Users returns the resource of the users who log in at the API, nil for none.
	Users() *records.Resource
	// Rights returns the sender of a request and what they may do.
	Rights(r *http.Request) (*auth.Identity, records.Rights, error)
}

// Site serves routes. Its fields are set before the first request.
type Site struct {
	UI  *ui.Kit
	API API
	// Extra are further links of the navigation.
	Extra []ui.NavLink
	// Pages are those of all packages together, without routes and files; Entries, Sections and Counts are in order.
	Pages

	bare http.Handler
}

// New returns a site. Its other fields may be set afterwards.
func New(kit *ui.Kit, api API) *Site {
	return &Site{UI: kit, API: api, bare: httpx.RenderErrors(writeFault)(api.Bare())}
}

// writeFault writes an error of the API as JSON. Otherwise it would be a page, as other errors of the console.
func writeFault(w http.ResponseWriter, _ *http.Request, e *httpx.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(httpx.ErrorBody{Status: "error", Message: e.Message, Errors: e.Fields, Items: e.Items}) // it can be encoded
}

// Route is a page, or what a page asks for.
type Route struct {
	Pattern string // of a ServeMux, below the prefix: "GET /map"
	Handle  func(*Request) error
	Public  bool // without a token; Sender is set only if there is a valid one
}

// Choice is something to choose on a page: a value of a form, or a link to another view.
type Choice struct {
	Label, Value, URL string
	Chosen            bool
}

// Link is a link to a page, such as one above another.
type Link struct{ Label, URL string }

// Pages are the routes of a package, with its files in the directories templates and assets.
type Pages struct {
	Files    fs.FS
	Style    string // a file of the assets that all pages load; empty for none
	Routes   []Route
	Entries  []Entry
	Links    []RecordLink
	Offers   []Offer
	Exports  []Offer // pages with what a list has, in other forms; they get its filters
	Sections []Section
	Counts   []Count
	Computed []Computed
	Leads    []Lead
	// SignIn and Account are the paths, below the prefix, of the page to go to without a valid token, and of that of one's
	// own account, where a password is changed. The shared template "account" has the links to it. Empty for none: then the
	// senders have accounts of a program, and the API gets cookies and Authorization too.
	SignIn, Account string
	Edits           map[string]Edit // by the name of a resource
}

// Edit describes how the forms of a resource differ from those that follow from its fields.
type Edit struct {
	// Hints say what the values of fields mean, by their names.
	Hints map[string]string
	// Choices returns the values that a field may have, each with its label, nil for any.
	Choices func(q *Request, field string) [][2]string
	// Only names the fields that change in a record that exists; the form shows the others. Nil is all of them.
	Only []string
	// Instead replace the fields in the form of a record that exists, and Value returns the value of a record
	// has for one of them.
	Instead []*records.Field
	Value   func(rec Record, name string) any
	// Begin has first values of fields in the form of a new record, by their names, instead of their defaults.
	Begin map[string]string
	// First names the reference that the form of a new record begins with, and Fills the fields that the record which it
	// names determines, by the names of its fields.
	First string
	Fills map[string]string
	// Replaced names the fields that have the value of an older one, by its name. Only a record that has the older one
	// and none of the newer shows it.
	Replaced map[string]string
	// Verb is what the button of a new record says. Default: Create.
	Verb string
	// Optional names fields that the form of a new record may leave empty although the API requires them.
	Optional []string
	// Create sends the call of a new record, which it may change; done says that it has responded. Default: the call is
	// sent as it is.
	Create func(q *Request, c *Call) (rec Record, done bool, err error)
	// Set, if not nil, is a further list in the forms of records.
	Set *Set
	// Complete, if not nil, adds to a change of a record what follows from it, and returns why the change does not fit the
	// record, empty if it does. Of the Set the change has all ids.
	Complete func(rec Record, change map[string]any) (why string)
	// Near, if not nil, returns the id of the location whose records come first where a form names some, empty for none.
	Near func(q *Request, rec Record) (string, error)
}

// Set is the list of the records that are connected with one by those of another resource: the tagged VLANs of an interface.
type Set struct {
	Name, Label string
	Through     string // the resource of the connections
	Of, To      string // its references: to the record, and to the others
	Hint        string // what the list means
}

// RecordLink is a link on the page of each record of a resource.
type RecordLink struct {
	Resource, Label, Icon string
	Path                  func(id string) string // of a record
	Show                  func(*Request) bool    // to the sender
	Row                   bool                   // in rows of ports too
}

// Lead is where a record that the command palette finds leads to, such as the port of a switch that a server is at.
type Lead struct {
	From, To string // resources
	Label    string // of what it says of the record: "Port of"
	Load     func(q *Request, rec Record) ([]Link, error)
}

// Computed is a column of the list of a resource that is no field, after the columns that nobody has chosen.
type Computed struct {
	Resource, Label string
	Needs           []string // the resources of which the sender has to be allowed to list the records
	Load            func(q *Request, recs []Record) ([]Cell, error)
}

// Offer is a link on a list without records, to a page that creates some.
type Offer struct {
	Label, Icon string
	Path        func(r *records.Resource) string
	Show        func(q *Request, r *records.Resource) bool // to the sender, who may create records
}

// Entry is an entry of the navigation.
type Entry struct {
	Label, Path, Icon string
	Group             string              // of resources, that the entry is one of; empty for an entry of its own
	Order             int                 // that of resources too: entries are in ascending order
	Show              func(*Request) bool // to the sender
}

// Request is a request to a route.
type Request struct {
	*Site
	W      http.ResponseWriter
	R      *http.Request
	Sender *auth.Identity // nil without a token on a public route
	Schema *records.Schema

	rights records.Rights // of the sender
	token  string
}

// Shows reports whether the navigation of the sender has an entry with a path.
func (q *Request) Shows(path string) bool {
	return slices.ContainsFunc(q.Entries, func(e Entry) bool { return e.Path == path && e.Show(q) })
}

// Handler returns the handler of a route.
func (s *Site) Handler(route Route) http.Handler {
	return httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		q := s.request(w, r)
		err := q.identify(route.Public)
		httpx.LogAttrs(w, slog.String("route", route.Pattern))
		if q.Sender != nil {
			httpx.LogAttrs(w, slog.String("user", cmp.Or(q.Sender.Username, q.Sender.UserID)))
		}
		if err == nil {
			err = route.Handle(q)
		}
		return q.answer(err)
	})
}

// request returns a request, without the rights of its sender.
func (s *Site) request(w http.ResponseWriter, r *http.Request) *Request {
	q := &Request{Site: s, W: w, R: r, Schema: s.API.Schema()}
	if c, err := r.Cookie(cookieName); err == nil {
		q.token = c.Value
	}
	return q
}

// errSignIn leads to the page to sign in.
var errSignIn = errors.New("no valid token")

// identify sets the rights of the sender.
func (q *Request) identify(public bool) error {
	who, rights, err := q.API.Rights(q.outgoing(q.R.Context(), http.MethodGet, "/", nil))
	if e, ok := errors.AsType[*httpx.Error](err); ok && e.Status == http.StatusUnauthorized {
		switch {
		case public:
			return nil
		case q.SignIn != "":
			return errSignIn
		}
	}
	if err != nil {
		return err
	}
	q.Sender, q.rights = who, rights
	if q.Account != "" && who.MustChangePassword && !public && !strings.HasPrefix(q.R.URL.Path, q.Account) {
		http.Redirect(q.W, q.R, q.UI.URL(q.Account+"?must=change"), http.StatusSeeOther) // #nosec G710 -- a path of these pages
		return errAnswered
	}
	return nil
}

// errAnswered says that the response has been sent.
var errAnswered = errors.New("answered")

// answer responds to an error of a route.
func (q *Request) answer(err error) error {
	var fault *Fault
	var made *proposed
	switch {
	case err == nil, errors.Is(err, errAnswered):
		return nil
	case errors.As(err, &made):
		return q.Redirect("/proposals/" + url.PathEscape(made.ID) + "?done=proposed")
	case errors.Is(err, errSignIn), errors.As(err, &fault) && fault.Status == http.StatusUnauthorized && q.SignIn != "":
		return q.toSignIn()
	case errors.As(err, &fault):
		e := &httpx.Error{Status: fault.Status, Message: fault.Error(), Header: http.Header{}}
		if fault.RetryAfter != "" {
			e.Header.Set("Retry-After", fault.RetryAfter)
		}
		return e
	}
	return err
}

// Frame returns the page around an error for the sender of a request, with the navigation, or nil if they are not known.
func (s *Site) Frame(r *http.Request) *ui.Page {
	q := s.request(nil, r)
	if q.identify(true) != nil || q.Sender == nil {
		return nil
	}
	page := q.page("", "", nil)
	page.Notice = ""
	return page
}

// toSignIn leads to the page to sign in, and from there back.
func (q *Request) toSignIn() error {
	q.Forget()
	to := q.UI.URL(q.SignIn)
	switch {
	case ui.IsPart(q.R), strings.Contains(q.R.Header.Get("Accept"), "text/event-stream"):
		q.W.Header().Set("HX-Refresh", "true")
		q.W.WriteHeader(http.StatusUnauthorized)
		return nil
	case q.R.Method == http.MethodGet && q.R.URL.Path != "/":
		to += "?" + url.Values{"back": {q.R.URL.RequestURI()}}.Encode()
	}
	http.Redirect(q.W, q.R, to, http.StatusSeeOther) // #nosec G710 -- a path of these pages
	return nil
}

// Keep sets the cookie with a token, and renews that of forms. The response is a redirect.
func (q *Request) Keep(token string) {
	q.cookie(token, 0)
	q.UI.Renew(q.W, q.R)
}

// Forget removes the cookie.
func (q *Request) Forget() {
	if q.token != "" {
		q.cookie("", -1)
	}
}

func (q *Request) cookie(token string, age int) {
	http.SetCookie(q.W, &http.Cookie{ // #nosec G124 -- Secure over TLS
		Name: cookieName, Value: token, Path: q.UI.URL("/"), MaxAge: age, HttpOnly: true, Secure: ui.OverTLS(q.R), SameSite: http.SameSiteStrictMode,
	})
}

// May reports whether the sender may perform an operation on records of a resource that exists.
func (q *Request) May(resource string, does records.Routes) bool {
	_, ok := q.Schema.Named(resource)
	return ok && q.rights.May(resource, does)
}

// IsOwn reports whether a record is the user of the sender.
func (q *Request) IsOwn(resource, id string) bool {
	users := q.API.Users()
	return users != nil && resource == users.Name && strings.EqualFold(id, q.Sender.UserID)
}

// IsPlaces reports whether the records of a resource are those that other records are at.
func IsPlaces(r *records.Resource) bool { return len(r.Within) == 1 && r.Within[0] == "id" }

// Places returns the name of that resource, empty if there is none.
func (q *Request) Places() string {
	for _, r := range q.Schema.Resources() {
		if IsPlaces(r) {
			return r.Name
		}
	}
	return ""
}

// AuditLog returns the name of the audit log.
func (q *Request) AuditLog() string { return records.Of[records.AuditLog](q.Schema).Name }

// MaySee reports whether the sender may list the records of all these resources.
func (q *Request) MaySee(resources ...string) bool {
	return !slices.ContainsFunc(resources, func(name string) bool { return !q.May(name, records.RouteList) })
}

// Resource returns the resource that the path value "resource" names, if the sender may list it.
func (q *Request) Resource() (*records.Resource, error) {
	name := q.R.PathValue("resource")
	r, ok := q.Schema.Named(name)
	if !ok || r.Internal {
		return nil, httpx.Errorf(http.StatusNotFound, "There is no such page")
	}
	if !q.May(name, records.RouteList) {
		return nil, httpx.Errorf(http.StatusForbidden, "Your role may not see %s", Plural(r))
	}
	return r, nil
}

// Page responds with a page. A notice is shown if the parameter "done" has one of the known words.
func (q *Request) Page(template, title string, data any) error {
	return q.PageStatus(http.StatusOK, template, title, data)
}

// PageStatus is Page with another status, such as that of a form with errors.
func (q *Request) PageStatus(status int, template, title string, data any) error {
	return q.UI.Page(q.W, q.R, status, q.page(template, title, data))
}

// Part responds with a template of a page, for htmx.
func (q *Request) Part(template, name string, data any) error {
	return q.UI.Part(q.W, q.R, http.StatusOK, q.page(template, "", data), name)
}

// Redirect leads to a path below the prefix, after a change.
func (q *Request) Redirect(path string) error {
	if ui.IsPart(q.R) {
		q.W.Header().Set("HX-Redirect", q.UI.URL(path))
		return nil
	}
	http.Redirect(q.W, q.R, q.UI.URL(path), http.StatusSeeOther) // #nosec G710 -- below the prefix
	return nil
}

// notices holds the texts for the parameter done.
var notices = map[string]string{
	"created": "Created.", "saved": "Saved.", "deleted": "Deleted.", "applied": "The changes are applied.",
	"moved": "Moved.", "password": "The password is changed.", "acknowledged": "Acknowledged.", "ended": "Ended.", "sent": "If the address is known, a code is on its way to it.",
	"connected": "Connected.", "proposed": "Proposed. Another user has to apply it.",
}

func (q *Request) page(template, title string, data any) *ui.Page {
	p := &ui.Page{Template: template, Title: title, Data: data, Notice: notices[q.R.URL.Query().Get("done")]}
	if q.Sender == nil {
		p.Public = true
		return p
	}
	p.User = cmp.Or(q.Sender.Username, q.Sender.UserID)
	p.Nav, p.Search, p.Live = q.Nav(), "/search", "/live"
	return p
}
