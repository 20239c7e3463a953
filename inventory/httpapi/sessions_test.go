package httpapi_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// enter logs a user in and returns a client with the token.
func (g *harness) enter(name string) *httpxtest.Client {
	g.t.Helper()
	token := read(g.t, g.login(g.t, name, password).Want(200))["token"].(string)
	c := httpxtest.New(g.t, g.api)
	c.Header.Set("Authorization", "Bearer "+token)
	return c
}

// sessions returns the sessions of a user as a client sees them, the newest first.
func sessions(t testing.TB, c *httpxtest.Client, path string) []object {
	t.Helper()
	var page struct {
		Data []object `json:"data"`
	}
	c.Send("GET", path, nil).Want(200).JSON(&page)
	return page.Data
}

// TestSessions: users and admins see and end single sessions; a logout ends one, or all.
func TestSessions(t *testing.T) { stores(t, scaletest.Unraced, userSessions) }

func userSessions(t *testing.T, g *harness) {
	t.Helper()
	own := "/users/" + g.users["viewer"].ID + "/sessions"
	laptop := g.enter("viewer")
	g.clock.forward(time.Hour)
	phone := g.enter("viewer")
	all := sessions(t, laptop, own)
	if len(all) != 2 || all[0]["current"] != false || all[1]["current"] != true {
		t.Fatalf("the sessions are %v", all)
	}
	shows(t, all[1], object{
		"address": "192.0.2.1", "created_at": "2026-01-31T12:00:00Z", "expires_at": "2026-02-01T12:00:00Z", "last_used": "2026-01-31T13:00:00Z",
	})
	at := func(s object) string { return own + "/" + s["id"].(string) }

	// Others neither see nor end them, also not under their own name.
	editor := g.enter("editor")
	editor.Send("GET", own, nil).WantError(403, "Forbidden")
	editor.Send("DELETE", at(all[0]), nil).WantError(403, "Forbidden")
	editor.Send("DELETE", "/users/"+g.users["editor"].ID+"/sessions/"+all[0]["id"].(string), nil).WantError(404, "Session not found")
	phone.Send("DELETE", own+"/x", nil).WantError(400, "session UUID")

	laptop.Send("DELETE", at(all[0])+"?dry_run=true", nil).Want(200).WantHeader("Dry-Run", "true")
	phone.Send("GET", "/devices", nil).Want(200)
	laptop.Send("DELETE", at(all[0]), nil).Want(200)
	phone.Send("GET", "/devices", nil).WantError(401, "Invalid or expired token")
	if e := g.last(); e.Action != "session_ended" || e.Actor != "viewer" || e.ResourceID != g.users["viewer"].ID {
		t.Errorf("the entry is %+v", e)
	}
	laptop.Send("GET", "/devices", nil).Want(200)

	tablet := g.enter("viewer")
	tablet.Send("POST", "/users/logout?dry_run=true", nil).Want(200)
	tablet.Send("POST", "/users/logout?everywhere=false", nil).Want(200)
	tablet.Send("GET", "/devices", nil).Want(401)
	tablet.Send("POST", "/users/logout", nil).Want(200)
	laptop.Send("GET", "/devices", nil).Want(200)
	root := g.enter("root")
	root.Send("DELETE", at(sessions(t, root, own)[0]), nil).Want(200)
	laptop.Send("GET", "/devices", nil).Want(401)

	laptop, phone = g.enter("viewer"), g.enter("viewer")
	phone.Send("POST", "/users/logout?everywhere=maybe", nil).WantError(400, "everywhere")
	phone.Send("POST", "/users/logout?everywhere=true", nil).Want(200)
	laptop.Send("GET", "/devices", nil).Want(401)
	phone.Send("GET", "/devices", nil).Want(401)

	// A new password ends all, and those that have ended are forgotten at the next login.
	laptop = g.enter("viewer")
	root.Send("PATCH", "/users/"+g.users["viewer"].ID, object{"password": password}).Want(200)
	laptop.Send("GET", "/devices", nil).Want(401)
	if all := sessions(t, root, own); len(all) != 0 {
		t.Errorf("there are %v", all)
	}
	laptop = g.enter("viewer")
	stored := func() int64 {
		q := (&records.Query{Resource: records.Of[inventory.Session](g.store.Schema()), Count: true}).Where("user_id", g.users["viewer"].ID)
		page, err := g.store.List(context.Background(), q)
		ok(t, err)
		return page.Total
	}
	if n := stored(); n != 1 {
		t.Errorf("%d sessions are stored", n)
	}
	g.clock.forward(25 * time.Hour)
	laptop.Send("GET", "/devices", nil).Want(401)
	g.enter("viewer")
	if n := stored(); n != 1 {
		t.Errorf("%d sessions are stored after the first has expired", n)
	}
	g.as("second").Send("DELETE", "/users/"+g.users["viewer"].ID, nil).Want(200)
	if n := stored(); n != 0 {
		t.Errorf("%d sessions are stored of a deleted user", n)
	}
}

// TestEndedSession: a session that ended in one process changes nothing in another one.
func TestEndedSession(t *testing.T) {
	twoProcesses(t, func(t *testing.T, first, second records.Store) {
		g := newHarness(t, &choices{store: first})
		h := newHarness(t, &choices{store: second, beside: g})
		c := g.enter("root")
		beside := httpxtest.New(t, h.api)
		beside.Header.Set("Authorization", c.Header.Get("Authorization"))
		beside.Send("POST", "/devices", device("core-1")).Want(201)
		c.Send("POST", "/users/logout", nil).Want(200)
		beside.Send("GET", "/devices", nil).Want(200) // from the cache, for some seconds
		beside.Send("POST", "/devices", device("core-2")).WantError(401, "Invalid or expired token")
		beside.Send("GET", "/users", nil).WantError(401, "Invalid or expired token")
	})
}

// TestSessionsEndedAtOnce: requests that end their own session, or those of each other, do not deadlock.
func TestSessionsEndedAtOnce(t *testing.T) {
	twoProcesses(t, func(t *testing.T, first, second records.Store) {
		g := newHarness(t, &choices{store: first})
		h := newHarness(t, &choices{store: second, beside: g})
		own := "/users/" + g.users["viewer"].ID + "/sessions"
		for range 5 {
			laptop, phone := g.enter("viewer"), h.enter("viewer")
			var targets []string
			for _, s := range sessions(t, laptop, own) {
				targets = append(targets, own+"/"+s["id"].(string))
			}
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					a := []*httpxtest.Client{laptop, phone}[i%2].Send("DELETE", targets[i/2%len(targets)], nil)
					if a.Code != 200 && a.Code != 401 && a.Code != 404 {
						t.Errorf("the response is %d %s", a.Code, a.Body)
					}
				})
			}
			all.Wait()
			if left := sessions(t, g.as("root"), own); len(left) != 0 {
				t.Errorf("%d sessions are left", len(left))
			}
		}
	})
}
