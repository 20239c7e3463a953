package httpapi_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// invite invites a user with a role, and returns the response.
func (g *harness) invite(name, role string) object {
	g.t.Helper()
	return read(g.t, g.as("root").Send("POST", "/users/invitations", object{"username": name, "email": name + "@example.org", "role": role}).Want(201))
}

// TestInvite: an invited user has exactly the chosen role, can do nothing before choosing a password, and does that
// once, also if many try at the same time.
func TestInvite(t *testing.T) { stores(t, scaletest.Unraced, invite) }

func invite(t *testing.T, g *harness) {
	t.Helper()
	g.mails.fail = accounts.ErrNoMail
	sent := g.invite("jane", "editor")
	code, at := sent["code"].(string), "/users/"+sent["id"].(string)
	if u := read(t, g.as("root").Send("GET", at, nil).Want(200)); u["role"] != "editor" || u["external"] != "invitation" || u["password_changed_at"] != nil {
		t.Errorf("the user is %v", u)
	}
	page, err := g.store.List(t.Context(), &records.Query{Resource: records.Of[inventory.Reset](builtIn)})
	ok(t, err)
	if stored := page.Records[0].(*inventory.Reset); len(page.Records) != 1 || fmt.Sprint(stored) == "" || stored.CodeHash == code {
		t.Errorf("%d codes, of which one is stored as it is", len(page.Records))
	}
	g.login(t, "jane", "").WantError(400, "password")
	g.login(t, "jane", password).WantError(401, "Invalid credentials")
	g.forgot("jane@example.org")
	if g.mails.count() != 0 {
		t.Error("somebody who was invited got a reset code")
	}
	var done atomic.Int32
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			if g.reset(code, fmt.Sprint("a long password ", i)) == 200 {
				done.Add(1)
			}
		})
	}
	all.Wait()
	if done.Load() != 1 {
		t.Errorf("the invitation was used %d times", done.Load())
	}
	g.as("root").Send("POST", at+"/invitation", nil).WantError(409, "has no password")
	g.as("root").Send("PUT", at+"/password", object{"new_password": another}).Want(200)
	g.login(t, "jane", another).Want(200)
}

// TestInvitationEnds checks what makes an invitation void.
func TestInvitationEnds(t *testing.T) {
	for why, end := range map[string]func(g *harness, at string){
		"time":      func(g *harness, _ string) { g.clock.forward(48 * time.Hour) },
		"a new one": func(g *harness, at string) { g.as("root").Send("POST", at+"/invitation", nil).Want(201) },
		"another password": func(g *harness, at string) {
			g.as("root").Send("PUT", at+"/password", object{"new_password": "a third long one"}).Want(200)
		},
		"another address": func(g *harness, at string) { g.as("root").Send("PATCH", at, `{"email":"new@example.org"}`).Want(200) },
		"inactive":        func(g *harness, at string) { g.as("root").Send("PATCH", at, `{"inactive_status":true}`).Want(200) },
		"deleted":         func(g *harness, at string) { g.as("root").Send("DELETE", at, nil).Want(200) },
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			g := newHarness(t, nil)
			g.mails.fail = accounts.ErrNoMail
			sent := g.invite("jane", "viewer")
			g.clock.forward(47 * time.Hour)
			g.forgot("viewer@example.org") // which deletes what has expired
			if why == "time" {
				g.clock.forward(-47 * time.Hour)
			}
			end(g, "/users/"+sent["id"].(string))
			if status := g.reset(sent["code"].(string), another); status != 404 {
				t.Errorf("the status is %d", status)
			}
		})
	}
}

// TestInviteRights: nobody gives more than they may, and a code that was sent is not in the response.
func TestInviteRights(t *testing.T) {
	t.Parallel()
	g := withRoles(t, map[auth.Role][]string{"helpdesk": {"users:*"}})
	body := object{"username": "jane", "email": "Jane@Example.org", "role": "viewer"}
	_, helpdesk := g.enlist(t, "helpdesk", "helpdesk")
	helpdesk.Send("POST", "/users/invitations", with(body, "role", "admin")).WantError(403, "role")
	helpdesk.Send("POST", "/users/invitations", with(body, "role", "nobody")).WantError(400, "role")
	place := g.create("/locations", object{"name": "Berlin"})["id"]
	id := g.create("/users", with(user("local"), "role", "admin", "location_ids", []any{place}))["id"]
	local := g.enter("local")
	local.Send("POST", "/users/invitations", body).WantError(403, "Forbidden")
	local.Send("POST", fmt.Sprint("/users/", id, "/invitation"), nil).WantError(403, "Forbidden")
	g.withToken(t, g.newToken(t, "root", "*:*")["token"]).Send("POST", "/users/invitations", body).WantError(403, "Forbidden")
	g.as("root").Send("POST", "/users/invitations", with(body, "must_change_password", true)).WantError(400, "unknown field")
	g.as("root").Send("POST", "/users/invitations", object{"email": "x", "role": "viewer"}).WantError(400, "email")
	got := read(t, helpdesk.Send("POST", "/users/invitations", with(body, "location_ids", []any{place})).Want(201))
	if _, shown := got["code"]; shown || len(g.mails.notices) == 0 || g.mails.notices[0].To != "jane@example.org" {
		t.Errorf("the response is %v, and %d mails were sent", got, len(g.mails.notices))
	}
	helpdesk.Send("POST", "/users/invitations", body).WantError(409, "exists")
	if last := g.mails.notices[len(g.mails.notices)-1]; g.reset(last.Code, another) != 200 {
		t.Error("the code of the mail is refused")
	}
}
