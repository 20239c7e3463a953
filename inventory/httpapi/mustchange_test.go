package httpapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

const changeFirst = "PUT /users/{id}/password"

// bearer returns a client with the token of a login.
func (g *harness) bearer(name, word string) *httpxtest.Client {
	g.t.Helper()
	token := read(g.t, g.as("").Send("POST", "/users/login", object{"username": name, "password": word}).Want(200))["token"].(string)
	c := g.as("")
	c.Header.Set("Authorization", "Bearer "+token)
	return c
}

// TestMustChangePassword: until they change their password, a user may read their own record and log
// out, and nothing else.
func TestMustChangePassword(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	made := g.create("/users", with(user("jane"), "role", "admin", "must_change_password", true))
	if made["must_change_password"] != true {
		t.Fatalf("the new user is %v", made)
	}
	id := made["id"].(string)
	c := g.bearer("jane", password)
	rows, routes := accessRows(), httpapi.Routes(g.api)
	for _, of := range []string{id, strings.ToUpper(id), g.users["viewer"].ID} {
		for _, pattern := range routes {
			own := !strings.Contains(pattern, "{id}") || strings.EqualFold(of, id)
			method, path, _ := strings.Cut(pattern, " ")
			path = strings.NewReplacer("{id}", of, "{session}", unknown, "{code}", "none").Replace(path)
			switch {
			case rows[pattern] == everybody:
			case own && slices.Contains([]string{"GET /users/{id}", "PUT /users/{id}/password"}, pattern):
				if code := c.Send(method, path, nil).Code; code == 403 || code == 401 {
					t.Errorf("%s %s: the status is %d", method, path, code)
				}
			default:
				c.Send(method, path, nil).WantError(403, changeFirst)
			}
		}
	}
	if last := g.last(); last.Action != "refused" || last.Actor != "jane" {
		t.Errorf("the last entry is %+v", last)
	}
	other := g.bearer("jane", password)
	other.Send("POST", "/users/logout", nil).Want(200)
	other.Send("GET", "/users/"+id, nil).Want(401)

	c.Send("PUT", "/users/"+id+"/password", object{"new_password": password, "current_password": "wrong"}).Want(400)
	c.Send("PUT", "/users/"+id+"/password?dry_run=true", object{"new_password": another, "current_password": password}).Want(200)
	c.Send("GET", "/devices", nil).WantError(403, changeFirst)
	c.Send("PUT", "/users/"+id+"/password", object{"new_password": another, "current_password": password}).Want(200)
	c.Send("GET", "/users/"+id, nil).Want(401)
	c = g.bearer("jane", another)
	c.Send("POST", "/devices", device("a")).Want(201)
	shows(t, read(t, c.Send("GET", "/users/"+id, nil).Want(200)), object{"must_change_password": false})
}

// TestAdminsRequireChange: an admin may set and clear the flag of others, which ends their sessions;
// nobody else may, and a password that an admin sets does not clear it. A reset does.
func TestAdminsRequireChange(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	root, at := g.as("root"), "/users/"+g.users["viewer"].ID
	g.as("viewer").Send("PATCH", at, object{"must_change_password": true}).Want(403)
	root.Send("PATCH", "/users/"+g.users["root"].ID, object{"must_change_password": true}).Want(403)
	before := g.bearer("viewer", password)
	root.Send("PATCH", at, object{"must_change_password": true}).Want(200)
	before.Send("GET", at, nil).Want(401)
	root.Send("PUT", at, object{"username": "viewer", "email": "viewer@example.org"}).Want(200)
	root.Send("PUT", at+"/password", object{"new_password": another}).Want(200)
	g.bearer("viewer", another).Send("GET", "/devices", nil).WantError(403, changeFirst)
	g.forgot("viewer@example.org")
	if status := g.reset(g.mails.last(t), password); status != 200 {
		t.Errorf("the status of a reset is %d", status)
	}
	g.bearer("viewer", password).Send("GET", "/devices", nil).Want(200)
	root.Send("PATCH", at, object{"must_change_password": true}).Want(200)
	root.Send("PATCH", at, object{"must_change_password": false}).Want(200)
	g.bearer("viewer", password).Send("GET", "/devices", nil).Want(200)
}

// TestChangeFirstInTransaction: a transaction refuses the change of a sender who must change their
// password, whatever an authenticator says.
func TestChangeFirstInTransaction(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	g.create("/users", with(user("jane"), "role", "admin", "must_change_password", true))
	service, err := accounts.New(records.New(g.store, nil), g.hasher, nil)
	ok(t, err)
	q := &accounts.Request{Network: "192.0.2.1"}
	q.Identity, err = service.Login(t.Context(), q, "jane", password)
	ok(t, err)
	if !q.Identity.MustChangePassword {
		t.Error("the login does not say so")
	}
	site := &inventory.Location{Name: "Berlin 1", City: "Berlin", Country: "DE", Address: "Allee 1"}
	for what, err := range map[string]error{
		"create":   service.Changes(q).Create(t.Context(), q.Caller(), site),
		"user":     service.UserChanges(q).Delete(t.Context(), q.Caller(), records.Of[inventory.User](builtIn), records.Edit{ID: g.users["viewer"].ID}),
		"password": service.ChangePassword(t.Context(), q, g.users["viewer"].ID, another, nil),
	} {
		if auth.KindOf(err) != auth.Forbidden || !errtest.Names(err.Error(), changeFirst) {
			t.Errorf("%s: the error is %v", what, err)
		}
	}
	ok(t, service.Logout(t.Context(), q, false))
}
