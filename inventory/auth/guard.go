package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// AccountState is what an account is worth now, whatever its tokens say.
type AccountState struct {
	Active bool // false for an account that is inactive or not there
	Role   Role
	// Epoch is a number that goes up with everything that ends the tokens of before: a
	// logout, a new password.
	Epoch int64
}

// Accounts knows the accounts. An inventory's user store is one.
type Accounts interface {
	// AccountState returns the standing of the user with that id: the zero AccountState and no
	// error if there is no such user. An error is a failure of the store.
	AccountState(ctx context.Context, userID string) (AccountState, error)
}

// GuardOptions are the choices of a Guard. The zero value, like nil, is fit for use.
type GuardOptions struct {
	// Remember is how long a standing is believed before Accounts is asked
	// again. It bounds how long a token outlives what another process did to its
	// user. Below zero Accounts is asked each time. Default: 5 seconds.
	Remember time.Duration
	// Users is how many standings are remembered at most, and as many tokens that
	// were verified: some 500 bytes for each user. Default: 10,000.
	Users int
	// Now is the clock that standings age by. Default: time.Now.
	Now func() time.Time
}

// Guard lets requests in: those with a token that is valid and whose user still
// stands. Make one with NewGuard and share it: any number of goroutines may use it,
// and there is nothing to close.
type Guard struct {
	tokens   *verified
	accounts Accounts
	known    *standings
}

// NewGuard returns a Guard that believes tokens as far as accounts confirms them.
// opts may be nil. It fails if one of the two is missing, or opts.Users is negative.
func NewGuard(tokens *Tokens, accounts Accounts, opts *GuardOptions) (*Guard, error) {
	if tokens == nil || accounts == nil {
		return nil, errors.New("auth: a guard needs tokens and accounts")
	}
	if opts == nil {
		opts = &GuardOptions{}
	}
	if opts.Users < 0 {
		return nil, fmt.Errorf("auth: a guard for %d users: want at least 1, or 0 for the default", opts.Users)
	}
	now := opts.Now
	if now == nil {
		now = time.Now
	}
	users := cmp.Or(opts.Users, 10_000)
	return &Guard{
		tokens:   &verified{tokens: tokens, seen: newBounded[[sha256.Size]byte, Claims](users)},
		accounts: accounts,
		known: &standings{
			ttl: cmp.Or(opts.Remember, 5*time.Second), now: now,
			byUser: newBounded[string, AccountState](users),
		},
	}, nil
}

// Authenticate returns what the token of r says: FromRequest, Tokens.Verify and Check
// in one. The error has one of their kinds.
func (g *Guard) Authenticate(r *http.Request) (*Claims, error) {
	token, err := FromRequest(r)
	if err != nil {
		return nil, err
	}
	c, err := g.tokens.verify(token)
	if err != nil {
		return nil, err
	}
	if err := g.Check(r.Context(), c); err != nil {
		return nil, err
	}
	return c, nil
}

// Check returns an error of the kind TokenRevoked if the user of c is inactive or
// gone, has another epoch than c, or a lower role; reference, ruling 11. An
// error of no kind is a failure of Accounts: then nobody is let in.
func (g *Guard) Check(ctx context.Context, c *Claims) error {
	s, err := g.standing(ctx, c.UserID)
	switch {
	case err != nil:
		return fmt.Errorf("auth: standing of user %.40q: %w", c.UserID, err)
	case !s.Active:
		return badToken(TokenRevoked, "the user is inactive or gone")
	case s.Epoch != c.Epoch:
		return badToken(TokenRevoked, "the user has logged out or has a new password")
	case s.Role.rank() < c.Role.rank():
		return badToken(TokenRevoked, "the user has a lower role")
	}
	return nil
}

// Forget makes the next Check of that user ask Accounts. Call it after each change of a
// user's standing is committed: then it counts at once in this process.
func (g *Guard) Forget(userID string) { g.known.forget(userID) }

// standing is what is remembered, or else known, of a user.
func (g *Guard) standing(ctx context.Context, userID string) (AccountState, error) {
	s, ok, q := g.known.get(userID)
	if ok {
		return s, nil
	}
	s, err := g.accounts.AccountState(ctx, userID)
	if err == nil {
		g.known.put(userID, s, q)
	}
	return s, err
}
