package browsertest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	network "github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feature/logins"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// elsewhere is an identity provider of another site with a form and a cookie like that of package oidc.
type elsewhere struct{ url, back string }

func (e *elsewhere) Begin(w http.ResponseWriter, _ *http.Request, returnTo string) (string, error) {
	http.SetCookie(w, &http.Cookie{Name: "pending", Value: returnTo, Path: "/users/oidc/callback", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	return e.url, nil
}

func (e *elsewhere) Finish(_ http.ResponseWriter, r *http.Request) (*auth.External, string, error) {
	pending, err := r.Cookie("pending")
	if err != nil {
		return nil, "", auth.Refused("no cookie", "")
	}
	return &auth.External{Method: "oidc", Issuer: e.url, Subject: "1", Username: "jane", Email: "jane@example.org", Role: auth.Viewer}, pending.Value, nil
}

func (e *elsewhere) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		http.Redirect(w, r, e.back, http.StatusSeeOther)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, `<!doctype html><form method="post"><button>Log in</button></form>`)
}

// TestExternalLoginInBrowser checks that a browser that comes back from a provider of another site sends
// the cookie with the token, which is SameSite=Strict, to the page that it returns to.
func TestExternalLoginInBrowser(t *testing.T) {
	t.Parallel()
	e := &elsewhere{}
	other := httptest.NewServer(e)
	t.Cleanup(other.Close)
	e.url = other.URL // on 127.0.0.1, which is another site than localhost
	store := records.NewMemStore(network.Schema())
	engine := records.New(store, nil)
	hasher, err := auth.NewHasher(nil)
	require.NoError(t, err)
	tokens, err := jwt.NewTokens([][]byte{[]byte(strings.Repeat("k", auth.MinKeyBytes))}, nil)
	require.NoError(t, err)
	guard, err := jwt.NewGuard(tokens, accounts.NewStates(store), nil)
	require.NoError(t, err)
	service, err := accounts.New(engine, hasher, &accounts.Options{External: accounts.ExternalOptions{CreateUsers: true}})
	require.NoError(t, err)
	users, err := logins.New(service, tokens, &logins.Options{Provider: e})
	require.NoError(t, err)
	api, err := httpapi.New(engine, guard, &httpapi.Options{Features: []*feature.Feature{users}})
	require.NoError(t, err)
	own := httptest.NewServer(api)
	t.Cleanup(own.Close)
	url := strings.Replace(own.URL, "127.0.0.1", "localhost", 1)
	e.back = url + "/users/oidc/callback?code=x&session_state=unknown"
	page := Open(t, url+"/users/oidc/login?return_to=/locations?page=1", nil)
	page.Click("button")
	page.AwaitText("body", `"data":[]`)
	require.Equal(t, url+"/locations?page=1", page.Address())
}
