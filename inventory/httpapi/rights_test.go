package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/postgres"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
)

// twoProcesses runs a test over two stores of one database, as two processes have them.
func twoProcesses(t *testing.T, test func(t *testing.T, first, second records.Store)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "inventory.db")
		open := func() records.Store {
			store, err := sqlite.Open(t.Context(), path, builtIn, nil)
			ok(t, err)
			t.Cleanup(func() { ok(t, store.Close()) })
			return store
		}
		test(t, open(), open())
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		one(t)
		url := migrated(t)
		open := func() records.Store {
			store, err := postgres.Open(t.Context(), url, builtIn, nil)
			ok(t, err)
			t.Cleanup(func() { ok(t, store.Close()) })
			return store
		}
		test(t, open(), open())
	})
}

// TestRemovedRights: what one process takes from a user has an effect at once on changes, and on reads
// of users and of the audit log, in another process that remembers their account.
func TestRemovedRights(t *testing.T) {
	twoProcesses(t, func(t *testing.T, first, second records.Store) {
		g := newHarness(t, &choices{store: first})
		h := newHarness(t, &choices{store: second, beside: g})
		for why, remove := range map[string]func(admin *httpxtest.Client, path string){
			"demoted": func(c *httpxtest.Client, path string) { c.Send("PATCH", path, object{"role": "editor"}).Want(200) },
			"deactivated": func(c *httpxtest.Client, path string) {
				c.Send("PATCH", path, object{"inactive_status": true}).Want(200)
			},
			"new password": func(c *httpxtest.Client, path string) {
				c.Send("PUT", path+"/password", object{"new_password": another}).Want(200)
			},
			"deleted": func(c *httpxtest.Client, path string) { c.Send("DELETE", path, nil).Want(200) },
		} {
			made := read(t, g.as("root").Send("POST", "/users", with(user("eve"), "role", "admin")).Want(201))
			eve := &inventory.User{Username: "eve", Role: inventory.Admin}
			eve.ID = made["id"].(string)
			g.users["eve"] = eve
			c := h.as("eve")
			c.Send("GET", "/users", nil).Want(200) // and remembers the account
			created := c.Send("POST", "/devices", device(why)).Want(201).Header().Get("Location")
			remove(g.as("root"), "/users/"+eve.ID)
			before := len(h.entries())
			c.Send("GET", "/devices", nil).Want(200) // from the cache, for some seconds
			const message = "Unauthorized: Invalid or expired token"
			for _, r := range []struct {
				method, path string
				body         any
			}{
				{"GET", "/users", nil},
				{"GET", "/users/" + g.users["viewer"].ID, nil},
				{"GET", "/audit-logs", nil},
				{"GET", "/changes", nil},
				{"GET", "/summary?resource=users&by=role", nil},
				{"POST", "/users", with(user("mallory"), "role", "admin")},
				{"POST", "/users?dry_run=true", user("mallory")},
				{"PATCH", "/users/" + g.users["viewer"].ID, object{"role": "admin"}},
				{"PUT", "/users/" + g.users["viewer"].ID + "/password", object{"new_password": another}},
				{"POST", "/devices", device("other")},
				{"PATCH", created, object{"status": "offline"}},
				{"DELETE", created, nil},
				{"POST", "/retention", object{"resource": "events", "max_records": 1}},
			} {
				a := c.Send(r.method, r.path, r.body)
				a.WantError(http.StatusUnauthorized, message)
			}
			if n := len(h.entries()); n != before {
				t.Errorf("%s: %d entries were written", why, n-before)
			}
			if why != "deleted" {
				g.as("root").Send("DELETE", "/users/"+eve.ID, nil).Want(200)
			}
		}
	})
}

// TestRightsHold: a right that a change has found is not removed before the change has ended.
func TestRightsHold(t *testing.T) {
	twoProcesses(t, func(t *testing.T, first, second records.Store) {
		var found, removed sync.WaitGroup
		found.Add(1)
		once := sync.OnceFunc(found.Done)
		gone := make(chan struct{})
		g := newHarness(t, &choices{store: first})
		h := newHarness(t, &choices{store: second, beside: g, engine: func(v *records.Engine) *records.Engine {
			return v.BeforeCommit(func(context.Context, records.Tx) error {
				once()
				select {
				case <-gone:
					t.Error("the right was removed before the change that uses it has ended")
				case <-time.After(300 * time.Millisecond): // a slow machine may miss an error
				}
				return nil
			})
		}})
		removed.Go(func() {
			found.Wait()
			g.as("root").Send("PATCH", "/users/"+g.users["second"].ID, object{"role": "viewer"}).Want(200)
			close(gone)
		})
		h.as("second").Send("POST", "/devices", device("core-1")).Want(201)
		removed.Wait()
		h.as("second").Send("POST", "/devices", device("core-2")).Want(401)
	})
}

// TestOnlyAdmin: nobody removes the last active admin, not even who may delete users without being one.
func TestOnlyAdmin(t *testing.T) {
	t.Parallel()
	g := newHarness(t, &choices{options: func(o *httpapi.Options) {
		o.Permit = func(*http.Request, *auth.Identity, *records.Resource, records.Routes, error) error { return nil }
	}})
	c, root, second := g.as("editor"), g.users["root"].ID, g.users["second"].ID
	const message = "active admin"
	c.Send("DELETE", "/users", []string{root, second}).WantError(409, message)
	c.Send("DELETE", "/users", []string{g.users["viewer"].ID, second}).Want(200)
	c.Send("DELETE", "/users/"+root+"?dry_run=true", nil).WantError(409, message)
	c.Send("DELETE", "/users/"+root, nil).WantError(409, message)
	g.as("root").Send("POST", "/users", with(user("third"), "role", "admin", "inactive_status", true)).Want(201)
	c.Send("DELETE", "/users/"+root, nil).WantError(409, message) // an inactive admin can't log in
	g.as("root").Send("POST", "/users", with(user("fourth"), "role", "admin")).Want(201)
	c.Send("DELETE", "/users/"+root, nil).Want(200)
}

