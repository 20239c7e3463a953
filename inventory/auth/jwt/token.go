package jwt

import (
	"bytes"
	"cmp"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	gojwt "github.com/golang-jwt/jwt/v5"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

const (
	// DefaultLifetime is the default lifetime of a token.
	DefaultLifetime = 24 * time.Hour
	// MaxLifetime is the maximum lifetime of a token.
	MaxLifetime = 365 * 24 * time.Hour
	// maxTokenLength is the maximum length of a token in bytes. Longer tokens are neither issued
	// nor verified. Browsers limit a cookie to 4096 bytes.
	maxTokenLength = 3072

	// DefaultIssuer is the default claim iss.
	DefaultIssuer = "ashlar-inventory"
	// DefaultAudience is the default claim aud.
	DefaultAudience = "ashlar-inventory"

	// NoLeeway is the TokensOptions.Leeway for synchronized clocks.
	NoLeeway = time.Duration(math.MinInt64)
)

// TokensOptions configures Tokens. Nil means the defaults.
type TokensOptions struct {
	// Lifetime of a token in whole seconds, from one second to MaxLifetime. Default:
	// DefaultLifetime.
	Lifetime time.Duration
	// Leeway is the accepted clock difference between issuer and verifier, at most 5 minutes;
	// NoLeeway means none. Default: 5 seconds.
	Leeway time.Duration
	// Issuer and Audience are the claims iss and aud, set in each token and required from each.
	// They separate services that share keys. Default: DefaultIssuer, DefaultAudience.
	Issuer, Audience string
	// Now returns the time. Default: time.Now.
	Now func() time.Time
}

// Tokens issues and verifies JWTs signed with HS256. Create it with NewTokens. It is safe for
// concurrent use.
type Tokens struct {
	keys             atomic.Pointer[keyRing]
	parser           *gojwt.Parser
	lifetime, leeway time.Duration
	issuer, audience string
	now              func() time.Time
}

// keyRing is the keys in use. The first one signs.
type keyRing struct {
	keys      [][]byte
	verifying gojwt.VerificationKeySet
}

// SetKeys replaces the keys, in the order of NewTokens. It may be called while tokens are issued and
// verified. The error names the invalid key; the previous keys then stay in use.
func (t *Tokens) SetKeys(keys [][]byte) error {
	if err := auth.CheckKeys(keys); err != nil {
		return err
	}
	if ring := t.keys.Load(); ring != nil && slices.EqualFunc(ring.keys, keys, bytes.Equal) {
		return nil
	}
	ring := &keyRing{}
	for _, key := range keys {
		key = bytes.Clone(key)
		ring.keys = append(ring.keys, key)
		ring.verifying.Keys = append(ring.verifying.Keys, key)
	}
	t.keys.Store(ring)
	return nil
}

// NewTokens returns Tokens with these keys. The first signs, all verify: to rotate keys, put the new
// one in front and remove the old one after the last token it signed has expired, or use a
// [auth.KeySet]. A key is at least
// auth.MinKeyBytes random bytes. Keys are copied. The error names the invalid key or option.
func NewTokens(keys [][]byte, opts *TokensOptions) (*Tokens, error) {
	opts = cmp.Or(opts, &TokensOptions{})
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
		return nil, fmt.Errorf("jwt: invalid token lifetime %v: use whole seconds from 1s to %v", t.lifetime, MaxLifetime)
	}
	if opts.Leeway > auth.MaxLeeway {
		return nil, fmt.Errorf("jwt: invalid leeway %v: use at most %v", opts.Leeway, auth.MaxLeeway)
	}
	t.parser = t.newParser()
	if err := t.SetKeys(keys); err != nil {
		return nil, err
	}
	return t, nil
}

// Lifetime returns the lifetime of tokens.
func (t *Tokens) Lifetime() time.Duration { return t.lifetime }

// Issue returns a signed token for an authenticated identity, and when it expires. The token is
// valid from now on. It has no method, no scopes and no locations. Issue fails for an identity without user id or
// role or with a negative epoch, and for a token longer than maxTokenLength.
func (t *Tokens) Issue(who auth.Identity) (token string, expires time.Time, err error) {
	if reason := fault(&who); reason != "" {
		return "", time.Time{}, fmt.Errorf("jwt: token for user %.40q: %s", who.UserID, reason)
	}
	from := t.now().UTC().Truncate(time.Second)
	expires = from.Add(t.lifetime)
	token, err = gojwt.NewWithClaims(gojwt.SigningMethodHS256, &wire{
		UserID: who.UserID, Username: who.Username, Role: who.Role, Epoch: who.Epoch, Session: who.Session,
		RegisteredClaims: gojwt.RegisteredClaims{
			Issuer: t.issuer, Subject: who.UserID, Audience: gojwt.ClaimStrings{t.audience}, ID: rand.Text(),
			IssuedAt: gojwt.NewNumericDate(from), NotBefore: gojwt.NewNumericDate(from), ExpiresAt: gojwt.NewNumericDate(expires),
		},
	}).SignedString(t.keys.Load().keys[0])
	if err != nil {
		return "", time.Time{}, fmt.Errorf("jwt: token for user %.40q: %w", who.UserID, err)
	}
	if len(token) > maxTokenLength {
		return "", time.Time{}, fmt.Errorf("jwt: token for user %.40q has %d bytes, at most %d are allowed: shorten the user name",
			who.UserID, len(token), maxTokenLength)
	}
	return token, expires, nil
}

// fault returns what is invalid in i, or "".
func fault(i *auth.Identity) string {
	switch {
	case i.UserID == "":
		return "no user id"
	case i.Role == "":
		return "no role"
	case i.Epoch < 0:
		return "the epoch is negative"
	}
	return ""
}

