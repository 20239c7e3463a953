package httpapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// since returns the entries after the first n, without ids and times, as text.
func (g *harness) since(n int) string {
	g.t.Helper()
	var all []string
	for _, e := range g.entries()[n:] {
		text := e.Action
		for name, u := range g.users {
			if u.ID == e.ResourceID && e.ResourceType == "user" {
				text += " " + name
			}
		}
		if e.Actor != "" {
			text += " by " + e.Actor
		}
		if e.UserID != nil {
			text += "!"
		}
		for name, change := range e.Changes {
			if name == "request" || name == "limit" {
				text += fmt.Sprint(" ", change.After)
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}

// TestEventsOfAccounts: what people do with accounts is in the audit log, also if it fails, bounded in
// number, and never with what they typed.
func TestEventsOfAccounts(t *testing.T) { stores(t, scaletest.Unraced, eventsOfAccounts) }

func eventsOfAccounts(t *testing.T, g *harness) {
	t.Helper()
	viewer, root := g.users["viewer"].ID, g.users["root"].ID
	check := func(why, want string, send func()) {
		t.Helper()
		before := len(g.entries())
		send()
		if got := g.since(before); got != want {
			t.Errorf("%s adds\n%s\nwant\n%s", why, got, want)
		}
		g.clock.forward(time.Minute)
	}
	v, a := g.as("viewer"), g.as("root")
	check("a wrong current password", "password_wrong viewer by viewer!", func() {
		v.Send("PUT", "/users/"+viewer+"/password", object{"new_password": another, "current_password": "wrong"}).Want(400)
	})
	check("a wrong reset code", "reset_failed", func() {
		g.as("").Send("POST", "/users/reset-password/"+strings.Repeat("A", 26), object{"new_password": another, "confirm_password": another}).Want(404)
	})
	check("refused changes", "refused viewer by viewer! DELETE /users/"+root+"\n"+
		"refused viewer by viewer! POST /devices\nrefused root by root! DELETE /users/"+root, func() {
		for range 5 {
			v.Send("DELETE", "/users/"+root, nil).Want(403)
			v.Send("POST", "/devices", device("x")).Want(403)
		}
		v.Send("GET", "/users", nil).Want(403)
		a.Send("DELETE", "/users/"+root, nil).Want(403)
	})
	check("the next minute", "refused viewer by viewer! POST /devices", func() { v.Send("POST", "/devices", device("x")).Want(403) })
	check("reads", "read root by root! GET /users?role=viewer&page=1\nread root by root! GET /users/"+viewer+
		"\nread root by root! GET /audit-logs\nread root by root! GET /changes?since=0\nread root by root! GET /changes?since=0&resource=users", func() {
		a.Send("GET", "/users?role=viewer&page=1", nil).Want(200)
		a.Send("GET", "/users?role=viewer&page=2", nil).Want(200)
		a.Send("GET", "/users/"+viewer, nil).Want(200)
		a.Send("GET", "/users/"+root, nil).Want(200) // their own
		v.Send("GET", "/users/"+viewer, nil).Want(200)
		a.Send("GET", "/audit-logs", nil).Want(200)
		a.Send("GET", "/devices", nil).Want(200)
		a.Send("GET", "/changes?since=0", nil).Want(200)
		a.Send("GET", "/changes?since=0&resource=devices", nil).Want(200) // which everybody may list
		a.Send("GET", "/changes?since=0&resource=users", nil).Want(200)
		v.Send("GET", "/changes?since=0", nil).Want(200)
	})
	check("reads in other ways", "read root by root! GET /summary?resource=users&by=role\nread root by root! PATCH /users/"+viewer+
		"\nread root by root! PATCH /users\nread root by root! DELETE /users/"+viewer+"?dry_run=true", func() {
		a.Send("GET", "/summary?resource=users&by=role", nil).Want(200)
		a.Send("GET", "/summary?resource=devices&by=status", nil).Want(200)
		a.Send("PATCH", "/users/"+viewer, object{}).Want(200)
		a.Send("PATCH", "/users/"+root, object{}).Want(200) // their own
		a.Send("PATCH", "/users", []object{{"id": viewer, "role": "viewer"}}).Want(200)
		a.Send("DELETE", "/users/"+viewer+"?dry_run=true", nil).Want(200)
	})
	check("a wrong current password elsewhere", "password_wrong viewer by viewer!\npassword_wrong root by root!", func() {
		v.Send("PATCH", "/users/"+viewer, object{"email": "v@example.org", "current_password": "wrong"}).Want(400)
		a.Send("PATCH", "/users", []object{{"id": root, "email": "r@example.org", "current_password": "wrong"}}).Want(400)
	})
	check("guesses of the current password", strings.Repeat("password_wrong viewer by viewer!\n", 10)+"throttled viewer by viewer! pair", func() {
		for range 12 {
			v.Send("PUT", "/users/"+viewer+"/password", object{"new_password": another, "current_password": "wrong"})
		}
	})
	check("requested resets", strings.Repeat("password_forgotten viewer by viewer\n", 5)+"throttled mailbox", func() {
		for range 8 {
			g.as("").Send("POST", "/users/forgot-password", object{"email": "viewer@example.org"})
			g.wait()
		}
	})
	check("guesses of reset codes", strings.Repeat("reset_failed\n", 50)+"throttled network", func() {
		for range 55 {
			g.as("").Send("POST", "/users/reset-password/"+strings.Repeat("B", 26), object{"new_password": another, "confirm_password": another})
		}
	})
	check("a change of fields for admins", "refused viewer by viewer! PATCH /users/"+viewer, func() {
		v.Send("PATCH", "/users/"+viewer, object{"role": "admin"}).Want(403)
	})
	check("failed logins", strings.Repeat("login_failed viewer by viewer\n", 10)+"throttled viewer by viewer pair", func() {
		for range 10 {
			g.as("").Send("POST", "/users/login", object{"username": "viewer", "password": "wrong"})
		}
		for range 5 {
			g.as("").Send("POST", "/users/login", object{"username": "viewer", "password": "wrong"}).Want(429)
		}
	})
	before := len(g.entries())
	for range 11 {
		g.as("").Send("POST", "/users/login", object{"username": "hunter2 in the wrong field", "password": "x"})
	}
	text := asJSON(t, g.entries()[before:])
	if strings.Contains(text, "hunter2") || strings.Count(text, `"actor":"unknown `) != 11 || strings.Count(text, "throttled") != 1 {
		t.Errorf("logins of an unknown user: %s", text)
	}
	// Others do not see these events among the changes of records.
	if page := v.Send("GET", "/changes?since=0", nil).Want(200).Body.String(); strings.Contains(page, "refused") {
		t.Errorf("a viewer sees %s", page)
	}
}

// TestResetDiesWithPassword: a code is void after any change of the password, also one that does not
// know of codes.
func TestResetDiesWithPassword(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	g.forgot("viewer@example.org")
	hash, err := g.hasher.Hash(t.Context(), another)
	ok(t, err)
	_, err = records.New(g.store, nil).Update(context.Background(), records.Caller{Name: "test"}, records.Of[inventory.User](builtIn),
		records.Edit{ID: g.users["viewer"].ID, Apply: func(rec records.Record) error {
			rec.(*inventory.User).PasswordHash = hash
			return nil
		}})
	ok(t, err)
	g.as("").Send("POST", "/users/reset-password/"+g.mails.last(t), object{"new_password": password, "confirm_password": password}).
		WantError(404, "reset code")
}
