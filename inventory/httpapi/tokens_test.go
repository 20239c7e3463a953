package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// newToken creates an API token of a user, by themselves, and returns it.
func (g *harness) newToken(t testing.TB, name string, scopes ...string) object {
	t.Helper()
	made := g.on(t, name).Send("POST", "/users/"+g.users[name].ID+"/tokens", object{"name": strings.Join(scopes, " "), "scopes": scopes, "current_password": password})
	return read(t, made.Want(201))
}

// with returns a client with a token in the header.
func (g *harness) withToken(t testing.TB, token any) *httpxtest.Client {
	c := httpxtest.New(t, g.api)
	c.Header.Set("Authorization", fmt.Sprint("Bearer ", token))
	return c
}

// TestAPITokens: users and admins create, list and end API tokens, which work until they end.
func TestAPITokens(t *testing.T) { stores(t, scaletest.Unraced, apiTokens) }

func apiTokens(t *testing.T, g *harness) {
	t.Helper()
	own := "/users/" + g.users["viewer"].ID + "/tokens"
	c := g.as("viewer")
	for body, message := range map[string]string{
		`{"scopes":["devices:read"]}`:                                            "name empty",
		`{"name":"a","scopes":[]}`:                                               "scopes 50",
		`{"name":"a","scopes":["devices:update"]}`:                               "resource colon",
		`{"name":"a","scopes":["sessions:read"]}`:                                "unknown \"sessions\" audit-logs",
		`{"name":"a","scopes":["*:read","*:read"]}`:                              "has the scope *:read twice",
		`{"name":"a","scopes":["*:read"],"expires_at":"2026-01-31T12:00:00Z"}`:   "expires_at 366",
		`{"name":"a","scopes":["*:read"],"expires_at":"2027-02-02T12:00:00Z"}`:   "expires_at 366",
		`{"name":"a","scopes":["*:read"],"current_password":"not the password"}`: "current_password not",
	} {
		c.Send("POST", own, body).WantError(400, message)
	}
	c.Send("POST", own+"?dry_run=true", object{"name": "a", "scopes": []string{"*:read"}, "current_password": password}).Want(200)
	made := read(t, c.Send("POST", own, object{"name": "collector", "scopes": []string{"devices:read", "users:*"}, "current_password": password}).Want(201))
	secret := made["token"].(string)
	shows(t, made, object{"name": "collector", "created_at": "2026-01-31T12:00:00Z", "expires_at": "2026-05-01T12:00:00Z", "last_used": nil})
	if !strings.HasPrefix(secret, accounts.TokenPrefix) || len(secret) < 30 {
		t.Errorf("the token is %q", secret)
	}
	e := g.last()
	if e.Action != "token_created" || e.Actor != "viewer" || e.ResourceID != g.users["viewer"].ID || e.Changes["name"].After != "collector" {
		t.Errorf("the entry is %+v", e)
	}
	c.Send("POST", own, object{"name": "collector", "scopes": []string{"*:*"}, "current_password": password}).WantError(409, "token name exists")

	// It works in the header only, with the user's rights and within its scopes.
	token := g.withToken(t, secret)
	token.Send("GET", "/devices", nil).Want(200)
	token.Send("POST", "/devices", device("core-1")).WantError(403, "Forbidden")
	token.Send("GET", "/vlans", nil).WantError(403, "Forbidden")
	g.as("").Send("GET", "/devices", nil, "Cookie", "Bearer="+secret).WantError(401, "Invalid or expired token")
	for _, wrong := range []string{secret[:len(secret)-1] + "0", secret[:len(secret)-1], secret + "A", accounts.TokenPrefix} {
		g.withToken(t, wrong).Send("GET", "/devices", nil).WantError(401, "Invalid or expired token")
	}
	list := c.Send("GET", own, nil).Want(200)
	if strings.Contains(list.Body.String(), secret) || strings.Contains(list.Body.String(), "hash") {
		t.Errorf("the list shows the token: %s", list.Body)
	}
	all := sessions(t, c, own)
	shows(t, all[0], object{"id": made["id"], "name": "collector", "last_used": "2026-01-31T12:00:00Z"})

	// It survives a new password and a logout everywhere, but not the state of its user.
	g.as("root").Send("PATCH", own[:len(own)-len("/tokens")], object{"password": another}).Want(200)
	token.Send("GET", "/devices", nil).Want(200)
	g.as("root").Send("PATCH", own[:len(own)-len("/tokens")], object{"inactive_status": true}).Want(200)
	token.Send("GET", "/devices", nil).WantError(401, "Invalid or expired token")
	g.as("root").Send("PATCH", own[:len(own)-len("/tokens")], object{"inactive_status": false, "role": "admin"}).Want(200)
	token.Send("POST", "/devices", device("core-1")).WantError(403, "Forbidden") // its scopes stay
	token.Send("GET", "/users", nil).Want(200)                                   // the role is the current one

	// Others neither see nor end it.
	editor := g.as("editor")
	editor.Send("GET", own, nil).WantError(403, "Forbidden")
	at := own + "/" + made["id"].(string)
	editor.Send("DELETE", at, nil).WantError(403, "Forbidden")
	editor.Send("DELETE", "/users/"+g.users["editor"].ID+"/tokens/"+made["id"].(string), nil).WantError(404, "API token not found")
	root := g.as("root")
	root.Send("DELETE", at+"?dry_run=true", nil).Want(200)
	token.Send("GET", "/devices", nil).Want(200)
	root.Send("DELETE", at, nil).Want(200)
	if e := g.last(); e.Action != "token_ended" || e.Actor != "root" || fmt.Sprint(e.Changes["names"].Before) != "[collector]" {
		t.Errorf("the entry is %+v", e)
	}
	token.Send("GET", "/devices", nil).WantError(401, "Invalid or expired token")
	for _, e := range g.entries() {
		if text := fmt.Sprint(e.Changes); strings.Contains(text, secret) {
			t.Errorf("the audit log has the token: %s", text)
		}
	}
	if strings.Contains(g.log.String(), secret) {
		t.Error("the log has the token")
	}
}

