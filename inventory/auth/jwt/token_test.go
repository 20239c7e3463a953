package jwt_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
)

func TestNewTokensRefuses(t *testing.T) {
	t.Parallel()
	good := [][]byte{key('k')}
	for _, row := range []struct {
		keys [][]byte
		opts jwt.TokensOptions
		want string
	}{
		{nil, jwt.TokensOptions{}, "0 token keys: use 1 to 8"},
		{slices.Repeat(good, 9), jwt.TokensOptions{}, "9 token keys"},
		{[][]byte{[]byte("hunter2")}, jwt.TokensOptions{}, "key 1 of 1 has 7 bytes"},
		{[][]byte{key('k'), key('l')[:31]}, jwt.TokensOptions{}, "key 2 of 2"},
		{[][]byte{nil}, jwt.TokensOptions{}, "has 0 bytes"},
		{good, jwt.TokensOptions{Lifetime: -time.Hour}, "lifetime -1h0m0s"},
		{good, jwt.TokensOptions{Lifetime: time.Millisecond}, "lifetime 1ms"},
		{good, jwt.TokensOptions{Lifetime: 1500 * time.Millisecond}, "lifetime 1.5s: use whole seconds"},
		{good, jwt.TokensOptions{Lifetime: 366 * 24 * time.Hour}, "lifetime 8784h"},
		{good, jwt.TokensOptions{Leeway: time.Hour}, "leeway 1h0m0s: use at most 5m0s"},
	} {
		tokens, err := jwt.NewTokens(row.keys, &row.opts)
		assert.Nil(t, tokens)
		require.ErrorContains(t, err, row.want)
		assert.NotContains(t, err.Error(), "hunter2")
	}
}

func TestIssueAndVerify(t *testing.T) {
	t.Parallel()
	c := newClock()
	c.advance(123 * time.Millisecond)
	tokens := newTokens(t, c)
	token, expires, err := tokens.Issue(user())
	require.NoError(t, err)

	got, err := tokens.Verify(token)
	require.NoError(t, err)
	assert.Equal(t, user(), got.Identity)
	from := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	assert.Equal(t, from, got.IssuedAt)
	assert.Equal(t, from, got.NotBefore)
	assert.Equal(t, from.Add(24*time.Hour), got.ExpiresAt)
	assert.Equal(t, expires, got.ExpiresAt)
	assert.Len(t, got.ID, 26)

	token, _, err = tokens.Issue(user())
	require.NoError(t, err)
	second, err := tokens.Verify(token)
	require.NoError(t, err)
	assert.NotEqual(t, got.ID, second.ID)
}

// Other programs read the claims of a token, so their names are part of the API.
func TestPayload(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t, newClock())
	token, _, err := tokens.Issue(user())
	require.NoError(t, err)
	issued, err := tokens.Verify(token)
	require.NoError(t, err)
	parts := strings.Split(token, ".")
	require.Len(t, parts, 3)
	header, err := base64.RawURLEncoding.DecodeString(parts[0])
	require.NoError(t, err)
	assert.JSONEq(t, `{"alg":"HS256","typ":"JWT"}`, string(header))
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	assert.JSONEq(t, fmt.Sprintf(`{"uid":"0197-42","user":"grace","role":"editor","epoch":3,
		"iss":"ashlar-inventory","aud":["ashlar-inventory"],"sub":"0197-42",
		"iat":1772366400,"nbf":1772366400,"exp":1772452800,"jti":%q}`, issued.ID), string(payload))
}

func TestIssueRefuses(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t, newClock())
	for want, who := range map[string]auth.Identity{
		"no user id":          {Role: auth.Viewer},
		"epoch is negative":   {UserID: "1", Role: auth.Viewer, Epoch: -1},
		"at most 3072":        {UserID: "1", Role: auth.Viewer, Username: strings.Repeat("x", 3000)},
		"user \"1\": no role": {UserID: "1"},
	} {
		token, _, err := tokens.Issue(who)
		assert.Empty(t, token)
		assert.ErrorContains(t, err, want)
	}
}

