package auth

import (
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// newParser returns what checks a token: RFC 8725's advice for a service that
// trusts its own tokens only.
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

// Verify returns what token says if one of the keys signed it, it is for this issuer
// and audience, and its time has come and is not up. Else the error has the kind
// TokenMissing (for ""), TokenMalformed, TokenForged, TokenExpired, TokenEarly or
// TokenElsewhere. That the user is still there and may still do the same,
// only a Guard knows.
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

// opens is when Verify begins to take a token with those claims.
func (t *Tokens) opens(c *Claims) time.Time {
	from := c.NotBefore
	if c.IssuedAt.After(from) {
		from = c.IssuedAt
	}
	return from.Add(-t.leeway)
}

// keysFor lets no header choose the key: kid, jwk, jku, x5u and the like are not
// looked at. What a token declares critical is not known here (RFC 7515, 4.1.11).
func (t *Tokens) keysFor(token *jwt.Token) (any, error) {
	if _, ok := token.Header["crit"]; ok {
		return nil, errors.New("critical header")
	}
	if typ, ok := token.Header["typ"]; !ok || typ != "JWT" {
		return nil, errors.New("typ is not JWT")
	}
	return t.verifying, nil
}

// tokenError is the parser's error as one of ours. The order matters: what is
// wrong with the claims is said only of a token that is genuine, and of an
// expired one from elsewhere that it is from elsewhere.
func tokenError(err error) error {
	for _, row := range []struct {
		cause  error
		kind   Kind
		reason string
	}{
		{jwt.ErrTokenMalformed, TokenMalformed, "not a JWT in compact form"},
		{jwt.ErrTokenUnverifiable, TokenForged, "not signed with HS256, or with headers that are not understood"},
		{jwt.ErrTokenSignatureInvalid, TokenForged, "not signed with HS256 and one of our keys"},
		{jwt.ErrTokenInvalidIssuer, TokenElsewhere, "from another issuer"},
		{jwt.ErrTokenInvalidAudience, TokenElsewhere, "for another audience"},
		{jwt.ErrTokenExpired, TokenExpired, "its time is up"},
		{jwt.ErrTokenNotValidYet, TokenEarly, "its time has not come"},
		{jwt.ErrTokenUsedBeforeIssued, TokenEarly, "issued in the future"},
	} {
		if errors.Is(err, row.cause) {
			return badToken(row.kind, "%s", row.reason)
		}
	}
	return badToken(TokenMalformed, "a claim is missing or wrong")
}

func badToken(kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Message: messageBadToken, Reason: fmt.Sprintf(format, args...)}
}
