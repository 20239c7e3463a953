package httpapi

import (
	"context"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
)

// Standings are the users of a store as an [auth.Guard] asks for them: its auth.Accounts.
// They are read fresh ([inventory.Fresh]): what a replica does not know yet, a guard would
// believe for as long as it remembers.
type Standings struct{ users inventory.Reader }

// NewStandings makes the Standings of the users in a store.
func NewStandings(users inventory.Reader) *Standings { return &Standings{inventory.Fresh(users)} }

// Standing is what the user with an id is worth now: nothing if there is no such user. The
// error is a failure of the store.
func (s *Standings) Standing(ctx context.Context, userID string) (auth.Standing, error) {
	if !inventory.ValidID(userID) {
		return auth.Standing{}, nil
	}
	u, err := inventory.Get[inventory.User](ctx, s.users, strings.ToLower(userID))
	switch {
	case inventory.KindOf(err) == inventory.NotFound:
		return auth.Standing{}, nil
	case err != nil:
		return auth.Standing{}, err
	}
	return auth.Standing{Active: !u.InactiveStatus, Role: auth.Role(u.Role), Epoch: u.Epoch}, nil
}
