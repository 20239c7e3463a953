package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
)

// singleScopes returns each scope for one resource and one verb.
func singleScopes() (all []string) {
	for _, r := range builtIn.Resources() {
		all = append(all, r.Name+":read", r.Name+":write")
	}
	return all
}

// neededScope returns the scope that a token of an admin needs for a route: "" is none, "login" says that
// no scope suffices, "scoped" that it depends on the request.
func neededScope(pattern string) string {
	method, path, _ := strings.Cut(pattern, " ")
	if accessRows()[pattern] == everybody || path == "/" {
		return ""
	}
	parts := strings.Split(path[1:], "/")
	switch {
	case slices.Contains([]string{"summary", "search", "changes", "transaction"}, parts[0]):
		return "scoped"
	case parts[0] == "users" && (len(parts) > 2 || pattern == "POST /users" || pattern == "POST /users/invitations"):
		return "login"
	case len(parts) == 3: // children
		resource := strings.TrimSuffix(parts[2], "count")
		return strings.TrimSuffix(resource, "s") + "s:read"
	case method == http.MethodGet:
		return parts[0] + ":read"
	}
	return parts[0] + ":write"
}

// TestTokenScopes calls every route with an API token of an admin with each single scope: a token gets a 403
// unless the scope names the resource and the verb.
func TestTokenScopes(t *testing.T) {
	t.Parallel()
	scaletest.Unraced(t)
	g := newHarness(t, &choices{bare: true})
	clients := map[string]*httpxtest.Client{}
	for _, scope := range append(singleScopes(), "*:read", "*:write", "*:*") {
		clients[scope] = g.withToken(t, g.newToken(t, "root", scope)["token"])
	}
	for _, pattern := range httpapi.Routes(g.api) {
		needed := neededScope(pattern)
		if needed == "scoped" {
			continue // see TestScopesOfRequests
		}
		resource, verb, _ := strings.Cut(needed, ":")
		for scope, c := range clients {
			allowed := needed == "" || needed == scope
			if strings.HasPrefix(scope, "*:") && verb != "" {
				allowed = (scope == "*:*" || scope == "*:"+verb) && (resource != "users" || verb == "read")
			}
			method, path, _ := strings.Cut(pattern, " ")
			path = strings.NewReplacer("{id}", g.users["second"].ID, "{session}", unknown, "{token}", unknown, "{code}", "none").Replace(path)
			if path == "/users/logout" {
				allowed = false // it would end the sessions of the user
			}
			a := c.Send(method, path, nil)
			if a.Code == http.StatusUnauthorized || a.Code >= 500 || allowed != (a.Code != http.StatusForbidden) {
				t.Errorf("%s with the scope %s: %d %s, want it allowed: %t", pattern, scope, a.Code, a.Body, allowed)
			}
		}
	}
}