// Claims are the claims of a verified token: uid and sub for the user id, user, role, epoch, sid.
// Issuer and audience are those of the Tokens that verified it. Times are in UTC and whole seconds.
type Claims struct {
	auth.Identity
	ID                             string // claim jti, 130 random bits
	IssuedAt, NotBefore, ExpiresAt time.Time
}

// wire is the payload of a token.
type wire struct {
	UserID   string    `json:"uid"`
	Username string    `json:"user"`
	Role     auth.Role `json:"role"`
	Epoch    int64     `json:"epoch"`
	Session  string    `json:"sid,omitempty"`
	gojwt.RegisteredClaims
}

func (w *wire) identity() auth.Identity {
	return auth.Identity{UserID: w.UserID, Username: w.Username, Role: w.Role, Epoch: w.Epoch, Session: w.Session}
}

// Validate is called by the parser for claims with a valid signature.
func (w *wire) Validate() error {
	id := w.identity()
	switch reason := fault(&id); {
	case reason != "":
		return errors.New(reason)
	case w.Subject != w.UserID:
		return errors.New("sub is not uid")
	case w.ID == "":
		return errors.New("no jti")
	case w.IssuedAt == nil:
		return errors.New("no iat")
	}
	return nil
}

// newParser returns a parser with the checks of RFC 8725 for a service that trusts only its own
// tokens.
func (t *Tokens) newParser() *gojwt.Parser {
	return gojwt.NewParser(
		gojwt.WithValidMethods([]string{gojwt.SigningMethodHS256.Alg()}),
		gojwt.WithStrictDecoding(),
		gojwt.WithExpirationRequired(),
		gojwt.WithNotBeforeRequired(),
		gojwt.WithIssuedAt(),
		gojwt.WithIssuer(t.issuer),
		gojwt.WithAudience(t.audience),
		gojwt.WithLeeway(t.leeway),
		gojwt.WithTimeFunc(t.now),
	)
}

// Verify returns the claims of a token that one of the keys signed, for this issuer and audience
// and the present time. Otherwise the error has the kind auth.TokenMissing (for ""),
// auth.TokenMalformed, auth.TokenForged, auth.TokenExpired, auth.TokenEarly or auth.TokenElsewhere.
// A [Guard] also checks the account.
func (t *Tokens) Verify(token string) (*Claims, error) {
	if token == "" {
		return nil, auth.Unauthorized(auth.TokenMissing, "")
	}
	if len(token) > maxTokenLength {
		return nil, badToken(auth.TokenMalformed, "longer than %d bytes", maxTokenLength)
	}
	if strings.ContainsAny(token, "\r\n") {
		return nil, badToken(auth.TokenMalformed, "contains a line break") // package base64 skips line breaks
	}
	w := &wire{}
	if _, err := t.parser.ParseWithClaims(token, w, t.keysFor); err != nil {
		return nil, tokenError(err)
	}
	return &Claims{
		Identity: w.identity(), ID: w.ID,
		IssuedAt: w.IssuedAt.UTC(), NotBefore: w.NotBefore.UTC(), ExpiresAt: w.ExpiresAt.UTC(),
	}, nil
}

// keysFor ignores headers that name a key, such as kid, jwk, jku and x5u. Critical headers are not
// supported (RFC 7515, section 4.1.11).
func (t *Tokens) keysFor(token *gojwt.Token) (any, error) {
	if _, ok := token.Header["crit"]; ok {
		return nil, errors.New("critical header")
	}
	if typ, ok := token.Header["typ"]; !ok || typ != "JWT" {
		return nil, errors.New("typ is not JWT")
	}
	return t.keys.Load().verifying, nil
}

// tokenError converts an error of the parser. The order matters: claims are reported only for tokens
// with a valid signature, and a foreign issuer before an expired time.
func tokenError(err error) error {
	for _, row := range []struct {
		cause  error
		kind   auth.Kind
		reason string
	}{
		{gojwt.ErrTokenMalformed, auth.TokenMalformed, "not a JWT in compact form"},
		{gojwt.ErrTokenUnverifiable, auth.TokenForged, "not signed with HS256, or with unsupported headers"},
		{gojwt.ErrTokenSignatureInvalid, auth.TokenForged, "not signed with HS256 and a known key"},
		{gojwt.ErrTokenInvalidIssuer, auth.TokenElsewhere, "from another issuer"},
		{gojwt.ErrTokenInvalidAudience, auth.TokenElsewhere, "for another audience"},
		{gojwt.ErrTokenExpired, auth.TokenExpired, "expired"},
		{gojwt.ErrTokenNotValidYet, auth.TokenEarly, "not valid yet"},
		{gojwt.ErrTokenUsedBeforeIssued, auth.TokenEarly, "issued in the future"},
	} {
		if errors.Is(err, row.cause) {
			return badToken(row.kind, "%s", row.reason)
		}
	}
	return badToken(auth.TokenMalformed, "a claim is missing or invalid")
}

func badToken(kind auth.Kind, format string, args ...any) error {
	return auth.Unauthorized(kind, fmt.Sprintf(format, args...))
}

// derivedBytes is the length of a derived key.
const derivedBytes = 32

// Derive returns a key of 32 bytes for each key in use, in the order of SetKeys (HKDF with SHA-256, RFC
// 5869). Processes with the same keys derive the same ones. They reveal nothing of the keys, nor of those
// for another purpose.
func (t *Tokens) Derive(purpose string) [][]byte {
	ring := t.keys.Load()
	derived := make([][]byte, len(ring.keys))
	for i, key := range ring.keys {
		var err error
		if derived[i], err = hkdf.Key(sha256.New, key, nil, purpose, derivedBytes); err != nil {
			panic(err) // unreachable: the length is valid
		}
	}
	return derived
}
