package jwt

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/ashlar-go/ashlar/internal/expiring"
	"github.com/ashlar-go/ashlar/inventory/auth"
)

// NoCache is the GuardOptions.Remember that reads the account for each request.
const NoCache = time.Duration(math.MinInt64)

// GuardOptions configures a Guard. Nil means the defaults.
type GuardOptions struct {
	// Remember is the time for which the state of an account is cached. It bounds how long a token stays
	// valid after a change in another process. NoCache disables the cache. Default: 5 seconds.
	Remember time.Duration
	// Users is the maximum number of cached accounts with their sessions, and of cached verified tokens: about 500
	// bytes for each user. Default: 10,000.
	Users int
	// Cookie is the cookie that may contain the token. Default: that of auth.
	Cookie auth.Cookie
	// Now returns the time for the cache. Default: time.Now.
	Now func() time.Time
}

// Guard authenticates requests: the token must be valid and the account active. Create it with
// NewGuard. It is safe for concurrent use.
type Guard struct {
	tokens   *Tokens
	verified *expiring.Cache[[sha256.Size]byte, verifiedToken]
	accounts auth.Accounts
	states   *expiring.Cache[account, auth.AccountState]
	remember time.Duration // of states
	cookie   auth.Cookie
	now      func() time.Time // for states
}

// NewGuard returns a Guard that checks tokens against accounts. It fails if one of the two is nil or
// opts.Users is negative.
func NewGuard(tokens *Tokens, accounts auth.Accounts, opts *GuardOptions) (*Guard, error) {
	if tokens == nil || accounts == nil {
		return nil, errors.New("jwt: NewGuard needs tokens and accounts")
	}
	opts = cmp.Or(opts, &GuardOptions{})
	if opts.Users < 0 {
		return nil, fmt.Errorf("jwt: invalid GuardOptions.Users %d: use at least 1, or 0 for the default", opts.Users)
	}
	now := opts.Now
	if now == nil {
		now = time.Now
	}
	users := cmp.Or(opts.Users, 10_000)
	return &Guard{
		tokens: tokens, verified: expiring.New[[sha256.Size]byte, verifiedToken](users),
		accounts: accounts, states: expiring.New[account, auth.AccountState](users),
		remember: cmp.Or(opts.Remember, 5*time.Second), cookie: opts.Cookie, now: now,
	}, nil
}

// Authenticate combines auth.Cookie.FromRequest, Tokens.Verify and Check. The error has one of their kinds.
// The identity has the locations of its account.
func (g *Guard) Authenticate(r *http.Request) (*auth.Identity, error) {
	token, err := g.cookie.FromRequest(r)
	if err != nil {
		return nil, err
	}
	c, err := g.verify(token)
	if err != nil {
		return nil, err
	}
	state, err := g.check(r.Context(), &c.Identity)
	if err != nil {
		return nil, err
	}
	c.Locations, c.MustChangePassword = state.Limit(&c.Identity), state.MustChangePassword
	return &c.Identity, nil
}

// Check applies [auth.AccountState.Check] to the account of an identity. An error without a kind is
// a failure of Accounts; then access is denied.
func (g *Guard) Check(ctx context.Context, who *auth.Identity) error {
	_, err := g.check(ctx, who)
	return err
}

// check is Check, and returns the state of the account.
func (g *Guard) check(ctx context.Context, who *auth.Identity) (auth.AccountState, error) {
	s, err := g.state(ctx, who.UserID, who.Session)
	if err != nil {
		return s, fmt.Errorf("jwt: read the account of user %.40q: %w", who.UserID, err)
	}
	return s, s.Check(who)
}

// Cookie returns GuardOptions.Cookie.
func (g *Guard) Cookie() auth.Cookie { return g.cookie }

// Forget removes a user from the cache. Call it after a change of the account is committed, so that
// the change takes effect at once in this process.
func (g *Guard) Forget(userID string) {
	g.states.Forget(func(of account, _ auth.AccountState) bool { return of.userID == userID })
}

// account identifies a cached state.
type account struct{ userID, session string }

// state returns the cached or current state of a user and a session.
func (g *Guard) state(ctx context.Context, userID, session string) (auth.AccountState, error) {
	of, now := account{userID, session}, g.now()
	s, ok, age := g.states.Get(of, now)
	if ok {
		return s, nil
	}
	s, err := g.accounts.AccountState(ctx, userID, session)
	if err == nil {
		g.states.Put(of, s, now, now.Add(g.remember), age)
	}
	return s, err
}

// verifiedToken holds the claims of a token that was verified with some keys.
type verifiedToken struct {
	claims Claims
	keys   *keyRing
}

// verify is Tokens.Verify with a cache of verified tokens by their SHA-256: most requests repeat a recent
// token, and hashing costs a tenth of verifying. New keys make all tokens be verified again.
func (g *Guard) verify(token string) (*Claims, error) {
	if len(token) > maxTokenLength {
		return g.tokens.Verify(token) // returns an error
	}
	sum, now, keys := sha256.Sum256([]byte(token)), g.tokens.now(), g.tokens.keys.Load()
	known, ok, age := g.verified.Get(sum, now)
	if ok && known.keys == keys {
		return &known.claims, nil
	}
	found, err := g.tokens.Verify(token)
	if err == nil {
		g.verified.Put(sum, verifiedToken{*found, keys}, now, found.ExpiresAt.Add(g.tokens.leeway), age)
	}
	return found, err
}
