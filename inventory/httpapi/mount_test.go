package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
	"github.com/ashlar-go/ashlar/inventory/feature/logins"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

// TestHooks: a hook of the engine sees every change of the API, with its entry of the audit log, and
// can undo it.
func TestHooks(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	var fail error
	g := newHarness(t, &choices{engine: func(v *records.Engine) *records.Engine {
		return v.BeforeCommit(func(ctx context.Context, tx records.Tx) error {
			page, err := tx.List(ctx, &records.Query{
				Resource: records.Of[records.AuditLog](tx.Schema()), Limit: 1, Sort: newestFirst(tx.Schema()),
			})
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, page.Records[0].(*records.AuditLog).Action)
			return fail
		})
	}})
	c := g.as("root")
	made := c.Send("POST", "/devices", device("core-1")).Want(201).Header().Get("Location")
	c.Send("PATCH", made, `{"status":"offline"}`).Want(200)
	c.Send("DELETE", made, nil).Want(200)
	c.Send("POST", "/users/login", object{"username": "viewer", "password": "wrong"}).Want(401)
	c.Send("POST", "/users/login", object{"username": "viewer", "password": password}).Want(200)
	g.forgot("viewer@example.org")
	g.as("viewer").Send("POST", "/users/logout", nil).Want(200)
	if want := []string{"create", "update", "delete", "login_failed", "login", "password_forgotten", "logout"}; !slices.Equal(seen, want) {
		t.Errorf("the hook saw %q, want %q", seen, want)
	}
	fail = &records.Error{Kind: records.Conflict, Message: "The ticket is closed"}
	before := len(g.entries())
	c.Send("POST", "/devices", device("core-1")).WantError(409, "The ticket is closed")
	c.Send("POST", "/users/login", object{"username": "viewer", "password": "wrong"}).WantError(409, "The ticket is closed")
	if len(g.entries()) != before {
		t.Error("a change that a hook refuses is in the audit log")
	}
}

func newestFirst(schema *records.Schema) []records.SortKey {
	id, _ := records.Of[records.AuditLog](schema).Field("id")
	return []records.SortKey{{Field: id, Desc: true}}
}

// TestBare: without its middleware the API keeps what its routes rely on.
func TestBare(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	c := httpxtest.New(t, g.api.Bare())
	c.Header.Set("Authorization", "Bearer "+g.token("root"))
	made := c.Send("POST", "/devices", device("core-1")).Want(201)
	for _, name := range []string{"X-Request-Id", "Content-Security-Policy", "Vary"} {
		if got := made.Header().Get(name); got != "" {
			t.Errorf("the bare API sends %s: %s", name, got)
		}
	}
	c.Send("GET", "/devices?status=active&status=offline", nil).WantError(400, "Duplicate query parameter forbidden: status")
	c.Send("GET", "/devices?tags=a&tags=b", nil).Want(200)
	c.Send("POST", "/devices", strings.Repeat(" ", 2<<20)).WantError(413, "too large")
	c.Send("POST", "/devices", device("<script>")).Want(400)
	c.Send("GET", "/devices", nil, "Authorization", "").WantError(401, "No security token provided")
	g.forgot("viewer@example.org")
	c.Send("POST", "/users/reset-password/"+g.mails.last(t), object{"new_password": another, "confirm_password": another}).Want(200)
}

// TestPresentation: name and path of the cookie, headers of CORS and the form of errors are options.
func TestPresentation(t *testing.T) {
	t.Parallel()
	own, err := httpx.NewOrigins([]string{"https://portal.example"})
	ok(t, err)
	named := auth.Cookie{Name: "inventory", Path: "/network/"}
	g := newHarness(t, &choices{
		guard: &jwt.GuardOptions{Cookie: named}, logins: &logins.Options{Cookie: named},
		options: func(o *httpapi.Options) {
			o.Chain.Origins = own
			o.Chain.CORS = &httpx.CORSOptions{AllowHeaders: []string{"X-Tenant"}, ExposeHeaders: []string{"X-Ticket"}}
			o.Chain.RenderError = func(w http.ResponseWriter, _ *http.Request, e *httpx.Error) {
				w.Header().Set("Content-Type", "text/plain")
				w.WriteHeader(e.Status)
				_, _ = fmt.Fprintf(w, "error %d: %s", e.Status, e.Message)
			}
		},
	})
	login := g.as("").Send("POST", "/users/login", object{"username": "viewer", "password": password}).Want(200)
	cookie, _, _ := strings.Cut(login.Header().Get("Set-Cookie"), ";")
	if !strings.HasPrefix(cookie, "inventory=") || !strings.Contains(login.Header().Get("Set-Cookie"), "Path=/network/") {
		t.Errorf("the cookie is %q", login.Header().Get("Set-Cookie"))
	}
	g.as("").Send("GET", "/devices", nil, "Cookie", cookie).Want(200)
	g.as("").Send("GET", "/devices", nil, "Cookie", strings.Replace(cookie, "inventory", "Bearer", 1)).Want(401)
	for _, h := range []http.Handler{g.api, g.api.Bare()} {
		for path, want := range map[string]string{
			"/devices": "error 401: Unauthorized: No security token provided",
			"/nowhere": "error 404: No such path: /nowhere",
		} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", path, http.NoBody))
			if w.Body.String() != want {
				t.Errorf("GET %s: %q, want %q", path, w.Body, want)
			}
		}
	}
	preflight := g.as("").Send("OPTIONS", "/devices", nil, "Origin", "https://portal.example", "Access-Control-Request-Method", "GET")
	if got := preflight.Header().Get("Access-Control-Allow-Headers"); !strings.HasSuffix(got, ", X-Request-ID, X-Tenant") {
		t.Errorf("pages may send %s", got)
	}
	if got := login.Header().Get("Access-Control-Expose-Headers"); got != "" {
		t.Errorf("a request without an origin gets %s", got)
	}
	read := g.as("viewer").Send("GET", "/devices", nil, "Origin", "https://portal.example").Want(200)
	if got := read.Header().Get("Access-Control-Expose-Headers"); !strings.HasSuffix(got, ", Read-After, X-Ticket") {
		t.Errorf("pages may read %s", got)
	}
}

