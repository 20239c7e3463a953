package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

func (g *harness) login(t testing.TB, name, word string) *httpxtest.Response {
	return g.on(t, "").Send("POST", "/users/login", object{"username": name, "password": word})
}

// TestLogin checks the response to a login and the cookie (REFERENCE.md, 3.1).
func TestLogin(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	before := g.user("editor").Version
	a := g.login(t, "editor", password).Want(200).WantHeader("Cache-Control", "no-store")
	got := read(t, a)
	token, _ := got["token"].(string)
	shows(t, got, object{
		"status": "success", "message": "Login successful", "user_id": g.users["editor"].ID, "username": "editor", "role": "editor",
	})
	cookie := a.Result().Cookies()[0]
	if cookie.Name != "Bearer" || cookie.Value != token || !cookie.HttpOnly || !cookie.Secure || cookie.Path != "/" ||
		cookie.SameSite != http.SameSiteStrictMode || cookie.MaxAge != 24*60*60 {
		t.Errorf("the cookie is %v", cookie)
	}
	claims, err := g.tokens.Verify(token)
	ok(t, err)
	if claims.UserID != g.users["editor"].ID || claims.Username != "editor" || claims.Role != auth.Editor {
		t.Errorf("the claims are %+v", claims)
	}
	anonymous := g.as("")
	anonymous.Send("GET", "/devices", nil, "Authorization", "Bearer "+token).Want(200)
	anonymous.Send("GET", "/devices", nil, "Cookie", "Bearer="+token).Want(200)
	if g.user("editor").LastLogin == nil {
		t.Error("last_login was not written")
	}
	if now := g.user("editor").Version; now != before {
		t.Errorf("the login raised the version from %d to %d", before, now)
	}
}

// TestLoginRefused checks that a wrong password and an unknown user have the same response,
// and that only the right password reveals that an account is inactive.
func TestLoginRefused(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	wrong := g.login(t, "viewer", "wrong password")
	none := g.login(t, "unknown", "wrong password")
	wrong.WantError(401, "Invalid credentials")
	none.WantError(401, "Invalid credentials")
	for _, h := range []http.Header{wrong.Header(), none.Header()} {
		h.Del("X-Request-Id")
		h.Del("X-Response-Time")
	}
	if !reflect.DeepEqual(wrong.Header(), none.Header()) {
		t.Errorf("the headers are %v and %v", wrong.Header(), none.Header())
	}
	g.as("root").Send("PATCH", "/users/"+g.users["viewer"].ID, `{"inactive_status":true}`).Want(200)
	g.login(t, "viewer", "wrong password").WantError(401, "Invalid credentials")
	g.login(t, "viewer", password).WantError(403, "Account is inactive")
	for body, message := range map[string]string{
		`{"username":"root"}`:                            "password empty",
		`{"password":"x"}`:                               "username empty",
		`{"username":"","password":""}`:                  "username empty",
		`{"username":"root","password":7}`:               "password string",
		`{"username":["root"],"password":"x"}`:           "username string",
		`{"username":"root","password":"x","role":"ad"}`: "role: unknown field",
		`[]`: "must be an object",
		``:   "is empty",
	} {
		g.as("").Send("POST", "/users/login", body).WantError(400, message)
	}
	g.as("").Send("POST", "/users/login", `username=root&password=x`, "Content-Type", "application/x-www-form-urlencoded").Want(415)
}

// TestLoginHashes checks that a login of an unknown user costs a hash like any other, and
// that a right password is hashed again if the cost has changed.
func TestLoginHashes(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	costly, err := auth.NewHasher(&auth.HasherOptions{Cost: auth.Cost{Memory: 16, Time: 1, Parallelism: 1}})
	ok(t, err)
	other := newHarness(t, &choices{store: records.NewMemStore(builtIn), hasher: costly})
	old := other.user("viewer").PasswordHash
	other.login(t, "viewer", password).Want(200)
	if now := other.user("viewer").PasswordHash; now == old || costly.NeedsRehash(now) {
		t.Error("the password was not hashed anew")
	}
	other.login(t, "viewer", password).Want(200)
	g.login(t, "viewer", password).Want(200)
	if now := g.user("viewer").PasswordHash; now != g.users["viewer"].PasswordHash {
		t.Error("a hash that will do was replaced")
	}
}

