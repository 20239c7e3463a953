package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/httpx/apidocs"
	"github.com/ashlar-go/ashlar/httpx/httpxtest"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

// TestMisspelledPaths checks that a path without a route gets a 404 with the path that was probably meant.
func TestMisspelledPaths(t *testing.T) {
	t.Parallel()
	api, err := httpapi.New(records.New(records.NewMemStore(builtIn), nil), authenticatorOf("viewer"), &httpapi.Options{Docs: apidocs.New(nil), Features: standard.Features()})
	ok(t, err)
	c := httpxtest.New(t, api)
	for sent, meant := range map[string]string{
		"/device":                           "/devices",
		"/devices/":                         "/devices",
		"/Devices":                          "/devices",
		"/auditlogs":                        "/audit-logs",
		"/doc":                              "/docs",
		"/device/" + unknown:                "/devices/" + unknown,
		"/devices/" + unknown + "/":         "/devices/" + unknown,
		"/device/" + unknown + "/interface": "/devices/" + unknown + "/interfaces",
		"/metric/device/" + unknown + "/history/": "/metrics/device/" + unknown + "/history",
	} {
		c.Send("GET", sent, nil).WantError(404, "No such path: "+sent+": did you mean "+meant+"?")
		c.Send("POST", sent, nil).WantError(404, "did you mean "+meant+"?")
	}
	for _, sent := range []string{"/frobnicate", "/x", "/devices/" + unknown + "/frobs", "/devices/a/b/c/d/e", "/" + strings.Repeat("device", 100), "/devices//"} {
		if text := c.Send("GET", sent, nil).WantError(404, "No such path").Message; strings.Contains(text, "did you mean") {
			t.Errorf("%.40s: %s", sent, text)
		}
	}
}

// nobody is an Authenticator of requests without a token.
type nobody struct{}

func (nobody) Authenticate(*http.Request) (*auth.Identity, error) {
	return nil, auth.Unauthorized(auth.TokenMissing, "")
}

// TestHomeWithoutToken checks that / tells clients without a token where the API is described, and that
// other paths do not.
func TestHomeWithoutToken(t *testing.T) {
	t.Parallel()
	engine := records.New(records.NewMemStore(builtIn), nil)
	for want, docs := range map[string]http.Handler{
		"Unauthorized: No security token provided; /docs/ and /openapi.json describe the API": apidocs.New(nil),
		"Unauthorized: No security token provided; /openapi.json describes the API":           nil,
	} {
		api, err := httpapi.New(engine, nobody{}, &httpapi.Options{Docs: docs})
		ok(t, err)
		c := httpxtest.New(t, api)
		c.Send("GET", "/", nil).WantError(401, want)
		if text := c.Send("GET", "/devices", nil).WantError(401, "No security token provided").Message; strings.Contains(text, "openapi") {
			t.Error(text)
		}
	}
}