// scoped identifies senders as admins with the scopes that they name, one to a word.
type scoped struct{}

func (scoped) Authenticate(r *http.Request) (*auth.Identity, error) {
	return &auth.Identity{UserID: "x", Username: "x", Role: auth.Admin, Scopes: strings.Fields(r.Header.Get("X-Scopes"))}, nil
}

// TestScopes: the scopes of an identity restrict an admin, and what Options.Permit allows.
func TestScopes(t *testing.T) {
	t.Parallel()
	api, err := httpapi.New(records.New(records.NewMemStore(builtIn), nil), scoped{}, &httpapi.Options{
		Features: standard.Features(),
		Permit:   func(*http.Request, *auth.Identity, *records.Resource, records.Routes, error) error { return nil },
	})
	ok(t, err)
	c := httpxtest.New(t, api)
	send := func(scopes, method, path string, body any) *httpxtest.Response {
		return c.Send(method, path, body, "X-Scopes", scopes)
	}
	send("devices:write", "POST", "/devices", device("a")).Want(201)
	send("devices:write", "GET", "/devices", nil).WantError(403, "Forbidden")
	send("devices:read", "POST", "/devices", device("b")).WantError(403, "Forbidden")
	send("devices:read", "GET", "/devices", nil).Want(200)
	send("*:read", "GET", "/audit-logs", nil).Want(200)
	send("devices:read", "GET", "/summary?resource=devices&by=status", nil).Want(200)
	send("links:read", "GET", "/summary?resource=devices&by=status", nil).WantError(403, "Forbidden")
	send("metrics:*", "POST", "/retention", `{"resource":"events","max_records":1}`).WantError(403, "Forbidden")
	send("events:write", "POST", "/retention", `{"resource":"events","max_records":1}`).Want(200)
	for scopes, want := range map[string]int{"devices:read": 1, "locations:read": 0, "*:*": 1} {
		var page struct {
			Data []any  `json:"data"`
			Next string `json:"next"`
		}
		send(scopes, "GET", "/changes?since=0&resource=devices", nil).Want(200).JSON(&page)
		if len(page.Data) != want {
			t.Errorf("%s: %d changes, want %d", scopes, len(page.Data), want)
		}
	}
}

// TestOwnRights: a program with accounts of its own checks them again in the transaction of a change.
func TestOwnRights(t *testing.T) {
	t.Parallel()
	fired := ""
	engine := records.New(records.NewMemStore(builtIn), nil).BeforeChange(func(ctx context.Context, _ records.Tx) error {
		if who := httpapi.IdentityFrom(ctx); who == nil || who.Username == fired {
			return auth.Unauthorized(auth.TokenRevoked, "was fired")
		}
		return nil
	})
	api, err := httpapi.New(engine, authenticatorOf("admin"), nil)
	ok(t, err)
	c := httpxtest.New(t, api)
	c.Send("POST", "/devices", device("a")).Want(201)
	fired = "jane"
	c.Send("POST", "/devices", device("b")).WantError(401, "Unauthorized: Invalid or expired token")
}

// TestNothingProposes: without a feature for proposals the parameter is an unknown one, of lists too.
func TestNothingProposes(t *testing.T) {
	t.Parallel()
	api, err := httpapi.New(records.New(records.NewMemStore(builtIn), nil), authenticatorOf("admin"), nil)
	ok(t, err)
	for _, target := range []string{"GET /devices", "GET /devices/" + unknown, "POST /devices", "DELETE /devices"} {
		method, path, _ := strings.Cut(target, " ")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequest(method, path+"?propose=x", http.NoBody))
		if w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}