// from sends a login from an address.
func (g *harness) from(t testing.TB, addr, name, word string) int {
	t.Helper()
	body, err := json.Marshal(object{"username": name, "password": word})
	ok(t, err)
	r := httptest.NewRequest("POST", "/users/login", bytes.NewReader(body))
	r.RemoteAddr = addr + ":1234"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	g.api.ServeHTTP(w, r)
	return w.Code
}

// TestLoginThrottle checks that guesses are limited per account and network, and per network,
// and that a right password is accepted from other networks, later, and where the user has
// logged in before.
func TestLoginThrottle(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	g.login(t, "root", password).Want(200)
	refused := 0
	for range 15 {
		if g.login(t, "viewer", "wrong password").Code == 429 {
			refused++
		}
	}
	a := g.login(t, "VIEWER", password)
	a.WantError(429, "Too many requests")
	if wait := a.Header().Get("Retry-After"); wait == "" || wait == "0" || refused != 5 {
		t.Errorf("Retry-After is %q after %d were refused", wait, refused)
	}
	g.login(t, "viewer", password).Want(429)
	if status := g.from(t, "203.0.113.7", "viewer", password); status != 200 {
		t.Errorf("the right password from another network gets %d", status)
	}
	g.login(t, "editor", password).Want(200) // another account from the same network
	for i := range 60 {
		a = g.login(t, fmt.Sprint("unknown-", i), "wrong password")
	}
	a.WantError(429, "Too many requests")
	g.login(t, "second", password).Want(429) // the network has used up all of its own
	g.login(t, "root", password).Want(200)   // who has logged in from here before
	if status := g.from(t, "203.0.113.7", "second", password); status != 200 {
		t.Errorf("a login from another network gets %d", status)
	}
	g.clock.forward(time.Minute)
	g.login(t, "viewer", password).Want(200)
}

// TestManyNetworks checks that guesses of one password from many networks delay further ones, and
// lock nobody out: a login from a new network takes a second more, one from a known network does
// not.
func TestManyNetworks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newHarness(t, nil)
		took := func(addr, word string, want int) time.Duration {
			start := time.Now()
			if status := g.from(t, addr, "viewer", word); status != want {
				t.Errorf("%s gets %d, want %d", addr, status, want)
			}
			return time.Since(start)
		}
		took("192.0.2.200", password, 200)
		for i := range 100 {
			if d := took(fmt.Sprint("192.0.2.", i), "wrong password", 401); d != 0 {
				t.Errorf("guess %d took %v", i, d)
			}
		}
		if d := took("192.0.2.150", "wrong password", 401); d != time.Second {
			t.Errorf("a further guess took %v, want 1s", d)
		}
		if d := took("192.0.2.151", password, 200); d != time.Second {
			t.Errorf("a login from a new network took %v, want 1s", d)
		}
		if d := took("192.0.2.200", password, 200); d != 0 {
			t.Errorf("a login from a known network took %v", d)
		}
	})
}

// TestGuessesAreNotHashed checks that a password is not hashed for attempts beyond the limit,
// concurrent ones included.
func TestGuessesAreNotHashed(t *testing.T) {
	hasher, err := auth.NewHasher(&auth.HasherOptions{Cost: auth.Cost{Memory: 1 << 10, Time: 1, Parallelism: 1}})
	ok(t, err)
	g := newHarness(t, &choices{hasher: hasher})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var all sync.WaitGroup
	for range 1000 {
		all.Go(func() { g.login(t, "nobody", "wrong password") })
	}
	all.Wait()
	runtime.ReadMemStats(&after)
	// Each hash takes 1 MiB; a request without one some KiB.
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 200 {
		t.Errorf("1000 concurrent guesses allocated %d MiB, want 10 hashes of 1 MiB and some more", mib)
	}
}