// TestAdminsRemoveEachOther: of two admins who remove each other at once in two processes, one remains.
func TestAdminsRemoveEachOther(t *testing.T) {
	twoProcesses(t, func(t *testing.T, first, second records.Store) {
		g := newHarness(t, &choices{store: first})
		h := newHarness(t, &choices{store: second, beside: g})
		remove := []func(c *httpxtest.Client, path string) int{
			func(c *httpxtest.Client, path string) int {
				return c.Send("PATCH", path, object{"role": "viewer"}).Code
			},
			func(c *httpxtest.Client, path string) int {
				return c.Send("PATCH", path, object{"inactive_status": true}).Code
			},
			func(c *httpxtest.Client, path string) int { return c.Send("DELETE", path, nil).Code },
		}
		for round := range 12 {
			var ids [2]string
			for i, name := range []string{"ann", "bob"} {
				u := read(t, g.as("root").Send("POST", "/users", with(user(fmt.Sprint(name, round)), "role", "admin")).Want(201))
				g.users[name] = &inventory.User{Base: records.Base{ID: u["id"].(string)}, Username: name, Role: inventory.Admin}
				ids[i] = u["id"].(string)
			}
			g.as("ann").Send("DELETE", "/users/"+g.users["root"].ID, nil).Want(200)
			if round == 0 { // from now on they are the only ones
				g.as("ann").Send("DELETE", "/users/"+g.users["second"].ID, nil).Want(200)
			}
			clients := []*httpxtest.Client{g.as("ann"), h.as("bob")}
			var codes [2]int
			var both sync.WaitGroup
			for i, c := range clients {
				both.Go(func() { codes[i] = remove[(round+i)%3](c, "/users/"+ids[1-i]) })
			}
			both.Wait()
			slices.Sort(codes[:])
			if codes != [2]int{200, 401} {
				t.Errorf("round %d: the responses are %v, want 200 and 401", round, codes)
			}
			page, err := first.List(t.Context(), (&records.Query{Resource: records.Of[inventory.User](first.Schema())}).
				Where("role", "admin").Where("inactive_status", false))
			ok(t, err)
			if len(page.Records) != 1 {
				t.Fatalf("round %d: there are %d admins, want 1", round, len(page.Records))
			}
			g.users["root"] = page.Records[0].(*inventory.User)
		}
	})
}

// TestRightsAreRemovedInTime: a flood of changes by a user does not keep others from removing their
// rights, in several ways, and in the order of commits no change follows the removal.
func TestRightsAreRemovedInTime(t *testing.T) {
	twoProcesses(t, func(t *testing.T, first, second records.Store) {
		g := newHarness(t, &choices{store: first})
		h := newHarness(t, &choices{store: second, beside: g})
		start := read(t, g.as("root").Send("GET", "/changes", nil).Want(200))["next"].(string)
		for name, remove := range map[string]func(c *httpxtest.Client, path string){
			"demoted": func(c *httpxtest.Client, path string) { c.Send("PATCH", path, object{"role": "viewer"}).Want(200) },
			"deactivated": func(c *httpxtest.Client, path string) {
				c.Send("PATCH", path, object{"inactive_status": true}).Want(200)
			},
			"deleted": func(c *httpxtest.Client, path string) { c.Send("DELETE", path, nil).Want(200) },
		} {
			made := read(t, g.as("root").Send("POST", "/users", with(user(name), "role", "admin")).Want(201))
			u := &inventory.User{Base: records.Base{ID: made["id"].(string)}, Username: name, Role: inventory.Admin}
			g.users[name] = u
			var flood sync.WaitGroup
			begun := make(chan struct{}, 12)
			for w := range cap(begun) {
				flood.Go(func() {
					c := h.on(t, name)
					for i := 0; c.Send("POST", "/devices", device(fmt.Sprintf("%s-%d-%d", name, w, i))).Code == 201; i++ {
						if i == 0 {
							begun <- struct{}{}
						}
					}
				})
			}
			<-begun
			remove(g.as("root"), "/users/"+u.ID)
			flood.Wait()
			checkNoneAfter(t, g.as("root"), start, u)
		}
	})
}

// checkNoneAfter checks that the feed has changes by a user, and none after the last change of the user.
func checkNoneAfter(t *testing.T, c *httpxtest.Client, since string, u *inventory.User) {
	t.Helper()
	own, removed := 0, false
	for {
		page := read(t, c.Send("GET", "/changes?limit=1000&since="+since, nil).Want(200))
		for _, e := range page["data"].([]any) {
			switch e := e.(object); {
			case e["resource_type"] == "user" && e["resource_id"] == u.ID && e["action"] != "create":
				removed = true
			case e["actor"] == u.Username:
				own++
				if removed {
					t.Errorf("%s: a change was committed after the right was removed: %v", u.Username, e)
				}
			}
		}
		if page["next"] == since {
			break
		}
		since = page["next"].(string)
	}
	if own == 0 || !removed {
		t.Errorf("%s: %d changes by the user, removed: %v: want some, and the removal", u.Username, own, removed)
	}
}
