package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
)

// TestCurrentPassword: users who change their own password or email address send their current password,
// on every route, and guesses of it are limited.
func TestCurrentPassword(t *testing.T) { stores(t, scaletest.Unraced, currentPassword) }

func currentPassword(t *testing.T, g *harness) {
	t.Helper()
	at := "/users/" + g.users["viewer"].ID
	c := g.as("viewer")
	own := object{"username": "viewer", "email": "viewer@example.org"}
	const missing, wrong = "current_password empty", "current_password not"
	for _, change := range []struct {
		method, path string
		body         object
	}{
		{"PUT", at + "/password", object{"new_password": another}},
		{"PATCH", at, object{"password": another}},
		{"PUT", at, with(own, "password", another)},
		{"PATCH", at, object{"email": "v@example.org"}},
		{"PUT", at, with(own, "email", "v@example.org")},
	} {
		for _, query := range []string{"", "?dry_run=true"} {
			c.Send(change.method, change.path+query, change.body).WantError(400, missing)
			c.Send(change.method, change.path+query, with(change.body, "current_password", "wrong")).WantError(400, wrong)
		}
		c.Send(change.method, change.path+"?dry_run=true", with(change.body, "current_password", password)).Want(200)
		g.clock.forward(time.Minute)
	}
	root := g.users["root"].ID
	g.as("root").Send("PATCH", "/users", []object{{"id": strings.ToUpper(root), "email": "r@example.org"}}).WantError(400, missing)
	g.as("root").Send("PATCH", "/users", []object{{"id": root, "email": "r@example.org", "current_password": password}}).Want(200)
	c.Send("PATCH", at, object{"email": "VIEWER@example.org", "first_name": "V"}).Want(200) // the same address
	c.Send("PATCH", at, object{"current_password": 7}).WantError(400, "must be a string")
	for range 10 {
		c.Send("PUT", at+"/password", object{"new_password": another, "current_password": "wrong"}).WantError(400, wrong)
	}
	c.Send("PATCH", at, object{"email": "v@example.org", "current_password": password}).WantError(429, "Too many requests")
	g.clock.forward(time.Minute)
	changed := c.Send("PATCH", at, object{"email": "v@example.org", "current_password": password}).Want(200)
	if strings.Contains(changed.Body.String(), "current_password") || strings.Contains(asJSON(t, g.entries()), password) {
		t.Error("the current password is in the response or in the audit log")
	}
	c.Send("PUT", at+"/password", object{"new_password": another, "current_password": password}).Want(200)
	g.as("root").Send("PUT", at+"/password", object{"new_password": password}).Want(200) // an admin needs none
	g.as("root").Send("PATCH", at, object{"email": "viewer@example.org", "password": another}).Want(200)
}

// TestWithoutCurrentPassword: an inventory may do without it.
func TestWithoutCurrentPassword(t *testing.T) {
	t.Parallel()
	g := newHarness(t, &choices{noCurrent: true})
	at := "/users/" + g.users["viewer"].ID
	c := g.as("viewer")
	c.Send("PATCH", at, object{"email": "v@example.org"}).Want(200)
	c.Send("PATCH", at, object{"password": another, "current_password": "wrong"}).WantError(400, "not current")
	c.Send("PATCH", at, object{"password": another}).Want(200)
}

// TestRightPasswordLeavesEntry: nobody learns that a password is right without an entry in the audit log,
// whatever else the request says.
func TestRightPasswordLeavesEntry(t *testing.T) {
	stores(t, scaletest.Unraced, rightPasswordLeavesEntry)
}

func rightPasswordLeavesEntry(t *testing.T, g *harness) {
	t.Helper()
	at := "/users/" + g.users["viewer"].ID
	c := g.as("viewer")
	in := object{"username": "viewer", "password": password}
	for _, request := range []struct {
		method, path string
		body         object
		status       int
		header       []string
		want         string
	}{
		{"POST", "/users/login", in, 200, []string{"Idempotency-Key", "k"}, "login viewer by viewer!"},
		{"POST", "/users/login", in, 200, []string{"Idempotency-Key", "k"}, "login viewer by viewer!"},
		{"POST", "/users/login", in, 200, []string{"Dry-Run", "true"}, "login viewer by viewer!"},
		{"POST", "/users/login?dry_run=true", in, 400, nil, ""}, // whether the password is right or not
		{"POST", "/users/login?dry_run=true", with(in, "password", "wrong"), 400, nil, ""},
		{"PUT", at + "/password?dry_run=true", object{"new_password": another, "current_password": password}, 200, nil, "password_confirmed viewer by viewer!"},
		{"PUT", at + "/password", object{"new_password": "short", "current_password": password}, 400, nil, "password_confirmed viewer by viewer!"},
		{"PATCH", at, object{"email": "v@example.org", "current_password": password}, 412, []string{"If-Match", `"x"`}, "password_confirmed viewer by viewer!"},
		{"PATCH", at, object{"current_password": password}, 200, nil, "password_confirmed viewer by viewer!"},
	} {
		before := len(g.entries())
		c.Send(request.method, request.path, request.body, request.header...).Want(request.status)
		if got := g.since(before); got != request.want {
			t.Errorf("%s %s adds %q, want %q", request.method, request.path, got, request.want)
		}
	}
}
