package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// factorPath returns the path of the second factor of a user.
func (g *harness) factorPath(name string) string { return "/users/" + g.users[name].ID + "/totp" }

// code returns the code of a secret now.
func (g *harness) code(secret string) string {
	g.t.Helper()
	code, err := auth.TOTPCode(secret, g.clock.now())
	ok(g.t, err)
	return code
}

// enableTOTP turns on the second factor of a user and returns the secret and the recovery codes. The
// clock is then behind the code that was used.
func (g *harness) enableTOTP(name string) (secret string, recovery []string) {
	g.t.Helper()
	c, path := g.as(name), g.factorPath(name)
	secret = read(g.t, c.Send("POST", path, object{"current_password": password}).Want(200))["secret"].(string)
	recovery = recoveryCodes(g.t, c.Send("PUT", path, object{"code": g.code(secret)}))
	g.clock.forward(auth.TOTPPeriod)
	return secret, recovery
}

func recoveryCodes(t testing.TB, a *httpxtest.Response) []string {
	t.Helper()
	var got struct {
		Status, Message string
		Codes           []string `json:"recovery_codes"`
	}
	a.Want(200).JSON(&got)
	if len(got.Codes) != auth.RecoveryCodes {
		t.Fatalf("there are %d recovery codes", len(got.Codes))
	}
	return got.Codes
}

// wrongCode returns a code that is none of a secret now.
func (g *harness) wrongCode(secret string) string {
	g.t.Helper()
	for i := 0; ; i++ {
		code := fmt.Sprintf("%06d", i)
		if _, right := auth.CheckTOTP(secret, code, g.clock.now(), 0); !right {
			return code
		}
	}
}

// loginWith logs a user in with a code.
func (g *harness) loginWith(name, code string) *httpxtest.Response {
	g.t.Helper()
	return g.as("").Send("POST", "/users/login", object{"username": name, "password": password, "code": code})
}

// actions returns the actions of the entries from an index on.
func (g *harness) actions(from int) string {
	g.t.Helper()
	var all []string
	for _, e := range g.entries()[from:] {
		all = append(all, e.Action)
	}
	return strings.Join(all, " ")
}

// TestSecondFactor: users turn a second factor on and off for themselves, and then log in with codes of
// the app or recovery codes, each of which works once.
func TestSecondFactor(t *testing.T) { stores(t, scaletest.Unraced, secondFactor) }

