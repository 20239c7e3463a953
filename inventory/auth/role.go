package auth

import "slices"

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
