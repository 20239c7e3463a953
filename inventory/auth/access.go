package auth

// Action is a class of things that one can do, as the access rule of the
// specification, Endpoints A, tells them apart. Each route of an API is one Action.
type Action uint8

const (
	// Public needs no token: login, logout, the two steps of a password reset, the
	// count route.
	Public Action = iota + 1
	// Read is every GET that has no Action of its own.
	Read
	// Write is every POST, PUT, PATCH and DELETE that has no Action of its own.
	Write
	// WriteLinks is the same for links.
	WriteLinks
	// ReadAudit is the audit log.
	ReadAudit
	// ManageUsers is to list, create and delete users.
	ManageUsers
	// ReadUser is to read one user's record.
	ReadUser
	// ChangeUser is to change one user's record or password.
	ChangeUser
	// ChangeStanding is to change one user's role or inactive_status, in whatever
	// request. Nobody changes their own, an admin neither: so there is always one left.
	ChangeStanding
)

// who is what the access rule says of one Action.
type who struct {
	anonymous, viewer, editor, admin bool
	owner                            ownership
}

// ownership is what it changes that the record is the caller's own.
type ownership uint8

const (
	asAnyone ownership = iota // nothing
	ownToo                    // the owner may, whatever the role
	notOwn                    // the owner may not, whatever the role
)

// access is the access rule: one row for each Action.
func access(a Action) who {
	switch a {
	case Public:
		return who{anonymous: true, viewer: true, editor: true, admin: true}
	case Read:
		return who{viewer: true, editor: true, admin: true}
	case WriteLinks:
		return who{editor: true, admin: true}
	case Write, ReadAudit, ManageUsers:
		return who{admin: true}
	case ReadUser, ChangeUser:
		return who{admin: true, owner: ownToo}
	case ChangeStanding:
		return who{admin: true, owner: notOwn}
	}
	return who{}
}

// Allowed is the access rule: whether somebody with that role may do a, owner being
// whether the record is their own user record. A role that is none is nobody, owner
// or not, and an Action that is none is allowed to nobody.
func Allowed(role Role, a Action, owner bool) bool {
	w := access(a)
	if !role.Valid() {
		return w.anonymous
	}
	switch {
	case owner && w.owner == ownToo:
		return true
	case owner && w.owner == notOwn:
		return false
	}
	return role == Viewer && w.viewer || role == Editor && w.editor || role == Admin && w.admin
}

// Authorize is Allowed for the bearer of a verified token, nil for nobody. ownerID is
// the id of the user record that is asked for, "" if it is no user record. The error has
// the kind TokenMissing or Forbidden.
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