// TestAPITokensEnd: a user has a bounded number of API tokens, expired ones are refused and make room,
// and all of them end at once or with the user.
func TestAPITokensEnd(t *testing.T) { stores(t, scaletest.Unraced, apiTokensEnd) }

func apiTokensEnd(t *testing.T, g *harness) {
	t.Helper()
	own := "/users/" + g.users["editor"].ID + "/tokens"
	c := g.as("root")
	make := func(name string, expires string) *httpxtest.Response {
		return c.Send("POST", own, object{"name": name, "scopes": []string{"*:*"}, "expires_at": expires})
	}
	token := g.withToken(t, read(t, make("0", "2026-01-31T12:00:03Z").Want(201))["token"])
	token.Send("POST", "/links", object{}).WantError(400, "")
	for i := range accounts.MaxTokens - 1 {
		make(fmt.Sprint(i+1), "2026-02-28T12:00:00Z").Want(201)
	}
	make("more", "2026-02-28T12:00:00Z").WantError(409, "most 50")
	g.clock.forward(3 * time.Second) // while the token is remembered
	token.Send("GET", "/devices", nil).WantError(401, "Invalid or expired token")
	made := read(t, make("0", "2026-02-28T12:00:00Z").Want(201))
	if n := len(sessions(t, c, own)); n != accounts.MaxTokens {
		t.Errorf("%d tokens are stored", n)
	}
	token = g.withToken(t, made["token"])
	token.Send("GET", "/devices", nil).Want(200)
	c.Send("DELETE", own, nil).Want(200)
	token.Send("GET", "/devices", nil).Want(401)
	if all := sessions(t, c, own); len(all) != 0 {
		t.Errorf("there are %v", all)
	}
	token = g.withToken(t, read(t, make("last", "2026-02-28T12:00:00Z").Want(201))["token"])
	token.Send("GET", "/devices", nil).Want(200)
	c.Send("DELETE", strings.TrimSuffix(own, "/tokens"), nil).Want(200)
	token.Send("GET", "/devices", nil).Want(401)
}

// TestAPITokenNeedsPassword: with the setting, users create their own API tokens with their password only.
func TestAPITokenNeedsPassword(t *testing.T) {
	t.Parallel()
	g := newHarness(t, &choices{})
	own, body := "/users/"+g.users["viewer"].ID+"/tokens", object{"name": "a", "scopes": []string{"*:read"}}
	c := g.as("viewer")
	c.Send("POST", own, body).WantError(400, "current_password empty")
	c.Send("POST", own, with(body, "current_password", another)).WantError(400, "current_password not")
	token := read(t, c.Send("POST", own, with(body, "current_password", password)).Want(201))["token"]
	g.as("root").Send("POST", own, with(body, "name", "b")).Want(201)
	c.Send("POST", "/users/logout?everywhere=true", nil).Want(200)
	c.Send("GET", "/devices", nil).Want(401)
	g.withToken(t, token).Send("GET", "/devices", nil).Want(200) // tokens are no sessions
}

