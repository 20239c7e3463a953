package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/certstest"
	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/internal/servertest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// TestFirstStart checks that the first start creates an administrator and prints the
// password once without logging it, and that records and tokens survive a restart.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	s := settings(t, nil)
	s.AdminPassword = ""
	first := serve(t, s)
	shown := regexp.MustCompile(`(?m)the first admin is "admin" with the password (\S+)$`).FindStringSubmatch(first.out.String())
	require.NotNil(t, shown, first.out.String())
	const message = "Change your password first: PUT /users/{id}/password"
	require.Contains(t, first.want(403, "GET", "/devices", first.login("admin", shown[1]), ""), message)
	run(t, first, first.out.String())
	first.want(401, "POST", "/users/login", "", `{"username":"admin","password":"`+shown[1]+`"}`)
	token := first.login("admin", chosen)
	first.want(201, "POST", "/locations", token, berlin)
	require.NoError(t, first.stop())
	assert.NotContains(t, first.log.String(), shown[1])

	second := serve(t, s)
	assert.Empty(t, second.out.String())
	assert.Contains(t, second.want(200, "GET", "/locations", token, ""), `"total_count":1`)
	assert.Contains(t, second.want(200, "GET", "/", token, ""), "Running API v1")
	assert.Contains(t, second.want(200, "GET", "/openapi.json", "", ""), `"3.1.`)
	assert.Contains(t, second.want(200, "GET", "/docs/", "", ""), "<html")
}

// chosen is the password that run chooses.
const chosen = "it's 5 o'clock somewhere"

// run runs the command that is printed with a generated password.
func run(t *testing.T, r *running, printed string) {
	t.Helper()
	servertest.Find(t, "curl")
	command := printed[strings.Index(printed, "  curl "):]
	command = strings.ReplaceAll(command, "http://127.0.0.1:0", r.url)
	command = strings.Replace(command, `"..."`, `"`+strings.ReplaceAll(chosen, "'", `'\''`)+`"`, 1)
	shell := exec.CommandContext(t.Context(), "sh", "-c", command) // #nosec G204 -- our own
	shell.Env = append(os.Environ(), "no_proxy=127.0.0.1")
	out, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "Password updated successfully", command)
}

// TestResetAdmin: an operator makes a user an active admin again beside a running server, with an entry
// in the audit log.
func TestResetAdmin(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "inventory.db") },
		"postgres": func(t *testing.T) string { return shared.Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := settings(t, map[string]string{"DATABASE_URL": url(t)})
			r := serve(t, s)
			root := r.login("admin", password)
			made := r.want(201, "POST", "/users", root, `{"username":"o'neil","email":"o@example.org","role":"viewer","password":"`+password+`"}`)
			id := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(made)[1]
			lost := r.login("o'neil", password)
			token := regexp.MustCompile(`"token":"([^"]+)"`).FindStringSubmatch(r.want(201, "POST", "/users/"+id+"/tokens", root, `{"name":"old","scopes":["*:read"]}`))[1]
			place := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(r.want(201, "POST", "/locations", root, `{"name":"Berlin 1","city":"Berlin","country":"DE"}`))[1]
			r.want(200, "PATCH", "/users/"+id, root, `{"location_ids":["`+place+`"]}`)
			r.want(200, "PATCH", "/users/"+id, root, `{"inactive_status":true}`)

			var out bytes.Buffer
			require.ErrorContains(t, server.ResetAdmin(t.Context(), s, "nobody", &out, nil), `"admin"`)
			require.NoError(t, server.ResetAdmin(t.Context(), s, "O'Neil", &out, nil))
			shown := regexp.MustCompile(`"o'neil" is an active admin with the password (\S+);`).FindStringSubmatch(out.String())
			require.NotNil(t, shown, out.String())
			require.Contains(t, r.want(403, "GET", "/users", r.login("o'neil", shown[1]), ""), "Change your password first")
			run(t, r, out.String())
			admin := r.login("O'NEIL", chosen)
			r.want(401, "GET", "/devices", lost, "")
			r.want(401, "GET", "/devices", token, "")
			log := r.want(200, "GET", "/audit-logs?action=admin_reset", admin, "")
			require.Contains(t, log, `"actor":"command line"`)
			require.Contains(t, log, `"role":{"before":"viewer","after":"admin"}`)
			require.Contains(t, log, `"resource_id":"`+id+`"`)
			require.NotContains(t, log, shown[1])
			require.NotContains(t, r.log.String(), shown[1])
		})
	}
	for _, url := range []string{":memory:", filepath.Join(t.TempDir(), "missing.db")} {
		require.ErrorContains(t, server.ResetAdmin(t.Context(), settings(t, map[string]string{"DATABASE_URL": url}), "admin", io.Discard, nil), "DATABASE_URL")
	}
}

