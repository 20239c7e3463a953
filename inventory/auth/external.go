package auth

import (
	"net/url"
	"strings"
)

// MaxLocalPath is the maximum length in bytes of a [LocalPath].
const MaxLocalPath = 1000

// External is a user as an identity provider describes them after a login.
type External struct {
	Method  string // how the provider was asked, such as "oidc"; required, at most 50 characters
	Issuer  string // the provider, at most 255 characters
	Subject string // the user's id there, at most 255 characters; it is never given to another user
	// Username and Email are for a new user.
	Username, Email string
	EmailVerified   bool // the provider says that the address belongs to the user
	// Role is that of the user. Empty means none.
	Role Role
	// RoleManaged means that the provider decides the role at each login. Otherwise Role is for a new
	// user only.
	RoleManaged bool
}

// Refused returns the error of the kind LoginRefused with a message for clients and a reason for logs,
// which may be empty.
func Refused(message, reason string) *Error {
	return &Error{Kind: LoginRefused, Message: message, Reason: reason}
}

// LocalPath reports whether a browser that is sent to a path stays at the same origin: it begins with one
// slash, and has no backslash, which browsers read as a slash, and no control character. It may have a
// query and a fragment.
func LocalPath(path string) bool {
	if len(path) > MaxLocalPath || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return false
	}
	if strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f }) {
		return false
	}
	u, err := url.Parse(path)
	return err == nil && u.Scheme == "" && u.Host == "" && u.User == nil
}