func TestLifetime(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		leeway time.Duration
		after  time.Duration
		want   auth.Kind
	}{
		{-1, 0, 0},
		{-1, time.Hour - time.Second, 0},
		{-1, time.Hour, auth.TokenExpired},
		{-1, -time.Second, auth.TokenEarly},
		{0, time.Hour + 4*time.Second, 0},
		{0, time.Hour + 5*time.Second, auth.TokenExpired},
		{0, -5 * time.Second, 0},
		{0, -6 * time.Second, auth.TokenEarly},
		{time.Minute, time.Hour + 59*time.Second, 0},
		{time.Minute, 1000 * time.Hour, auth.TokenExpired},
	} {
		c := newClock()
		tokens, err := jwt.NewTokens([][]byte{key('k')}, &jwt.TokensOptions{Lifetime: time.Hour, Leeway: row.leeway, Now: c.Now})
		require.NoError(t, err)
		token, _, err := tokens.Issue(user())
		require.NoError(t, err)
		c.advance(row.after)
		_, err = tokens.Verify(token)
		assert.Equal(t, row.want, auth.KindOf(err), "%v after, with leeway %v: %v", row.after, row.leeway, err)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	c := newClock()
	before, during, after := newTokens(t, c, key('a')), newTokens(t, c, key('b'), key('a')), newTokens(t, c, key('b'))
	old, _, err := before.Issue(user())
	require.NoError(t, err)
	young, _, err := during.Issue(user())
	require.NoError(t, err)

	for _, row := range []struct {
		tokens *jwt.Tokens
		token  string
		want   auth.Kind
	}{
		{before, old, 0},
		{during, old, 0},
		{after, old, auth.TokenForged},
		{before, young, auth.TokenForged}, // the first key signs
		{during, young, 0},
		{after, young, 0},
	} {
		_, err := row.tokens.Verify(row.token)
		assert.Equal(t, row.want, auth.KindOf(err))
	}
}

func TestKeysAreCopied(t *testing.T) {
	t.Parallel()
	k := key('k')
	tokens := newTokens(t, newClock(), k)
	token, _, err := tokens.Issue(user())
	require.NoError(t, err)
	copy(k, bytes.Repeat([]byte{0}, len(k)))
	_, err = tokens.Verify(token)
	assert.NoError(t, err)
}

func TestOtherIssuersAndAudiences(t *testing.T) {
	t.Parallel()
	c := newClock()
	tokens := newTokens(t, c)
	for _, opts := range []jwt.TokensOptions{{Issuer: "other"}, {Audience: "other"}, {Issuer: "other", Lifetime: time.Second}} {
		opts.Now = c.Now
		other, err := jwt.NewTokens([][]byte{key('k')}, &opts)
		require.NoError(t, err)
		token, _, err := other.Issue(user())
		require.NoError(t, err)
		_, err = other.Verify(token)
		require.NoError(t, err)
		c.advance(time.Minute)
		_, err = tokens.Verify(token)
		requireKind(t, auth.TokenElsewhere, err)
	}
}

const (
	goodHeader  = `{"alg":"HS256","typ":"JWT"}`
	goodPayload = `{"uid":"7","user":"eve","role":"admin","epoch":0,"iss":"ashlar-inventory","aud":"ashlar-inventory",` +
		`"sub":"7","iat":1772366400,"nbf":1772366400,"exp":1772452800,"jti":"x"}`
)

