package httpapi_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// withRoles returns a harness whose users may have these roles of a program too.
func withRoles(t *testing.T, roles map[auth.Role][]string) *harness {
	t.Helper()
	var names []string
	for role := range roles {
		names = append(names, string(role))
	}
	slices.Sort(names)
	schema, err := inventory.NewSchema(inventory.Roles(names...))
	ok(t, err)
	return newHarness(t, &choices{store: records.NewMemStore(schema), roles: roles})
}

// enlist creates a user with a role and returns a client that has logged in.
func (g *harness) enlist(t testing.TB, name, role string) (id string, c *httpxtest.Client) {
	t.Helper()
	id = g.create("/users", with(user(name), "role", role))["id"].(string)
	return id, g.enter(name)
}

// TestRoles calls every route as a user with a role of the program with each single scope: the scope
// decides, except about the user's own record.
func TestRoles(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	roles := map[auth.Role][]string{}
	scopes := append(singleScopes(), "*:read", "*:write", "*:*")
	roleOf := strings.NewReplacer(":", "-", "*", "all")
	for _, scope := range scopes {
		roles[auth.Role(roleOf.Replace(scope))] = []string{scope}
	}
	g := withRoles(t, roles)
	other := g.create("/users", user("other"))["id"].(string)
	for _, scope := range scopes {
		_, c := g.enlist(t, roleOf.Replace(scope), roleOf.Replace(scope))
		for _, pattern := range httpapi.Routes(g.api) {
			needed := neededScope(pattern)
			if _, ok := accessRows()[pattern]; !ok || needed == "scoped" || strings.HasSuffix(pattern, " /users/logout") {
				continue // see TestScopesOfRequests, and the tests of features
			}
			method, path, _ := strings.Cut(pattern, " ")
			if needed == "login" {
				needed = "users:write"
				if method == http.MethodGet {
					needed = "users:read"
				}
			}
			resource, verb, _ := strings.Cut(needed, ":")
			allowed := needed == "" || needed == scope
			if strings.HasPrefix(scope, "*:") && verb != "" {
				allowed = (scope == "*:*" || scope == "*:"+verb) && (resource != "users" || verb == "read")
			}
			path = strings.NewReplacer("{id}", other, "{session}", unknown, "{token}", unknown, "{code}", "none").Replace(path)
			if pattern == "DELETE /users/{id}" {
				path += "?dry_run=true"
			}
			a := c.Send(method, path, nil)
			if a.Code == http.StatusUnauthorized || a.Code >= 500 || allowed != (a.Code != http.StatusForbidden) {
				t.Errorf("%s with the scope %s: %d %s, want it allowed: %t", pattern, scope, a.Code, a.Body, allowed)
			}
		}
	}
}

// TestOwnRole: users get a role of the program over the API, log in, and keep the rights over their own
// record.
func TestOwnRole(t *testing.T) {
	t.Parallel()
	g := withRoles(t, map[auth.Role][]string{
		"collector": {"metrics:write", "devices:read"}, "keeper": {"events:write"}, "helpdesk": {"users:*"},
	})
	g.as("root").Send("POST", "/users", with(user("x"), "role", "boss")).
		WantError(400, "role admin")
	id, c := g.enlist(t, "ann", "collector")
	dev := g.create("/devices", device("core-1"))
	c.Send("POST", "/metrics", object{"device_id": dev["id"], "cpu": 1}).Want(201)
	c.Send("GET", path("/devices", dev), nil).Want(200)
	c.Send("GET", "/metrics", nil).WantError(403, "Forbidden")
	c.Send("GET", "/summary?resource=devices&by=status", nil).Want(200)
	c.Send("GET", "/summary?resource=vlans&by=status", nil).WantError(403, "Forbidden")
	c.Send("GET", "/", nil).Want(200)
	feed := c.Send("GET", "/changes?since=0", nil).Want(200).Body.String()
	if !strings.Contains(feed, `"resource_type":"device"`) || strings.Contains(feed, `"user"`) {
		t.Errorf("the feed is %s", feed)
	}
	own := "/users/" + id
	c.Send("GET", own, nil).Want(200)
	c.Send("PATCH", own, object{"first_name": "Ann"}).Want(200)
	c.Send("PATCH", own, object{"role": "admin"}).WantError(403, "Forbidden")
	made := read(t, c.Send("POST", own+"/tokens", object{"name": "a", "scopes": []string{"*:*"}, "current_password": password}).Want(201))
	token := g.withToken(t, made["token"])
	token.Send("POST", "/metrics", object{"device_id": dev["id"], "cpu": 1}).Want(201)
	token.Send("POST", "/devices", device("core-2")).WantError(403, "Forbidden")

	_, keeper := g.enlist(t, "kim", "keeper")
	keeper.Send("POST", "/retention", object{"resource": "events", "max_age": "1h"}).Want(200)
	keeper.Send("POST", "/retention", object{"resource": "metrics", "max_age": "1h"}).WantError(403, "Forbidden")
	keeper.Send("GET", "/changes", nil).WantError(403, "Forbidden")

	// A new role ends the sessions, also of two roles of which none is higher.
	g.as("root").Send("PATCH", own, object{"role": "keeper"}).Want(200)
	c.Send("GET", "/devices", nil).Want(401)
	token.Send("POST", "/events", object{"severity": "low", "type": "a", "message": "b"}).Want(201)
	token.Send("POST", "/metrics", object{"device_id": dev["id"], "cpu": 1}).WantError(403, "Forbidden")

	// Who changes users by a role of the program changes no admins, and makes none.
	_, desk := g.enlist(t, "dan", "helpdesk")
	desk.Send("PATCH", own, object{"role": "viewer", "password": another}).Want(200)
	desk.Send("POST", "/users", user("new")).Want(201)
	root := "/users/" + g.users["root"].ID
	for _, r := range []struct {
		method, path string
		body         any
	}{
		{"PATCH", own, object{"role": "admin"}},
		{"PATCH", "/users", []object{{"id": id, "role": "ADMIN"}}},
		{"POST", "/users", with(user("eve"), "role", "Admin")},
		{"PATCH", root, object{"first_name": "R"}},
		{"PATCH", "/users", []object{{"id": g.users["root"].ID, "role": "viewer"}}},
		{"PUT", root + "/password", object{"new_password": another}},
		{"POST", root + "/tokens", object{"name": "a", "scopes": []string{"*:*"}}},
		{"DELETE", root + "/sessions/" + unknown, nil},
		{"DELETE", root, nil},
		{"DELETE", "/users", []string{g.users["root"].ID}},
	} {
		desk.Send(r.method, r.path, r.body).WantError(403, "Forbidden")
	}
	desk.Send("DELETE", own, nil).Want(200)
}

