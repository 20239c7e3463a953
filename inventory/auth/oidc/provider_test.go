package oidc_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	gojwt "github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/oidc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLogin(t *testing.T) {
	t.Parallel()
	c := newClient(newFake(t), nil)
	q, cookie := c.begin()
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteLaxMode, cookie.SameSite)
	require.Equal(t, "/users/oidc/callback", cookie.Path)
	who, returnTo, err := c.finish(q, cookie)
	require.NoError(t, err)
	require.Equal(t, "/docs/", returnTo)
	require.Equal(t, &auth.External{
		Method: "oidc", Issuer: c.f.URL, Subject: "4711", Username: "jane", Email: "jane@example.org", EmailVerified: true,
		Role: auth.Editor, RoleManaged: true,
	}, who)
}

// TestInvalidTokens checks that nothing but an ID token of the provider, for this client and this login,
// logs a user in.
func TestInvalidTokens(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(f *fake){
		"audience": func(f *fake) { f.claims = func(c gojwt.MapClaims) { c["aud"] = "other" } },
		"issuer":   func(f *fake) { f.claims = func(c gojwt.MapClaims) { c["iss"] = "https://evil.example" } },
		"expired": func(f *fake) {
			f.claims = func(c gojwt.MapClaims) { c["exp"] = time.Now().Add(-2 * time.Minute).Unix() }
		},
		"of the future": func(f *fake) {
			f.claims = func(c gojwt.MapClaims) { c["iat"] = time.Now().Add(2 * time.Minute).Unix() }
		},
		"no expiry":     func(f *fake) { f.claims = func(c gojwt.MapClaims) { delete(c, "exp") } },
		"nonce":         func(f *fake) { f.claims = func(c gojwt.MapClaims) { c["nonce"] = "other" } },
		"no nonce":      func(f *fake) { f.claims = func(c gojwt.MapClaims) { delete(c, "nonce") } },
		"no subject":    func(f *fake) { f.claims = func(c gojwt.MapClaims) { delete(c, "sub") } },
		"long subject":  func(f *fake) { f.claims = func(c gojwt.MapClaims) { c["sub"] = strings.Repeat("a", 256) } },
		"other party":   func(f *fake) { f.claims = func(c gojwt.MapClaims) { c["azp"] = "other" } },
		"party no text": func(f *fake) { f.claims = func(c gojwt.MapClaims) { c["azp"] = 1 } },
		"two audiences": func(f *fake) { f.claims = func(c gojwt.MapClaims) { c["aud"] = []string{"inventory", "other"} } },
		"access token":  func(f *fake) { f.claims = func(c gojwt.MapClaims) { c["at_hash"] = "AAAAAAAAAAAAAAAAAAAAAA" } },
		"alg none": func(f *fake) {
			f.sign = func(c gojwt.Claims) string {
				return f.signed(gojwt.SigningMethodNone, "1", gojwt.UnsafeAllowNoneSignatureType, c)
			}
		},
		"HS256 with the public key": func(f *fake) {
			f.sign = func(c gojwt.Claims) string { return f.signed(gojwt.SigningMethodHS256, "1", f.publicPEM(), c) }
		},
		"HS256 with the client secret": func(f *fake) {
			f.sign = func(c gojwt.Claims) string { return f.signed(gojwt.SigningMethodHS256, "1", []byte(secret), c) }
		},
		"another key": func(f *fake) {
			other := newFake(f.T)
			f.sign = func(c gojwt.Claims) string { return f.signed(gojwt.SigningMethodRS256, "1", other.key, c) }
		},
		"no token": func(f *fake) { f.sign = func(gojwt.Claims) string { return "" } },
		"userinfo of another user": func(f *fake) {
			f.claims = func(c gojwt.MapClaims) { delete(c, "groups") }
			f.userInfo = map[string]any{"sub": "4712", "groups": []string{"net-admins"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			spoil(f)
			_, err := newClient(f, nil).login()
			require.Equal(t, auth.LoginRefused, auth.KindOf(err), "%v", err)
		})
	}
}

func TestPending(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	now := time.Now()
	keys := [][]byte{bytes.Repeat([]byte("a"), 32)}
	c := newClient(f, func(o *oidc.Options) {
		o.Now = func() time.Time { return now }
		o.Keys = func() [][]byte { return keys }
	})
	refused := func(message string, q url.Values, cookie *http.Cookie) {
		t.Helper()
		_, _, err := c.finish(q, cookie)
		require.Equal(t, auth.LoginRefused, auth.KindOf(err), "%v", err)
		require.ErrorContains(t, err, message)
	}
	q, cookie := c.begin()
	before := f.calls.Load()
	refused("in progress", q, nil)
	refused("in progress", q, &http.Cookie{Name: cookie.Name, Value: "AAAA"})
	refused("in progress", q, &http.Cookie{Name: cookie.Name, Value: cookie.Value[:len(cookie.Value)-4] + "AAAA"})
	refused("another login", url.Values{"state": {"other"}, "code": {"x"}}, cookie)
	refused("another login", url.Values{"code": {"x"}}, cookie)
	_, second := c.begin()
	refused("another login", q, second)
	refused("another issuer", url.Values{"state": q["state"], "code": {"x"}, "iss": {"https://evil.example"}}, cookie)
	refused("access_denied", url.Values{"state": q["state"], "error": {"access_denied"}}, cookie)
	refused("unknown", url.Values{"state": q["state"], "error": {"<script>"}}, cookie)
	refused("neither", url.Values{"state": q["state"]}, cookie)
	require.Equal(t, before, f.calls.Load(), "the provider was asked")

	q, cookie = c.begin()
	now = now.Add(oidc.PendingLifetime)
	refused("10 minutes", q, cookie)
	now = now.Add(-time.Second)
	keys = [][]byte{bytes.Repeat([]byte("b"), 32), keys[0]} // a rotation meanwhile
	_, _, err := c.finish(q, cookie)
	require.NoError(t, err)
	keys = keys[:1]
	refused("in progress", q, cookie)
}

func TestIssuerParameter(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.config["authorization_response_iss_parameter_supported"] = true
	c := newClient(f, nil)
	_, err := c.login()
	require.ErrorContains(t, err, "RFC 9207")
	q, cookie := c.begin()
	q.Set("iss", f.URL)
	_, _, err = c.finish(q, cookie)
	require.NoError(t, err)
}

func TestRoles(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for _, tc := range []struct {
		claim  string
		value  any
		byName auth.Role
		want   auth.Role
	}{
		{"groups", []string{"noc", "net-admins"}, "", auth.Admin}, // in the order of the options
		{"groups", "noc", "", auth.Editor},
		{"groups", []string{"NOC"}, "", ""},
		{"groups", []any{"noc", 1}, "", ""},
		{"groups", nil, auth.Viewer, auth.Viewer},
		{"realm.roles", map[string]any{"realm": map[string]any{"roles": []string{"noc"}}}, "", auth.Editor},
		{"https://example.org/roles", []string{"noc"}, "", auth.Editor},
	} {
		f.claims = func(c gojwt.MapClaims) {
			delete(c, "groups")
			if members, ok := tc.value.(map[string]any); ok {
				c["realm"] = members["realm"]
			} else {
				c[tc.claim] = tc.value
			}
		}
		f.userInfo = map[string]any{"sub": "4711"}
		who, err := newClient(f, func(o *oidc.Options) { o.RoleClaim, o.DefaultRole = tc.claim, tc.byName }).login()
		require.NoError(t, err)
		require.Equal(t, tc.want, who.Role, "%+v", tc)
	}
}

// TestUserInfo checks that claims that are not in the ID token come from the userinfo endpoint.
func TestUserInfo(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.claims = func(c gojwt.MapClaims) {
		delete(c, "groups")
		delete(c, "email")
		delete(c, "email_verified")
		delete(c, "preferred_username")
	}
	f.userInfo = map[string]any{"sub": "4711", "groups": "net-admins", "email": "j@example.org", "email_verified": true, "iss": "x"}
	who, err := newClient(f, nil).login()
	require.NoError(t, err)
	require.Equal(t, auth.Admin, who.Role)
	require.Equal(t, "j@example.org", who.Username)
	require.True(t, who.EmailVerified)
	for _, unverified := range []any{false, "true"} {
		f.userInfo["email_verified"] = unverified
		who, err = newClient(f, nil).login()
		require.NoError(t, err)
		require.Empty(t, who.Email, unverified)
		require.False(t, who.EmailVerified, unverified)
	}
}

// TestFaults checks the errors for a provider that fails, and what is logged of them.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(f *fake)
		log    string
	}{
		"a long response": {func(f *fake) {
			f.jwks = func(w http.ResponseWriter) { _, _ = w.Write(bytes.Repeat([]byte(" "), 2<<20)) }
		}, "longer than 1048576 bytes"},
		"no keys": {func(f *fake) {
			f.jwks = func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }
		}, "can't be read"},
		"a redirect": {func(f *fake) {
			f.token = func(w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
				return true
			}
		}, "redirects"},
		"an error": {func(f *fake) {
			f.token = func(w http.ResponseWriter, _ *http.Request) bool {
				http.Error(w, "the access token", http.StatusInternalServerError)
				return true
			}
		}, "status 500"},
		"another client": {func(f *fake) {
			f.token = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = w.Write([]byte(`{"error":"invalid_client"}`))
				return true
			}
		}, "check the client id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			tc.change(f)
			c := newClient(f, nil)
			_, err := c.login()
			require.Equal(t, auth.ProviderUnavailable, auth.KindOf(err), "%v", err)
			require.Contains(t, c.log.String(), tc.log)
			for _, hidden := range []string{secret, "the code", "the access token"} {
				require.NotContains(t, c.log.String()+err.Error(), hidden)
			}
		})
	}
}

