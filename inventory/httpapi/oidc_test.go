package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature/logins"
)

// refusing is an identity provider that refuses every login.
type refusing struct{}

func (refusing) Begin(_ http.ResponseWriter, _ *http.Request, returnTo string) (string, error) {
	return "https://id.example.org/?to=" + returnTo, nil
}

func (refusing) Finish(http.ResponseWriter, *http.Request) (*auth.External, string, error) {
	return nil, "", auth.Refused("The login was refused", "a reason")
}

func TestProviderRoutes(t *testing.T) {
	t.Parallel()
	newHarness(t, nil).as("").Send("GET", "/users/oidc/login", nil).Want(404)
	g := newHarness(t, &choices{logins: &logins.Options{Provider: refusing{}}})
	c := g.as("")
	c.Send("GET", "/users/oidc/login?return_to=/docs/%3Fa=b", nil).Want(302).WantHeader("Location", "https://id.example.org/?to=/docs/?a=b")
	for _, path := range []string{"//evil.example", "https://evil.example", "", "docs", `/%5Cevil.example`} {
		c.Send("GET", "/users/oidc/login?return_to="+path, nil).WantError(400, "return_to path /docs/")
	}
	c.Send("GET", "/users/oidc/login?next=/", nil).Want(400)
	c.Send("POST", "/users/oidc/callback", nil).Want(405)
	doc := c.Send("GET", "/openapi.json", nil).Want(200).Body.String()
	for _, path := range []string{`"/users/oidc/login"`, `"/users/oidc/callback"`} {
		if !strings.Contains(doc, path) {
			t.Errorf("the document does not have %s", path)
		}
	}
}

// TestRefusedProviderLogins checks that refused logins count like wrong passwords and are in the audit log.
func TestRefusedProviderLogins(t *testing.T) {
	t.Parallel()
	g := newHarness(t, &choices{logins: &logins.Options{Provider: refusing{}}})
	c := g.as("")
	for range 50 {
		c.Send("GET", "/users/oidc/callback?code=x&state=y&session_state=z", nil).WantError(401, "The login was refused")
	}
	if e := g.last(); e.Action != "login_failed" || e.Changes["reason"].After != "The login was refused: a reason" || e.Changes["method"].After != "oidc" || e.UserID != nil {
		t.Errorf("the entry is %+v", e)
	}
	c.Send("GET", "/users/oidc/callback?code=x&state=y", nil).Want(429)
	if e := g.last(); e.Action != "throttled" {
		t.Errorf("the entry is %+v", e)
	}
	c.Send("POST", "/users/login", object{"username": "root", "password": password}).Want(429)
}
