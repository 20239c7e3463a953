package httpapi

import (
	"context"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// An authenticator may cache accounts. So that no right is used after it has been removed, each
// change reads the account of its sender again, in its transaction, and keeps it from changing until
// that ends; and reads of users and of the audit log read it before (REFERENCE.md, 3.2).

// userChanges names the transactions that change users on request, which run one at a time.
const userChanges = "users"

// inventory returns what applies the changes of the request; in a dry run it commits none.
func (c *call) inventory() *records.Engine {
	v := c.unchecked()
	if c.accounts == nil || c.identity == nil {
		return v
	}
	check := func(ctx context.Context, tx records.Tx) error {
		return c.checkAccount(func(r *records.Resource, id string) (records.Record, error) { return records.Lock(ctx, tx, r, id) })
	}
	if c.route.resource == nil || !isUsers(c.route.resource) {
		return v.BeforeChange(check)
	}
	return v.BeforeChange(func(ctx context.Context, tx records.Tx) error {
		c.adminRemoved = false
		// In turn: two admins who change each other would deadlock, or remove the last two.
		if err := records.Serialize(ctx, tx, userChanges); err != nil {
			return err
		}
		return check(ctx, tx)
	}).BeforeCommit(c.keepAdmin)
}

// keepAdmin refuses a change that leaves no active admin.
func (c *call) keepAdmin(ctx context.Context, tx records.Tx) error {
	if !c.adminRemoved {
		return nil
	}
	q := &records.Query{Resource: records.Of[inventory.User](tx.Schema()), Limit: 1}
	page, err := tx.List(ctx, q.Where("role", string(inventory.Admin)).Where("inactive_status", false))
	if err != nil || len(page.Records) > 0 {
		return err
	}
	return &records.Error{Kind: records.Conflict, Message: "This would leave no active admin: make another user an admin first"}
}

// isActiveAdmin reports whether a user can act as an admin.
func isActiveAdmin(u *inventory.User) bool { return u.Role == inventory.Admin && !u.InactiveStatus }

// unchecked is inventory without the account of the sender.
func (c *call) unchecked() *records.Engine {
	if c.dryRun {
		return c.changes.DryRun(&c.preview)
	}
	return c.changes
}

// checkAccount refuses the sender if their account grants less than when they were authenticated.
func (c *call) checkAccount(read func(r *records.Resource, id string) (records.Record, error)) error {
	var state auth.AccountState
	if id := strings.ToLower(c.identity.UserID); records.ValidID(id) {
		rec, err := read(records.Of[inventory.User](c.schema), id)
		u, _ := rec.(*inventory.User)
		if state, err = stateOf(u, err); err != nil {
			return err
		}
	}
	return state.Check(c.identity)
}

// showsAccounts reports whether a resource is that of users or of the audit log.
func (c *call) showsAccounts(r *records.Resource) bool {
	return isUsers(r) || r.Name == records.Of[records.AuditLog](c.schema).Name
}

// checkReader is checkAccount before a read of a resource, if that shows accounts.
func (c *call) checkReader(r *records.Resource) error {
	if c.accounts == nil || !c.showsAccounts(r) {
		return nil
	}
	return c.checkAccount(func(r *records.Resource, id string) (records.Record, error) {
		return records.Fresh(c.store).Get(c.r.Context(), r, id)
	})
}

// AccountStates implements auth.Accounts with the users of a store. It bypasses replicas
// ([records.Fresh]), because a jwt.Guard caches what it returns.
type AccountStates struct{ users records.Reader }

// NewAccountStates returns the AccountStates of the users in a store.
func NewAccountStates(users records.Reader) *AccountStates {
	return &AccountStates{records.Fresh(users)}
}

// AccountState returns the current state of the user with an id: the zero state if there is
// no such user. The error is a failure of the store.
func (s *AccountStates) AccountState(ctx context.Context, userID string) (auth.AccountState, error) {
	if !records.ValidID(userID) {
		return auth.AccountState{}, nil
	}
	u, err := records.Get[inventory.User](ctx, s.users, strings.ToLower(userID))
	return stateOf(u, err)
}

// stateOf returns the state of a user that was read.
func stateOf(u *inventory.User, err error) (auth.AccountState, error) {
	switch {
	case records.KindOf(err) == records.NotFound:
		return auth.AccountState{}, nil
	case err != nil:
		return auth.AccountState{}, err
	}
	return auth.AccountState{Active: !u.InactiveStatus, Role: auth.Role(u.Role), Epoch: u.Epoch}, nil
}
