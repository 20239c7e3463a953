package auth

import (
	"context"
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
