package jwt_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
)

// accounts is an auth.Accounts that counts its calls.
type accounts struct {
	mu    sync.Mutex
	users map[string]auth.AccountState
	err   error
	calls int
	ask   func() // called after the state was read, before it is returned
}

func (a *accounts) AccountState(_ context.Context, userID, _ string) (auth.AccountState, error) {
	a.mu.Lock()
	a.calls++
	s, err, ask := a.users[userID], a.err, a.ask
	a.mu.Unlock()
	if ask != nil {
		ask()
	}
	return s, err
}

func (a *accounts) set(userID string, s auth.AccountState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.users[userID] = s
}

// activeEditor is the state of the account of user().
func activeEditor() auth.AccountState {
	return auth.AccountState{Active: true, Role: auth.Editor, Epoch: 3}
}

func newAccounts() *accounts {
	return &accounts{users: map[string]auth.AccountState{user().UserID: activeEditor()}}
}

func newGuard(t testing.TB, tokens *jwt.Tokens, a auth.Accounts, opts *jwt.GuardOptions) *jwt.Guard {
	t.Helper()
	g, err := jwt.NewGuard(tokens, a, opts)
	require.NoError(t, err)
	return g
}

func request(token string) *http.Request {
	r := httptest.NewRequest("GET", "/devices", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t, newClock())
	token, _, err := tokens.Issue(user())
	require.NoError(t, err)
	g := newGuard(t, tokens, newAccounts(), nil)

	c, err := g.Authenticate(request(token))
	require.NoError(t, err)
	assert.Equal(t, user(), *c)

	_, err = g.Authenticate(httptest.NewRequest("GET", "/", http.NoBody))
	requireKind(t, auth.TokenMissing, err)
	_, err = g.Authenticate(request("a.b.c"))
	requireKind(t, auth.TokenMalformed, err)
	_, err = g.Authenticate(request(sign(key('x'), goodHeader, goodPayload)))
	requireKind(t, auth.TokenForged, err)
}

func TestState(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		now    auth.AccountState
		reason string
	}{
		"unchanged":       {activeEditor(), ""},
		"promoted":        {auth.AccountState{Active: true, Role: auth.Admin, Epoch: 3}, ""},
		"inactive":        {auth.AccountState{Active: false, Role: auth.Editor, Epoch: 3}, "inactive or deleted"},
		"deleted":         {auth.AccountState{}, "inactive or deleted"},
		"logged out":      {auth.AccountState{Active: true, Role: auth.Editor, Epoch: 4}, "logged out"},
		"database of old": {auth.AccountState{Active: true, Role: auth.Editor, Epoch: 2}, "logged out"},
		"demoted":         {auth.AccountState{Active: true, Role: auth.Viewer, Epoch: 3}, "lower role"},
		"session ended":   {auth.AccountState{Active: true, Role: auth.Editor, Epoch: 3, Ended: true}, "session has ended"},
		"no role":         {auth.AccountState{Active: true, Role: "user", Epoch: 3}, "lower role"},
	} {
		a := newAccounts()
		a.set(user().UserID, row.now)
		g := newGuard(t, newTokens(t, newClock()), a, nil)
		err := g.Check(t.Context(), new(user()))
		if row.reason == "" {
			assert.NoError(t, err, name)
			continue
		}
		e := requireKind(t, auth.TokenRevoked, err)
		assert.Contains(t, e.Reason, row.reason, name)
		assert.Equal(t, "Unauthorized: Invalid or expired token", e.Message)
		assert.True(t, e.Kind.Unauthorized())
	}
}

func TestFailingAccountsRefuse(t *testing.T) {
	t.Parallel()
	a := newAccounts()
	a.err = errors.New("connection refused")
	g := newGuard(t, newTokens(t, newClock()), a, nil)
	c := new(user())
	for range 2 { // a failure is not remembered
		err := g.Check(t.Context(), c)
		require.ErrorIs(t, err, a.err)
		assert.Zero(t, auth.KindOf(err), "a failure of the store is no fault of the client")
	}
	assert.Equal(t, 2, a.calls)
	a.err = nil
	assert.NoError(t, g.Check(t.Context(), c))
}

func TestStatesAreRemembered(t *testing.T) {
	t.Parallel()
	clock, a := newClock(), newAccounts()
	g := newGuard(t, newTokens(t, clock), a, &jwt.GuardOptions{Remember: time.Minute, Now: clock.Now})
	c := new(user())
	check := func() error { return g.Check(t.Context(), c) }

	require.NoError(t, check())
	a.set(c.UserID, auth.AccountState{}) // by another process
	clock.advance(time.Minute - 1)
	require.NoError(t, check())
	assert.Equal(t, 1, a.calls)
	clock.advance(1)
	requireKind(t, auth.TokenRevoked, check())
	assert.Equal(t, 2, a.calls)

	a.set(c.UserID, activeEditor()) // by this one
	g.Forget(c.UserID)
	require.NoError(t, check())
	g.Forget("another user")
	require.NoError(t, check())
	assert.Equal(t, 3, a.calls)
}

func TestNothingRemembered(t *testing.T) {
	t.Parallel()
	a := newAccounts()
	g := newGuard(t, newTokens(t, newClock()), a, &jwt.GuardOptions{Remember: jwt.NoCache})
	for range 3 {
		require.NoError(t, g.Check(t.Context(), new(user())))
	}
	assert.Equal(t, 3, a.calls)
	n, _ := jwt.Remembered(g)
	assert.Zero(t, n)
}

