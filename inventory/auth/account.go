package auth

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Identity identifies the sender of a request, as an authenticator found out. Programs with accounts of their
// own make it from these.
type Identity struct {
	UserID   string // the user's id; not empty for users of the inventory
	Username string // for the audit log
	// Role is one of the roles of this package or a program's own, which the permissions of
	// resources then name.
	Role Role
	// Method names the way of the login, such as "password". Empty is unknown.
	Method string
	// Session is the id of the session. Empty for none.
	Session string
	// Scopes restrict the identity further: each is a resource and "read", "write" or "*", such as
	// "devices:read", "metrics:write" or "*:read". Nil means no restriction. See [Identity.Within].
	Scopes []string
	// Locations are the ids of the locations that the identity is limited to: it sees and changes
	// only what belongs there (REFERENCE.md, 3.7). Nil means no limit; an empty slice is a limit to
	// nothing.
	Locations []string
	// Epoch is the epoch of the account when the user signed in. It increases with every event
	// that ends the user's sessions, such as a new password. 0 for a program's own accounts.
	Epoch int64
	// MustChangePassword restricts the user to reading their own record, changing their own password
	// and logging out. It is that of the account now.
	MustChangePassword bool
	// Token is the id of the API token that was sent. Empty for a login.
	Token string
}

// AccountState is the current state of an account and of one of its sessions.
type AccountState struct {
	Active bool // false for an inactive or unknown account
	Role   Role
	// Epoch increases with every event that ends earlier tokens, such as a new password.
	Epoch int64
	Ended bool // whether the session has ended
	// Locations limit the account as Identity.Locations does.
	Locations []string

	MustChangePassword bool // see Identity
}

// Limit returns the locations that an identity is limited to by itself and by its account. Nil means
// no limit.
func (s AccountState) Limit(who *Identity) []string {
	switch {
	case s.Locations == nil:
		return who.Locations
	case who.Locations == nil:
		return s.Locations
	}
	return slices.DeleteFunc(slices.Clone(s.Locations), func(id string) bool {
		return !slices.ContainsFunc(who.Locations, func(other string) bool { return strings.EqualFold(id, other) })
	})
}

// Accounts returns the state of accounts.
type Accounts interface {
	// AccountState returns the state of a user and of a session, which is "" for none. It is the zero
	// AccountState if the user does not exist. An error is a failure of the store.
	AccountState(ctx context.Context, userID, session string) (AccountState, error)
}

// Check returns an error of the kind TokenRevoked if an identity grants more than the account has
// now: the account is inactive or deleted, has another epoch, a lower role or one that is neither higher
// nor lower, or the session has ended (REFERENCE.md, 3.1). The epoch does not matter to API tokens.
func (s AccountState) Check(who *Identity) error {
	switch {
	case !s.Active:
		return Unauthorized(TokenRevoked, "the user is inactive or deleted")
	case s.Epoch != who.Epoch && who.Token == "":
		return Unauthorized(TokenRevoked, "the user has logged out or has a new password")
	case s.Ended:
		return Unauthorized(TokenRevoked, "the session has ended")
	case s.Role != who.Role && (!who.Role.Valid() || s.Role.rank() < who.Role.rank()):
		return Unauthorized(TokenRevoked, "the user has a lower role or another one")
	}
	return nil
}

// Role determines what a user may do (REFERENCE.md, 3.2). The zero value is a caller without a
// token.
type Role string

// The roles, as stored in records and tokens.
const (
	Admin  Role = "admin"  // everything
	Editor Role = "editor" // reads, and changes links
	Viewer Role = "viewer" // reads
)

// Valid reports whether r is one of the roles above. A program may have others.
func (r Role) Valid() bool { return r.rank() > 0 }

// rank orders the roles: each includes the permissions of lower ones.
func (r Role) rank() int {
	switch r {
	case Admin:
		return 3
	case Editor:
		return 2
	case Viewer:
		return 1
	}
	return 0
}

// Permission says who may perform an operation. The zero value is nobody.
type Permission struct {
	Anonymous bool   // everybody, without a token
	Everyone  bool   // everybody with a token
	Roles     []Role // callers with one of these roles, which may be a program's own, and admins
	Owner     bool   // the user whose own record it is, whatever the role
}

// Public is the permission of operations that need no token, such as a login.
func Public() Permission { return Permission{Anonymous: true} }

// Allows reports whether the permission includes a role; owner is true for the caller's own
// user record. The empty role is a caller without a token.
func (p Permission) Allows(role Role, owner bool) bool {
	if role == "" {
		return p.Anonymous
	}
	return p.Anonymous || p.Everyone || owner && p.Owner || len(p.Roles) > 0 && role == Admin || slices.Contains(p.Roles, role)
}

// Authorize applies a permission to an identity, or to nil for a caller without one. ownerID is the
// id of the requested user record, or "" for other records. The error has the kind TokenMissing or
// Forbidden.
func Authorize(who *Identity, p Permission, ownerID string) error {
	if who == nil {
		if p.Anonymous {
			return nil
		}
		return Unauthorized(TokenMissing, "")
	}
	if p.Allows(who.Role, ownerID != "" && ownerID == who.UserID) {
		return nil
	}
	return Denied()
}

// ChangePasswordFirst returns the error of the kind Forbidden for somebody who must change their
// password first (REFERENCE.md, 3.3).
func ChangePasswordFirst() *Error { return &Error{Kind: Forbidden, Message: messageChangeFirst} }

// Denied returns the error of the kind Forbidden.
func Denied() *Error { return &Error{Kind: Forbidden, Message: messageForbidden} }

// MaxScopes is the maximum number of scopes of an API token.
const MaxScopes = 50

// CheckScopes returns an error unless each scope is one of these resources, or *, with ":" and read,
// write or *, and none occurs twice.
func CheckScopes(scopes, resources []string) error {
	if len(scopes) == 0 || len(scopes) > MaxScopes {
		return fmt.Errorf("must have 1 to %d scopes, such as devices:read", MaxScopes)
	}
	for i, scope := range scopes {
		resource, verb, _ := strings.Cut(scope, ":")
		switch {
		case !slices.Contains([]string{"read", "write", "*"}, verb):
			return fmt.Errorf("has the scope %.50q: use a resource, a colon, and read, write or *, such as devices:read", scope)
		case resource != "*" && !slices.Contains(resources, resource):
			return fmt.Errorf("has the unknown resource %.50q: use * or one of %s", resource, strings.Join(resources, ", "))
		case slices.Contains(scopes[:i], scope):
			return fmt.Errorf("has the scope %s twice", scope)
		}
	}
	return nil
}

// InScopes reports whether scopes include reading, or else changing, a resource.
func InScopes(scopes []string, resource string, write bool) bool {
	want := "read"
	if write {
		want = "write"
	}
	return slices.ContainsFunc(scopes, func(scope string) bool {
		of, verb, ok := strings.Cut(scope, ":")
		return ok && (of == resource || of == "*") && (verb == want || verb == "*")
	})
}

// Within reports whether the scopes of an identity include reading, or else changing, a resource.
func (i *Identity) Within(resource string, write bool) bool {
	return i.Scopes == nil || InScopes(i.Scopes, resource, write)
}

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
