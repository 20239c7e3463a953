package auth

// Role determines what a user may do (REFERENCE.md, 3.2). The zero value is a caller without a
// token.
type Role string

// The roles, as stored in records and tokens.
const (
	Admin  Role = "admin"  // everything
	Editor Role = "editor" // reads, and changes links
	Viewer Role = "viewer" // reads
)

// Roles returns all roles, the most powerful first.
func Roles() []Role { return []Role{Admin, Editor, Viewer} }

// Valid reports whether r is one of Roles.
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

// Action is a class of operations for the access rule. Each route of an API has one Action.
type Action uint8

const (
	// Public needs no token: login, logout, password resets, the count route.
	Public Action = iota + 1
	// Read is every GET without another Action.
	Read
	// Write is every POST, PUT, PATCH and DELETE without another Action.
	Write
	// WriteLinks is Write for links.
	WriteLinks
	// ReadAudit reads the audit log.
	ReadAudit
	// ManageUsers lists, creates and deletes users.
	ManageUsers
	// ReadUser reads a user record.
	ReadUser
	// ChangeUser changes a user record or password.
	ChangeUser
)

// permission lists who may perform an Action.
type permission struct {
	anonymous, viewer, editor, admin bool
	owner                            bool // the owner of the record, whatever the role
}

// permissionFor is the access rule: one row for each Action.
func permissionFor(a Action) permission {
	switch a {
	case Public:
		return permission{anonymous: true, viewer: true, editor: true, admin: true}
	case Read:
		return permission{viewer: true, editor: true, admin: true}
	case WriteLinks:
		return permission{editor: true, admin: true}
	case Write, ReadAudit, ManageUsers:
		return permission{admin: true}
	case ReadUser, ChangeUser:
		return permission{admin: true, owner: true}
	}
	return permission{}
}

// Allowed reports whether a role may perform an action; owner is true for the caller's own user
// record. An invalid role counts as a caller without a token. Invalid actions are never allowed.
func Allowed(role Role, a Action, owner bool) bool {
	p := permissionFor(a)
	if !role.Valid() {
		return p.anonymous
	}
	return owner && p.owner || role == Viewer && p.viewer || role == Editor && p.editor || role == Admin && p.admin
}

// Authorize applies [Allowed] to the claims of a verified token, or to nil without a token. ownerID
// is the id of the requested user record, or "" for other records. The error has the kind
// TokenMissing or Forbidden.
func Authorize(c *Claims, a Action, ownerID string) error {
	if c == nil {
		if Allowed("", a, false) {
			return nil
		}
		return &Error{Kind: TokenMissing, Message: messageNoToken}
	}
	if Allowed(c.Role, a, ownerID != "" && ownerID == c.UserID) {
		return nil
	}
	return &Error{Kind: Forbidden, Message: messageForbidden}
}
