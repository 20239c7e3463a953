package inventory

import (
	"context"
	"unicode/utf8"

	"golang.org/x/text/secure/precis"

	"github.com/ashlar-go/ashlar/inventory/records"
)

const (
	maxUsernameBytes = 400 // of the longest user name that is stored: 100 characters
	maxUsernameKey   = 300 // characters
)

// UsernameKey returns the form in which user names are compared: that of the profile
// UsernameCaseMapped (RFC 8265, section 3.3), in lower case and normal form C, with full-width
// characters as ordinary ones. Users with names of the same key are the same.
//
// The error is for a name that no new user may have, and says what to do, as in "must …". These are
// names with spaces, invisible characters or symbols other than those of ASCII.
func UsernameKey(name string) (string, error) {
	if name == "" {
		return "", records.Missing("")
	}
	if len(name) > maxUsernameBytes {
		return "", records.TooLong(maxUsernameBytes, "bytes")
	}
	key := name
	for range 4 { // RFC 8264, section 7: applied again until nothing changes
		next, err := precis.UsernameCaseMapped.String(key)
		if err != nil {
			return "", records.BadFormat("letters, digits and characters such as . _ - @ only, without spaces and invisible characters")
		}
		if next == key {
			if utf8.RuneCountInString(key) > maxUsernameKey {
				return "", records.TooLong(maxUsernameKey, "characters in lower case")
			}
			return key, nil
		}
		key = next
	}
	return "", records.BadFormat("a name with a stable form in lower case: use other letters")
}

// oldUsernameKey returns the key of a name that was stored before names had keys and can't have its
// own. No other name has it: UsernameKey refuses spaces.
func oldUsernameKey(name string) string { return " " + name }

// validateName sets the key of a new or changed user name, and refuses one that no new user may have or
// that another user has. Names that were stored before they had keys stay.
func (u *User) validateName(ctx context.Context, tx records.Tx, before records.Record) error {
	old, exists := before.(*User)
	switch {
	case exists && old.Username == u.Username && u.UsernameKey != "":
		return nil
	case exists && old.Username == u.Username:
		_, err := u.setOldKey(ctx, tx)
		return err
	}
	users := records.Of[User](tx.Schema())
	key, err := UsernameKey(u.Username)
	if err != nil {
		return refuse("user", "username", err)
	}
	if _, err := keyUsernames(ctx, tx, u.ID); err != nil {
		return err
	}
	other, err := records.First[User](ctx, tx, "username_key", key)
	if err != nil {
		return err
	}
	if other != nil && other.ID != u.ID {
		e := records.Duplicate(users, records.Unique{Fields: []string{"username"}, Message: "Username already exists"})
		e.Holder = other
		return e
	}
	u.UsernameKey = key
	return nil
}

// Vacate leaves the user name (records.Occupant).
func (u *User) Vacate() { u.Username, u.UsernameKey = "~"+u.ID, "~"+u.ID }

// OldUsername is a user name that was stored before names had keys (UsernameKey) and breaks their
// rules. Its user logs in with exactly this name.
type OldUsername struct {
	ID, Username string
	SameAs       string // the name of the user who has the key; empty if the name may not be that of a new user
}

// KeyUsernames sets the keys of the users that were stored before names had keys, oldest first, in a
// transaction, and returns the names that break the rules. It is fast if there are no such users.
func KeyUsernames(ctx context.Context, tx records.Tx) ([]OldUsername, error) {
	return keyUsernames(ctx, tx, "")
}

// keyUsernames is KeyUsernames for all users but one.
func keyUsernames(ctx context.Context, tx records.Tx, except string) (broken []OldUsername, err error) {
	q := &records.Query{}
	all, err := records.Select[User](ctx, tx, q, "username_key", records.Condition{Op: records.IsNull, Value: true})
	if err != nil {
		return nil, err
	}
	for _, found := range all {
		if found.ID == except {
			continue
		}
		rec, err := records.Lock(ctx, tx, q.Resource, found.ID) // a login may just change it
		if err != nil {
			return nil, err
		}
		u := rec.(*User)
		old, err := u.setOldKey(ctx, tx)
		if err == nil {
			err = tx.Update(ctx, u, u.Version)
		}
		if err != nil {
			return nil, err
		}
		if old != nil {
			broken = append(broken, *old)
		}
	}
	return broken, nil
}

// setOldKey sets the key of a user who is stored without one.
func (u *User) setOldKey(ctx context.Context, tx records.Tx) (*OldUsername, error) {
	key, invalid := UsernameKey(u.Username)
	old := &OldUsername{ID: u.ID, Username: u.Username}
	if invalid == nil {
		other, err := records.First[User](ctx, tx, "username_key", key)
		if err != nil {
			return nil, err
		}
		if other == nil || other.ID == u.ID {
			u.UsernameKey = key
			return nil, nil
		}
		old.SameAs = other.Username
	}
	u.UsernameKey = oldUsernameKey(u.Username)
	return old, nil
}
