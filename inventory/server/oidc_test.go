package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/internal/servertest"
	"github.com/ashlar-go/ashlar/inventory/server"
)

const clientSecret = "the secret of the client"

// provider is a running oidc-provider, and inventories that use it.
type provider struct {
	*testing.T
	*servertest.Process
	users string // the file with the claims of users
	url   string // of the inventory
	serve atomic.Pointer[http.Handler]
	log   *logtest.Log
}

// startProvider starts a provider, and an inventory with more settings. Without the npm package the test
// is skipped, or fails if ASHLAR_REQUIRE_SERVICES is 1.
func startProvider(t *testing.T, where string, more map[string]string) *provider {
	t.Helper()
	dir := os.Getenv("ASHLAR_OIDC_PROVIDER_DIR")
	if _, err := os.Stat(filepath.Join(dir, "lib", "index.js")); err != nil {
		what := "NO OPENID CONNECT PROVIDER, so logins are not tested with a real one: ASHLAR_OIDC_PROVIDER_DIR must be the directory of the npm package oidc-provider"
		if os.Getenv("ASHLAR_REQUIRE_SERVICES") == "1" {
			t.Fatal(what)
		}
		t.Skip(what)
	}
	p := &provider{T: t, users: filepath.Join(t.TempDir(), "users.json"), log: new(logtest.Log)}
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*p.serve.Load()).ServeHTTP(w, r) }))
	t.Cleanup(own.Close)
	p.url = own.URL
	p.says("jane", map[string]any{"preferred_username": "jane", "email": "jane@example.org", "email_verified": true, "groups": []string{"noc"}})
	p.Process = servertest.Start(t, "node", func(port string) []string {
		return []string{filepath.Join("testdata", "provider.mjs"), dir, port, p.url + "/users/oidc/callback", p.users, where}
	}, func(ctx context.Context, addr string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/.well-known/openid-configuration", nil)
		if err != nil {
			return err
		}
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	})
	p.use(p.start(p.settings(more)))
	return p
}

// settings returns the settings of an inventory with the provider.
func (p *provider) settings(more map[string]string) *server.Settings {
	p.Helper()
	environ := map[string]string{
		"OIDC_ISSUER": "http://" + p.Addr, "OIDC_CLIENT_ID": "inventory", "OIDC_CLIENT_SECRET": clientSecret,
		"OIDC_REDIRECT_URL": p.url + "/users/oidc/callback", "OIDC_CREATE_USERS": "true",
		"OIDC_ROLE_CLAIM": "groups", "OIDC_ROLE_MAP": "net-admins=admin,noc=editor",
	}
	maps.Copy(environ, more)
	return settings(p, environ)
}

// start returns the handler of another inventory.
func (p *provider) start(s *server.Settings) http.Handler {
	p.Helper()
	srv, err := server.New(p.Context(), s, (&server.Options{Log: p.log.Logger(), Output: io.Discard}).Cheap())
	require.NoError(p, err)
	p.Cleanup(func() { require.NoError(p, srv.Close()) })
	return srv.Handler()
}

// use makes a handler that of the inventory's URL.
func (p *provider) use(h http.Handler) { p.serve.Store(&h) }

// says changes what the provider says of a user.
func (p *provider) says(name string, claims map[string]any) {
	p.Helper()
	all := map[string]any{}
	if text, err := os.ReadFile(p.users); err == nil {
		require.NoError(p, json.Unmarshal(text, &all))
	}
	all[name] = claims
	text, err := json.Marshal(all)
	require.NoError(p, err)
	require.NoError(p, os.WriteFile(p.users, text, 0o600))
}

// browser is a browser without cookies.
type browser struct {
	*provider
	*http.Client
}