// TestConcurrentGuesses checks that concurrent guesses are limited like sequential ones.
func TestConcurrentGuesses(t *testing.T) { stores(t, scaletest.Unraced, guessesAtOnce) }

func guessesAtOnce(t *testing.T, g *harness) {
	t.Helper()
	var wrong, late atomic.Int32
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			switch g.login(t, "viewer", "wrong password").Code {
			case 401:
				wrong.Add(1)
			case 429:
				late.Add(1)
			}
		})
	}
	all.Wait()
	if wrong.Load() != 10 || late.Load() != 90 {
		t.Errorf("%d attempts were refused as wrong, %d as too many", wrong.Load(), late.Load())
	}
}

// TestParallelLogins checks that two hundred concurrent logins use a bounded amount of memory.
func TestParallelLogins(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	hasher, err := auth.NewHasher(&auth.HasherOptions{Cost: auth.Cost{Memory: 1 << 10, Time: 1, Parallelism: 1}, Concurrent: 2})
	ok(t, err)
	g := newHarness(t, &choices{hasher: hasher})
	runtime.GC() // of what other tests left
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	before := now.HeapInuse
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		peak := before
		for {
			select {
			case <-stop:
				most <- peak
				return
			case <-tick.C:
				runtime.ReadMemStats(&now)
				peak = max(peak, now.HeapInuse)
			}
		}
	}()
	var in atomic.Int32
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if g.login(t, "editor", password).Code == 200 {
				in.Add(1)
			}
		})
	}
	all.Wait()
	close(stop)
	if growth := (<-most - before) >> 20; growth > 100 { // 200 concurrent hashes would take 200
		t.Errorf("the heap grew by %d MiB", growth)
	}
	if in.Load() != 200 {
		t.Errorf("%d of 200 were let in", in.Load())
	}
}

// TestLogout checks that a logout ends the user's sessions, clears the cookie, and needs no
// token.
func TestLogout(t *testing.T) { stores(t, scaletest.Unraced, logout) }

func logout(t *testing.T, g *harness) {
	t.Helper()
	c, other := g.as("viewer"), g.as("viewer")
	a := c.Send("POST", "/users/logout", nil).Want(200)
	if got := read(t, a); got["message"] != "Logged out" || got["status"] != "success" {
		t.Errorf("the response is %v", got)
	}
	cookie := a.Result().Cookies()[0]
	if cookie.MaxAge >= 0 || !cookie.Secure || !cookie.HttpOnly || cookie.Path != "/" {
		t.Errorf("the cookie is %v", cookie)
	}
	c.Send("GET", "/devices", nil).WantError(401, "Unauthorized: Invalid or expired token")
	other.Send("GET", "/devices", nil).WantError(401, "Unauthorized: Invalid or expired token")
	g.as("editor").Send("GET", "/devices", nil).Want(200)
	for _, token := range []string{"", "Bearer x", c.Header.Get("Authorization")} {
		g.as("").Send("POST", "/users/logout", nil, "Authorization", token).Want(200)
	}
	token := read(t, g.login(t, "viewer", password).Want(200))["token"].(string)
	g.as("").Send("GET", "/devices", nil, "Authorization", "Bearer "+token).Want(200)
}

// TestAccountsDry checks that a dry run of an account operation says what it would do and
// changes nothing: sessions, codes, passwords, mails, the audit log. A login can't be a dry run.
func TestAccountsDry(t *testing.T) { stores(t, scaletest.Unraced, accountsDry) }

func accountsDry(t *testing.T, g *harness) {
	t.Helper()
	c := g.as("viewer")
	g.forgot("viewer@example.org")
	code := g.mails.last(t)
	before, entries, mails := *g.user("viewer"), len(g.entries()), g.mails.count()
	for path, body := range map[string]any{
		"/users/logout":                 nil,
		"/users/forgot-password":        object{"email": "viewer@example.org"},
		"/users/reset-password/" + code: object{"new_password": another, "confirm_password": another},
	} {
		a := c.Send("POST", path+"?dry_run=true", body).Want(200).WantHeader("Dry-Run", "true").WantHeader("Set-Cookie", "")
		if got := read(t, a); got["status"] != "dry_run" || got["token"] != nil {
			t.Errorf("the response of %s is %v", path, got)
		}
	}
	if after := *g.user("viewer"); !reflect.DeepEqual(after, before) || len(g.entries()) != entries || g.mails.count() != mails {
		t.Errorf("of %+v it has made %+v, with %d entries and %d mails more", before, after, len(g.entries())-entries, g.mails.count()-mails)
	}
	c.Send("GET", "/devices", nil).Want(200)
	c.Send("POST", "/users/login?dry_run=true", object{"username": "viewer", "password": password}).WantError(400, "dry_run unknown")
	g.reset(code, another)
	g.login(t, "viewer", another).Want(200)
}

