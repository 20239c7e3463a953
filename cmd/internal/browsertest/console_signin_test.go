package browsertest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/servertest"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/oidc"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// TestConsoleSignIn: a wrong password is said, a right one leads to where the user wanted to go, and after
// signing out the page is closed.
func TestConsoleSignIn(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 3)
	page := Open(t, s.url+"/console/account", nil)
	s.looks(page, "sign-in")
	page.Type("#username", "viewer")
	page.Type("#password", "wrong")
	page.Click(".sign-in .button-main")
	page.AwaitText(".problems", "Invalid credentials")
	page.Type("#password", consolePassword)
	page.Submit(".sign-in .button-main")
	require.Equal(t, s.url+"/console/account", page.Address())
	page.AwaitText("main", "viewer@example.com")
	s.looks(page, "account")
	s.signOut(page)
	page.Goto(s.url + "/console/account")
	page.Await("#username")
	var kept int
	page.Eval("localStorage.length + sessionStorage.length", &kept)
	require.Zero(t, kept, "the page keeps something in the browser")
}

// signOut signs the user of a page out.
func (s *consoleServer) signOut(page *Page) {
	s.t.Helper()
	page.Click(`summary[title="Account"]`)
	page.Submit(".menu-panel form[action$=signout] button")
	require.Equal(s.t, s.url+"/console/signin", page.Address())
}

// TestConsoleSignInCode: a user with a second factor needs a code of the app or a recovery code, each once. What is
// wrong is said at the field.
func TestConsoleSignInCode(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 1)
	viewer := s.as("viewer")
	path := "/users/" + s.first("/users?username=viewer")["id"].(string) + "/totp"
	var factor struct{ Secret string }
	viewer.api("POST", path, map[string]any{"current_password": consolePassword}, &factor)
	code := func(ahead time.Duration) string {
		text, err := auth.TOTPCode(factor.Secret, time.Now().Add(ahead))
		require.NoError(t, err)
		return text
	}
	var recovery struct {
		Codes []string `json:"recovery_codes"`
	}
	viewer.api("PUT", path, map[string]any{"code": code(0)}, &recovery)

	page := Open(t, s.url+"/console/r/devices?status=active", nil)
	page.Type("#username", "viewer")
	send := func(code string) { // the password is typed once, and the code asked for afterwards
		page.Type("#password", consolePassword)
		page.Type("#password", "\n")
		page.Await("#code")
		page.Type("#code", code)
	}
	page.Type("#password", "wrong")
	page.Type("#password", "\n")
	page.AwaitText(".problems", "Invalid credentials")
	require.NotContains(t, page.HTML(), `id="code"`, "who does not know the password is told nothing of the factor")
	send("000000")
	require.Equal(t, "code", focused(page))
	require.NotContains(t, page.HTML(), consolePassword)
	s.looks(page, "sign-in-code")
	page.Type("#code", "\n")
	page.AwaitText("#code-fault", "The code of the second factor is wrong")
	right := code(auth.TOTPPeriod)
	page.Type("#code", right)
	page.Submit(".sign-in .button-main")
	require.Equal(t, s.url+"/console/r/devices?status=active", page.Address())
	s.signOut(page)
	page.Type("#username", "viewer")
	send(right)
	page.Type("#code", "\n")
	page.AwaitText("#code-fault", "The code of the second factor is wrong") // it works once
	page.Type("#code", strings.ToLower(recovery.Codes[0]))
	page.Submit(".sign-in .button-main")
	require.Equal(t, s.url+"/console/", page.Address())
	page.Goto(s.url + "/console/account")
	page.AwaitText("main", "Authenticator")
	page.Silent()
}