func (p *provider) browser() *browser {
	p.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(p, err)
	return &browser{p, &http.Client{
		Jar: jar, Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// reply is a response.
type reply struct {
	*http.Response
	text string
}

// json returns a member of the body.
func (r *reply) json(name string) string {
	var body map[string]any
	if json.Unmarshal([]byte(r.text), &body) != nil {
		return ""
	}
	text, _ := body[name].(string)
	return text
}

func (b *browser) send(method, target string, form url.Values, headers ...string) *reply {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), method, target, strings.NewReader(form.Encode()))
	require.NoError(b, err)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := b.Do(request)
	require.NoError(b, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(b, err)
	return &reply{response, string(text)}
}

var (
	formAction = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)
	formPrompt = regexp.MustCompile(`name="prompt" value="([^"]+)"`)
)

// begin begins a login and returns the URL of the provider.
func (b *browser) begin(query string) *url.URL {
	b.Helper()
	r := b.send(http.MethodGet, b.url+"/users/oidc/login"+query, nil)
	require.Equal(b, http.StatusFound, r.StatusCode, r.text)
	location, err := r.Location()
	require.NoError(b, err)
	require.Equal(b, "S256", location.Query().Get("code_challenge_method"))
	return location
}

// authorize logs a user in at the provider, in its forms, and returns the URL of the callback that it
// redirects to. An empty name aborts the login.
func (b *browser) authorize(name string, location *url.URL) string {
	b.Helper()
	method, target, form := http.MethodGet, location.String(), url.Values(nil)
	for range 20 {
		r := b.send(method, target, form)
		if next, err := r.Location(); err == nil {
			if target = next.String(); strings.HasPrefix(target, b.url) {
				return target
			}
			method, form = http.MethodGet, nil
			continue
		}
		action, prompt := formAction.FindStringSubmatch(r.text), formPrompt.FindStringSubmatch(r.text)
		require.True(b, action != nil && prompt != nil, "%d %s", r.StatusCode, r.text)
		if name == "" {
			method, target, form = http.MethodGet, r.Request.URL.String()+"/abort", nil
			continue
		}
		method, target, form = http.MethodPost, action[1], url.Values{"prompt": {prompt[1]}, "login": {name}, "password": {"x"}}
	}
	b.Fatal("the provider does not redirect back")
	return ""
}

// login logs a user in and returns the response of the inventory.
func (p *provider) login(name, query string) *reply {
	p.Helper()
	b := p.browser()
	return b.send(http.MethodGet, b.authorize(name, b.begin(query)), nil)
}

// token returns the token of a login that must succeed.
func (p *provider) token(name string) string {
	p.Helper()
	r := p.login(name, "")
	require.Equal(p, http.StatusOK, r.StatusCode, r.text)
	return r.json("token")
}

// as sends a request with a token, and requires a status.
func (p *provider) as(token string, status int, method, path, body string) *reply {
	p.Helper()
	request, err := http.NewRequestWithContext(p.Context(), method, p.url+path, strings.NewReader(body))
	require.NoError(p, err)
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := p.browser().Do(request)
	require.NoError(p, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(p, err)
	require.Equal(p, status, response.StatusCode, "%s", text)
	return &reply{response, string(text)}
}

// admin returns a token of the first admin, who has a password.
func (p *provider) admin() string {
	p.Helper()
	return p.as("", 200, http.MethodPost, "/users/login", fmt.Sprintf(`{"username":"admin","password":%q}`, password)).json("token")
}

func TestOIDCLogin(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"id-token", "userinfo"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			p := startProvider(t, where, nil)
			r := p.login("jane", "")
			require.Equal(t, http.StatusOK, r.StatusCode, r.text)
			require.Equal(t, []string{"jane", "editor"}, []string{r.json("username"), r.json("role")})
			cookies := r.Header.Values("Set-Cookie")
			require.Len(t, cookies, 2)
			require.Contains(t, cookies[0], "oidc_login=; Path=/users/oidc/callback; Max-Age=0; HttpOnly; SameSite=Lax")
			require.Contains(t, cookies[1], "Bearer="+r.json("token"))
			own := "/users/" + r.json("user_id")
			require.Contains(t, p.as(r.json("token"), 200, http.MethodGet, own, "").text, `"email":"jane@example.org"`)
			require.Contains(t, p.as(r.json("token"), 200, http.MethodGet, own+"/sessions", "").text, `"current":true`)
			p.as("", 200, http.MethodPost, "/users/logout", "")

			page := p.login("jane", "?return_to="+url.QueryEscape("/docs/?a=1&b=<"))
			require.Equal(t, http.StatusBadRequest, p.browser().send(http.MethodGet, p.url+"/users/oidc/login?return_to=//evil.example", nil).StatusCode)
			require.Equal(t, "text/html; charset=utf-8", page.Header.Get("Content-Type"))
			require.Contains(t, page.text, `content="0;url=/docs/?a=1&amp;b=&lt;"`)
			require.Len(t, page.Header.Values("Set-Cookie"), 2)

			entries := p.as(p.admin(), 200, http.MethodGet, "/audit-logs?action=login&actor=jane", "").text
			require.Contains(t, entries, `"method":{"before":null,"after":"oidc"}`)
			for _, hidden := range []string{clientSecret, r.json("token"), "code="} {
				require.NotContains(t, p.log.String(), hidden)
			}
		})
	}
}

func TestOIDCRoles(t *testing.T) {
	t.Parallel()
	p := startProvider(t, "id-token", nil)
	of := func(groups ...string) {
		p.says("jane", map[string]any{"preferred_username": "jane", "email": "jane@example.org", "email_verified": true, "groups": groups})
	}
	of("noc", "net-admins")
	first := p.token("jane")
	p.as(first, 201, http.MethodPost, "/locations", berlin)
	of("noc")
	second := p.token("jane")
	p.as(first, 401, http.MethodPost, "/locations", berlin)
	p.as(second, 403, http.MethodPost, "/locations", berlin)
	of("staff")
	r := p.login("jane", "")
	require.Equal(t, http.StatusForbidden, r.StatusCode, r.text)
	require.Contains(t, r.text, "no role here")
	of("noc")
	third := p.login("jane", "")
	own := "/users/" + third.json("user_id")
	p.as(second, 401, http.MethodGet, own, "")
	p.as(third.json("token"), 200, http.MethodGet, own, "")
	p.as(p.admin(), 200, http.MethodPatch, own, `{"inactive_status":true}`)
	r = p.login("jane", "")
	require.Equal(t, http.StatusForbidden, r.StatusCode, r.text)
	require.Contains(t, r.text, "inactive")
	p.as(third.json("token"), 401, http.MethodGet, own, "")
}

