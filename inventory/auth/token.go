package auth

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// MinKeyBytes is the shortest key that signs tokens; reference, ruling 10, and
	// RFC 7518, 3.2.
	MinKeyBytes = 32
	// MaxKeys is how many keys there may be.
	MaxKeys = 8
	// DefaultLifetime is that of a token unless told otherwise; specification,
	// Authentication 3.
	DefaultLifetime = 24 * time.Hour
	// MaxLifetime is the longest that can be asked for.
	MaxLifetime = 365 * 24 * time.Hour
	// MaxTokenLength is the longest token, in bytes. Nothing longer is issued, and
	// nothing longer is looked at. Browsers keep a cookie up to 4096, all in all.
	MaxTokenLength = 3072

	// DefaultIssuer and DefaultAudience are the claims iss and aud unless told otherwise.
	DefaultIssuer   = "ashlar-inventory"
	DefaultAudience = "ashlar-inventory"

	maxLeeway = 5 * time.Minute
)

// TokensOptions are the choices of Tokens. The zero value, like nil, is fit for use.
type TokensOptions struct {
	// Lifetime is how long a token is good for, in whole seconds, from one second
	// to MaxLifetime. Default: DefaultLifetime.
	Lifetime time.Duration
	// Leeway is how far the clocks of those who issue and verify may be apart. At
	// most 5 minutes; below zero is none. Default: 5 seconds.
	Leeway time.Duration
	// Issuer and Audience are the claims iss and aud: written into each token and
	// wanted from each. Who shares keys between services tells them apart by
	// these. Default: DefaultIssuer, DefaultAudience.
	Issuer, Audience string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Tokens issues and verifies tokens: JWTs that are signed with HS256. Make it
// with NewTokens and share it: any number of goroutines may use it, and there is
// nothing to close.
type Tokens struct {
	keys             [][]byte
	verifying        jwt.VerificationKeySet
	parser           *jwt.Parser
	lifetime, leeway time.Duration
	issuer, audience string
	now              func() time.Time
}

// NewTokens returns Tokens with these keys. The first signs, all verify: to change
// keys put the new one in front, and take the old one away when the last token it
// signed has expired. A key is at least MinKeyBytes random bytes. They are copied.
//
// It fails if a key is too short, there is none or more than MaxKeys, or an option is
// out of its bounds, and says which. opts may be nil.
func NewTokens(keys [][]byte, opts *TokensOptions) (*Tokens, error) {
	if err := checkKeys(keys); err != nil {
		return nil, err
	}
	if opts == nil {
		opts = &TokensOptions{}
	}
	t := &Tokens{
		lifetime: cmp.Or(opts.Lifetime, DefaultLifetime),
		leeway:   max(cmp.Or(opts.Leeway, 5*time.Second), 0),
		issuer:   cmp.Or(opts.Issuer, DefaultIssuer),
		audience: cmp.Or(opts.Audience, DefaultAudience),
		now:      opts.Now,
	}
	if t.now == nil {
		t.now = time.Now
	}
	if t.lifetime < time.Second || t.lifetime > MaxLifetime || t.lifetime%time.Second != 0 {
		return nil, fmt.Errorf("auth: token lifetime of %v: want whole seconds from 1s to %v", t.lifetime, MaxLifetime)
	}
	if opts.Leeway > maxLeeway {
		return nil, fmt.Errorf("auth: leeway of %v: want at most %v", opts.Leeway, maxLeeway)
	}
	for _, key := range keys {
		key = bytes.Clone(key)
		t.keys = append(t.keys, key)
		t.verifying.Keys = append(t.verifying.Keys, key)
	}
	t.parser = t.newParser()
	return t, nil
}

// checkKeys looks at numbers and lengths; what is in a key is told to nobody.
func checkKeys(keys [][]byte) error {
	if len(keys) < 1 || len(keys) > MaxKeys {
		return fmt.Errorf("auth: %d keys for tokens: want 1 to %d", len(keys), MaxKeys)
	}
	for i, key := range keys {
		if len(key) < MinKeyBytes {
			return fmt.Errorf("auth: key %d of %d for tokens has %d bytes: want at least %d random bytes",
				i+1, len(keys), len(key), MinKeyBytes)
		}
	}
	return nil
}

// Issue returns a signed token for somebody who has proven to be who, and the
// claims in it. The token is good from now on, in whole seconds, for the lifetime. It fails
// if who has no user id, no role or a negative epoch, or if the token would be longer than MaxTokenLength.
func (t *Tokens) Issue(who Identity) (token string, c *Claims, err error) {
	if reason := who.fault(); reason != "" {
		return "", nil, fmt.Errorf("auth: token for user %.40q: %s", who.UserID, reason)
	}
	from := t.now().UTC().Truncate(time.Second)
	c = &Claims{Identity: who, ID: rand.Text(), IssuedAt: from, NotBefore: from, ExpiresAt: from.Add(t.lifetime)}
	token, err = jwt.NewWithClaims(jwt.SigningMethodHS256, t.wire(c)).SignedString(t.keys[0])
	if err != nil {
		return "", nil, fmt.Errorf("auth: token for user %.40q: %w", who.UserID, err)
	}
	if len(token) > MaxTokenLength {
		return "", nil, fmt.Errorf("auth: token for user %.40q has %d bytes: want at most %d; is the name too long?",
			who.UserID, len(token), MaxTokenLength)
	}
	return token, c, nil
}
