package httpapi

import (
	"context"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
)

// AccountStates are the users of a store as an [auth.Guard] asks for them: its auth.Accounts.
// They are read fresh ([inventory.Fresh]): what a replica does not know yet, a guard would
// believe for as long as it remembers.
type AccountStates struct{ users inventory.Reader }

// NewAccountStates makes the AccountStates of the users in a store.
func NewAccountStates(users inventory.Reader) *AccountStates {
	return &AccountStates{inventory.Fresh(users)}
}

// AccountState is what the user with an id is worth now: nothing if there is no such user. The
// error is a failure of the store.
func (s *AccountStates) AccountState(ctx context.Context, userID string) (auth.AccountState, error) {
	if !inventory.ValidID(userID) {
		return auth.AccountState{}, nil
	}
	u, err := inventory.Get[inventory.User](ctx, s.users, strings.ToLower(userID))
	switch {
	case inventory.KindOf(err) == inventory.NotFound:
		return auth.AccountState{}, nil
	case err != nil:
		return auth.AccountState{}, err
	}
	return auth.AccountState{Active: !u.InactiveStatus, Role: auth.Role(u.Role), Epoch: u.Epoch}, nil
}
