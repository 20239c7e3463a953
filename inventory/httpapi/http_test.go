package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

// unlogged is a store that fails to store entries of the audit log.
type unlogged struct{ records.Store }

func (s unlogged) Change(ctx context.Context, f func(records.Tx) error) error {
	return s.Store.Change(ctx, func(tx records.Tx) error { return f(unloggedTx{tx}) })
}

type unloggedTx struct{ records.Tx }

func (tx unloggedTx) Create(ctx context.Context, recs ...records.Record) error {
	for _, rec := range recs {
		if e, ok := rec.(*records.AuditLog); ok && e.Actor != "test" {
			return errors.New("disk on fire")
		}
	}
	return tx.Tx.Create(ctx, recs...)
}

// TestMethods checks HEAD, OPTIONS and unknown methods.
func TestMethods(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	c := g.as("root")
	d := g.create("/devices", device("core-1"))
	head, get := c.Send("HEAD", path("/devices", d), nil).Want(200), c.Send("GET", path("/devices", d), nil).Want(200)
	for _, name := range []string{"ETag", "Content-Length", "Content-Type"} {
		head.WantHeader(name, get.Header().Get(name))
	}
	for path, methods := range map[string]string{
		"/":                               "GET, HEAD",
		"/devices":                        "DELETE, GET, HEAD, PATCH, POST",
		"/devices/" + unknown:             "DELETE, GET, HEAD, PATCH, PUT",
		"/devices/x/interfaces":           "GET, HEAD",
		"/users/login":                    "POST",
		"/users/logout":                   "POST",
		"/users/forgot-password":          "POST",
		"/users/reset-password/x":         "POST",
		"/users/" + unknown:               "DELETE, GET, HEAD, PATCH, PUT",
		"/users/" + unknown + "/password": "PUT",
		"/audit-logs":                     "GET, HEAD",
		"/openapi.json":                   "GET, HEAD",
	} {
		g.as("").Send("OPTIONS", path, nil).Want(204).WantHeader("Allow", methods+", OPTIONS")
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "FROB"} {
			if strings.Contains(methods, method) {
				continue
			}
			a := c.Send(method, path, nil)
			a.WantError(405, "Method "+method+" is not allowed here")
			if method != "TRACE" && method != "FROB" {
				a.WantHeader("Allow", methods)
			}
		}
	}
	for _, path := range []string{"/nowhere", "//", "/devices/", "/devices/" + unknown + "/", "/devices/" + unknown + "/frob", "//devices", "/./devices", "/devices/../users", "/DEVICES", "/debug", "/docs", "/docs/", "/debug/count/"} {
		for _, method := range []string{"GET", "POST", "OPTIONS"} {
			c.Send(method, path, nil).WantError(404, "No such path")
		}
	}
	for _, path := range []string{"/", "/debug/count", "/devices", path("/devices", d), "/openapi.json"} {
		if a := c.Send("GET", path, nil).Want(200); a.Header().Get("X-Response-Time") == "" || a.Header().Get("X-Request-Id") == "" {
			t.Errorf("the response of %s lacks headers: %v", path, a.Header())
		}
	}
	if got := c.Send("GET", "/", nil).Want(200).WantHeader("Content-Type", "text/plain; charset=utf-8").Body.String(); got != "Running API v1" {
		t.Errorf("the response of / is %q", got)
	}
}