func TestTokensMadeByHand(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t, newClock(), key('k'), key('l'))
	// without removes a claim, with sets one.
	with := func(name string, value any) string {
		var claims map[string]any
		require.NoError(t, json.Unmarshal([]byte(goodPayload), &claims))
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
		text, err := json.Marshal(claims)
		require.NoError(t, err)
		return string(text)
	}
	type row struct {
		header, payload string
		want            auth.Kind
	}
	rows := map[string]row{
		"good":                {goodHeader, goodPayload, 0},
		"unknown claim":       {goodHeader, with("extra", "x"), 0},
		"several audiences":   {goodHeader, with("aud", []string{"other", "ashlar-inventory"}), 0},
		"kid":                 {`{"alg":"HS256","typ":"JWT","kid":"../../dev/null"}`, goodPayload, 0}, // not looked at
		"jwk":                 {`{"alg":"HS256","typ":"JWT","jwk":{"kty":"oct","k":"AA"}}`, goodPayload, 0},
		"none":                {`{"alg":"none","typ":"JWT"}`, goodPayload, auth.TokenForged},
		"None":                {`{"alg":"None","typ":"JWT"}`, goodPayload, auth.TokenForged},
		"HS384":               {`{"alg":"HS384","typ":"JWT"}`, goodPayload, auth.TokenForged},
		"RS256":               {`{"alg":"RS256","typ":"JWT"}`, goodPayload, auth.TokenForged},
		"no alg":              {`{"typ":"JWT"}`, goodPayload, auth.TokenForged},
		"alg is a number":     {`{"alg":256,"typ":"JWT"}`, goodPayload, auth.TokenForged},
		"crit":                {`{"alg":"HS256","typ":"JWT","crit":["b64"],"b64":false}`, goodPayload, auth.TokenForged},
		"no typ":              {`{"alg":"HS256"}`, goodPayload, auth.TokenForged},
		"other typ":           {`{"alg":"HS256","typ":"secevent+jwt"}`, goodPayload, auth.TokenForged},
		"header is null":      {`null`, goodPayload, auth.TokenForged},
		"header is no JSON":   {`alg`, goodPayload, auth.TokenMalformed},
		"payload is null":     {goodHeader, `null`, auth.TokenMalformed},
		"payload is an array": {goodHeader, `[]`, auth.TokenMalformed},
		"payload is no JSON":  {goodHeader, `uid`, auth.TokenMalformed},
		"empty payload":       {goodHeader, `{}`, auth.TokenMalformed},

		"empty role":      {goodHeader, with("role", ""), auth.TokenMalformed},
		"negative epoch":  {goodHeader, with("epoch", -1), auth.TokenMalformed},
		"fraction epoch":  {goodHeader, with("epoch", 1.5), auth.TokenMalformed},
		"sub of another":  {goodHeader, with("sub", "8"), auth.TokenMalformed},
		"uid is a number": {goodHeader, with("uid", 7), auth.TokenMalformed},
		"other audience":  {goodHeader, with("aud", "other"), auth.TokenElsewhere},
		"other issuer":    {goodHeader, with("iss", "other"), auth.TokenElsewhere},
		"expired":         {goodHeader, with("exp", 1772366399), auth.TokenExpired},
		"not yet":         {goodHeader, with("nbf", 1772366401), auth.TokenEarly},
		"issued later":    {goodHeader, with("iat", 1772366401), auth.TokenEarly},
	}
	for _, name := range []string{"uid", "role", "sub", "jti", "iss", "aud", "exp", "nbf", "iat"} {
		rows["no "+name] = row{goodHeader, with(name, nil), auth.TokenMalformed}
	}
	for name, r := range rows {
		for _, k := range [][]byte{key('k'), key('l')} {
			token := sign(k, r.header, r.payload)
			c, err := tokens.Verify(token)
			if r.want == 0 {
				require.NoError(t, err, name)
				assert.Equal(t, "eve", c.Username, name)
				continue
			}
			assert.Nil(t, c, name)
			require.Equal(t, r.want, auth.KindOf(err), "%s: %v", name, err)
			e := requireKind(t, r.want, err)
			assert.Equal(t, "Unauthorized: Invalid or expired token", e.Message)
			assert.NotContains(t, err.Error(), token)
			assert.NotContains(t, err.Error(), "eve")
		}
	}
}