// TestConfiguredSecret checks that tokens are valid only with the JWT_SECRET that signed them.
func TestConfiguredSecret(t *testing.T) {
	t.Parallel()
	s := settings(t, map[string]string{"JWT_SECRET": "0123456789abcdef0123456789abcdef", "JWT_EXPIRATION": "90m"})
	r := serve(t, s)
	token := r.login("admin", password)
	r.want(200, "GET", "/devices", token, "")
	require.NoError(t, r.stop())
	s.JWTSecret = "another 0123456789abcdef01234567"
	serve(t, s).want(401, "GET", "/devices", token, "")
}

func TestWeakFirstAdmin(t *testing.T) {
	t.Parallel()
	s := settings(t, nil)
	s.AdminPassword = "short"
	_, err := server.New(t.Context(), s, &server.Options{Log: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "ADMIN_PASSWORD")
	require.NotContains(t, err.Error(), "short")
}

func TestNoDatabase(t *testing.T) {
	t.Parallel()
	for _, url := range []string{filepath.Join(t.TempDir(), "no", "such", "dir", "x.db"), "postgres://jane:hunter2@127.0.0.1:1/x?connect_timeout=1"} {
		_, err := server.New(t.Context(), settings(t, map[string]string{"DATABASE_URL": url}), &server.Options{Log: slog.New(slog.DiscardHandler)})
		require.ErrorContains(t, err, "DATABASE_URL: ")
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// TestConfiguredStore checks that a server uses Options.Store and does not close it.
func TestConfiguredStore(t *testing.T) {
	t.Parallel()
	store := records.NewMemStore(inventory.Schema())
	srv, err := server.New(t.Context(), settings(t, nil), &server.Options{Store: store, Log: slog.New(slog.DiscardHandler), Output: io.Discard})
	require.NoError(t, err)
	require.Same(t, store, srv.Store())
	require.NoError(t, srv.Close())
	page, err := store.List(t.Context(), &records.Query{Resource: records.Of[inventory.User](inventory.Schema())})
	require.NoError(t, err)
	require.Len(t, page.Records, 1)
}

// TestLimit checks the limit of requests per minute and client: unknown paths and methods
// count too, every response has all headers (REFERENCE.md, 5.3 and 5.4), and health checks
// do not count.
func TestLimit(t *testing.T) {
	t.Parallel()
	r := serve(t, settings(t, map[string]string{"RATE_LIMIT": "3"}))
	refused := 0
	requests := [][2]string{{"GET", "/nowhere"}, {"DELETE", "/debug/count"}, {"GET", "/debug/count"}}
	for i := range 7 { // a minute may end in between
		request := requests[i%len(requests)]
		response, _ := r.send(request[0], request[1], "", "")
		assert.Equal(t, "3", response.Header.Get("X-RateLimit-Limit"), request)
		assert.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"), request)
		assert.NotEmpty(t, response.Header.Get("X-Request-Id"), request)
		assert.Regexp(t, `^\d+$`, response.Header.Get("X-RateLimit-Remaining"))
		assert.Regexp(t, `^\d{10}$`, response.Header.Get("X-RateLimit-Reset"), "a Unix time")
		if response.StatusCode == http.StatusTooManyRequests {
			refused++
			assert.NotEmpty(t, response.Header.Get("Retry-After"))
		}
	}
	assert.Positive(t, refused)
	for range 5 {
		r.want(200, "GET", "/healthz", "", "")
	}
}

// TestDocsAreFree checks that the documentation takes no share of a client's limit, and that nothing else
// passes as documentation.
func TestDocsAreFree(t *testing.T) {
	t.Parallel()
	r := serve(t, settings(t, map[string]string{"RATE_LIMIT": "1000"}))
	page := r.want(200, "GET", "/docs/", "", "")
	script := regexp.MustCompile(`src="([^"]+)"`).FindStringSubmatch(page)
	require.NotNil(t, script)
	for _, path := range []string{"/docs", "/docs/", "/docs/" + script[1], "/openapi.json"} {
		for _, method := range []string{"GET", "HEAD"} {
			response, _ := r.send(method, path, "", "")
			assert.Equal(t, 200, response.StatusCode, path)
			assert.Empty(t, response.Header.Get("X-RateLimit-Limit"), path)
			assert.NotEmpty(t, response.Header.Get("X-Request-Id"), path)
		}
	}
	for _, request := range [][2]string{{"POST", "/docs/"}, {"POST", "/openapi.json"}, {"GET", "/openapi.json/"}, {"GET", "/docsx"}, {"GET", "/console/docs/"}, {"GET", "/"}} {
		response, _ := r.send(request[0], request[1], "", "")
		assert.Equal(t, "1000", response.Header.Get("X-RateLimit-Limit"), request)
	}
}

// TestHome checks where / leads browsers, with the console and without, and what other clients get.
func TestHome(t *testing.T) {
	t.Parallel()
	for console, want := range map[string]string{"true": "/console/", "false": "/docs/"} {
		r := serve(t, settings(t, map[string]string{"CONSOLE": console}))
		r.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		response, _ := r.send("GET", "/", "", "", "Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
		assert.Equal(t, 303, response.StatusCode)
		assert.Equal(t, want, response.Header.Get("Location"))
		assert.Contains(t, r.want(401, "GET", "/", "", "", "Accept", "*/*"), "/docs/ and /openapi.json describe the API")
		assert.Equal(t, "Running API v1", r.want(200, "GET", "/", r.login("admin", password), "", "Accept", "*/*"))
		assert.Contains(t, r.want(401, "GET", "/devices", "", "", "Authorization", r.login("admin", password)),
			`Authorization: Bearer <token>"`)
	}
}

// TestProxies checks that X-Forwarded-For is used only from a trusted proxy
// (REFERENCE.md, 5.3).
func TestProxies(t *testing.T) {
	t.Parallel()
	for proxies, want := range map[string]int{"": 429, "127.0.0.0/8": 200} {
		r := serve(t, settings(t, map[string]string{"RATE_LIMIT": "1", "TRUSTED_PROXIES": proxies}))
		last := 0
		for _, client := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"} { // a minute may end in between
			response, _ := r.send("GET", "/debug/count", "", "", "X-Forwarded-For", client)
			if last != 429 {
				last = response.StatusCode
			}
		}
		assert.Equal(t, want, last, "proxies %q", proxies)
	}
}

// TestSharedLimit checks that servers share their counters in Redis, and count separately
// when it fails.
func TestSharedLimit(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t, &redistest.Options{Password: "hunter2"})
	environ := map[string]string{"RATE_LIMIT": "4", "RATE_LIMIT_REDIS_URL": "redis://:hunter2@" + redis.Addr}
	one, other := serve(t, settings(t, environ)), serve(t, settings(t, environ))
	refused := 0
	for range 5 { // ten in all, and a minute may end in between
		for _, r := range []*running{one, other} {
			if response, _ := r.send("GET", "/debug/count", "", ""); response.StatusCode == http.StatusTooManyRequests {
				refused++
			}
		}
	}
	assert.Positive(t, refused)
	redis.Kill()
	response, body := one.send("GET", "/debug/count", "", "")
	assert.Contains(t, []int{200, 429}, response.StatusCode, body)
	assert.NotContains(t, one.log.String(), "hunter2")
}

// TestTLS checks that a new certificate takes effect without a restart.
func TestTLS(t *testing.T) {
	t.Parallel()
	authority, dir := certstest.NewAuthority(t), t.TempDir()
	cert, key := authority.Write(dir, "server", "old.example")
	r := serve(t, settings(t, map[string]string{"TLS_CERT": cert, "TLS_KEY": key}))
	shown := func() string {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.Pool()}, ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		response, err := (&http.Client{Transport: transport}).Get(r.url + "/")
		require.NoError(t, err)
		defer response.Body.Close()
		assert.Equal(t, 2, response.ProtoMajor)
		assert.NotEmpty(t, response.Header.Get("Strict-Transport-Security"))
		return response.TLS.PeerCertificates[0].DNSNames[0]
	}
	require.Equal(t, "old.example", shown())
	authority.Write(dir, "server", "new.example")
	require.Eventually(t, func() bool { return shown() == "new.example" }, 20*time.Second, 50*time.Millisecond)

	s := settings(t, map[string]string{"TLS_CERT": cert, "TLS_KEY": filepath.Join(dir, "none.pem")})
	_, err := server.New(t.Context(), s, &server.Options{Log: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "none.pem")
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	r := serve(t, settings(t, map[string]string{"ALLOWED_ORIGINS": "https://noc.example"}))
	response, _ := r.send("GET", "/debug/count", "", "", "Origin", "https://noc.example")
	assert.Equal(t, "https://noc.example", response.Header.Get("Access-Control-Allow-Origin"))
	assert.Contains(t, r.want(403, "GET", "/debug/count", "", "", "Origin", "https://evil.example"), "origin https://evil.example is not allowed")
}

// TestPostgres checks that a server without its database responds 503, and recovers without
// a restart.
func TestPostgres(t *testing.T) {
	t.Parallel()
	database := postgrestest.Start(t)
	r := serve(t, settings(t, map[string]string{"DATABASE_URL": database.Database(t)}))
	token := r.login("admin", password)
	r.want(201, "POST", "/locations", token, berlin)
	r.want(200, "GET", "/healthz", "", "")
	// PostgreSQL refuses a string with a zero byte, which must not cause a 500.
	r.want(401, "POST", "/users/login", "", `{"username":"admin\u0000","password":"x"}`)

	database.Kill()
	response, body := r.send("GET", "/locations", token, "")
	require.Equal(t, 503, response.StatusCode, body)
	require.NotEmpty(t, response.Header.Get("Retry-After"))
	r.want(503, "POST", "/locations", token, berlin)
	r.want(503, "GET", "/healthz", "", "")

	database.Restart()
	for _, path := range []string{"/healthz", "/locations"} { // each broken connection of the pool may be one more 503
		require.Eventually(t, func() bool {
			response, body = r.send("GET", path, token, "")
			return response.StatusCode == 200
		}, 20*time.Second, 20*time.Millisecond)
	}
	assert.Contains(t, body, `"total_count":1`)
}

// TestBackup checks that a copy is complete, can be made while a server runs, and overwrites
// no file.
func TestUniqueHostnames(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "inventory.db")
	for unique, status := range map[string]int{"true": 409, "false": 201} {
		r := serve(t, settings(t, map[string]string{"DATABASE_URL": file + unique, "UNIQUE_HOSTNAMES": unique}))
		token := r.login("admin", password)
		var site struct{ ID string }
		require.NoError(t, json.Unmarshal([]byte(r.want(201, "POST", "/locations", token, berlin)), &site))
		r.want(201, "POST", "/devices", token, `{"hostname":"sw"}`)
		r.want(status, "POST", "/devices", token, `{"hostname":"sw","location_id":"`+site.ID+`"}`)
	}
	for sensitive, status := range map[string]int{"true": 201, "false": 409} {
		r := serve(t, settings(t, map[string]string{"CASE_SENSITIVE_HOSTNAMES": sensitive}))
		token := r.login("admin", password)
		r.want(201, "POST", "/devices", token, `{"hostname":"sw"}`)
		r.want(status, "POST", "/devices", token, `{"hostname":"SW"}`)
	}
}

func TestBackup(t *testing.T) {
	t.Parallel()
	s := settings(t, nil)
	r := serve(t, s)
	token := r.login("admin", password)
	r.want(201, "POST", "/locations", token, berlin)
	copied := filepath.Join(t.TempDir(), "copy.db")
	require.NoError(t, server.Backup(t.Context(), s, copied))
	require.ErrorContains(t, server.Backup(t.Context(), s, copied), "copy.db")

	s2 := settings(t, map[string]string{"DATABASE_URL": copied})
	restored := serve(t, s2)
	assert.Contains(t, restored.want(200, "GET", "/locations", token, ""), "Berlin 1", "tokens too: their key is in the database")

	s.DatabaseURL = filepath.Join(t.TempDir(), "none.db")
	require.ErrorContains(t, server.Backup(t.Context(), s, filepath.Join(t.TempDir(), "x.db")), "none.db")
	_, err := os.Stat(s.DatabaseURL)
	require.ErrorIs(t, err, os.ErrNotExist, "a backup creates no database")
	s.DatabaseURL = ":memory:"
	require.ErrorContains(t, server.Backup(t.Context(), s, "x"), "running process")
	s.DatabaseURL = "postgres://127.0.0.1:1/d"
	file := filepath.Join(t.TempDir(), "x.dump")
	require.ErrorContains(t, server.Backup(t.Context(), s, file), "127.0.0.1:1")
	require.NoFileExists(t, file)
}

func TestDatabaseName(t *testing.T) {
	t.Parallel()
	s := &server.Settings{DatabaseURL: "postgres://jane:hunter2@db.example:5432/inventory?sslmode=require"}
	require.Equal(t, "PostgreSQL at db.example:5432/inventory", s.Database())
	s.DatabaseURL = "inventory.db"
	require.Equal(t, "inventory.db", s.Database())
}

// TestHosts checks that requests for unknown hosts get 421 with all headers, except health checks,
// and that the names of the settings are allowed.
func TestHosts(t *testing.T) {
	t.Parallel()
	r := serve(t, settings(t, map[string]string{"ALLOWED_HOSTS": "api.example", "ALLOWED_ORIGINS": "https://noc.example:8443"}))
	for host, want := range map[string]int{"localhost:1": 200, "127.0.0.1": 200, "API.example:3000": 200, "noc.example": 200, "evil.example": 421} {
		for path, want := range map[string]int{"/debug/count": want, "/healthz": 200} {
			request, err := http.NewRequestWithContext(t.Context(), "GET", r.url+path, nil)
			require.NoError(t, err)
			request.Host = host
			response, err := r.http.Do(request)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			assert.Equal(t, want, response.StatusCode, "%s%s", host, path)
			assert.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"))
			assert.NotEmpty(t, response.Header.Get("X-Request-Id"))
		}
	}
}

// TestOddPaths checks that every path passes the same chain: headers, limit and log.
func TestOddPaths(t *testing.T) {
	t.Parallel()
	r := serve(t, settings(t, map[string]string{"RATE_LIMIT": "1000"}))
	for _, path := range []string{"//healthz", "//devices", "/a/../healthz", "/./", "/healthz/", "//", "/docs/../x", "/docs//", "/%2e%2e/x", "/%7f%00%0aforged"} {
		request, err := http.NewRequestWithContext(t.Context(), "GET", r.url, nil)
		require.NoError(t, err)
		request.URL.Opaque = path
		response, err := r.http.Transport.RoundTrip(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		for _, name := range []string{"X-Content-Type-Options", "X-Request-Id", "X-RateLimit-Limit", "X-Response-Time"} {
			assert.NotEmpty(t, response.Header.Get(name), "%s of %q, status %d", name, path, response.StatusCode)
		}
	}
	for line := range strings.Lines(r.log.String()) {
		assert.NotRegexp(t, "[\x00-\x09\x0b-\x1f\x7f]", line)
		assert.True(t, strings.HasPrefix(line, "time="), line)
	}
}

// damaged is a store that fails each health check with an error.
type damaged struct {
	records.Store
	err error
}

func (d damaged) Ping(context.Context) error { return d.err }

// TestUnhealthy checks that a failed health check says what is wrong, but not details of errors
// that are not meant for clients.
func TestUnhealthy(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"The database is damaged":       &records.Error{Kind: records.Unavailable, Message: "The database is damaged", Err: errors.New("page 7")},
		"The database does not respond": errors.New("page 7"),
	} {
		h := handle(t, settings(t, nil), damaged{records.NewMemStore(inventory.Schema()), err})
		w := h.send("GET", "/healthz", "", "")
		assert.Equal(t, 503, w.Code)
		assert.Equal(t, "5", w.Header().Get("Retry-After"))
		assert.Contains(t, w.Body.String(), `"message":"`+want+`"`)
		assert.NotContains(t, w.Body.String(), "page 7")
		assert.Contains(t, h.log.String(), "page 7")
		require.NoError(t, h.Close())
	}
}