// TestBodies checks the refusal of unreadable bodies: 413, 415
// and 400, in JSON, with all headers.
func TestBodies(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	c := g.as("root")
	d := g.create("/devices", device("core-1"))
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	_, err := zip.Write(bytes.Repeat([]byte(" "), 5<<20))
	ok(t, err)
	ok(t, zip.Close())
	for _, tc := range []struct {
		why, body string
		headers   []string
		status    int
		message   string
	}{
		{"no type", `{}`, []string{"Content-Type", ""}, 415, "Content-Type is missing: send application/json"},
		{"another type", `{}`, []string{"Content-Type", "text/plain"}, 415, "send application/json"},
		{"a form", `hostname=x`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "send application/json"},
		{"another charset", `{}`, []string{"Content-Type", "application/json; charset=latin1"}, 415, "charset is latin1"},
		{"compressed", bomb.String(), []string{"Content-Encoding", "gzip"}, 415, "Content-Encoding is gzip"},
		{"too large", `{"notes":"` + strings.Repeat("x", 1<<20) + `"}`, nil, 413, "Request body too large"},
		{"empty", ``, nil, 400, "is empty"},
		{"no JSON", `{"hostname":`, nil, 400, "line 1, column 13"},
		{"more behind", `{} {}`, nil, 400, "trailing data"},
		{"twice", `{"ip":"192.0.2.1","ip":"192.0.2.2"}`, nil, 400, "ip: duplicate field"},
		{"deep", strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), nil, 400, "nested too deep"},
		{"very deep", strings.Repeat(`[`, 200_000), nil, 400, ""},
		{"null", `null`, nil, 400, "object null"},
		{"a text", `"x"`, nil, 400, "object string"},
		{"not UTF-8", "{\"hostname\":\"\xff\"}", nil, 400, "is not UTF-8"},
		{"a zero", `{"hostname":"\u0000"}`, nil, 400, "without control characters"},
		{"a surrogate", `{"status":"\ud800"}`, nil, 400, "surrogate pair"},
		{"a large number", `{"hostname":1e999}`, nil, 400, "hostname string"},
		{"markup", `{"notes":"<script>alert(1)</script>"}`, nil, 400, "HTML notes"},
		{"markup, no type", `{"notes":"<b>x</b>"}`, []string{"Content-Type", ""}, 400, "HTML is not allowed"},
		{"markup in a name", `{"<b>":1}`, nil, 400, "HTML is not allowed"},
		{"another case", `{"Hostname":"x"}`, nil, 400, "Hostname unknown"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			c := g.on(t, "root")
			for _, at := range [][2]string{{"POST", "/devices"}, {"PUT", path("/devices", d)}, {"PATCH", path("/devices", d)}} {
				a := c.Send(at[0], at[1], tc.body, tc.headers...)
				a.WantError(tc.status, tc.message)
				for _, name := range []string{"X-Request-Id", "X-Response-Time", "X-Content-Type-Options"} {
					if a.Header().Get(name) == "" {
						t.Errorf("%s is missing", name)
					}
				}
			}
		})
	}
	c.Send("GET", "/devices?q=%3Cscript%3E", nil).WantError(400, "HTML parameter")
}

// counted is a request body that counts how much of it is read.
type counted struct{ read int }

func (b *counted) Read(p []byte) (int, error) {
	b.read += len(p)
	return len(p), nil
}

func (*counted) Close() error { return nil }

// TestBodyAfterAuthentication checks that nothing reads the body of a request whose sender is
// unknown or may not make it, and that routes without a token read a small one only.
func TestBodyAfterAuthentication(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	for _, tc := range []struct {
		method, path, user string
		length             int64
		status, most       int
	}{
		{"POST", "/devices", "", 1 << 20, 401, 0},
		{"POST", "/devices", "", -1, 401, 0},
		{"POST", "/devices", "viewer", 1 << 20, 403, 0},
		{"PATCH", "/users/" + g.users["root"].ID, "viewer", 1 << 20, 403, 0},
		{"POST", "/nowhere", "", 1 << 20, 404, 0},
		{"GET", "/users/login", "", 1 << 20, 405, 0},
		{"POST", "/users/login", "", 1 << 20, 413, 0},
		{"POST", "/users/login", "", -1, 413, 64 << 10},
		{"POST", "/users/forgot-password", "", -1, 413, 64 << 10},
		{"POST", "/users/reset-password/x", "", -1, 413, 64 << 10},
		{"POST", "/users/logout", "", -1, 413, 64 << 10},
		{"GET", "/debug/count", "", -1, 413, 64 << 10},
	} {
		body := &counted{}
		r := httptest.NewRequest(tc.method, tc.path, nil)
		r.Body, r.ContentLength = body, tc.length
		r.Header.Set("Content-Type", "application/json")
		if tc.user != "" {
			r.Header.Set("Authorization", "Bearer "+g.token(tc.user))
		}
		w := httptest.NewRecorder()
		g.api.ServeHTTP(w, r)
		if w.Code != tc.status || body.read > tc.most {
			t.Errorf("%s %s of %q with Content-Length %d: status %d after %d bytes, want %d after at most %d",
				tc.method, tc.path, tc.user, tc.length, w.Code, body.read, tc.status, tc.most)
		}
	}
}

// TestText checks that special characters of HTML are accepted in text, in a record and in
// a filter, and that a password may be anything.
func TestText(t *testing.T) { stores(t, scaletest.Unraced, text) }

