package jwt_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
)

// TestKeySetRotation checks that tokens of the old and the new key are valid in all processes during a
// rotation, wherever they were issued, and that the old key is dropped after its last token.
func TestKeySetRotation(t *testing.T) {
	t.Parallel()
	c := newClock()
	set, err := auth.NewKeySet(nil)
	require.NoError(t, err)
	processes := []*jwt.Tokens{newTokens(t, c, set.At(c.now)...), newTokens(t, c, set.At(c.now)...)}
	reload := func(p *jwt.Tokens) {
		again, err := auth.ParseKeySet(set.Encode())
		require.NoError(t, err)
		require.NoError(t, p.SetKeys(again.At(c.now)))
	}
	accepted := func(token string) {
		t.Helper()
		for _, p := range processes {
			_, err := p.Verify(token)
			assert.NoError(t, err)
		}
	}
	issue := func(p *jwt.Tokens) string {
		token, _, err := p.Issue(user())
		require.NoError(t, err)
		accepted(token)
		return token
	}
	first := issue(processes[0])
	from, until, err := set.Rotate(c.now, jwt.DefaultLifetime)
	require.NoError(t, err)
	assert.Equal(t, auth.KeyDelay, from.Sub(c.now))
	_, _, err = set.Rotate(c.now, jwt.DefaultLifetime)
	assert.ErrorContains(t, err, "in progress")
	reload(processes[0]) // the other one has not read it yet
	issue(processes[0])
	c.advance(auth.KeyDelay - time.Second)
	last := issue(processes[0])
	reload(processes[1])
	c.advance(time.Second)
	reload(processes[0])
	issue(processes[0])
	issue(processes[1])
	accepted(first)
	reload(processes[1])
	issue(processes[1])

	c.advance(jwt.DefaultLifetime - 2*time.Second)
	reload(processes[0])
	accepted(last)
	c.now = until
	assert.Len(t, set.At(c.now), 1)

	second := issue(processes[0])
	set.Revoke()
	reload(processes[0])
	_, err = processes[0].Verify(second)
	requireKind(t, auth.TokenForged, err)
}

// TestManyRotations checks that the set stays bounded, and prints no key.
func TestManyRotations(t *testing.T) {
	t.Parallel()
	c := newClock()
	set, err := auth.NewKeySet(key('k'))
	require.NoError(t, err)
	for range 5 {
		_, _, err = set.Rotate(c.now, 24*time.Hour)
		require.NoError(t, err)
		c.advance(time.Minute)
	}
	_, _, err = set.Rotate(c.now, 24*time.Hour)
	errtest.Want(t, err, "6 2026-03-02T12:05:30Z")
	assert.LessOrEqual(t, len(set.Encode()), 900)
	assert.Equal(t, "6 signing keys 6 signing keys", fmt.Sprintf("%v %#v", set, set))
	_, err = auth.ParseKeySet([]byte(`{"keys":[{"key":"c2hvcnQ="}]}`))
	assert.ErrorContains(t, err, "5 bytes")
	_, err = auth.ParseKeySet([]byte(`{"keys":[{"key":"secret-secret"}]}`))
	require.ErrorContains(t, err, "damaged")
	assert.NotContains(t, err.Error(), "secret-secret")
}

// TestNewKeysDropTokens checks that a Guard does not accept a cached token of a key that is gone.
func TestNewKeysDropTokens(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t, newClock(), key('a'))
	guard := newGuard(t, tokens, newAccounts(), nil)
	token, _, err := tokens.Issue(user())
	require.NoError(t, err)
	r := request(token)
	for range 2 {
		_, err = guard.Authenticate(r)
		require.NoError(t, err)
	}
	require.Error(t, tokens.SetKeys(nil))
	require.NoError(t, tokens.SetKeys([][]byte{key('b')}))
	_, err = guard.Authenticate(r)
	requireKind(t, auth.TokenForged, err)
}
