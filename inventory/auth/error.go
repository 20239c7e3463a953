package auth

import (
	"cmp"
	"errors"
)

// Kind classifies errors. Transports map it to status codes; the comments name those of HTTP.
type Kind uint8

const (
	// WeakPassword reports a new password that violates a rule: 400.
	WeakPassword Kind = iota + 1
	// ResetInvalid reports a reset code that is unknown, used, expired, malformed or for another
	// account: 404.
	ResetInvalid

	// TokenMissing reports a request without a token: 401.
	TokenMissing
	// TokenMalformed reports a malformed token: 401.
	TokenMalformed
	// TokenForged reports a token without a valid signature: 401.
	TokenForged
	// TokenExpired reports an expired token: 401.
	TokenExpired
	// TokenEarly reports a token that is not valid yet: 401.
	TokenEarly
	// TokenElsewhere reports a token with another audience or issuer: 401.
	TokenElsewhere
	// TokenRevoked reports a token whose user was deactivated, deleted, demoted or logged out, or
	// changed the password: 401.
	TokenRevoked

	// Forbidden reports an authenticated user without permission: 403.
	Forbidden

	// Busy reports too many concurrent logins; a retry may succeed: 503.
	Busy
	// BadHash reports an invalid stored hash: 500. The database was modified by other programs.
	BadHash

	// LoginRefused reports a login through an identity provider that failed: 401.
	LoginRefused
	// ProviderUnavailable reports an identity provider that does not respond: 503.
	ProviderUnavailable
)

// Unauthorized reports whether k is about a request without a valid token.
func (k Kind) Unauthorized() bool { return k >= TokenMissing && k <= TokenRevoked }

// The messages (REFERENCE.md, 3.1). All invalid tokens have the same one: the failed check would help
// attackers.
const (
	messageNoToken     = "Unauthorized: No security token provided"
	messageBadToken    = "Unauthorized: Invalid or expired token"
	messageForbidden   = "Forbidden: You do not have permission to perform this action"
	messageChangeFirst = "Change your password first: PUT /users/{id}/password"
	messageBadReset    = "Invalid or expired reset code"
	messageBusy        = "Too many logins at once: try again later"
	messageInternal    = "Internal Server Error"
)

// Error is an error of this package other than an invalid setting or the end of a context. Message and
// reason never contain passwords, hashes, tokens or keys.
type Error struct {
	Kind    Kind
	Message string // for the client
	Reason  string // details for logs, also safe to show; may be empty
}

// Error returns message and reason.
func (e *Error) Error() string {
	if e.Reason == "" {
		return e.Message
	}
	return e.Message + ": " + e.Reason
}

// Unauthorized returns the error of a kind for which [Kind.Unauthorized] holds, with the message for
// clients. The reason, for logs, must be safe to show; it may be empty.
func Unauthorized(kind Kind, reason string) *Error {
	if kind == TokenMissing {
		return &Error{Kind: kind, Message: messageNoToken, Reason: reason}
	}
	return &Error{Kind: kind, Message: messageBadToken, Reason: reason}
}

// KindOf returns the kind of the first *Error in the tree of err, or 0.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}

// String returns a name for statistics, such as "expired".
func (k Kind) String() string {
	return cmp.Or(map[Kind]string{
		WeakPassword: "weak_password", ResetInvalid: "reset_invalid", TokenMissing: "no_token", TokenMalformed: "malformed",
		TokenForged: "forged", TokenExpired: "expired", TokenEarly: "early", TokenElsewhere: "elsewhere", TokenRevoked: "revoked",
		Forbidden: "forbidden", Busy: "busy", BadHash: "bad_hash",
	}[k], "other")
}
