package httpapi_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"hash"
	"strings"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
)

// forge signs a token without the library.
func forge(t testing.TB, header, claims object, with func() hash.Hash, key []byte) string {
	t.Helper()
	var parts []string
	for _, part := range []object{header, claims} {
		doc, err := json.Marshal(part)
		ok(t, err)
		parts = append(parts, base64.RawURLEncoding.EncodeToString(doc))
	}
	text := strings.Join(parts, ".")
	if with == nil {
		return text + "."
	}
	mac := hmac.New(with, key)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// TestForgedTokens checks that forged tokens are refused. Each claims to be an admin's.
func TestForgedTokens(t *testing.T) {
	t.Parallel()
	g := newHarness(t, nil)
	now := g.clock.now().Unix()
	header := object{"alg": "HS256", "typ": "JWT"}
	id := g.users["root"].ID
	claims := object{
		"uid": id, "user": "root", "role": "admin", "epoch": 0, "iss": jwt.DefaultIssuer, "aud": jwt.DefaultAudience,
		"sub": id, "iat": now, "nbf": now, "exp": now + 60, "jti": "x",
	}
	good := forge(t, header, claims, sha256.New, key)
	g.as("").Send("GET", "/audit-logs", nil, "Authorization", "Bearer "+good).Want(200) // the test forges well
	g.as("").Send("GET", "/audit-logs", nil, "Authorization", "bearer  "+good).Want(200)
	for why, token := range map[string]string{
		"no algorithm":         forge(t, with(header, "alg", "none"), claims, nil, nil),
		"no algorithm, signed": forge(t, with(header, "alg", "None"), claims, sha256.New, key),
		"another algorithm":    forge(t, with(header, "alg", "HS512"), claims, sha512.New, key),
		"a false algorithm":    forge(t, with(header, "alg", "RS256"), claims, sha256.New, key),
		"an empty key":         forge(t, header, claims, sha256.New, nil),
		"another key":          forge(t, header, claims, sha256.New, []byte(strings.Repeat("x", 32))),
		"a kid that is a file": forge(t, with(header, "kid", "../../../../dev/null"), claims, sha256.New, nil),
		"a kid that is SQL":    forge(t, with(header, "kid", "x' UNION SELECT 'k'--"), claims, sha256.New, []byte("k")),
		"a key of its own":     forge(t, with(header, "jwk", object{"kty": "oct", "k": "eA"}), claims, sha256.New, []byte("x")),
		"expired":              forge(t, header, with(claims, "exp", now-60), sha256.New, key),
		"never expires":        forge(t, header, with(claims, "exp", nil), sha256.New, key),
		"not yet":              forge(t, header, with(claims, "nbf", now+600), sha256.New, key),
		"another issuer":       forge(t, header, with(claims, "iss", "evil"), sha256.New, key),
		"another audience":     forge(t, header, with(claims, "aud", "evil"), sha256.New, key),
		"another subject":      forge(t, header, with(claims, "sub", unknown), sha256.New, key),
		"another role":         forge(t, header, with(claims, "role", "god"), sha256.New, key),
		"an old epoch":         forge(t, header, with(claims, "epoch", 7), sha256.New, key),
		"unknown user":         forge(t, header, with(claims, "uid", unknown, "sub", unknown), sha256.New, key),
		"no user":              forge(t, header, with(claims, "uid", "", "sub", ""), sha256.New, key),
		"a raised role":        forge(t, header, with(claims, "uid", g.users["viewer"].ID, "sub", g.users["viewer"].ID), sha256.New, key),
		"cut off":              good[:len(good)-1],
		"no token":             "x",
		"parts":                "a.b.c",
		"long":                 strings.Repeat("a", 1<<16),
	} {
		t.Run(why, func(t *testing.T) {
			a := g.on(t, "").Send("GET", "/audit-logs", nil, "Authorization", "Bearer "+token)
			a.WantError(401, "Unauthorized: Invalid or expired token")
			a.WantHeader("WWW-Authenticate", "Bearer")
			g.on(t, "").Send("GET", "/audit-logs", nil, "Cookie", "Bearer="+token).WantError(401, "Unauthorized: Invalid or expired token")
		})
	}
	for _, header := range []string{"", "Basic cm9vdDpyb290", "Bearer", "Bearer "} {
		g.as("").Send("GET", "/devices", nil, "Authorization", header).WantError(401, "Unauthorized: No security token provided")
	}
	c := g.as("viewer")
	g.clock.forward(24*time.Hour + time.Minute)
	c.Send("GET", "/devices", nil).WantError(401, "Unauthorized: Invalid or expired token")
}
