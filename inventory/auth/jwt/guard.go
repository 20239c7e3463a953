package jwt

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"sync"
	"time"

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
	tokens   *verified
	accounts auth.Accounts
	states   *accountStates
	cookie   auth.Cookie
}

// NewGuard returns a Guard that checks tokens against accounts. It fails if one of the two is nil or
// opts.Users is negative.
func NewGuard(tokens *Tokens, accounts auth.Accounts, opts *GuardOptions) (*Guard, error) {
	if tokens == nil || accounts == nil {
		return nil, errors.New("jwt: NewGuard needs tokens and accounts")
	}
	if opts == nil {
		opts = &GuardOptions{}
	}
	if opts.Users < 0 {
		return nil, fmt.Errorf("jwt: invalid GuardOptions.Users %d: use at least 1, or 0 for the default", opts.Users)
	}
	now := opts.Now
	if now == nil {
		now = time.Now
	}
	users := cmp.Or(opts.Users, 10_000)
	return &Guard{
		tokens:   &verified{tokens: tokens, seen: newBounded[[sha256.Size]byte, verifiedToken](users)},
		accounts: accounts, cookie: opts.Cookie,
		states: &accountStates{
			ttl: cmp.Or(opts.Remember, 5*time.Second), now: now,
			cached: newBounded[account, auth.AccountState](users),
		},
	}, nil
}

// Authenticate combines auth.Cookie.FromRequest, Tokens.Verify and Check. The error has one of their kinds.
// The identity has the locations of its account.
func (g *Guard) Authenticate(r *http.Request) (*auth.Identity, error) {
	token, err := g.cookie.FromRequest(r)
	if err != nil {
		return nil, err
	}
	c, err := g.tokens.verify(token)
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
func (g *Guard) Forget(userID string) { g.states.forget(userID) }

// account identifies a cached state.
type account struct{ userID, session string }

// state returns the cached or current state of a user and a session.
func (g *Guard) state(ctx context.Context, userID, session string) (auth.AccountState, error) {
	s, ok, l := g.states.get(account{userID, session})
	if ok {
		return s, nil
	}
	s, err := g.accounts.AccountState(ctx, userID, session)
	if err == nil {
		g.states.put(account{userID, session}, s, l)
	}
	return s, err
}

// accountStates caches the states of accounts.
type accountStates struct {
	ttl time.Duration
	now func() time.Time

	mu     sync.RWMutex
	cached bounded[account, auth.AccountState]
	age    uint64 // increases with each forget
}

// lookup identifies the begin of a read from Accounts.
type lookup struct {
	at  time.Time
	age uint64
}

// get returns the cached state of a user, and the argument for put.
func (s *accountStates) get(of account) (st auth.AccountState, ok bool, l lookup) {
	now := s.now()
	s.mu.RLock()
	defer s.mu.RUnlock()
	st, ok = s.cached.get(of, now)
	return st, ok, lookup{now, s.age}
}

// put caches the result of a lookup. After a forget since the lookup began, the result may be from
// before the change, so it is not cached.
func (s *accountStates) put(of account, st auth.AccountState, l lookup) {
	if s.ttl <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.age == l.age {
		s.cached.put(of, expiring[auth.AccountState]{st, l.at, l.at.Add(s.ttl)}, l.at)
	}
}

func (s *accountStates) forget(userID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.cached.entries, func(of account, _ expiring[auth.AccountState]) bool { return of.userID == userID })
	s.age++
}

// verified caches verified tokens by their SHA-256, because most requests repeat a recent token and
// hashing costs a tenth of verifying. Validity times are checked each time, and new keys make all
// tokens be verified again.
type verified struct {
	tokens *Tokens
	mu     sync.RWMutex
	seen   bounded[[sha256.Size]byte, verifiedToken]
}

// verifiedToken is the claims of a token that was verified with these keys.
type verifiedToken struct {
	claims Claims
	keys   *keyRing
}

// verify is Tokens.Verify with a cache.
func (v *verified) verify(token string) (*Claims, error) {
	if len(token) > MaxTokenLength {
		return v.tokens.Verify(token) // returns an error
	}
	sum, now, keys := sha256.Sum256([]byte(token)), v.tokens.now(), v.tokens.keys.Load()
	v.mu.RLock()
	c, ok := v.seen.get(sum, now)
	v.mu.RUnlock()
	if ok && c.keys == keys {
		return &c.claims, nil
	}
	found, err := v.tokens.Verify(token)
	if err != nil {
		return nil, err
	}
	l := expiring[verifiedToken]{verifiedToken{*found, keys}, v.tokens.opens(found), found.ExpiresAt.Add(v.tokens.leeway)}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen.put(sum, l, now)
	return found, nil
}

// bounded is a map with a maximum number of entries that expire. The caller locks it.
type bounded[K comparable, V any] struct {
	limit   int
	entries map[K]expiring[V]
}

// expiring is a value that is valid from one time until before another.
type expiring[V any] struct {
	value       V
	from, until time.Time
}

func (l *expiring[V]) valid(now time.Time) bool { return !now.Before(l.from) && now.Before(l.until) }

func newBounded[K comparable, V any](limit int) bounded[K, V] {
	return bounded[K, V]{limit: limit, entries: map[K]expiring[V]{}}
}

// get returns the value of key if it is valid.
func (b *bounded[K, V]) get(key K, now time.Time) (V, bool) {
	l, ok := b.entries[key]
	return l.value, ok && l.valid(now)
}

// put stores the value of key and removes others if there are too many.
func (b *bounded[K, V]) put(key K, l expiring[V], now time.Time) {
	if _, ok := b.entries[key]; !ok && len(b.entries) >= b.limit {
		b.makeRoom(now)
	}
	b.entries[key] = l
}

// makeRoom examines 8 entries and removes the first and all expired ones. Examining all would delay
// one caller in many.
func (b *bounded[K, V]) makeRoom(now time.Time) {
	examined := 0
	for key, l := range b.entries {
		if examined == 0 || !l.valid(now) {
			delete(b.entries, key)
		}
		if examined++; examined == 8 {
			return
		}
	}
}
