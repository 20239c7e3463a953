package httpapi_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestAudit checks that every change and every event of an account writes one audit log
// entry with the user, the address, the request and the changed fields.
func TestAudit(t *testing.T) { stores(t, scaletest.Unraced, audit) }

func audit(t *testing.T, g *harness) {
	t.Helper()
	c := g.as("root")
	c.Header.Set("X-Request-Id", "request-7")
	d := read(t, c.Send("POST", "/devices", device("core-1")).Want(201))
	made := read(t, c.Send("POST", "/devices", []object{device("a"), device("b")}).Want(201))["results"].([]any)
	a, b := made[0].(object)["id"], made[1].(object)["id"]
	viewer := "/users/" + g.users["viewer"].ID
	for _, step := range []struct {
		method, path string
		body         any
		want         string // the actions that it adds
	}{
		{"PATCH", path("/devices", d), object{"status": "offline"}, "update"},
		{"PATCH", path("/devices", d), object{"status": "offline"}, ""}, // nothing changes
		{"PUT", path("/devices", d), device("core-1"), "update"},
		{"PATCH", "/devices", []object{{"id": a, "role": "x"}, {"id": b, "role": "x"}}, "update update"},
		{"DELETE", "/devices", []any{a, b}, "delete delete"},
		{"DELETE", path("/devices", d), nil, "delete"},
		{"GET", "/devices", nil, ""},
		{"POST", "/devices", device(""), ""},
		{"PATCH", viewer, object{"role": "editor"}, "role_change"},
		{"PATCH", viewer, object{"inactive_status": false, "first_name": "V"}, "update"},
		{"PATCH", viewer, object{"password": another}, "password_change"},
		{"PUT", viewer + "/password", object{"new_password": password}, "password_change"},
		{"POST", "/users/login", object{"username": "viewer", "password": password}, "login"},
		{"POST", "/users/login", object{"username": "viewer", "password": password}, "login"}, // at the same time by the clock
		{"POST", "/users/login", object{"username": "viewer", "password": "wrong"}, "login_failed"},
		{"POST", "/users/login", object{"username": "no\nbody", "password": "wrong"}, "login_failed"},
		{"POST", "/users/forgot-password", object{"email": "unknown@example.org"}, ""},
		{"POST", "/users/forgot-password", object{"email": "viewer@example.org"}, "password_forgotten"},
		{"POST", "/users", user("jane"), "create"},
		{"POST", "/users/logout", nil, "logout"},
	} {
		before := len(g.entries())
		c.Send(step.method, step.path, step.body)
		g.wait()
		var got []string
		for _, e := range g.entries()[before:] {
			got = append(got, e.Action)
			if e.RequestID != "request-7" || e.IPAddress != "192.0.2.1" {
				t.Errorf("%s %s: the entry is %+v", step.method, step.path, e)
			}
		}
		if strings.Join(got, " ") != step.want {
			t.Errorf("%s %s adds %v, want %q", step.method, step.path, got, step.want)
		}
	}
	code := g.mails.last(t)
	g.reset(code, another)
	if e := g.last(); e.Action != "password_reset" || e.Actor != "viewer" || e.ResourceID != g.users["viewer"].ID {
		t.Errorf("the last entry is %+v", e)
	}
	text := asJSON(t, g.entries())
	for _, secret := range []string{password, another, "argon2", "wrong", code, "reset_hash", "epoch"} {
		if strings.Contains(text, secret) {
			t.Errorf("the log of changes has %q in it", secret)
		}
	}
}

// TestAuditEntry checks an audit log entry in a response.
func TestAuditEntry(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	d := g.create("/devices", device("core-1"))
	g.as("second").Send("PATCH", path("/devices", d), `{"status":"offline"}`).Want(200)
	c := g.as("root")
	entry := data(t, c.Send("GET", "/audit-logs?limit=1&resource_id="+d["id"].(string), nil))[0]
	shows(t, entry, object{
		"actor": "second", "user_id": g.users["second"].ID, "action": "update", "resource_type": "device", "resource_id": d["id"],
		"changes": object{"status": object{"before": "active", "after": "offline"}},
	})
	shows(t, read(t, c.Send("GET", "/audit-logs/"+entry["id"].(string), nil).Want(200)), entry)
	// The id and the name of the user stay when the user is deleted.
	c.Send("DELETE", "/users/"+g.users["second"].ID, nil).Want(200)
	shows(t, read(t, c.Send("GET", "/audit-logs/"+entry["id"].(string), nil).Want(200)), entry)
	shows(t, data(t, c.Send("GET", "/audit-logs?actor=second&user_id="+g.users["second"].ID, nil).Want(200))[0], entry)
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		c.Send(method, "/audit-logs", nil).Want(405)
		c.Send(method, "/audit-logs/"+entry["id"].(string), nil).Want(405)
	}
}

// TestAuditTogether checks that a change is rolled back if its entry can't be stored.
func TestAuditTogether(t *testing.T) {
	t.Parallel()
	g := newHarness(t, &choices{store: unlogged{records.NewMemStore(builtIn)}})
	c := g.as("root")
	c.Send("POST", "/devices", device("core-1")).WantError(500, "Internal Server Error")
	c.Send("POST", "/users/login", object{"username": "root", "password": password}).WantError(500, "Internal Server Error")
	if n := g.count(records.Of[inventory.Device](builtIn)); n != 0 || g.user("root").LastLogin != nil {
		t.Errorf("%d devices were made", n)
	}
	if !strings.Contains(g.log.String(), "disk on fire") {
		t.Error("the log does not say why")
	}
}

// inner matches internals that error responses must not show.
var inner = regexp.MustCompile("disk on fire|SQL|goroutine")

// requestID matches the request id, whose random letters may spell "SQL".
var requestID = regexp.MustCompile(`"request_id":"[^"]*"`)

// failsWith checks that error responses show no internals.
func failsWith(t *testing.T, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		if inner.MatchString(requestID.ReplaceAllString(body, "")) {
			t.Errorf("the client reads %s", body)
		}
	}
}
