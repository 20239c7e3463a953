package inventory

import (
	"context"
	"slices"
	"time"
	"unicode/utf8"

	"golang.org/x/text/secure/precis"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// User is an account of the inventory.
//
// Password holds the password of a request. It is never stored: the caller of [records.Engine] stores its
// hash in PasswordHash. A higher Epoch invalidates all earlier tokens of the user.
type User struct {
	records.Base
	Username       string `json:"username" field:"required,unique,max=100,search"`
	Email          string `json:"email" field:"required,unique,format=email,max=254,search"`
	Password       string `json:"password,omitempty" field:"secret,oncreate,min=8,max=1024"`
	Role           Role   `json:"role" field:"required,admin,counted,open"`
	InactiveStatus bool   `json:"inactive_status" field:"admin,counted"`
	FirstName      string `json:"first_name" field:"max=100,search"`
	LastName       string `json:"last_name" field:"max=100,search"`

	PasswordChangedAt *time.Time `json:"password_changed_at" field:"readonly"`
	LastLogin         *time.Time `json:"last_login" field:"readonly,volatile"`

	PasswordHash string `json:"-" field:"hidden,column=password_hash"`
	Epoch        int64  `json:"-" field:"hidden,column=epoch"`

	// LocationIDs are the locations that the user is limited to (REFERENCE.md, 3.7). Without any
	// there is no limit. A location that is deleted stays, so that the last one does not end the limit.
	LocationIDs []string `json:"location_ids" field:"admin,max=200,format=uuid"`

	UsernameKey string `json:"-" field:"hidden,column=username_key,unique,index,max=300"` // see UsernameKey

	// MustChangePassword restricts the user to changing their password (REFERENCE.md, 3.3).
	MustChangePassword bool `json:"must_change_password" field:"admin"`

	TOTP bool `json:"totp" field:"readonly"` // a login needs a code of the SecondFactor

	// External is how the user was created without a password: the method of the login through an identity provider,
	// such as "oidc", or Invited. Empty for other users. Without a PasswordHash they log in through the provider only,
	// or not before they have accepted the invitation.
	External string `json:"external" field:"readonly,max=50"`
}

// ValidateIn refuses a user name that no new user may have or that another user has, and new locations
// that do not exist (records.TxValidator). It sets the key of the name.
func (u *User) ValidateIn(ctx context.Context, tx records.Tx, before records.Record) error {
	if err := u.validateName(ctx, tx, before); err != nil {
		return err
	}
	return u.validateLocations(ctx, tx, before)
}

// validateLocations refuses new locations that do not exist.
func (u *User) validateLocations(ctx context.Context, tx records.Tx, before records.Record) error {
	var had []string
	if old, ok := before.(*User); ok {
		had = old.LocationIDs
	}
	for _, id := range u.LocationIDs {
		if slices.Contains(had, id) {
			continue
		}
		_, err := records.Get[Location](ctx, tx, id)
		if records.KindOf(err) == records.NotFound {
			return refuse("user", "location_ids", records.NoRecord("locations", id))
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Invited is the User.External of users who choose their first password by an invitation.
const Invited = "invitation"

// Complete reports whether the user has a password hash, an identity provider or an invitation, and so needs no
// password.
func (u *User) Complete() bool { return u.PasswordHash != "" || u.External != "" }

// ExternalIdentity is a user as an identity provider names them. It is not visible to clients.
type ExternalIdentity struct {
	records.Base
	UserID  string `json:"user_id" field:"required,ref=users:cascade"`
	Issuer  string `json:"issuer" field:"required,max=255"`                // the URL of the provider
	Subject string `json:"subject" field:"required,unique=issuer,max=255"` // the user's id there
}

// Session is a login of a user. It has ended if Epoch is not that of the user. It is visible to the
// user and to admins only, through package accounts.
type Session struct {
	records.Base
	UserID    string     `json:"user_id" field:"required,ref=users:cascade"`
	Epoch     int64      `json:"epoch"` // of the user at the login
	LastUsed  *time.Time `json:"last_used" field:"volatile"`
	ExpiresAt *time.Time `json:"expires_at"`
	Address   string     `json:"address" field:"max=64"`
	UserAgent string     `json:"user_agent" field:"max=255"`
}

// APIToken is a token of a user for programs, with the role of the user as far as the scopes allow. Its
// text is shown once; only its hash is stored. It is visible to the user and to admins only, through
// package accounts.
type APIToken struct {
	records.Base
	UserID    string     `json:"user_id" field:"required,ref=users:cascade"`
	Name      string     `json:"name" field:"required,unique=user_id,max=100"`
	Hash      string     `json:"hash" field:"required,unique,max=64"` // SHA-256 in hexadecimal digits
	Scopes    []string   `json:"scopes" field:"max=50"`               // as in auth.Identity
	ExpiresAt *time.Time `json:"expires_at" field:"required"`
	LastUsed  *time.Time `json:"last_used" field:"volatile"`
	// LocationIDs limit the token further than its user is (REFERENCE.md, 3.7). Without any it is not.
	LocationIDs []string `json:"location_ids" field:"max=200"`
}

// Reset is a password reset that was requested, without its code. A user may have several. It is not
// visible to clients.
type Reset struct {
	records.Base
	UserID    string     `json:"user_id" field:"required,ref=users:cascade"`
	CodeHash  string     `json:"code_hash" field:"required,unique,max=64"` // auth.Reset.CodeHash
	Account   string     `json:"account" field:"required,max=64"`          // auth.Reset.Account
	ExpiresAt *time.Time `json:"expires_at"`
}

// Attempts counts attempts at passwords, and other things that package accounts limits, in one window of time. It is
// not visible to clients.
type Attempts struct {
	records.Base
	Key    string     `json:"key" field:"required,unique,max=64"` // a hash of what is counted
	Number int64      `json:"number"`
	EndsAt *time.Time `json:"ends_at"` // of the window
}

// SecondFactor checks the codes of a user's authenticator app (auth.CheckTOTP). It is in use
// while User.TOTP is set. It is not visible to clients.
type SecondFactor struct {
	records.Base
	UserID     string     `json:"user_id" field:"required,ref=users:cascade"`
	Secret     string     `json:"-" field:"hidden,column=secret,max=100"`
	Step       int64      `json:"-" field:"hidden,column=step"`              // of the last code
	Recovery   string     `json:"-" field:"hidden,column=recovery,max=1000"` // the hashes of unused recovery codes
	Wrong      int64      `json:"-" field:"hidden,column=wrong"`             // codes since WrongSince
	WrongSince *time.Time `json:"-" field:"hidden,column=wrong_since"`
}

// Secret is a key that the inventory generated for itself, such as the one that signs
// tokens. It is not visible to clients.
type Secret struct {
	records.Base
	Name  string `json:"name" field:"required,unique,max=100"`
	Value string `json:"value" field:"required,max=1000"`
}

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
