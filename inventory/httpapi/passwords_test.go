package httpapi_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

const another = "another long one"

// TestPassword checks that the owner or an admin can change a password, and that an unknown
// user is a 404.
func TestPassword(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	at := "/users/" + g.users["viewer"].ID + "/password"
	c := g.as("viewer")
	for body, message := range map[string]string{
		`{}`:                                    "Password empty",
		`{"new_password":""}`:                   "Password empty",
		`{"new_password":"short"}`:              "Password least 8",
		`{"new_password":"password123"}`:        "most common",
		`{"new_password":"viewer@example.org"}`: "user name",
		`{"new_password":null}`:                 "new_password string",
		`{"new_password":"` + another + `","current_password":"wrong"}`: "current_password password",
		`{"new_password":"` + another + `","role":"admin"}`:             "role: unknown field",
	} {
		c.Send("PUT", at, body).WantError(400, message)
	}
	dry := c.Send("PUT", at+"?dry_run=true", object{"new_password": another, "current_password": password}).Want(200).WantHeader("Dry-Run", "true")
	got := read(t, c.Send("PUT", at, object{"new_password": another, "current_password": password}).Want(200))
	if got["message"] != "Password updated successfully" || dry.Body.String() == "" {
		t.Errorf("the response is %v", got)
	}
	if u := g.user("viewer"); u.PasswordChangedAt == nil || u.Epoch != 1 {
		t.Errorf("the user is %+v", u)
	}
	g.login(t, "viewer", password).WantError(401, "Invalid credentials")
	g.login(t, "viewer", another).Want(200)
	g.as("root").Send("PUT", at, object{"new_password": password}).Want(200)
	g.login(t, "viewer", password).Want(200)
	g.as("editor").Send("PUT", at, object{"new_password": another}).WantError(403, "Forbidden")
	g.as("root").Send("PUT", "/users/"+unknown+"/password", object{"new_password": another}).WantError(404, "User not found")
}

func (g *harness) forgot(email string) string {
	g.t.Helper()
	defer g.wait()
	return g.as("").Send("POST", "/users/forgot-password", object{"email": email}).Want(200).Body.String()
}

func (g *harness) reset(code, word string) int {
	return g.as("").Send("POST", "/users/reset-password/"+code, object{"new_password": word, "confirm_password": word}).Code
}

// TestReset checks a password reset from the request to the login.
func TestReset(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	before := g.as("viewer")
	if known, none := g.forgot("Viewer@Example.org"), g.forgot("unknown@example.org"); known != none || !strings.Contains(known, `"status":"success"`) {
		t.Errorf("the response for a known address is %s, for another %s", known, none)
	}
	code := g.mails.last(t)
	if g.mails.count() != 1 || len(code) < 26 { // 128 bits and more
		t.Errorf("%d mails, the code is %q", g.mails.count(), code)
	}
	page, err := g.store.List(t.Context(), &records.Query{Resource: records.Of[inventory.Reset](builtIn)})
	ok(t, err)
	if text := asJSON(t, page.Records); len(page.Records) != 1 || strings.Contains(text, code) {
		t.Errorf("the code is stored as %s", text)
	}
	c := g.as("")
	at := "/users/reset-password/" + code
	c.Send("POST", at, object{"new_password": another, "confirm_password": another + "x"}).WantError(400, "confirm_password new_password")
	c.Send("POST", at, object{"new_password": "", "confirm_password": ""}).WantError(400, "new_password empty")
	c.Send("POST", at, object{"new_password": "short", "confirm_password": "short"}).WantError(400, "at least 8 characters")
	got := read(t, c.Send("POST", "/users/reset-password/"+strings.ToLower(code), object{"new_password": another, "confirm_password": another}).Want(200))
	if got["message"] != "Password reset successfully" {
		t.Errorf("the response is %v", got)
	}
	before.Send("GET", "/devices", nil).WantError(401, "Invalid or expired token")
	g.login(t, "viewer", another).Want(200)
	c.Send("POST", at, object{"new_password": password, "confirm_password": password}).WantError(404, "reset code")
	if text := g.log.String(); strings.Contains(text, code) || strings.Contains(text, another) {
		t.Errorf("the log has a secret: %s", text)
	}
}