func text(t *testing.T, g *harness) {
	t.Helper()
	text := `AT&T's "<3" & 1 < 2 > 0`
	d := g.create("/devices", with(device("core-1"), "notes", text+"\r\nline two"))
	if d["notes"] != text+"\r\nline two" {
		t.Errorf("the notes are %q", d["notes"])
	}
	g.create("/locations", with(location("O'Brien & Sons"), "address", text))
	c := g.as("viewer")
	if n := len(data(t, c.Send("GET", "/locations?name=O%27Brien+%26+Sons", nil))); n != 1 {
		t.Errorf("%d found", n)
	}
	strong := `<script>&amp;"'` + "\t\u00e9"
	g.create("/users", with(user("jane"), "password", strong))
	g.login(t, "jane", strong).Want(200)
}

// TestSQL puts SQL into every parameter and field: statements never contain values from
// clients.
func TestSQL(t *testing.T) {
	t.Parallel()
	g := newHarness(t, &choices{store: database(t)})
	g.create("/devices", device("core-1"))
	texts := []string{`' OR '1'='1`, `"; DROP TABLE devices; --`, `1) OR (1=1`, `%`}
	for _, r := range builtIn.Resources() {
		for _, p := range r.Parameters() {
			for _, sql := range texts { // in here, for the statement to be used again
				g.injectFilter(r, p, sql)
			}
		}
	}
	for _, sql := range texts {
		g.inject(sql)
		g.clock.forward(time.Minute)
	}
}

// injectFilter puts SQL into one filter.
func (g *harness) injectFilter(r *records.Resource, p records.Parameter, sql string) {
	g.t.Helper()
	a := g.as("root").Send("GET", "/"+r.Name+"?"+p.Name+"="+escape(sql), nil)
	if a.Code == 400 || p.Op == records.Ne {
		return
	}
	// A single character may occur in existing records; longer strings do not.
	if n := len(data(g.t, a)); n != 0 && len(sql) > 1 {
		g.t.Errorf("%s=%s finds %d: %s", p.Name, sql, n, a.Body)
	}
}

// inject puts SQL into everything else.
func (g *harness) inject(sql string) {
	g.t.Helper()
	c := g.as("root")
	for _, r := range builtIn.Resources() {
		for _, name := range []string{"page", "limit", "sortby", "fields", "count", "cursor", "frob" + sql} {
			c.Send("GET", "/"+r.Name+"?"+escape(name)+"="+escape(sql), nil).Want(400)
		}
		c.Send("GET", "/"+r.Name+"?q="+escape(sql), nil).Want(200)
	}
	g.login(g.t, sql, sql).Want(401)
	rec := g.create("/devices", with(device("x"+sql), "notes", sql, "model", sql))
	if rec["model"] != sql {
		g.t.Errorf("%s was stored as %v", sql, rec["model"])
	}
}

