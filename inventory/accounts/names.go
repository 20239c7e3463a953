package accounts

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxTyped is the length in bytes of what is looked at of a user name that somebody types.
const maxTyped = 400

// findName returns the user whom a typed user name means, nil if there is none: the one with exactly
// this name, or else with the same key (inventory.UsernameKey). It always searches twice, so that the
// time does not tell which names exist.
func (s *Service) findName(ctx context.Context, typed string) (*inventory.User, error) {
	exact, err := s.find(ctx, "username", typed)
	if err != nil {
		return nil, err
	}
	key, invalid := inventory.UsernameKey(typed)
	if invalid != nil {
		key = " " // that of nobody
	}
	same, err := s.find(ctx, "username_key", key)
	switch {
	case err != nil:
		return nil, err
	case exact != nil:
		return exact, nil
	case same == nil:
		return nil, nil
	}
	if now, err := inventory.UsernameKey(same.Username); err != nil || now != key {
		return nil, nil // a program of an earlier version has changed the name
	}
	return same, nil
}

// accountKey returns the key of a typed user name for throttling: names of the same user share it.
// Longer names than maxTyped do not exist.
func accountKey(username string) string {
	if key, err := inventory.UsernameKey(username); err == nil {
		return key
	}
	return strings.ToLower(username[:min(len(username), maxTyped)])
}

// KeyUsernames completes the users that a version without the rules for user names has stored
// (REFERENCE.md, 1.7). Call it when a program starts. It logs each name that breaks the rules; its user
// logs in with exactly this name. A nil log means slog.Default().
func KeyUsernames(ctx context.Context, store records.Store, log *slog.Logger) error {
	if err := records.CheckStore(store, &inventory.User{}); err != nil {
		return err
	}
	log = cmp.Or(log, slog.Default())
	users := records.Of[inventory.User](store.Schema())
	q := &records.Query{Resource: users, Limit: 1}
	q.Filters = []records.Filter{{Field: users.KeyField("username_key"), Op: records.IsNull, Value: true}}
	page, err := records.Fresh(store).List(ctx, q)
	if err != nil || len(page.Records) == 0 {
		return err
	}
	var old []inventory.OldUsername
	for range 10 { // programs of the earlier version may change users meanwhile
		err = store.Change(ctx, func(tx records.Tx) (err error) {
			if err = records.Serialize(ctx, tx, "users"); err == nil {
				old, err = inventory.KeyUsernames(ctx, tx)
			}
			return err
		})
		if kind := records.KindOf(err); kind != records.Stale && kind != records.NotFound && kind != records.Conflict {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("complete the user names of an earlier version: %w", err)
	}
	for _, name := range old {
		if name.SameAs != "" {
			log.WarnContext(ctx, "two user names are the same by the rules for user names: both users can log in, with exactly these names; rename one",
				"username", name.Username, "id", name.ID, "other", name.SameAs)
			continue
		}
		log.WarnContext(ctx, "a user name breaks the rules for user names: its user can log in, with exactly this name; rename it",
			"username", name.Username, "id", name.ID)
	}
	return nil
}

// about returns the words that may not be the password of a user.
func about(u *inventory.User) []string {
	return []string{u.Username, u.Email, u.FirstName, u.LastName, u.FirstName + u.LastName, u.LastName + u.FirstName}
}
