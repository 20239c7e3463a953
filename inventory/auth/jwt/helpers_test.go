package jwt_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// key returns a key of 32 bytes b.
func key(b byte) []byte { return []byte(strings.Repeat(string(rune(b)), 32)) }

// clock is a clock that tests set.
type clock struct{ now time.Time }

func newClock() *clock                   { return &clock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }
func (c *clock) Now() time.Time          { return c.now }
func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }

func newTokens(t testing.TB, c *clock, keys ...[]byte) *jwt.Tokens {
	t.Helper()
	if len(keys) == 0 {
		keys = [][]byte{key('k')}
	}
	tokens, err := jwt.NewTokens(keys, &jwt.TokensOptions{Leeway: jwt.NoLeeway, Now: c.Now})
	require.NoError(t, err)
	return tokens
}

func user() auth.Identity {
	return auth.Identity{UserID: "0197-42", Username: "grace", Role: auth.Editor, Epoch: 3}
}

// sign signs a token without the library that the package uses.
func sign(key []byte, header, payload string) string {
	enc := base64.RawURLEncoding.EncodeToString
	text := enc([]byte(header)) + "." + enc([]byte(payload))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return text + "." + enc(mac.Sum(nil))
}

// requireKind requires that err is an *auth.Error of that kind.
func requireKind(t testing.TB, want auth.Kind, err error) *auth.Error {
	t.Helper()
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, want, e.Kind, "%v", err)
	require.Equal(t, want, auth.KindOf(err))
	return e
}