// A state that was read before a change and arrives after Forget must not be cached.
func TestForgetDuringRead(t *testing.T) {
	t.Parallel()
	a := newAccounts()
	g := newGuard(t, newTokens(t, newClock()), a, &jwt.GuardOptions{Remember: time.Hour})
	c := new(user())
	a.ask = func() {
		a.set(c.UserID, auth.AccountState{})
		g.Forget(c.UserID)
	}
	require.NoError(t, g.Check(t.Context(), c), "the state was read before the change")
	a.ask = nil
	requireKind(t, auth.TokenRevoked, g.Check(t.Context(), c))
}

func TestRememberedIsBounded(t *testing.T) {
	t.Parallel()
	a := newAccounts()
	clock := newClock()
	tokens := newTokens(t, clock)
	g := newGuard(t, tokens, a, &jwt.GuardOptions{Users: 10, Now: clock.Now})
	for i := range 1000 {
		who := auth.Identity{UserID: fmt.Sprint(i), Role: auth.Viewer}
		a.set(who.UserID, auth.AccountState{Active: true, Role: auth.Viewer})
		token, _, err := tokens.Issue(who)
		require.NoError(t, err)
		for range 2 {
			c, err := g.Authenticate(request(token))
			require.NoError(t, err)
			require.Equal(t, who, *c)
		}
		states, verified := jwt.Remembered(g)
		require.LessOrEqual(t, states, 10)
		require.LessOrEqual(t, verified, 10)
		clock.advance(time.Duration(i%3) * time.Second)
	}
	assert.Equal(t, 1000, a.calls, "a state was evicted while in use")
}

// The signature of a cached token is not verified again, but its times are.
func TestSeenTokensExpire(t *testing.T) {
	t.Parallel()
	clock := newClock()
	for _, leeway := range []time.Duration{-1, time.Minute} {
		tokens, err := jwt.NewTokens([][]byte{key('k')}, &jwt.TokensOptions{Lifetime: time.Hour, Leeway: leeway, Now: clock.Now})
		require.NoError(t, err)
		g := newGuard(t, tokens, newAccounts(), nil)
		token, expires, err := tokens.Issue(user())
		require.NoError(t, err)
		start, slack := clock.now, max(leeway, 0)
		for _, row := range []struct {
			at   time.Time
			want auth.Kind
		}{
			{start, 0},
			{start.Add(-slack), 0},
			{start.Add(-slack - 1), auth.TokenEarly}, // the clock was set back
			{expires.Add(slack - 1), 0},
			{expires.Add(slack), auth.TokenExpired},
			{start, 0},
		} {
			clock.now = row.at
			_, err := g.Authenticate(request(token))
			assert.Equal(t, row.want, auth.KindOf(err), "%v: %v", row.at, err)
			_, err = tokens.Verify(token)
			assert.Equal(t, row.want, auth.KindOf(err), "the guard and Tokens differ at %v", row.at)
		}
	}
}

// Callers may modify the identity they receive.
func TestIdentitiesAreCopies(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t, newClock())
	g := newGuard(t, tokens, newAccounts(), nil)
	token, _, err := tokens.Issue(user())
	require.NoError(t, err)
	for range 3 {
		c, err := g.Authenticate(request(token))
		require.NoError(t, err)
		require.Equal(t, user(), *c)
		c.Role = auth.Admin
	}
}

// Refused tokens are never cached as valid.
func TestForgedTokensStayForged(t *testing.T) {
	t.Parallel()
	g := newGuard(t, newTokens(t, newClock()), newAccounts(), nil)
	for range 3 {
		_, err := g.Authenticate(request(sign(key('x'), goodHeader, goodPayload)))
		requireKind(t, auth.TokenForged, err)
		_, err = g.Authenticate(request(strings.Repeat("x", 10<<20)))
		requireKind(t, auth.TokenMalformed, err)
	}
	_, verified := jwt.Remembered(g)
	assert.Zero(t, verified)
}

func TestNewGuardRefuses(t *testing.T) {
	t.Parallel()
	g, err := jwt.NewGuard(newTokens(t, newClock()), newAccounts(), &jwt.GuardOptions{Users: -1})
	assert.Nil(t, g)
	assert.ErrorContains(t, err, "Users -1")
	_, err = jwt.NewGuard(nil, newAccounts(), nil)
	assert.ErrorContains(t, err, "needs tokens and accounts")
	_, err = jwt.NewGuard(newTokens(t, newClock()), nil, nil)
	assert.ErrorContains(t, err, "needs tokens and accounts")
}

// Calls that begin after Forget has returned see the new state.
func TestManyRequests(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t, newClock())
	a := newAccounts()
	g := newGuard(t, tokens, a, &jwt.GuardOptions{Remember: time.Hour, Users: 4})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			who := auth.Identity{UserID: fmt.Sprint(i), Role: auth.Viewer}
			token, _, err := tokens.Issue(who)
			assert.NoError(t, err)
			for range 50 {
				for _, active := range []bool{true, false} {
					a.set(who.UserID, auth.AccountState{Active: active, Role: auth.Viewer})
					g.Forget(who.UserID)
					_, err := g.Authenticate(request(token))
					assert.Equal(t, active, err == nil, "%v", err)
				}
			}
		})
	}
	all.Wait()
}
