package oidc_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gojwt "github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/oidc"
)

const (
	callback = "http://localhost:3000/users/oidc/callback"
	secret   = "the secret of the client"
)

// fake is a provider that sends whatever a test wants, for what no honest one sends.
type fake struct {
	*testing.T
	*httptest.Server
	key      *rsa.PrivateKey
	config   map[string]any            // replaces parts of the configuration
	claims   func(c gojwt.MapClaims)   // changes those of the ID token
	sign     func(gojwt.Claims) string // signs it
	token    func(w http.ResponseWriter, r *http.Request) bool
	jwks     func(w http.ResponseWriter)
	userInfo map[string]any
	hold     func()       // before each response
	calls    atomic.Int64 // of all endpoints

	mu               sync.Mutex
	nonce, challenge string // of the last login
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{T: t, config: map[string]any{}, userInfo: map[string]any{}}
	var err error
	f.key, err = rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	f.sign = func(c gojwt.Claims) string { return f.signed(gojwt.SigningMethodRS256, "1", f.key, c) }
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		doc := map[string]any{
			"issuer": f.URL, "authorization_endpoint": f.URL + "/auth", "token_endpoint": f.URL + "/token", "jwks_uri": f.URL + "/jwks",
			"userinfo_endpoint": f.URL + "/userinfo", "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
		}
		maps.Copy(doc, f.config)
		f.send(w, doc)
	})
	mux.HandleFunc("GET /jwks", func(w http.ResponseWriter, _ *http.Request) {
		if f.jwks != nil {
			f.jwks(w)
			return
		}
		n := base64.RawURLEncoding.EncodeToString(f.key.N.Bytes())
		f.send(w, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "kid": "1", "use": "sig", "n": n, "e": "AQAB"}}})
	})
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, _ *http.Request) { f.send(w, f.userInfo) })
	mux.HandleFunc("POST /token", f.exchange)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.calls.Add(1)
		if f.hold != nil {
			f.hold()
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) send(w http.ResponseWriter, doc map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(doc)
}

func (f *fake) signed(method gojwt.SigningMethod, kid string, key any, c gojwt.Claims) string {
	token := gojwt.NewWithClaims(method, c)
	token.Header["kid"] = kid
	text, err := token.SignedString(key)
	if err != nil {
		f.Error(err)
	}
	return text
}

// publicPEM returns the bytes that a confused verifier would use as the key of HS256.
func (f *fake) publicPEM() []byte {
	der, err := x509.MarshalPKIXPublicKey(&f.key.PublicKey)
	require.NoError(f, err)
	return der
}

// exchange responds to a code.
func (f *fake) exchange(w http.ResponseWriter, r *http.Request) {
	if f.token != nil && f.token(w, r) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	id, sent, _ := r.BasicAuth()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if id != "inventory" || sent != url.QueryEscape(secret) || base64.RawURLEncoding.EncodeToString(sum[:]) != f.challenge ||
		r.FormValue("redirect_uri") != callback {
		http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
		return
	}
	now := time.Now()
	c := gojwt.MapClaims{
		"iss": f.URL, "aud": "inventory", "sub": "4711", "nonce": f.nonce, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"preferred_username": "jane", "email": "jane@example.org", "email_verified": true, "groups": []string{"staff", "noc"},
	}
	if f.claims != nil {
		f.claims(c)
	}
	f.send(w, map[string]any{"access_token": "the access token", "token_type": "Bearer", "id_token": f.sign(c)})
}

// client is a program that logs users in with a fake provider.
type client struct {
	*oidc.Provider
	f   *fake
	log *logtest.Log
}

func newClient(f *fake, change func(*oidc.Options)) *client {
	f.Helper()
	key := bytes.Repeat([]byte("k"), 32)
	c := &client{f: f, log: new(logtest.Log)}
	opts := &oidc.Options{
		Issuer: f.URL, ClientID: "inventory", ClientSecret: secret, RedirectURL: callback,
		Keys: func() [][]byte { return [][]byte{key} }, RoleClaim: "groups",
		Roles: []oidc.RoleOf{{"net-admins", auth.Admin}, {"noc", auth.Editor}},
		Log:   c.log.Logger(),
	}
	if change != nil {
		change(opts)
	}
	var err error
	c.Provider, err = oidc.New(opts)
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, c.Provider.Close()) })
	return c
}

// begin begins a login and returns the query of the response of an honest provider, and the cookie.
func (c *client) begin() (url.Values, *http.Cookie) {
	c.f.Helper()
	w := httptest.NewRecorder()
	location, err := c.Begin(w, httptest.NewRequest(http.MethodGet, "/users/oidc/login", nil), "/docs/")
	require.NoError(c.f, err)
	u, err := url.Parse(location)
	require.NoError(c.f, err)
	q := u.Query()
	require.Equal(c.f, "S256", q.Get("code_challenge_method"))
	require.Equal(c.f, callback, q.Get("redirect_uri"))
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.nonce, c.f.challenge = q.Get("nonce"), q.Get("code_challenge")
	return url.Values{"state": {q.Get("state")}, "code": {"the code"}}, w.Result().Cookies()[0]
}

// finish ends a login.
func (c *client) finish(q url.Values, cookie *http.Cookie) (*auth.External, string, error) {
	r := httptest.NewRequest(http.MethodGet, "/users/oidc/callback?"+q.Encode(), nil)
	if cookie != nil {
		r.AddCookie(cookie)
	}
	return c.Finish(httptest.NewRecorder(), r)
}

// login is begin and finish.
func (c *client) login() (*auth.External, error) {
	c.f.Helper()
	who, _, err := c.finish(c.begin())
	return who, err
}
