package accounts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// An authenticator may cache accounts. So that no right is used after it has been removed, each
// change reads the account of its sender again, in its transaction, and keeps it from changing until
// that ends; and reads of users and of the audit log read it before (REFERENCE.md, 3.2).

// Changes returns what applies the changes of a request to records other than users: it refuses them
// if the account of the sender grants less than when they were authenticated, or is gone, and limits
// them to its locations.
func (s *Service) Changes(q *Request) *records.Engine {
	return s.unchecked(q).BeforeChange(func(ctx context.Context, tx records.Tx) error { return s.checkIn(ctx, tx, q) }).LimitTo(q.Places)
}

// UserChanges is Changes for users. It also refuses changes that leave no active admin, if they are
// those of [Service.Edited] and [Service.Deleted].
func (s *Service) UserChanges(q *Request) *records.Engine {
	return s.unchecked(q).BeforeChange(func(ctx context.Context, tx records.Tx) error {
		q.adminRemoved, q.notices = false, nil
		// In turn: two admins who change each other would deadlock, or remove the last two.
		if err := records.Serialize(ctx, tx, "users"); err != nil {
			return err
		}
		return s.checkIn(ctx, tx, q)
	}).LimitTo(q.Places).BeforeCommit(func(ctx context.Context, tx records.Tx) error { return keepAdmin(ctx, tx, q) })
}

// checkIn checks the sender in a transaction, and keeps their account from changing until it ends.
func (s *Service) checkIn(ctx context.Context, tx records.Tx, q *Request) error {
	state, err := s.check(q, func(r *records.Resource, id string) (records.Record, error) { return records.Lock(ctx, tx, r, id) })
	if err == nil && state.MustChangePassword && !q.ownPassword {
		err = auth.ChangePasswordFirst()
	}
	return err
}

// Check refuses the sender if their account grants less now than when they were authenticated. The
// error is that of [auth.AccountState.Check].
func (s *Service) Check(ctx context.Context, q *Request) error {
	_, err := s.check(q, func(r *records.Resource, id string) (records.Record, error) {
		return records.Fresh(s.store).Get(ctx, r, id)
	})
	return err
}

func (s *Service) check(q *Request, read func(r *records.Resource, id string) (records.Record, error)) (auth.AccountState, error) {
	if q.Identity == nil {
		return auth.AccountState{}, auth.Unauthorized(auth.TokenMissing, "")
	}
	state, err := stateOf(s.store.Schema(), q.Identity.UserID, q.Identity.Session, read)
	if err != nil {
		return state, err
	}
	q.places = records.NewPlaces(state.Limit(q.Identity), q.Identity.UserID)
	if err := state.Check(q.Identity); err != nil || q.Identity.Token == "" {
		return state, err
	}
	return state, s.checkToken(q.Identity, read)
}

// Edited completes a change of a user, for the Apply of a records.Edit of UserChanges (REFERENCE.md,
// 3.2): nobody changes the fields for admins in their own record; a new role, status or user name
// invalidates the tokens of the user. Senders who change their own password or email address have confirmed
// their current password ([Service.Confirmed]). before is the user before it. After the commit the caller
// sends the notices ([Service.SendNotices]).
func (s *Service) Edited(q *Request, before, u *inventory.User) error {
	u.Role = inventory.Role(strings.ToLower(string(u.Role))) // its stored form
	if err := checkTokenEdit(q, before, u); err != nil {
		return err
	}
	if err := s.CheckRoles(q, before, u); err != nil {
		return err
	}
	if q.isSender(before.ID) || q.Identity == nil || q.Identity.Role != auth.Admin && !s.administers(q.Identity.Role) {
		if err := s.users().CheckOwnerChange(before, u); err != nil {
			return err
		}
	}
	u.Email = strings.ToLower(u.Email) // its stored form
	if u.Email != before.Email || u.PasswordHash != before.PasswordHash {
		if err := s.Confirmed(q, before); err != nil {
			return cmp.Or(s.users().Check(records.Clone(u)), err)
		}
	}
	by := ByAdmin
	if q.isSender(before.ID) {
		by = ByOwner
	}
	s.notice(q, by, before, u)
	q.adminRemoved = q.adminRemoved || isActiveAdmin(before) && !isActiveAdmin(u)
	if u.Role != before.Role || u.InactiveStatus != before.InactiveStatus || u.Username != before.Username {
		u.Epoch++
	}
	if u.MustChangePassword && !before.MustChangePassword {
		u.Epoch++ // the next login is restricted
	}
	return nil
}