// startProvider starts an OpenID Connect provider, whose users have the claims of a file. Without the npm package
// the test is skipped, or fails if ASHLAR_REQUIRE_SERVICES is 1.
func startProvider(t *testing.T, url string, users map[string]any) *servertest.Process {
	t.Helper()
	dir := os.Getenv("ASHLAR_OIDC_PROVIDER_DIR")
	if _, err := os.Stat(filepath.Join(dir, "lib", "index.js")); err != nil {
		const why = "THIS TEST DID NOT RUN: ASHLAR_OIDC_PROVIDER_DIR must be the directory of the npm package oidc-provider"
		if os.Getenv("ASHLAR_REQUIRE_SERVICES") == "1" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	claims, err := json.Marshal(users)
	require.NoError(t, err)
	file := writeFile(t, "users.json", string(claims))
	program, err := filepath.Abs(filepath.FromSlash("../../../inventory/server/testdata/provider.mjs"))
	require.NoError(t, err)
	return servertest.Start(t, "node", func(port string) []string {
		return []string{program, dir, port, url + "/users/oidc/callback", file, "id-token"}
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
}

// status returns the status of a request without a token.
func (s *consoleServer) status(method, path string) int {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, nil)
	require.NoError(s.t, err)
	response, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(s.t, err)
	require.NoError(s.t, response.Body.Close())
	return response.StatusCode
}

// TestConsoleSignInProvider: the button leads to the identity provider and back to the page that was wanted. A user
// without a role, one who cancels, and everybody while the provider is down are told so.
func TestConsoleSignInProvider(t *testing.T) {
	t.Parallel()
	of := func(name string, groups ...string) map[string]any {
		return map[string]any{"preferred_username": name, "email": name + "@example.org", "email_verified": true, "groups": groups}
	}
	var provider *servertest.Process
	s := startConsoleWith(t, 1, func(settings *server.Settings, url string) {
		provider = startProvider(t, url, map[string]any{"jane": of("jane", "noc"), "joe": of("joe", "staff")})
		settings.OIDC = server.OIDC{
			Issuer: "http://" + provider.Addr, ClientID: "inventory", ClientSecret: "the secret of the client", RedirectURL: url + "/users/oidc/callback",
			Scopes: []string{"profile", "email"}, RoleClaim: "groups", Roles: []oidc.RoleOf{{Value: "noc", Role: auth.Editor}}, CreateUsers: true,
		}
	})
	provider.Kill()
	const button, back = ".sign-in-provider a", "/console/r/devices?status=active"
	page := Open(t, s.url+back, nil)
	s.looks(page, "sign-in-provider")
	page.Submit(button)
	page.AwaitText(".problems", "The identity provider is not available: try again later")
	page.Type("#username", "viewer")
	page.Type("#password", consolePassword)
	page.Submit(".sign-in .button-main")
	require.Equal(t, s.url+back, page.Address(), "a password works without the provider")

	provider.Restart()
	require.Eventually(t, func() bool { return s.status(http.MethodGet, "/users/oidc/login") == http.StatusFound }, timeout, 10*tick)
	page = Open(t, s.url+back, nil)
	page.Submit(button)
	page.Type("[name=login]", "joe")
	page.Type("[name=password]", "x\n")
	page.AwaitText("[type=submit]", "Continue")
	page.Click("[type=submit]")
	page.AwaitText(".problems", "no role here")
	page.Keep("sign-in-refused")
	page.Accessible()

	page = Open(t, s.url+back, nil)
	page.Submit(button)
	page.Click("a[href$=abort]")
	page.AwaitText(".problems", "The identity provider refused the login")
	page.Submit(button)
	page.Type("[name=login]", "jane")
	page.Type("[name=password]", "x\n")
	page.AwaitText("[type=submit]", "Continue")
	page.Click("[type=submit]")
	page.Await(".lists-table")
	require.Equal(t, s.url+back, page.Address())
	require.Contains(t, page.Text("header"), "jane")
	var cookies []string
	page.Eval(`fetch("/users", {credentials: "include"}).then(r => [String(r.status), document.cookie])`, &cookies)
	require.Equal(t, []string{"401", ""}, cookies, "the cookies of the API are gone, and scripts see none")
	page.Goto(s.url + "/console/account")
	require.Contains(t, page.Text("#account-access"), "through the identity provider")
	require.Contains(t, page.Text("#account-sessions"), "this one")
	require.NotContains(t, page.HTML(), `type="password"`, "the provider has the password")
	page.Keep("account-provider")
	page.Accessible()
	page.Type("#token-name", "Ansible")
	page.Submit(".account-new .button-main")
	reader := *s
	reader.token = page.Text(".account-secrets code")
	reader.first("/devices")
	page.Goto(s.url + "/console/account")
	require.Contains(t, page.Text("#account-tokens"), "Ansible")
	s.signOut(page)
	page.Goto(s.url + back)
	page.Await(button)
}