// TestScopesOfRequests does the same for routes with several resources: summaries, prunings, and the
// feed, which has the changes of the resource of the scope only.
func TestScopesOfRequests(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	made := g.create("/locations", location("Berlin"))
	dev := g.create("/devices", with(device("core-1"), "location_id", made["id"]))
	g.create("/interfaces", port(dev["id"], "eth0"))
	g.create("/users", user("jane"))
	kinds := map[string]string{}
	for _, r := range builtIn.Resources() {
		kinds[r.Name] = r.Kind()
	}
	for _, scope := range singleScopes() {
		c := g.withToken(t, g.newToken(t, "root", scope)["token"])
		resource, verb, _ := strings.Cut(scope, ":")
		want := func(a *httpxtest.Response, allowed bool) {
			t.Helper()
			if allowed != (a.Code != http.StatusForbidden) || a.Code == http.StatusUnauthorized {
				t.Errorf("the scope %s: %d %s, want it allowed: %t", scope, a.Code, a.Body, allowed)
			}
		}
		for name := range kinds {
			want(c.Send("GET", "/summary?by=x&resource="+name, nil), scope == name+":read")
			if name != "users" { // 400 for those without such a request
				part := []object{{"method": "PATCH", "resource": name, "items": []object{{"id": unknown}}}}
				a := c.Send("POST", "/transaction", part)
				want(a, scope == name+":write" || a.Code == http.StatusBadRequest)
			}
			want(c.Send("POST", "/retention", object{"resource": name, "max_age": "1h"}),
				scope == name+":write" || !slices.Contains([]string{"audit-logs", "events", "metrics"}, name))
		}
		want(c.Send("GET", "/changes/stream?since=none", nil), verb == "read" && resource != "users")
		feed := c.Send("GET", "/changes?since=0&limit=1000", nil)
		want(feed, verb == "read" && resource != "users")
		if feed.Code != http.StatusOK || resource == "audit-logs" {
			continue
		}
		var page struct {
			Data []object `json:"data"`
			Next string   `json:"next"`
		}
		feed.JSON(&page)
		if slices.Contains([]string{"devices", "locations", "interfaces"}, resource) != (len(page.Data) > 0) {
			t.Errorf("the scope %s sees %d changes", scope, len(page.Data))
		}
		for _, e := range page.Data {
			if e["resource_type"] != kinds[resource] {
				t.Errorf("the scope %s sees %v", scope, e)
			}
		}
	}
	// A preview does not show what the scopes do not include.
	c := g.withToken(t, g.newToken(t, "second", "locations:write")["token"])
	a := c.Send("DELETE", path("/locations", made)+"?dry_run=true", nil).Want(200)
	if body := a.Body.String(); strings.Contains(body, "core-1") || strings.Contains(body, `"device"`) || !strings.Contains(body, `"updated":0`) || !strings.Contains(body, `"truncated":false`) {
		t.Errorf("the preview is %s", body)
	}
}

// TestTokensChangeNoCredentials: an API token with the scope users:write changes users, but not how they
// log in.
func TestTokensChangeNoCredentials(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	c := g.withToken(t, g.newToken(t, "root", "users:*")["token"])
	for _, name := range []string{"viewer", "root"} {
		u := read(t, c.Send("GET", "/users/"+g.users[name].ID, nil).Want(200))
		for _, change := range []object{{"password": another}, {"email": "x@example.com"}, {"username": "x"}} {
			c.Send("PATCH", path("/users", u), change).WantError(403, "Forbidden")
			c.Send("PATCH", "/users", []object{with(change, "id", u["id"])}).WantError(403, "Forbidden")
			put := with(object{"username": u["username"], "email": u["email"], "role": u["role"]}, "first_name", "A")
			for field, value := range change {
				put[field] = value
			}
			c.Send("PUT", path("/users", u), put).WantError(403, "Forbidden")
		}
	}
	viewer := "/users/" + g.users["viewer"].ID
	c.Send("PATCH", viewer, object{"first_name": "Vi", "role": "editor", "inactive_status": true}).Want(200)
	c.Send("DELETE", viewer, nil).Want(200)
}

// TestCollector: a collector with a token for metrics creates metrics and nothing else.
func TestCollector(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	dev := g.create("/devices", device("core-1"))
	c := g.withToken(t, g.newToken(t, "root", "metrics:write")["token"])
	c.Send("POST", "/metrics", object{"device_id": dev["id"], "cpu": 1.5}).Want(201)
	c.Send("POST", "/metrics", []object{{"device_id": dev["id"], "cpu": 2}}, "Idempotency-Key", "a").Want(201)
	c.Send("POST", "/metrics", []object{{"device_id": dev["id"], "cpu": 2}}, "Idempotency-Key", "a").Want(201).
		WantHeader("Idempotent-Replayed", "true")
	for _, r := range []struct{ method, path string }{
		{"GET", "/metrics"}, {"GET", "/devices"}, {"GET", path("/devices", dev)}, {"GET", "/changes"}, {"DELETE", path("/devices", dev)},
	} {
		c.Send(r.method, r.path, nil).WantError(403, "Forbidden")
	}
	if n := len(sessions(t, g.as("root"), "/users/"+g.users["root"].ID+"/tokens")); n != 1 {
		t.Errorf("%d tokens", n)
	}
}
