package auth

import "errors"

// Kind says what an Error is about. Transports map it to their status codes; the
// comments name those of the specification, Errors.
type Kind uint8

const (
	// WeakPassword is a new password that breaks a rule: 400.
	WeakPassword Kind = iota + 1
	// ResetInvalid is a reset code that is unknown, used, too old, for another
	// account or no code at all: 404, as the reference service answers.
	ResetInvalid

	// TokenMissing is a request without a token: 401.
	TokenMissing
	// TokenMalformed is text that is no token of ours in form: 401.
	TokenMalformed
	// TokenForged is a token that none of our keys signed with our algorithm: 401.
	TokenForged
	// TokenExpired is a token whose time is up: 401.
	TokenExpired
	// TokenEarly is a token whose time has not come: 401.
	TokenEarly
	// TokenElsewhere is a token for another audience or from another issuer: 401.
	TokenElsewhere
	// TokenRevoked is a token whose user has been deactivated, deleted, demoted or
	// logged out since, or has another password: 401.
	TokenRevoked

	// Forbidden is somebody known who may not do this: 403.
	Forbidden

	// Busy is more hashing at once than there is room for; later it may work: 503.
	Busy
	// BadHash is a stored hash that can't be verified: 500. Only a changed database
	// brings it about.
	BadHash
)

// Unauthorized reports whether k is about a request without a valid token.
func (k Kind) Unauthorized() bool { return k >= TokenMissing && k <= TokenRevoked }

// The messages of the specification, Authentication 5 and 7, and of the reference
// service, 1.2. There is one for all bad tokens: which check failed helps whoever
// tries tokens out.
const (
	messageNoToken   = "Unauthorized: No security token provided"
	messageBadToken  = "Unauthorized: Invalid or expired token"
	messageForbidden = "Forbidden: You do not have permission to perform this action"
	messageBadReset  = "Invalid or expired reset code"
	messageBusy      = "Too many logins at once: try again later"
	messageInternal  = "Internal Server Error"
)

// Error is what this package returns for whatever is not a wrong setting or the end
// of a context. Neither its message nor its reason ever has a password, a
// hash, a token or a key in it.
type Error struct {
	Kind    Kind
	Message string // for the client
	Reason  string // what exactly, for logs; safe to show as well; may be empty
}

// Error is the message and the reason.
func (e *Error) Error() string {
	if e.Reason == "" {
		return e.Message
	}
	return e.Message + ": " + e.Reason
}

// KindOf is the kind of the first *Error in err's tree, 0 if there is none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}