func TestBrokenTokens(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t, newClock())
	good := sign(key('k'), goodHeader, goodPayload)
	parts := strings.Split(good, ".")
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + parts[1] + "."
	for token, want := range map[string]auth.Kind{
		good: 0,
		"":   auth.TokenMissing,

		"x":                         auth.TokenMalformed,
		"..":                        auth.TokenMalformed,
		strings.Repeat(".", 3000):   auth.TokenMalformed,
		strings.Repeat("x", 10<<20): auth.TokenMalformed,
		good + ".x":                 auth.TokenMalformed,
		parts[0] + "." + parts[1]:   auth.TokenMalformed,
		" " + good:                  auth.TokenMalformed,
		good + "=":                  auth.TokenMalformed,
		good + "\n":                 auth.TokenMalformed,
		parts[0] + "\n." + parts[1] + "." + parts[2]: auth.TokenMalformed,
		parts[0] + "." + parts[1] + ".\r" + parts[2]: auth.TokenMalformed,

		unsigned:                                        auth.TokenForged,
		parts[0] + "." + parts[1] + ".":                 auth.TokenForged,
		sign(key('x'), goodHeader, goodPayload):         auth.TokenForged,
		sign(nil, goodHeader, goodPayload):              auth.TokenForged,
		parts[0] + "." + parts[1] + "." + parts[2][:40]: auth.TokenForged,
		strings.Replace(good, parts[1], base64.RawURLEncoding.EncodeToString([]byte(`{"role":"admin"}`)), 1): auth.TokenForged,
		// Forged and expired: only the invalid signature is reported.
		sign(key('x'), goodHeader, strings.Replace(goodPayload, "1772452800", "1", 1)): auth.TokenForged,
	} {
		_, err := tokens.Verify(token)
		assert.Equal(t, want, auth.KindOf(err), "%.60q: %v", token, err)
		if want != 0 {
			assert.True(t, auth.KindOf(err).Unauthorized())
		}
	}
}

// A token with a changed bit is refused.
func TestTamperedTokens(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t, newClock())
	good := sign(key('k'), goodHeader, goodPayload)
	for i := range good {
		for bit := range 7 {
			b := []byte(good)
			b[i] ^= 1 << bit
			_, err := tokens.Verify(string(b))
			require.True(t, auth.KindOf(err).Unauthorized(), "bit %d of byte %d: %v", bit, i, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	tokens := newTokens(f, newClock())
	good := sign(key('k'), goodHeader, goodPayload)
	f.Add(good)
	f.Add(good + "\n")
	f.Add("a.b.c")
	f.Add(sign(key('x'), goodHeader, goodPayload))
	f.Fuzz(func(t *testing.T, token string) {
		c, err := tokens.Verify(token)
		if err != nil {
			require.True(t, auth.KindOf(err).Unauthorized(), "%v", err)
			require.Nil(t, c)
			return
		}
		require.Equal(t, good, token, "forged")
	})
}

// A signed token is accepted only with valid claims.
func FuzzSigned(f *testing.F) {
	clock := newClock()
	tokens := newTokens(f, clock)
	f.Add(goodHeader, goodPayload)
	f.Add(goodHeader, strings.Replace(goodPayload, `"admin"`, `"other"`, 1))
	f.Add(goodHeader, `{"exp":1e300,"nbf":-1e300,"iat":0.5}`)
	f.Add(`{"alg":"HS256","typ":"JWT","crit":null}`, `null`)
	f.Fuzz(func(t *testing.T, header, payload string) {
		c, err := tokens.Verify(sign(key('k'), header, payload))
		if err != nil {
			require.True(t, auth.KindOf(err).Unauthorized(), "%v", err)
			return
		}
		require.NotEmpty(t, c.Role) // also a role that only the embedding program has
		require.NotEmpty(t, c.UserID)
		require.NotEmpty(t, c.ID)
		require.True(t, clock.now.Before(c.ExpiresAt))
		require.False(t, clock.now.Before(c.NotBefore))
	})
}