// Deleted refuses senders who delete themselves, for the Apply of a deletion of UserChanges.
func (s *Service) Deleted(q *Request, u *inventory.User) error {
	q.adminRemoved = q.adminRemoved || isActiveAdmin(u)
	if err := s.CheckRoles(q, u); err != nil {
		return err
	}
	if !q.isSender(u.ID) {
		return nil
	}
	return denied("id", "is your own: ask another admin to delete it")
}

// keepAdmin refuses a change that leaves no active admin.
func keepAdmin(ctx context.Context, tx records.Tx, q *Request) error {
	if !q.adminRemoved {
		return nil
	}
	admins := &records.Query{Resource: records.Of[inventory.User](tx.Schema())}
	page, err := tx.List(ctx, admins.Where("role", string(inventory.Admin)).Where("inactive_status", false))
	if err != nil || slices.ContainsFunc(page.Records, func(rec records.Record) bool { return isActiveAdmin(rec.(*inventory.User)) }) {
		return err
	}
	return &records.Error{Kind: records.Conflict, Message: "This would leave no active admin: make another user an admin first"}
}

// isActiveAdmin reports whether a user can act as an admin everywhere.
func isActiveAdmin(u *inventory.User) bool {
	return u.Role == inventory.Admin && !u.InactiveStatus && len(u.LocationIDs) == 0
}

// States implements auth.Accounts with the users of a store. It bypasses replicas
// ([records.Fresh]), because an authenticator such as jwt.Guard caches what it returns.
type States struct{ users records.Reader }

// NewStates returns the States of the users in a store.
func NewStates(users records.Reader) *States { return &States{records.Fresh(users)} }

// AccountState returns the current state of the user with an id and of a session, "" for none: the zero
// state if there is no such user. The error is a failure of the store.
func (s *States) AccountState(ctx context.Context, userID, session string) (auth.AccountState, error) {
	if err := records.CheckStore(s.users); err != nil {
		return auth.AccountState{}, err
	}
	return stateOf(s.users.Schema(), userID, session, func(r *records.Resource, id string) (records.Record, error) {
		return s.users.Get(ctx, r, id)
	})
}

// checkRoles checks Options.Roles.
func (s *Service) checkRoles() error {
	f, _ := s.users().Field("role")
	for role, scopes := range s.opts.Roles {
		switch err := auth.CheckScopes(scopes, s.resourceNames()); {
		case role.Valid():
			return fmt.Errorf("accounts: Options.Roles: %s has no scopes: define a role with another name", role)
		case !slices.Contains(f.Enum, string(role)):
			return fmt.Errorf("accounts: Options.Roles: %s is no role of users: add inventory.Roles(%q) to the schema", role, role)
		case err != nil:
			return fmt.Errorf("accounts: Options.Roles: %s %w", role, err)
		}
	}
	return nil
}

// hasRole reports whether the role of a user exists.
func (s *Service) hasRole(u *inventory.User) bool {
	f, _ := s.users().Field("role")
	return slices.Contains(f.Enum, string(u.Role))
}

// RoleScopes returns the scopes of a role, and whether the scopes decide what the role may do, as they do
// for all but the roles of package auth. A role that is not in Options.Roles has none.
func (s *Service) RoleScopes(role auth.Role) (scopes []string, decide bool) {
	return s.opts.Roles[role], !role.Valid()
}

// administers reports whether a role of the program may change users.
func (s *Service) administers(role auth.Role) bool {
	return slices.ContainsFunc(s.opts.Roles[role], func(scope string) bool {
		of, verb, _ := strings.Cut(scope, ":")
		return of == s.users().Name && verb != "read"
	})
}

// CheckRoles refuses senders with a role of the program who change or create admins: users are states of
// one before and after a change. They could give themselves all rights otherwise.
func (s *Service) CheckRoles(q *Request, users ...*inventory.User) error {
	if q.Identity == nil || q.Identity.Role.Valid() {
		return nil
	}
	for _, u := range users {
		if inventory.Role(strings.ToLower(string(u.Role))) == inventory.Admin && !q.isSender(u.ID) {
			return denied("role", "is or becomes admin: only admins change and create admins")
		}
	}
	return nil
}

// Places returns what the sender is limited to, as the last transaction or [Service.Check] of the
// request has read it; nil is no limit (REFERENCE.md, 3.7).
func (q *Request) Places() *records.Places { return q.places }

// checkOwn refuses a limited sender who changes what belongs to another user.
func (q *Request) checkOwn(userID string) error {
	if q.places != nil && !q.isSender(userID) {
		return auth.Denied()
	}
	return nil
}