// TestOIDCRefused checks the logins that must not succeed with an honest provider.
func TestOIDCRefused(t *testing.T) {
	t.Parallel()
	p := startProvider(t, "id-token", nil)
	p.says("eve", map[string]any{"preferred_username": "eve", "email": "ADMIN@localhost", "email_verified": true, "groups": []string{"net-admins"}})
	p.says("mallory", map[string]any{"preferred_username": "admin", "email": "mallory@example.org", "email_verified": true, "groups": []string{"net-admins"}})
	for _, name := range []string{"eve", "mallory"} {
		r := p.login(name, "")
		require.Equal(t, http.StatusConflict, r.StatusCode, "%s: %s", name, r.text)
	}
	p.says("mark", map[string]any{"preferred_username": "<b>mark</b>", "email": "mark@example.org", "email_verified": true, "groups": []string{"noc"}})
	r := p.login("mark", "")
	require.Equal(t, http.StatusForbidden, r.StatusCode, r.text)
	refused := func(r *reply, message string) {
		t.Helper()
		require.Equal(t, http.StatusUnauthorized, r.StatusCode, r.text)
		require.Contains(t, r.text, message)
		require.NotContains(t, r.text, "token")
	}
	refused(p.login("", ""), "refused the login")

	b := p.browser()
	back := b.authorize("jane", b.begin(""))
	refused(p.browser().send(http.MethodGet, back, nil), "in progress")
	refused(b.send(http.MethodGet, regexp.MustCompile(`state=[^&]*`).ReplaceAllString(back, "state=other"), nil), "belongs to another login")

	b = p.browser()
	location := b.begin("")
	query := location.Query()
	query.Set("nonce", "other")
	location.RawQuery = query.Encode()
	refused(b.send(http.MethodGet, b.authorize("jane", location), nil), "belongs to another login")

	b = p.browser()
	back = b.authorize("jane", b.begin(""))
	callback, err := url.Parse(back)
	require.NoError(t, err)
	cookie := b.Jar.Cookies(callback)[0].String()
	require.Equal(t, http.StatusOK, b.send(http.MethodGet, back, nil).StatusCode)
	refused(p.browser().send(http.MethodGet, back, nil, "Cookie", cookie), "finished before")

	entries := p.as(p.admin(), 200, http.MethodGet, "/audit-logs?action=login_failed", "").text
	for _, reason := range []string{"access_denied", "another state", "another nonce", "the provider refused the code", "Another user has your user name"} {
		require.Contains(t, entries, reason)
	}
}

// TestOIDCProviderDown checks that the inventory starts without the provider, and that logins succeed when
// it runs, and again after it has restarted with another key.
func TestOIDCProviderDown(t *testing.T) {
	t.Parallel()
	p := startProvider(t, "id-token", nil)
	p.Kill()
	p.use(p.start(p.settings(nil)))
	r := p.browser().send(http.MethodGet, p.url+"/users/oidc/login", nil)
	require.Equal(t, http.StatusServiceUnavailable, r.StatusCode)
	require.Contains(t, r.text, "not available")
	require.Contains(t, p.log.String(), "can't be used")
	require.NotEmpty(t, p.admin(), "a password still works")
	p.Restart()
	require.Eventually(t, func() bool {
		return p.browser().send(http.MethodGet, p.url+"/users/oidc/login", nil).StatusCode == http.StatusFound
	}, time.Minute, 100*time.Millisecond)
	require.NotEmpty(t, p.token("jane"))
	p.Restart() // with another key
	require.NotEmpty(t, p.token("jane"))

	b := p.browser()
	back := b.authorize("jane", b.begin(""))
	p.Kill()
	r = b.send(http.MethodGet, back, nil)
	require.Equal(t, http.StatusServiceUnavailable, r.StatusCode, r.text)
}

// TestOIDCTwoProcesses checks that a process finishes a login that another one has begun.
func TestOIDCTwoProcesses(t *testing.T) {
	t.Parallel()
	p := startProvider(t, "id-token", nil)
	s := p.settings(map[string]string{"OIDC_LINK_BY_EMAIL": "true", "OIDC_CREATE_USERS": "false"})
	one, two := p.start(s), p.start(s)
	p.says("root", map[string]any{"preferred_username": "r", "email": "admin@localhost", "email_verified": true, "groups": []string{"net-admins"}})
	p.use(one)
	b := p.browser()
	back := b.authorize("root", b.begin(""))
	p.use(two)
	r := b.send(http.MethodGet, back, nil)
	require.Equal(t, http.StatusOK, r.StatusCode, r.text)
	require.Equal(t, "admin", r.json("username"), "linked by the email address")
	r = p.login("jane", "")
	require.Equal(t, http.StatusForbidden, r.StatusCode, r.text)
	require.Contains(t, r.text, "no account")
}