// TestConfiguration checks that an invalid configuration of the provider is not used, and that it is read
// again.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{
		"issuer": "https://evil.example", "token_endpoint": "http://169.254.169.254/token", "authorization_endpoint": "javascript:alert(1)",
		"jwks_uri": "file:///etc/passwd", "code_challenge_methods_supported": []string{"plain"},
	} {
		f := newFake(t)
		f.config[name] = value
		now := time.Now()
		c := newClient(f, func(o *oidc.Options) { o.Now = func() time.Time { return now } })
		begin := func() error {
			_, err := c.Begin(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), "")
			return err
		}
		require.Equal(t, auth.ProviderUnavailable, auth.KindOf(begin()), name)
		f.config = map[string]any{}
		require.Error(t, begin())
		require.EqualValues(t, 1, f.calls.Load(), "asked again at once")
		now = now.Add(2 * time.Second)
		require.NoError(t, begin(), name)
		f.config[name] = value
		now = now.Add(time.Hour)
		require.NoError(t, begin(), "the earlier configuration is used")
		require.EqualValues(t, 3, f.calls.Load())
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	right := oidc.Options{Issuer: "https://id.example.org", ClientID: "x", RedirectURL: callback, Keys: func() [][]byte { return nil }}
	_, err := oidc.New(&right)
	require.NoError(t, err)
	for want, change := range map[string]func(*oidc.Options){
		"required":               func(o *oidc.Options) { o.ClientID = "" },
		"plain http is for this": func(o *oidc.Options) { o.Issuer = "http://id.example.org" },
		"255 bytes":              func(o *oidc.Options) { o.Issuer += "/" + strings.Repeat("a", 255) },
		"invalid redirect URL":   func(o *oidc.Options) { o.RedirectURL = "/users/oidc/callback" },
		"no path":                func(o *oidc.Options) { o.RedirectURL = "https://inventory.example.org" },
	} {
		opts := right
		change(&opts)
		_, err := oidc.New(&opts)
		require.ErrorContains(t, err, want)
	}
}

// TestCheckEnds checks that a server that stops does not wait for a provider that does not respond.
func TestCheckEnds(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	asked, end := make(chan struct{}), make(chan struct{})
	f.hold = func() { asked <- struct{}{}; <-end }
	c := newClient(f, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Check(ctx) }()
	<-asked
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Empty(t, c.log.String())
	f.hold = nil
	close(end)
	require.NoError(t, c.Check(t.Context()))
	require.Contains(t, c.log.String(), "responds")
}