func secondFactor(t *testing.T, g *harness) {
	t.Helper()
	c, path, start := g.as("viewer"), g.factorPath("viewer"), len(g.entries())
	c.Send("POST", path, object{"current_password": "wrong password"}).WantError(400, "current_password not")
	c.Send("PUT", path, object{"code": "123456"}).WantError(409, "set up")
	a := read(t, c.Send("POST", path, object{"current_password": password}).Want(200).WantHeader("Cache-Control", "no-store"))
	secret := a["secret"].(string)
	if url := a["url"].(string); len(secret) != 32 || url != "otpauth://totp/Inventory:viewer?issuer=Inventory&secret="+secret {
		t.Errorf("the secret is %s, and the URL %s", secret, url)
	}
	g.login(t, "viewer", password).Want(200) // it is not on yet
	wrong := g.wrongCode(secret)
	c.Send("PUT", path, object{"code": wrong}).WantError(400, "code expired")
	secret = read(t, c.Send("POST", path, object{"current_password": password}).Want(200))["secret"].(string)
	first := g.code(secret)
	recovery := recoveryCodes(t, c.Send("PUT", path, object{"code": first}))
	if got := read(t, g.as("root").Send("GET", "/users/"+g.users["viewer"].ID, nil).Want(200)); got["totp"] != true {
		t.Errorf("an admin sees %v", got)
	}
	c.Send("POST", path, object{"current_password": password}).WantError(409, "factor on")
	c.Send("PUT", path, object{"code": first}).WantError(409, "factor on")
	if got := g.actions(start); got != "password_wrong password_confirmed totp_setup login code_wrong password_confirmed totp_setup totp_enabled read password_confirmed" {
		t.Errorf("the entries are %s", got)
	}

	start = len(g.entries())
	missing := g.login(t, "viewer", password)
	if fields := missing.WantError(401, "second_factor_required").Errors; len(fields) != 1 || fields[0].Field != "code" || fields[0].Code != "required" {
		t.Errorf("the fields are %v", fields)
	}
	g.login(t, "viewer", "wrong password").WantError(401, "Invalid credentials")
	g.loginWith("viewer", first).WantError(401, "second_factor_wrong wrong") // it was used
	g.clock.forward(auth.TOTPPeriod)
	code := g.code(secret)
	token := read(t, g.loginWith("viewer", code[:3]+" "+code[3:]).Want(200))["token"].(string)
	g.as("").Send("GET", "/devices", nil, "Authorization", "Bearer "+token).Want(200)
	g.loginWith("viewer", code).WantError(401, "factor wrong")
	g.loginWith("viewer", recovery[0]).Want(200)
	g.loginWith("viewer", recovery[0]).Want(401)
	g.loginWith("viewer", strings.ToLower(recovery[1])).Want(200)
	if got := g.actions(start); got != "code_required login_failed code_wrong login code_wrong recovery_code_used login code_wrong recovery_code_used login" {
		t.Errorf("the entries are %s", got)
	}
	for _, e := range g.entries()[start:] {
		if wrongly := e.Action == "code_wrong" || e.Action == "code_required"; wrongly != (e.UserID == nil) && e.Action != "login_failed" || e.ResourceID != g.users["viewer"].ID {
			t.Errorf("the entry is %+v", e)
		}
	}

	// New recovery codes void the old ones.
	start = len(g.entries())
	proof := object{"current_password": password, "code": recovery[2]}
	renewed := recoveryCodes(t, c.Send("POST", path+"/recovery-codes", proof))
	c.Send("POST", path+"/recovery-codes", proof).WantError(400, "code is wrong")
	g.loginWith("viewer", recovery[3]).Want(401)
	g.loginWith("viewer", renewed[3]).Want(200)

	// Only the owner turns it off, with password and code, or an admin.
	c.Send("DELETE", path, object{}).WantError(400, "current_password empty")
	c.Send("DELETE", path, object{"current_password": password, "code": wrong}).WantError(400, "code is wrong")
	g.as("editor").Send("DELETE", path, nil).WantError(403, "Forbidden")
	g.as("root").Send("DELETE", path, object{"code": wrong}).WantError(400, "send no body")
	c.Send("DELETE", path, object{"current_password": password, "code": renewed[4]}).Want(200)
	g.login(t, "viewer", password).Want(200)
	c.Send("DELETE", path, object{"current_password": password, "code": renewed[5]}).WantError(409, "factor off")
	if got := g.actions(start); got != "password_confirmed recovery_code_used recovery_codes_replaced password_confirmed code_wrong code_wrong recovery_code_used login password_confirmed code_wrong refused password_confirmed recovery_code_used totp_disabled login password_confirmed" {
		t.Errorf("the entries are %s", got)
	}
	secret, _ = g.enableTOTP("viewer")
	g.as("root").Send("DELETE", path, nil).Want(200)
	if e := g.last(); e.Action != "totp_disabled" || e.Actor != "root" || e.ResourceID != g.users["viewer"].ID {
		t.Errorf("the entry is %+v", e)
	}
	c.Send("GET", "/devices", nil).WantError(401, "Invalid or expired token") // whoever has the device may have a session
	g.login(t, "viewer", password).Want(200)
	g.loginWith("viewer", g.code(secret)).Want(200) // a code too many does not matter
}

// TestSecondFactorOfReset: a password reset does not turn the factor off, and does not log in.
func TestSecondFactorOfReset(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	secret, _ := g.enableTOTP("viewer")
	g.forgot("viewer@example.org")
	a := g.as("").Send("POST", "/users/reset-password/"+g.mails.last(t), object{"new_password": another, "confirm_password": another})
	a.Want(200).WantHeader("Set-Cookie", "")
	g.login(t, "viewer", another).WantError(401, "factor required")
	g.as("").Send("POST", "/users/login", object{"username": "viewer", "password": another, "code": g.code(secret)}).Want(200)
}

// TestCodeWorksOnce: of concurrent logins with one code in two processes, one succeeds.
func TestCodeWorksOnce(t *testing.T) {
	twoProcesses(t, func(t *testing.T, first, second records.Store) {
		g := newHarness(t, &choices{store: first})
		h := newHarness(t, &choices{store: second, beside: g})
		secret, recovery := g.enableTOTP("viewer")
		for _, code := range []string{g.code(secret), recovery[0]} {
			var in atomic.Int32
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					if []*harness{g, h}[i%2].loginWith("viewer", code).Code == 200 {
						in.Add(1)
					}
				})
			}
			all.Wait()
			if in.Load() != 1 {
				t.Errorf("%d logins with one code succeeded", in.Load())
			}
			g.clock.forward(time.Minute)
		}
	})
}

// guessFrom sends a login with a code from an address.
func (g *harness) guessFrom(addr, name, word, code string) int {
	g.t.Helper()
	body, err := json.Marshal(object{"username": name, "password": word, "code": code})
	ok(g.t, err)
	r := httptest.NewRequest("POST", "/users/login", bytes.NewReader(body))
	r.RemoteAddr = addr + ":1234"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	g.api.ServeHTTP(w, r)
	return w.Code
}