// TestAPITokenLocations: an API token limited to locations sees and changes what belongs there, and what
// its user may see.
func TestAPITokenLocations(t *testing.T) { stores(t, scaletest.Unraced, apiTokenLocations) }

func apiTokenLocations(t *testing.T, g *harness) {
	t.Helper()
	ids := map[string]string{}
	for _, name := range []string{"Berlin", "Bonn", "Ulm"} {
		ids[name] = g.create("/locations", location(name))["id"].(string)
		g.create("/devices", with(device("core "+name), "location_id", ids[name]))
	}
	all := "/users/" + g.users["second"].ID + "/tokens"
	body := object{"name": "site", "scopes": []string{"*:*"}, "location_ids": []string{ids["Berlin"], ids["Bonn"]}}
	g.as("root").Send("POST", all, with(body, "location_ids", []string{unknown})).WantError(400, "location_ids exist")
	g.as("root").Send("POST", all, with(body, "location_ids", []string{})).WantError(400, "location_ids empty")
	made := read(t, g.as("root").Send("POST", all, body).Want(201))
	token := g.withToken(t, made["token"])
	sees := func(want string) {
		t.Helper()
		if got := values(data(t, token.Send("GET", "/devices", nil)), "hostname"); got != want {
			t.Errorf("the token sees %s, want %s", got, want)
		}
	}
	sees("core Berlin core Bonn")
	token.Send("POST", "/devices", with(device("a"), "location_id", ids["Berlin"])).Want(201)
	if a := token.Send("POST", "/devices", with(device("b"), "location_id", ids["Ulm"])); a.Code < 400 {
		t.Errorf("a device at another location is created: %s", a.Body)
	}
	// Those of the user limit the token too.
	g.as("root").Send("PATCH", "/users/"+g.users["second"].ID, object{"location_ids": []string{ids["Bonn"], ids["Ulm"]}}).Want(200)
	sees("core Bonn")
	// A limited admin creates no tokens for others.
	second := g.withToken(t, read(t, g.login(t, "second", password).Want(200))["token"])
	if a := second.Send("POST", "/users/"+g.users["viewer"].ID+"/tokens", with(body, "location_ids", nil)); a.Code < 400 {
		t.Errorf("a limited admin creates a token of another user: %s", a.Body)
	}
	if a := second.Send("DELETE", "/users/"+g.users["viewer"].ID+"/tokens", nil); a.Code < 400 {
		t.Errorf("a limited admin ends the tokens of another user: %s", a.Body)
	}
	// A user who must change the password first can't use tokens either.
	g.as("root").Send("PATCH", "/users/"+g.users["second"].ID, object{"must_change_password": true}).Want(200)
	token.Send("GET", "/devices", nil).Want(403)
}

// TestEndedAPIToken: an API token that was ended in one process changes nothing in another one, which
// remembers it, and neither does one whose user lost the role.
func TestEndedAPIToken(t *testing.T) {
	twoProcesses(t, func(t *testing.T, first, second records.Store) {
		g := newHarness(t, &choices{store: first})
		h := newHarness(t, &choices{store: second, beside: g})
		for why, end := range map[string]func(at string){
			"ended": func(at string) { g.as("second").Send("DELETE", at, nil).Want(200) },
			"demoted": func(string) {
				g.as("second").Send("PATCH", "/users/"+g.users["root"].ID, object{"role": "viewer"}).Want(200)
			},
			"deactivated": func(string) {
				g.as("second").Send("PATCH", "/users/"+g.users["root"].ID, object{"inactive_status": true}).Want(200)
			},
		} {
			all := "/users/" + g.users["root"].ID + "/tokens"
			made := read(t, g.as("second").Send("POST", all, object{"name": why, "scopes": []string{"*:*"}}).Want(201))
			token := h.withToken(t, made["token"])
			token.Send("POST", "/devices", device("core "+why)).Want(201)
			end(all + "/" + made["id"].(string))
			token.Send("GET", "/vlans", nil).Want(200) // from the cache, for some seconds
			token.Send("POST", "/devices", device("other "+why)).WantError(401, "Invalid or expired token")
			if why == "demoted" { // the token has the new role at the next request
				token.Send("GET", "/vlans", nil).Want(200)
				token.Send("GET", "/users", nil).WantError(403, "Forbidden")
			} else {
				token.Send("GET", "/users", nil).WantError(401, "Invalid or expired token")
			}
			g.as("second").Send("PATCH", "/users/"+g.users["root"].ID, object{"role": "admin", "inactive_status": false}).Want(200)
			h.clock.forward(time.Minute)
		}
	})
}
