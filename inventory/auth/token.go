package auth

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// MinKeyBytes is the minimum length of a signing key (RFC 7518, section 3.2).
	MinKeyBytes = 32
	// MaxKeys is the maximum number of keys.
	MaxKeys = 8
	// DefaultLifetime is the default lifetime of a token.
	DefaultLifetime = 24 * time.Hour
	// MaxLifetime is the maximum lifetime of a token.
	MaxLifetime = 365 * 24 * time.Hour
	// MaxTokenLength is the maximum length of a token in bytes. Longer tokens are neither issued
	// nor verified. Browsers limit a cookie to 4096 bytes.
	MaxTokenLength = 3072

	// DefaultIssuer and DefaultAudience are the default claims iss and aud.
	DefaultIssuer   = "ashlar-inventory"
	DefaultAudience = "ashlar-inventory"

	// NoLeeway is the TokensOptions.Leeway for synchronized clocks.
	NoLeeway = time.Duration(math.MinInt64)

	maxLeeway = 5 * time.Minute
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
	parser           *jwt.Parser
	lifetime, leeway time.Duration
	issuer, audience string
	now              func() time.Time
}

// keyRing is the keys in use. The first one signs.
type keyRing struct {
	keys      [][]byte
	verifying jwt.VerificationKeySet
}

// SetKeys replaces the keys, in the order of NewTokens. It may be called while tokens are issued and
// verified. The error names the invalid key; the previous keys then stay in use.
func (t *Tokens) SetKeys(keys [][]byte) error {
	if err := checkKeys(keys); err != nil {
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
// [KeySet]. A key is at least
// MinKeyBytes random bytes. Keys are copied. The error names the invalid key or option.
func NewTokens(keys [][]byte, opts *TokensOptions) (*Tokens, error) {
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
		return nil, fmt.Errorf("auth: invalid token lifetime %v: use whole seconds from 1s to %v", t.lifetime, MaxLifetime)
	}
	if opts.Leeway > maxLeeway {
		return nil, fmt.Errorf("auth: invalid leeway %v: use at most %v", opts.Leeway, maxLeeway)
	}
	t.parser = t.newParser()
	if err := t.SetKeys(keys); err != nil {
		return nil, err
	}
	return t, nil
}

// checkKeys checks number and lengths of the keys. Errors never contain a key.
func checkKeys(keys [][]byte) error {
	if len(keys) < 1 || len(keys) > MaxKeys {
		return fmt.Errorf("auth: %d token keys: use 1 to %d", len(keys), MaxKeys)
	}
	for i, key := range keys {
		if len(key) < MinKeyBytes {
			return fmt.Errorf("auth: token key %d of %d has %d bytes: use at least %d random bytes",
				i+1, len(keys), len(key), MinKeyBytes)
		}
	}
	return nil
}

// Issue returns a signed token for an authenticated identity, and its claims. The token is valid from
// now on. Issue fails for an identity without user id or role or with a negative epoch, and for a
// token longer than MaxTokenLength.
func (t *Tokens) Issue(who Identity) (token string, c *Claims, err error) {
	if reason := who.fault(); reason != "" {
		return "", nil, fmt.Errorf("auth: token for user %.40q: %s", who.UserID, reason)
	}
	from := t.now().UTC().Truncate(time.Second)
	c = &Claims{Identity: who, ID: rand.Text(), IssuedAt: from, NotBefore: from, ExpiresAt: from.Add(t.lifetime)}
	token, err = jwt.NewWithClaims(jwt.SigningMethodHS256, t.wire(c)).SignedString(t.keys.Load().keys[0])
	if err != nil {
		return "", nil, fmt.Errorf("auth: token for user %.40q: %w", who.UserID, err)
	}
	if len(token) > MaxTokenLength {
		return "", nil, fmt.Errorf("auth: token for user %.40q has %d bytes, at most %d are allowed: shorten the user name",
			who.UserID, len(token), MaxTokenLength)
	}
	return token, c, nil
}

// Identity identifies a user in a token.
type Identity struct {
	UserID   string // claims uid and sub; not empty
	Username string // claim user
	Role     Role   // claim role; one of Roles
	// Epoch is the epoch of the account at the time of issue: claim epoch. It increases with every
	// event that ends the user's tokens, such as a logout or a new password; see Guard.
	Epoch int64
}

// fault returns what is invalid in i, or "".
func (i *Identity) fault() string {
	switch {
	case i.UserID == "":
		return "no user id"
	case !i.Role.Valid():
		return "the role is not admin, editor or viewer"
	case i.Epoch < 0:
		return "the epoch is negative"
	}
	return ""
}

// Claims are the claims of a verified token. Issuer and audience are those of the Tokens that
// verified it. Times are in UTC and whole seconds.
type Claims struct {
	Identity
	ID                             string // claim jti, 130 random bits
	IssuedAt, NotBefore, ExpiresAt time.Time
}

// wire is the payload of a token.
type wire struct {
	UserID   string `json:"uid"`
	Username string `json:"user"`
	Role     Role   `json:"role"`
	Epoch    int64  `json:"epoch"`
	jwt.RegisteredClaims
}

// wire returns the payload for c.
func (t *Tokens) wire(c *Claims) *wire {
	return &wire{
		UserID: c.UserID, Username: c.Username, Role: c.Role, Epoch: c.Epoch,
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: t.issuer, Subject: c.UserID, Audience: jwt.ClaimStrings{t.audience}, ID: c.ID,
			IssuedAt:  jwt.NewNumericDate(c.IssuedAt),
			NotBefore: jwt.NewNumericDate(c.NotBefore),
			ExpiresAt: jwt.NewNumericDate(c.ExpiresAt),
		},
	}
}