func escape(s string) string {
	return strings.NewReplacer("%", "%25", " ", "%20", "'", "%27", `"`, "%22", ";", "%3B", "=", "%3D", `\`, "%5C", "(", "%28", ")", "%29").Replace(s)
}

// slow is a body that never arrives.
type slow struct{ ctx context.Context }

func (s slow) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// TestSlowBody checks that a request without its body ends when its client disconnects.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	r := httptest.NewRequestWithContext(ctx, "POST", "/devices", io.MultiReader(strings.NewReader(`{"hostname":`), slow{ctx}))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+g.token("root"))
	done := make(chan int)
	go func() {
		w := httptest.NewRecorder()
		g.api.ServeHTTP(w, r)
		done <- w.Code
	}()
	cancel()
	if status := <-done; status != 400 && status != 499 {
		t.Errorf("the status is %d", status)
	}
}

// failing is a store that always returns the same error.
type failing struct {
	records.Store
	err error
}

func (s failing) List(context.Context, *records.Query) (*records.Page, error) { return nil, s.err }

func (s failing) Change(context.Context, func(records.Tx) error) error { return s.err }

// TestStatuses checks the HTTP status of each kind of error.
func TestStatuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err     error
		status  int
		message string
		retry   string
	}{
		{&records.Error{Kind: records.Unavailable, Message: "The database does not respond"}, 503, "database", "1"},
		{&records.Error{Kind: records.Full, Message: "The database has no space left"}, 507, "space", "60"},
		{&records.Error{Kind: records.Unauthenticated, Message: "Who?"}, 401, "Who?", ""},
		{&auth.Error{Kind: auth.Busy, Message: "Too many logins at once"}, 503, "Too many logins", "1"},
		{&auth.Error{Kind: auth.BadHash, Message: "Internal Server Error", Reason: "damaged"}, 500, "Internal Server Error", ""},
		{context.DeadlineExceeded, 503, "time", "1"},
		{context.Canceled, 499, "Client Closed Request", ""},
		{errors.New("disk on fire"), 500, "Internal Server Error", ""},
	} {
		api, err := httpapi.New(records.New(failing{records.NewMemStore(builtIn), tc.err}, nil), authenticatorOf("admin"), &httpapi.Options{Chain: &httpx.StandardOptions{Log: discard()}})
		ok(t, err)
		c := httpxtest.New(t, api)
		for _, a := range []*httpxtest.Response{c.Send("GET", "/devices", nil), c.Send("POST", "/devices", device("x"))} {
			a.WantError(tc.status, tc.message)
			a.WantHeader("Retry-After", tc.retry)
			failsWith(t, a.Body.String())
		}
	}
}

// TestMounted checks that the API and its Location headers work under a prefix.
func TestMounted(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	mux := http.NewServeMux()
	mux.Handle("/inventory/", http.StripPrefix("/inventory", g.api))
	c := httpxtest.New(t, mux)
	c.Header.Set("Authorization", "Bearer "+g.token("root"))
	at := c.Send("POST", "/inventory/devices", device("core-1")).Want(201).Header().Get("Location")
	if !strings.HasPrefix(at, "/inventory/devices/") {
		t.Errorf("Location is %s", at)
	}
	c.Send("GET", at, nil).Want(200)
	again := c.Send("POST", "/inventory/vlans", `{"vlan_id":7,"name":"x"}`, idempotency, "k").Header().Get("Location")
	c.Send("POST", "/inventory/vlans", `{"vlan_id":7,"name":"x"}`, idempotency, "k").WantHeader("Location", again)
}

// TestOwnAccounts checks that an application with its own accounts has no user routes, and
// that its users are in the audit log by name.
func TestOwnAccounts(t *testing.T) {
	t.Parallel()
	store := records.NewMemStore(builtIn)
	api, err := httpapi.New(records.New(store, nil), authenticatorOf("admin"), &httpapi.Options{Features: standard.Features()})
	ok(t, err)
	c := httpxtest.New(t, api)
	for _, path := range []string{"/users", "/users/" + unknown, "/users/login"} {
		c.Send("GET", path, nil).WantError(404, "No such path")
	}
	c.Send("POST", "/devices", device("core-1"), idempotency, "k").Want(201)
	c.Send("POST", "/devices", device("core-1"), idempotency, "k").Want(201).WantHeader("Idempotent-Replayed", "true")
	e := read(t, c.Send("POST", "/events", object{"severity": "low", "type": "x", "message": "y"}).Want(201))
	seen := read(t, c.Send("PATCH", path("/events", e), `{"acknowledged":true}`).Want(200))
	if seen["acknowledged_at"] == nil || seen["acknowledged_by"] != nil {
		t.Errorf("the event is %v", seen)
	}
	entries := data(t, c.Send("GET", "/audit-logs?limit=1", nil))
	shows(t, entries[0], object{"actor": "jane", "user_id": nil})
}

// TestNew checks invalid options.
func TestNew(t *testing.T) {
	t.Parallel()
	engine := records.New(records.NewMemStore(builtIn), nil)
	for _, tc := range []struct {
		engine  *records.Engine
		gate    httpapi.Authenticator
		opts    *httpapi.Options
		message string
	}{
		{nil, authenticatorOf("admin"), nil, "engine"},
		{engine, nil, nil, "engine"},
		{engine, authenticatorOf("admin"), &httpapi.Options{Features: []*feature.Feature{{Accounts: &accounts.Service{}}}}, "rules"},
		{engine, authenticatorOf("admin"), &httpapi.Options{Features: []*feature.Feature{{Rules: []feature.Rules{{Resource: "users"}}}}}, "users"},
	} {
		if _, err := httpapi.New(tc.engine, tc.gate, tc.opts); err == nil || !errtest.Names(err.Error(), tc.message) {
			t.Errorf("the error is %v, want %q", err, tc.message)
		}
	}
}