// TestSessionsEnd checks that a token becomes invalid immediately when its user is
// deactivated, deleted or demoted, or changes the password.
func TestSessionsEnd(t *testing.T) {
	for why, end := range map[string]func(g *harness, c *httpxtest.Client, at string){
		"deactivated": func(_ *harness, c *httpxtest.Client, at string) {
			c.Send("PATCH", at, `{"inactive_status":true}`).Want(200)
		},
		"deactivated, bulk": func(g *harness, c *httpxtest.Client, at string) {
			c.Send("PATCH", "/users", []object{{"id": strings.TrimPrefix(at, "/users/"), "inactive_status": true}}).Want(200)
		},
		"deleted": func(_ *harness, c *httpxtest.Client, at string) { c.Send("DELETE", at, nil).Want(200) },
		"deleted, bulk": func(_ *harness, c *httpxtest.Client, at string) {
			c.Send("DELETE", "/users", []string{strings.TrimPrefix(at, "/users/")}).Want(200)
		},
		"demoted":  func(_ *harness, c *httpxtest.Client, at string) { c.Send("PATCH", at, `{"role":"viewer"}`).Want(200) },
		"promoted": func(_ *harness, c *httpxtest.Client, at string) { c.Send("PATCH", at, `{"role":"admin"}`).Want(200) },
		"another password": func(_ *harness, c *httpxtest.Client, at string) {
			c.Send("PATCH", at, `{"password":"another long one"}`).Want(200)
		},
		"password changed": func(_ *harness, c *httpxtest.Client, at string) {
			c.Send("PUT", at+"/password", `{"new_password":"another long one"}`).Want(200)
		},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			g := newHarness(t, nil)
			c := g.on(t, "editor")
			c.Send("GET", "/devices", nil).Want(200)
			end(g, g.on(t, "root"), "/users/"+g.users["editor"].ID)
			c.Send("GET", "/devices", nil).WantError(401, "Unauthorized: Invalid or expired token")
		})
	}
}

// TestGoneMeanwhile checks that a user who was deleted by another process, and is still
// cached in this one, gets 401 for a change.
func TestGoneMeanwhile(t *testing.T) { stores(t, scaletest.Unraced, goneMeanwhile) }

func goneMeanwhile(t *testing.T, g *harness) {
	t.Helper()
	d := g.create("/devices", device("core-1"))
	c := g.as("second")
	c.Send("GET", "/devices", nil).Want(200) // from now on the gate remembers them
	ok(t, records.New(g.store, nil).Delete(context.Background(), records.Caller{Name: "test"},
		records.Of[inventory.User](builtIn), records.Edit{ID: g.users["second"].ID}))
	for _, tc := range []struct {
		method, path string
		body         any
	}{
		{"POST", "/devices", device("core-2")},
		{"POST", "/devices", []object{device("core-2"), device("core-3")}},
		{"PATCH", path("/devices", d), object{"role": "x"}},
		{"PATCH", "/devices", []object{{"id": d["id"], "role": "x"}}},
		{"DELETE", path("/devices", d), nil},
	} {
		a := c.Send(tc.method, tc.path, tc.body).WantHeader("WWW-Authenticate", "Bearer")
		a.WantError(401, "Unauthorized: Invalid or expired token")
	}
	if n := g.count(records.Of[inventory.Device](builtIn)); n != 1 {
		t.Errorf("there are %d devices", n)
	}
}
