package console_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
	"github.com/ashlar-go/ashlar/inventory/console"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feature/logins"
	"github.com/ashlar-go/ashlar/inventory/httpapi"
	"github.com/ashlar-go/ashlar/inventory/internal/featuretest"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestAccountMenu: only a console with accounts has links to them.
func TestAccountMenu(t *testing.T) {
	t.Parallel()
	own, _ := pagesOf(t, records.NewMemStore(inventory.Schema()))
	w := httptest.NewRecorder()
	own.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	page := w.Body.String()
	require.Contains(t, page, "manages the accounts")
	require.NotContains(t, page, "/signout")
	page = featuretest.New(t, nil).Page("viewer", "/")
	require.Contains(t, page, `action="/signout"`)
	require.NotContains(t, page, "manages the accounts")
}

// TestSignInRenews: who signs in gets another cookie of forms than somebody may have set before, so that a form with the
// token of that is refused (403).
func TestSignInRenews(t *testing.T) {
	t.Parallel()
	g := featuretest.New(t, nil)
	status, header := g.SignIn("viewer")
	require.Equal(t, http.StatusSeeOther, status)
	require.Contains(t, strings.Join(header.Values("Set-Cookie"), "\n"), "ashlar_form=")
}

// byHeader identifies users of the inventory by a header that a proxy sends.
type byHeader struct{}

func (byHeader) Authenticate(r *http.Request) (*auth.Identity, error) {
	id := r.Header.Get("X-User")
	if id == "" {
		return nil, auth.Unauthorized(auth.TokenMissing, "")
	}
	return &auth.Identity{UserID: id, Username: "jane", Role: auth.Admin}, nil
}

// TestAccountsBehindProxy: users of the inventory whom a proxy names need no page to sign in, and others are led to it.
func TestAccountsBehindProxy(t *testing.T) {
	t.Parallel()
	engine := records.New(records.NewMemStore(inventory.Schema()), nil)
	jane := &inventory.User{Username: "jane", Email: "jane@example.org", Role: inventory.Admin, PasswordHash: "none"}
	require.NoError(t, engine.Create(t.Context(), records.Caller{}, jane))
	hasher, err := auth.NewHasher(nil)
	require.NoError(t, err)
	service, err := accounts.New(engine, hasher, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, service.Close()) })
	tokens, err := jwt.NewTokens([][]byte{[]byte(strings.Repeat("k", auth.MinKeyBytes))}, nil)
	require.NoError(t, err)
	users, err := logins.New(service, tokens, nil)
	require.NoError(t, err)
	api, err := httpapi.New(engine, byHeader{}, &httpapi.Options{Features: []*feature.Feature{users}})
	require.NoError(t, err)
	pages, err := console.New(api, nil)
	require.NoError(t, err)
	for user, status := range map[string]int{jane.ID: http.StatusOK, "": http.StatusSeeOther} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/r/devices", nil)
		r.Header.Set("X-User", user)
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		require.Equal(t, status, w.Code, "%q: %s", user, w.Header())
	}
}
