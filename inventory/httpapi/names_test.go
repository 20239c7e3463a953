package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestNames: a login accepts each form of a user name, no user has the name of another one in
// another form, and a new name ends the sessions of the user.
func TestNames(t *testing.T) {
	twoProcesses(t, func(t *testing.T, first, second records.Store) {
		g := newHarness(t, &choices{store: first})
		h := newHarness(t, &choices{store: second, beside: g})
		for name, status := range map[string]int{
			"root": 200, "Root": 200, "ＲＯＯＴ": 200, "root ": 401, "ro\u200bot": 401, "r\u043eot": 401, "": 400, "\x00": 401,
		} {
			g.as("").Send("POST", "/users/login", object{"username": name, "password": password}).Want(status)
		}
		root := g.as("root")
		root.Send("POST", "/users", with(user("ROOT"), "email", "other@example.org")).WantError(409, "Username already exists")
		root.Send("POST", "/users", with(user("root "), "email", "other@example.org")).WantError(400, "username letters")
		for _, word := range []string{"Doe-Jane!", "jane2026", "D0e!!!!!", "        ", "Snowball22"} {
			root.Send("POST", "/users", with(user("Jane"), "first_name", "Jane", "last_name", "Doe", "password", word)).WantError(400, "choose words")
		}
		made := read(t, root.Send("POST", "/users", user("Jane")).Want(201))
		h.as("root").Send("PATCH", path("/users", made), object{"username": "Editor"}).WantError(409, "Username already exists")

		token := read(t, h.as("").Send("POST", "/users/login", object{"username": "jane", "password": password}).Want(200))
		if token["username"] != "Jane" {
			t.Errorf("the login is for %v", token["username"])
		}
		jane := g.as("")
		jane.Header.Set("Authorization", "Bearer "+token["token"].(string))
		jane.Send("PATCH", path("/users", made), object{"first_name": "Jane"}).Want(200)
		jane.Send("PATCH", path("/users", made), object{"username": "Janet"}).Want(200)
		jane.Send("GET", path("/users", made), nil).Want(401)
		g.as("").Send("POST", "/users/login", object{"username": "jane", "password": password}).Want(401)
		g.as("").Send("POST", "/users/login", object{"username": "janet", "password": password}).Want(200)
	})
}

// TestThrottledForms: all forms of a user name count as one.
func TestThrottledForms(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	for i := range 10 {
		name := []string{"viewer", "Viewer", "ＶＩＥＷＥＲ", "vIEWER"}[i%4]
		g.as("").Send("POST", "/users/login", object{"username": name, "password": "wrong"}).Want(http.StatusUnauthorized)
	}
	g.as("").Send("POST", "/users/login", object{"username": "VIEWER", "password": "wrong"}).Want(http.StatusTooManyRequests)
}

// TestOldNames: users of an earlier version with names that are the same by today's rules log in with
// their names, and the log says which they are.
func TestOldNames(t *testing.T) {
	twoProcesses(t, func(t *testing.T, first, second records.Store) {
		ctx := context.Background()
		g := newHarness(t, &choices{store: first})
		for i, name := range []string{"old", "Old", "Old User"} {
			u := records.Clone(g.users["viewer"])
			u.Username, u.UsernameKey, u.Email = name, "", fmt.Sprintf("old%d@example.net", i)
			ok(t, records.New(first, nil).Init(u))
			ok(t, first.Change(ctx, func(tx records.Tx) error { return tx.Create(ctx, u) }))
		}
		login := func(name string, status int) {
			t.Helper()
			g.as("").Send("POST", "/users/login", object{"username": name, "password": password}).Want(status)
		}
		var log logtest.Log
		for range 2 {
			ok(t, accounts.KeyUsernames(ctx, second, log.Logger()))
		}
		for _, name := range []string{"old", "Old", "Old User"} {
			login(name, 200)
		}
		login("OLD", 200) // the older one
		login("old user", 401)
		if text := log.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "username=Old ") || !strings.Contains(text, "other=old") || !strings.Contains(text, `username="Old User"`) {
			t.Errorf("the log is\n%s", text)
		}
		g.as("root").Send("POST", "/users", with(user("oLD"), "email", "x@example.net")).WantError(409, "Username already exists")

		// The index of the keys refuses what a program without this rule would store.
		u := records.Clone(g.users["viewer"])
		u.Username, u.UsernameKey, u.Email = "OLD", "old", "y@example.net"
		ok(t, records.New(first, nil).Init(u))
		err := first.Change(ctx, func(tx records.Tx) error { return tx.Create(ctx, u) })
		if records.KindOf(err) != records.Conflict || err.Error() != "Username already exists" {
			t.Errorf("the error is %v", err)
		}
	})
}