// TestRemovedRole: a role that the program no longer has grants nothing.
func TestRemovedRole(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "inventory.db")
		removedRole(t, func(schema *records.Schema) (closable, error) { return sqlite.Open(t.Context(), file, schema, nil) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		one(t)
		url := migrated(t)
		removedRole(t, func(schema *records.Schema) (closable, error) { return postgres.Open(t.Context(), url, schema, nil) })
	})
}

// closable is a store of a database.
type closable interface {
	records.Store
	Close() error
}

func removedRole(t *testing.T, connect func(*records.Schema) (closable, error)) {
	t.Helper()
	open := func(schema *records.Schema) records.Store {
		store, err := connect(schema)
		ok(t, err)
		t.Cleanup(func() { ok(t, store.Close()) })
		return store
	}
	schema, err := inventory.NewSchema(inventory.Roles("collector"))
	ok(t, err)
	g := newHarness(t, &choices{store: open(schema), roles: map[auth.Role][]string{"collector": {"*:*"}}})
	id, c := g.enlist(t, "ann", "collector")
	c.Send("POST", "/devices", device("core-1")).Want(201)

	h := newHarness(t, &choices{store: open(builtIn), beside: g})
	h.login(t, "ann", password).WantError(403, "role longer")
	c = h.withToken(t, strings.TrimPrefix(c.Header.Get("Authorization"), "Bearer "))
	for _, path := range []string{"/", "/devices", "/users/" + id, "/changes", "/summary?resource=devices&by=status"} {
		c.Send("GET", path, nil).WantError(403, "Forbidden")
	}
	h.as("root").Send("PATCH", "/users/"+id, object{"role": "viewer"}).Want(200)
	h.enter("ann").Send("GET", "/devices", nil).Want(200)
}

// TestInvalidRoles: roles that could not be as described are refused at the start.
func TestInvalidRoles(t *testing.T) {
	t.Parallel()
	schema, err := inventory.NewSchema(inventory.Roles("collector"))
	ok(t, err)
	for message, roles := range map[string]map[auth.Role][]string{
		"admin has no scopes":      {"admin": {"*:read"}},
		`keeper inventory.Roles("`: {"keeper": {"*:read"}},
		"collector 50":             {"collector": {}},
		`collector "sessions"`:     {"collector": {"sessions:read"}},
	} {
		_, err := accounts.New(records.New(records.NewMemStore(schema), nil), quickHasher(t), &accounts.Options{Roles: roles})
		if err == nil || !errtest.Names(err.Error(), message) {
			t.Errorf("%v: the error is %v, want %q", roles, err, message)
		}
	}
	for _, names := range [][]string{{"Collector"}, {"viewer"}, {""}, {"a", "a"}} {
		if _, err := inventory.NewSchema(inventory.Roles(names...)); err == nil {
			t.Errorf("the roles %q are accepted", names)
		}
	}
}
