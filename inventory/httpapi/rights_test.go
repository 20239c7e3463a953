package httpapi_test

import (
	"context"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/inventory"
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
			store, err := sqlite.Open(t.Context(), path, inventory.Schema(), nil)
			ok(t, err)
			t.Cleanup(func() { ok(t, store.Close()) })
			return store
		}
		test(t, open(), open())
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := postgrestest.Start(t).Database(t)
		open := func() records.Store {
			store, err := postgres.Open(t.Context(), url, inventory.Schema(), nil)
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