// TestResetEnds checks what invalidates a code: time, another code that was used, a new password or
// address, and an inactive account.
func TestResetEnds(t *testing.T) {
	for why, end := range map[string]func(g *harness, at string){
		"time": func(g *harness, _ string) { g.clock.forward(15 * time.Minute) },
		"another code": func(g *harness, _ string) {
			g.forgot("viewer@example.org")
			g.reset(g.mails.last(g.t), "a third long one")
		},
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
			g.forgot("viewer@example.org")
			code := g.mails.last(t)
			end(g, "/users/"+g.users["viewer"].ID)
			if status := g.reset(code, another); status != 404 {
				t.Errorf("the status of the reset is %d", status)
			}
		})
	}
}

// TestResetsBeside: a newer code, which a stranger may have requested, leaves earlier ones valid.
func TestResetsBeside(t *testing.T) { stores(t, scaletest.Unraced, resetsBeside) }

func resetsBeside(t *testing.T, g *harness) {
	t.Helper()
	g.forgot("viewer@example.org")
	own := g.mails.last(t)
	for range 4 {
		g.clock.forward(time.Second)
		g.forgot("viewer@example.org")
	}
	if status := g.reset(own, another); status != 200 {
		t.Errorf("the status of the reset is %d", status)
	}
	if status := g.reset(g.mails.last(t), password); status != 404 { // the password was changed since
		t.Errorf("the status of another reset is %d", status)
	}
	resets := records.Of[inventory.Reset](builtIn)
	if n := g.count(resets); n != 4 {
		t.Errorf("there are %d codes", n)
	}
	g.clock.forward(time.Hour)
	g.forgot("viewer@example.org") // and deletes those that have expired
	if n := g.count(resets); n != 1 {
		t.Errorf("there are %d codes", n)
	}
	g.as("root").Send("DELETE", "/users/"+g.users["viewer"].ID, nil).Want(200)
	if n := g.count(resets); n != 0 {
		t.Errorf("there are %d codes of a deleted user", n)
	}
}

// TestResetOnce checks that only one of several concurrent uses of a code succeeds.
func TestResetOnce(t *testing.T) { stores(t, scaletest.Unraced, resetOnce) }

func resetOnce(t *testing.T, g *harness) {
	t.Helper()
	g.forgot("viewer@example.org")
	code := g.mails.last(t)
	var done atomic.Int32
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if g.reset(code, fmt.Sprint("a long password ", i)) == 200 {
				done.Add(1)
			}
		})
	}
	all.Wait()
	if done.Load() != 1 {
		t.Errorf("the code was used %d times", done.Load())
	}
}

// TestResetGuesses checks that ten thousand guesses fail, and are throttled after the first
// few.
func TestResetGuesses(t *testing.T) {
	t.Parallel()
	g := newHarness(t, &choices{options: func(o *httpapi.Options) { o.Chain = nil }})
	g.forgot("viewer@example.org")
	code := g.mails.last(t)
	statuses := map[int]int{}
	for i := range 10_000 {
		guess := fmt.Sprintf("%06d", i)
		if i%2 == 0 {
			guess = code[:20] + strings.Repeat(string("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i%26]), 6)
		}
		body := strings.NewReader(`{"new_password":"` + another + `","confirm_password":"` + another + `"}`)
		r := httptest.NewRequest("POST", "/users/reset-password/"+guess, body)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		g.api.ServeHTTP(w, r)
		statuses[w.Code]++
	}
	if statuses[404] != 50 || statuses[429] != 9_950 {
		t.Errorf("the statuses of the guesses are %v", statuses)
	}
	g.login(t, "viewer", password).Want(429) // the address is one that guesses
}

// TestForgotFlood checks that mails to an address are limited, and that responses for known
// and unknown addresses are the same.
func TestForgotFlood(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	for _, email := range []string{"viewer@example.org", "unknown@example.org"} {
		for range 5 {
			g.forgot(email)
		}
		a := g.as("").Send("POST", "/users/forgot-password", object{"email": strings.ToUpper(email)})
		a.WantError(429, "Too many requests")
	}
	if n := g.mails.count(); n != 5 {
		t.Errorf("%d mails were sent", n)
	}
	g.as("").Send("POST", "/users/forgot-password", object{"email": ""}).WantError(400, "email empty")
}

// TestForgotFails checks that the response does not show that a mail can't be sent, which
// would reveal that the address is known; the log shows it, without the code.
func TestForgotFails(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	g.mails.fail = errors.New("the queue is full")
	if failed, none := g.forgot("viewer@example.org"), g.forgot("unknown@example.org"); failed != none {
		t.Errorf("%s, %s", failed, none)
	}
	if text := g.log.String(); !strings.Contains(text, "the queue is full") || bytes.Contains([]byte(text), []byte("viewer@example.org")) {
		t.Errorf("the log is %s", text)
	}
}
