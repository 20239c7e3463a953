package httpapi_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/scaletest"
)

// TestUsers checks that user records never show a hash, and what their owner can see and
// change.
func TestUsers(t *testing.T) { stores(t, scaletest.Unraced, users) }

func users(t *testing.T, g *harness) {
	t.Helper()
	rec := g.create("/users", with(user("jane"), "first_name", "Jane"))
	for name := range rec {
		if strings.Contains(name, "password") && name != "password_changed_at" && name != "must_change_password" || strings.Contains(name, "hash") || name == "epoch" {
			t.Errorf("the record shows %s", name)
		}
	}
	list := data(t, g.as("root").Send("GET", "/users?inactive_status=false&username=jane", nil))
	if !reflect.DeepEqual(list[0], rec) {
		t.Errorf("the list has %v", list)
	}
	c, at := g.as("viewer"), "/users/"+g.users["viewer"].ID
	own := read(t, c.Send("GET", at, nil).Want(200))
	c.Send("PATCH", at, `{"first_name":"V"}`).Want(200)
	got := read(t, c.Send("PUT", at, with(own, "last_name", "Iewer")).Want(200))
	shows(t, got, object{"last_name": "Iewer", "first_name": "", "role": "viewer", "inactive_status": false})
	// Fields that an owner can't send, and write-only fields, stay if they are left out.
	c.Send("PUT", at, object{"username": "viewer", "email": "viewer@example.org"}).Want(200)
	g.login(t, "viewer", password).Want(200)
	c.Send("PUT", at, object{"username": "", "email": ""}).WantError(400, "username empty") // blank fields
	c.Send("GET", "/users/"+g.users["editor"].ID, nil).WantError(403, "Forbidden: You do not have permission to perform this action")
	c.Send("GET", "/users", nil).WantError(403, "Forbidden")
	c.Send("PATCH", "/users/"+unknown, `{"first_name":"V"}`).WantError(403, "Forbidden") // and not 404
	c.Send("PATCH", at, object{"password": another, "current_password": password}).Want(200)
	g.login(t, "viewer", another).Want(200)
}

// TestEscalation checks that no body raises permissions: an owner can't change their role or
// inactive_status, and an admin can't change their own.
func TestEscalation(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"viewer", "editor", "root"} {
		for _, change := range []object{{"role": "admin"}, {"role": "ADMIN"}, {"role": "viewer"}, {"inactive_status": true}} {
			g := newHarness(t, nil)
			if change["role"] == string(g.users[name].Role) || name == "root" && change["role"] == "ADMIN" {
				continue
			}
			c, id := g.as(name), g.users[name].ID
			at := "/users/" + id
			own := read(t, c.Send("GET", at, nil).Want(200))
			c.Send("PATCH", at, change).WantError(403, "Forbidden: You do not have permission to perform this action")
			c.Send("PUT", at, with(own, pairs(change)...)).WantError(403, "Forbidden")
			c.Send("PATCH", "/users", []object{with(change, "id", id)}).WantError(403, "Forbidden")
			c.Send("PATCH", "/users", []object{with(change, "id", strings.ToUpper(id))}).WantError(403, "Forbidden")
			if name != "root" {
				c.Send("POST", "/users", with(user("x"), pairs(change)...)).WantError(403, "Forbidden")
			}
			if u := g.user(name); u.Role != g.users[name].Role || u.InactiveStatus {
				t.Errorf("%s with %v is %+v", name, change, u)
			}
		}
	}
	g := newHarness(t, nil)
	g.as("").Send("POST", "/users", with(user("x"), "role", "admin")).WantError(401, "No security token")
	g.as("viewer").Send("PATCH", "/users/"+g.users["viewer"].ID, `{"role":"viewer","first_name":"V"}`).Want(200)
}

// TestLastAdmin checks that admins can't delete themselves, so that there is always one.
func TestLastAdmin(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	c, id := g.as("root"), g.users["root"].ID
	c.Send("DELETE", "/users/"+id, nil).WantError(403, "Forbidden")
	c.Send("DELETE", "/users", []string{g.users["second"].ID, strings.ToUpper(id)}).WantError(403, "Forbidden")
	c.Send("DELETE", "/users/"+g.users["second"].ID, nil).Want(200)
	if g.user("root").InactiveStatus {
		t.Error("root is inactive")
	}
}
