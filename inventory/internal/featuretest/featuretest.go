// Package featuretest serves an inventory with features, for their tests.
//
//	api := featuretest.New(t, nil, drift.New())
//	api.As("viewer").Send("POST", "/drift", body).Want(http.StatusOK)
package featuretest

import (
	"bytes"
	"encoding/json"
	"html"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
	"github.com/ashlar-go/ashlar/inventory/console"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feature/logins"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// Password is the password of the users root, editor and viewer. root is an admin, the others have the role of
// their name.
const Password = "correct horse battery"

// API is an API with users. Its methods end the test if they fail.
type API struct {
	*httpapi.API
	Store records.Store
	Users map[string]*inventory.User // by name

	passed atomic.Int64      // see Forward
	scoped map[string]string // API tokens by scopes
	t      testing.TB
	tokens *jwt.Tokens
	pages  http.Handler
}

// New serves an inventory with features over a store, nil for one in memory, until the end of the test. It
// creates the users unless the store has them from another API.
func New(t testing.TB, store records.Store, features ...*feature.Feature) *API {
	t.Helper()
	a := &API{Store: store, Users: map[string]*inventory.User{}, scoped: map[string]string{}, t: t}
	var err error
	if store == nil {
		schema, err := inventory.NewSchema(feature.Parts(features...)...)
		a.check(err)
		a.Store = records.NewMemStore(schema)
	}
	a.tokens, err = jwt.NewTokens([][]byte{[]byte(strings.Repeat("k", auth.MinKeyBytes))}, &jwt.TokensOptions{Now: a.Now})
	a.check(err)
	hasher, err := auth.NewHasher(&auth.HasherOptions{Cost: auth.Cost{Memory: 8, Time: 1, Parallelism: 1}})
	a.check(err)
	hash, err := hasher.Hash(t.Context(), Password)
	a.check(err)
	engine := records.New(a.Store, &records.Options{Now: a.Now})
	for name, role := range map[string]inventory.Role{"root": inventory.Admin, "editor": inventory.Editor, "viewer": inventory.Viewer} {
		a.Users[name] = &inventory.User{Username: name, Email: name + "@example.org", Role: role, PasswordHash: hash}
		err := engine.Create(t.Context(), records.Caller{Name: "test"}, a.Users[name])
		if records.KindOf(err) != records.Conflict {
			a.check(err)
			continue
		}
		page, err := a.Store.List(t.Context(), (&records.Query{Resource: records.Of[inventory.User](a.Store.Schema())}).Where("username", name))
		a.check(err)
		a.Users[name] = page.Records[0].(*inventory.User)
	}
	guard, err := jwt.NewGuard(a.tokens, accounts.NewStates(a.Store), &jwt.GuardOptions{Now: a.Now})
	a.check(err)
	service, err := accounts.New(engine, hasher, nil)
	a.check(err)
	t.Cleanup(func() { a.check(service.Close()) })
	users, err := logins.New(service, a.tokens, nil)
	a.check(err)
	a.API, err = httpapi.New(engine, guard, &httpapi.Options{Features: append(slices.Clone(features), users)})
	a.check(err)
	a.pages, err = console.New(a.API, nil)
	a.check(err)
	return a
}

// Now returns the time of the API, which begins at noon of 31 January 2026 and passes by Forward.
func (a *API) Now() time.Time {
	return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC).Add(time.Duration(a.passed.Load()))
}

// Forward lets time pass.
func (a *API) Forward(d time.Duration) { a.passed.Add(int64(d)) }