// TestWrongCodes: wrong codes count like wrong passwords, and those of an account over all networks and
// processes, concurrent ones included. Recovery codes are accepted from elsewhere all the time.
func TestWrongCodes(t *testing.T) {
	twoProcesses(t, func(t *testing.T, first, second records.Store) {
		g := newHarness(t, &choices{store: first})
		h := newHarness(t, &choices{store: second, beside: g})
		secret, recovery := g.enableTOTP("viewer")
		statuses := map[int]int{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				status := []*harness{g, h}[i%2].guessFrom(fmt.Sprint("198.51.100.", i), "viewer", password, g.wrongCode(secret))
				mu.Lock()
				defer mu.Unlock()
				statuses[status]++
			})
		}
		all.Wait()
		if statuses[401] != 20 || statuses[429] != 20 {
			t.Errorf("40 wrong codes get %v, want 20 of 401 and 20 of 429", statuses)
		}
		if status := g.guessFrom("203.0.113.1", "viewer", password, g.code(secret)); status != 429 {
			t.Errorf("the right code gets %d after 20 wrong ones", status)
		}
		if status := h.guessFrom("203.0.113.2", "viewer", password, recovery[0]); status != 200 {
			t.Errorf("a recovery code gets %d", status)
		}
		g.clock.forward(23 * time.Hour)
		if status := g.guessFrom("203.0.113.3", "viewer", password, g.code(secret)); status != 429 {
			t.Errorf("the right code gets %d after 23 hours", status)
		}
		g.clock.forward(time.Hour)
		if status := g.guessFrom("203.0.113.4", "viewer", password, g.code(secret)); status != 200 {
			t.Errorf("the right code gets %d after a day", status)
		}

		// From one network ten failures a minute, of passwords and codes together.
		for i := range 10 {
			word := []string{password, "wrong password"}[i%2]
			if status := g.guessFrom("203.0.113.9", "viewer", word, g.wrongCode(secret)); status != 401 {
				t.Errorf("guess %d gets %d", i, status)
			}
		}
		if status := g.guessFrom("203.0.113.9", "viewer", password, recovery[1]); status != 429 {
			t.Errorf("after ten wrong ones, the right code gets %d", status)
		}
		// Whoever changes the password shakes off who guesses codes.
		for i := range 15 {
			g.guessFrom(fmt.Sprint("198.51.100.", i), "viewer", password, g.wrongCode(secret))
		}
		g.clock.forward(time.Minute)
		g.as("root").Send("PATCH", "/users/"+g.users["viewer"].ID, object{"password": another}).Want(200)
		if status := g.guessFrom("203.0.113.5", "viewer", another, g.code(secret)); status != 200 {
			t.Errorf("the right code gets %d after a change of the password", status)
		}
	})
}

// TestFactorStaysInside: secrets and recovery codes are in no response, entry, change, dry run or log.
func TestFactorStaysInside(t *testing.T) { stores(t, scaletest.Unraced, factorInside) }

func factorInside(t *testing.T, g *harness) {
	t.Helper()
	secret, recovery := g.enableTOTP("viewer")
	g.loginWith("viewer", recovery[0]).Want(200)
	g.loginWith("viewer", "wrong "+secret).Want(401)
	page, err := g.store.List(context.Background(), &records.Query{Resource: records.Of[inventory.SecondFactor](g.store.Schema())})
	ok(t, err)
	if len(page.Records) != 1 {
		t.Fatalf("%d second factors are stored", len(page.Records))
	}
	hidden := append(recovery[1:], secret)
	hidden = append(hidden, strings.Fields(page.Records[0].(*inventory.SecondFactor).Recovery)...)
	if len(hidden) != 2*auth.RecoveryCodes-1 {
		t.Fatalf("%d texts are to be hidden", len(hidden))
	}
	c := g.as("root")
	check := func(where, text string) {
		t.Helper()
		for _, s := range hidden {
			if strings.Contains(text, s) {
				t.Errorf("%s shows %s", where, s)
			}
		}
	}
	for _, pattern := range httpapi.Routes(g.api) {
		method, path, _ := strings.Cut(pattern, " ")
		if method != "GET" || path == "/changes/stream" {
			continue
		}
		path = strings.ReplaceAll(path, "{id}", g.users["viewer"].ID)
		if path == "/changes" {
			path += "?since=0"
		}
		check(path, c.Send(method, path, nil).Body.String())
	}
	a := c.Send("DELETE", "/users/"+g.users["viewer"].ID+"?dry_run=true", nil).Want(200)
	check("a dry run", a.Body.String())
	check("the log", g.log.String())
	c.Send("GET", "/second-factors", nil).Want(404)

	c.Send("DELETE", "/users/"+g.users["viewer"].ID, nil).Want(200)
	if n := g.count(records.Of[inventory.SecondFactor](g.store.Schema())); n != 0 {
		t.Errorf("%d second factors are left of a deleted user", n)
	}
}