// claims returns the claims of a valid payload.
func (w *wire) claims() *Claims {
	return &Claims{
		Identity: w.identity(), ID: w.ID,
		IssuedAt: w.IssuedAt.UTC(), NotBefore: w.NotBefore.UTC(), ExpiresAt: w.ExpiresAt.UTC(),
	}
}

func (w *wire) identity() Identity {
	return Identity{UserID: w.UserID, Username: w.Username, Role: w.Role, Epoch: w.Epoch}
}

// Validate is called by the parser for claims with a valid signature.
func (w *wire) Validate() error {
	id := w.identity()
	switch reason := id.fault(); {
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
func (t *Tokens) newParser() *jwt.Parser {
	return jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
		jwt.WithStrictDecoding(),
		jwt.WithExpirationRequired(),
		jwt.WithNotBeforeRequired(),
		jwt.WithIssuedAt(),
		jwt.WithIssuer(t.issuer),
		jwt.WithAudience(t.audience),
		jwt.WithLeeway(t.leeway),
		jwt.WithTimeFunc(t.now),
	)
}

// Verify returns the claims of a token that one of the keys signed, for this issuer and audience and
// the present time. Otherwise the error has the kind TokenMissing (for ""), TokenMalformed,
// TokenForged, TokenExpired, TokenEarly or TokenElsewhere. A [Guard] also checks the account.
func (t *Tokens) Verify(token string) (*Claims, error) {
	if token == "" {
		return nil, &Error{Kind: TokenMissing, Message: messageNoToken}
	}
	if len(token) > MaxTokenLength {
		return nil, badToken(TokenMalformed, "longer than %d bytes", MaxTokenLength)
	}
	w := &wire{}
	if _, err := t.parser.ParseWithClaims(token, w, t.keysFor); err != nil {
		return nil, tokenError(err)
	}
	return w.claims(), nil
}

// opens returns when Verify starts to accept a token with these claims.
func (t *Tokens) opens(c *Claims) time.Time {
	from := c.NotBefore
	if c.IssuedAt.After(from) {
		from = c.IssuedAt
	}
	return from.Add(-t.leeway)
}

// keysFor ignores headers that name a key, such as kid, jwk, jku and x5u. Critical headers are not
// supported (RFC 7515, section 4.1.11).
func (t *Tokens) keysFor(token *jwt.Token) (any, error) {
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
		kind   Kind
		reason string
	}{
		{jwt.ErrTokenMalformed, TokenMalformed, "not a JWT in compact form"},
		{jwt.ErrTokenUnverifiable, TokenForged, "not signed with HS256, or with unsupported headers"},
		{jwt.ErrTokenSignatureInvalid, TokenForged, "not signed with HS256 and a known key"},
		{jwt.ErrTokenInvalidIssuer, TokenElsewhere, "from another issuer"},
		{jwt.ErrTokenInvalidAudience, TokenElsewhere, "for another audience"},
		{jwt.ErrTokenExpired, TokenExpired, "expired"},
		{jwt.ErrTokenNotValidYet, TokenEarly, "not valid yet"},
		{jwt.ErrTokenUsedBeforeIssued, TokenEarly, "issued in the future"},
	} {
		if errors.Is(err, row.cause) {
			return badToken(row.kind, "%s", row.reason)
		}
	}
	return badToken(TokenMalformed, "a claim is missing or invalid")
}

func badToken(kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Message: messageBadToken, Reason: fmt.Sprintf(format, args...)}
}

const (
	// CookieName is the name of the cookie with the token (REFERENCE.md, 3.1).
	CookieName = "Bearer"
	// CookieLifetime is the lifetime of the cookie, independent of that of the token.
	CookieLifetime = 24 * time.Hour
)

// SetCookie adds a cookie with the token to the response: for all paths, HttpOnly, Secure,
// SameSite=Strict, for CookieLifetime. Call it before the header is written.
func SetCookie(w http.ResponseWriter, token string) {
	http.SetCookie(w, cookie(token, int(CookieLifetime/time.Second)))
}

// ClearCookie deletes the cookie in the browser. Its attributes must be those of SetCookie.
func ClearCookie(w http.ResponseWriter) {
	c := cookie("", -1)         // #nosec G124 -- cookie sets the attributes
	c.Expires = time.Unix(0, 0) // for clients without Max-Age
	http.SetCookie(w, c)
}

func cookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: CookieName, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode,
	}
}

// FromRequest returns the token of a request: that of the header Authorization with the scheme
// Bearer, in any case, or else that of the cookie. It does not verify the token.
//
// The error has the kind TokenMissing without a token, and TokenMalformed for more than one
// Authorization header, because proxies differ in which one they use.
func FromRequest(r *http.Request) (string, error) {
	values := r.Header["Authorization"]
	if len(values) > 1 {
		return "", badToken(TokenMalformed, "more than one Authorization header")
	}
	if len(values) == 1 {
		if token := bearer(values[0]); token != "" {
			return token, nil
		}
	}
	if c, err := r.Cookie(CookieName); err == nil && c.Value != "" {
		return c.Value, nil
	}
	return "", &Error{Kind: TokenMissing, Message: messageNoToken}
}

// bearer returns what follows the scheme Bearer, or "". The scheme is case-insensitive and several
// spaces may follow (RFC 9110, sections 11.1 and 11.6.2).
func bearer(value string) string {
	scheme, token, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.Trim(token, " ")
}