func (a *API) check(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// formToken finds the token of the forms of a page.
var formToken = regexp.MustCompile(`name="_token" value="([^"]*)"`)

// Page returns the text of a page of the console, as a user sees it.
func (a *API) Page(name, path string) (text string) {
	a.t.Helper()
	status, text := a.Visit(name, path)
	if status != http.StatusOK {
		a.t.Fatalf("GET %s: %d %s", path, status, text)
	}
	return text
}

// Visit returns the status and the text of a page of the console, as a user sees it.
func (a *API) Visit(name, path string) (status int, text string) {
	a.t.Helper()
	w := a.visit(name, httptest.NewRequestWithContext(a.t.Context(), http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// Form sends a form to a page of the console as a user, given as name, value, name, value. It returns the status
// and the text of the response, without entities.
func (a *API) Form(name, path string, fields ...string) (status int, text string) {
	a.t.Helper()
	start := "/"
	if name == "" {
		start = "/signin"
	}
	home := a.visit(name, httptest.NewRequestWithContext(a.t.Context(), http.MethodGet, start, nil))
	token := formToken.FindStringSubmatch(home.Body.String())
	if token == nil {
		a.t.Fatalf("GET /: %d, and no form in %s", home.Code, home.Body)
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for i, fields := 0, append([]string{"_token", token[1]}, fields...); i+1 < len(fields); i += 2 {
		a.check(form.WriteField(fields[i], fields[i+1]))
	}
	a.check(form.Close())
	r := httptest.NewRequestWithContext(a.t.Context(), http.MethodPost, path, &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	for _, c := range home.Result().Cookies() {
		r.AddCookie(c)
	}
	w := a.visit(name, r)
	return w.Code, html.UnescapeString(w.Body.String())
}

// SignIn signs a user in by the form of the console, and returns the status and the header of the response.
func (a *API) SignIn(name string) (int, http.Header) {
	a.t.Helper()
	w := httptest.NewRecorder()
	a.pages.ServeHTTP(w, httptest.NewRequestWithContext(a.t.Context(), http.MethodGet, "/signin", nil))
	token := formToken.FindStringSubmatch(w.Body.String())
	if token == nil {
		a.t.Fatalf("GET /signin: %d, and no form in %s", w.Code, w.Body)
	}
	form := url.Values{"_token": token[1:2], "username": {name}, "password": {Password}}
	r := httptest.NewRequestWithContext(a.t.Context(), http.MethodPost, "/signin", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range w.Result().Cookies() {
		r.AddCookie(c)
	}
	w = httptest.NewRecorder()
	a.pages.ServeHTTP(w, r)
	return w.Code, w.Header()
}

// visit sends a request to the console with the session of a user.
func (a *API) visit(name string, r *http.Request) *httptest.ResponseRecorder {
	a.t.Helper()
	r.Header.Add("Cookie", "ashlar_session="+strings.TrimPrefix(a.As(name).Header.Get("Authorization"), "Bearer "))
	w := httptest.NewRecorder()
	a.pages.ServeHTTP(w, r)
	return w
}

// As returns a client with the token of a user, or without one if the name is empty.
func (a *API) As(name string) *httpxtest.Client {
	a.t.Helper()
	if name == "" {
		return httpxtest.New(a.t, a.API)
	}
	u := a.Users[name]
	token, _, err := a.tokens.Issue(auth.Identity{UserID: u.ID, Username: u.Username, Role: auth.Role(u.Role)})
	a.check(err)
	return a.bearing(token)
}

// Create creates a record as root and returns it.
func (a *API) Create(path string, body any) (created map[string]any) {
	a.t.Helper()
	a.As("root").Send(http.MethodPost, path, body).Want(http.StatusCreated).JSON(&created)
	return created
}

// List returns the records of a list as root sees them.
func (a *API) List(path string) []map[string]any {
	a.t.Helper()
	var page struct {
		Meta any
		Data []map[string]any
	}
	a.As("root").Send(http.MethodGet, path, nil).Want(http.StatusOK).JSON(&page)
	return page.Data
}

// Rights tell who may use an operation: "+" is allowed, "1" gets a 401, "3" a 403, for nobody, the users viewer,
// editor and root, and an API token of root with the scopes Scope, which spaces separate. "" is none: the operation decides by the
// resources that a request concerns.
type Rights struct{ Who, Scope string }

// CheckRights compares the operations of a feature with a table of them, by method and path such as "GET /topology". A
// token with another scope of the resource gets a 403.
func CheckRights(t *testing.T, f *feature.Feature, table map[string]Rights) {
	t.Helper()
	t.Parallel()
	a := New(t, nil, f)
	result := func(c *httpxtest.Client, op *feature.Operation) string {
		path := strings.NewReplacer("{id}", a.Users["root"].ID, "{$}", "").Replace(op.Path)
		switch c.Send(op.Method, path, nil).Code {
		case http.StatusUnauthorized:
			return "1"
		case http.StatusForbidden:
			return "3"
		}
		return "+"
	}
	for i := range f.Operations {
		op := &f.Operations[i]
		name := op.Method + " " + op.Path
		want, ok := table[name]
		if !ok {
			t.Errorf("%s has no row in the table of rights", name)
		}
		delete(table, name)
		who := ""
		for _, user := range []string{"", "viewer", "editor", "root"} {
			who += result(a.As(user), op)
		}
		if who != want.Who {
			t.Errorf("%s gives nobody, viewer, editor and root %s, want %s", name, who, want.Who)
		}
		if want.Scope == "" {
			continue
		}
		scopes := strings.Fields(want.Scope)
		resource, verb, _ := strings.Cut(scopes[0], ":")
		other := map[string]string{"read": "write", "write": "read"}[verb]
		results := map[string]string{scopes[0]: "3", want.Scope: "+", resource + ":" + other: "3", "vlans:*": "3"} // of several, none suffices alone
		for scope, allowed := range results {
			if got := result(a.WithScopes(strings.Fields(scope)...), op); got != allowed {
				t.Errorf("%s with the scope %s is %s, want %s", name, scope, got, allowed)
			}
		}
	}
	for name := range table {
		t.Errorf("the table of rights has %s, which is no operation", name)
	}
}

// WithScopes returns a client with an API token of root with some scopes.
func (a *API) WithScopes(scopes ...string) *httpxtest.Client {
	a.t.Helper()
	if token, ok := a.scoped[strings.Join(scopes, " ")]; ok {
		return a.bearing(token)
	}
	var made struct{ Token string }
	body := map[string]any{"name": strings.Join(scopes, " "), "scopes": scopes, "current_password": Password}
	w := a.As("root").Send(http.MethodPost, "/users/"+a.Users["root"].ID+"/tokens", body).Want(http.StatusCreated)
	a.check(json.Unmarshal(w.Body.Bytes(), &made))
	a.scoped[strings.Join(scopes, " ")] = made.Token
	return a.bearing(made.Token)
}

// bearing returns a client with a token.
func (a *API) bearing(token string) *httpxtest.Client {
	c := httpxtest.New(a.t, a.API)
	c.Header.Set("Authorization", "Bearer "+token)
	return c
}

// Object is a JSON object.
type Object = map[string]any

// Unknown is an id of no record.
const Unknown = "018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f"

// OnStores runs a test on an API with a feature over a store in memory, and on one over a database.
func OnStores(t *testing.T, test func(t *testing.T, g *API), newFeature func() *feature.Feature) {
	t.Helper()
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, New(t, nil, newFeature()))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		of := newFeature()
		schema, err := inventory.NewSchema(feature.Parts(of)...)
		if err != nil {
			t.Fatal(err)
		}
		store, err := sqlite.Open(t.Context(), sqlite.Memory, schema, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		test(t, New(t, store, of))
	})
}

// Read returns the object of a response.
func Read(t testing.TB, w *httpxtest.Response) (doc Object) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatalf("%s is not an object: %v", w.Body, err)
	}
	return doc
}

// Data returns the records of a response with a list.
func Data(t testing.TB, w *httpxtest.Response) []Object {
	t.Helper()
	var page struct {
		Meta Object
		Data []Object
	}
	w.Want(200).JSON(&page)
	if page.Data == nil {
		t.Errorf("data is null in %s", w.Body)
	}
	return page.Data
}

// With returns an object with other members, given as name, value; nil removes one.
func With(o Object, pairs ...any) Object {
	changed := maps.Clone(o)
	for i := 0; i+1 < len(pairs); i += 2 {
		if changed[pairs[i].(string)] = pairs[i+1]; pairs[i+1] == nil {
			delete(changed, pairs[i].(string))
		}
	}
	return changed
}

// Path returns the path of a record.
func Path(list string, rec Object) string { return list + "/" + rec["id"].(string) }

// Device returns a device with the fields that are required, and some more.
func Device(hostname string) Object {
	return Object{"hostname": hostname, "ip": "192.0.2.1", "model": "QFX5120", "vendor": "Juniper", "os": "Junos", "status": "active"}
}

// Location returns a location with some fields.
func Location(name string) Object {
	return Object{"name": name, "city": "Berlin", "country": "DE", "address": "Allee 1"}
}

// Port returns an interface of a device.
func Port(device any, name string) Object {
	return Object{"device_id": device, "name": name, "type": "fiber"}
}

// Entries returns the entries of the audit log, without those of the users that New has created.
func (a *API) Entries() (all []*records.AuditLog) {
	a.t.Helper()
	page, err := a.Store.List(a.t.Context(), &records.Query{Resource: records.Of[records.AuditLog](a.Store.Schema())})
	a.check(err)
	for _, rec := range page.Records {
		if e := rec.(*records.AuditLog); e.Actor != "test" {
			all = append(all, e)
		}
	}
	return all
}

// Last returns the last of Entries.
func (a *API) Last() *records.AuditLog {
	a.t.Helper()
	all := a.Entries()
	if len(all) == 0 {
		a.t.Fatal("the audit log is empty")
	}
	return all[len(all)-1]
}

// Ports creates interfaces of a device, and returns their paths and ids by name.
func (a *API) Ports(device any, names ...string) (paths, ids map[string]string) {
	a.t.Helper()
	paths, ids = map[string]string{}, map[string]string{}
	for _, name := range names {
		rec := a.Create("/interfaces", Port(device, name))
		paths[name], ids[name] = Path("/interfaces", rec), rec["id"].(string)
	}
	return paths, ids
}

// Patch changes a record. The status is 200, or that of an error with some words.
func Patch(c *httpxtest.Client, path string, change Object, status int, words string) {
	if w := c.Send("PATCH", path, change); status == 200 {
		w.Want(200)
	} else {
		w.WantError(status, words)
	}
}

// Along returns the entries of the audit log with a cause, in order.
func (a *API) Along(cause string) string {
	a.t.Helper()
	var all []string
	for _, e := range a.Entries() {
		if e.Cause == cause {
			all = append(all, e.Action+" "+e.ResourceType+"/"+e.ResourceID)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
