package accounts

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// FirstAdmin creates an admin in a store without users, and returns them with their password; nil if
// there are users (REFERENCE.md, 3.6). For an empty password it generates 130 random bits, to be
// shown once to whoever starts the program: the admin must change it first. The email address is
// username@localhost unless the name is an address itself. The hooks of the engine see the new user.
//
// It is safe to call from several processes at once: one of them creates the admin. The
// error is of kind auth.WeakPassword or records.Invalid for an unusable password or name,
// or a failure.
func FirstAdmin(ctx context.Context, engine *records.Engine, hasher *auth.Hasher, username, password string) (*inventory.User, string, error) {
	if engine == nil || hasher == nil {
		return nil, "", errNeeds
	}
	user, err := records.First[inventory.User](ctx, records.Fresh(engine.Store()))
	if err != nil {
		return nil, "", fmt.Errorf("search for users: %w", err)
	}
	if user != nil {
		return nil, "", nil
	}
	generated := password == ""
	if generated {
		password = rand.Text()
	}
	admin, err := newAdmin(ctx, engine.Store().Schema(), hasher, username, password)
	if err != nil {
		return nil, "", err
	}
	admin.MustChangePassword = generated
	v := engine.BeforeCommit(func(ctx context.Context, tx records.Tx) error { return claimFirstAdmin(ctx, engine, tx, admin.ID) })
	err = v.Create(ctx, records.Caller{Name: "first start"}, admin)
	switch kind := records.KindOf(err); {
	case err == nil:
		return admin, password, nil
	case kind == records.Conflict || kind == records.Stale:
		return nil, "", nil // another process was first
	}
	return nil, "", fmt.Errorf("create the first admin: %w", err)
}

// ResetAdmin makes a user an active admin again, for an operator who has lost access (REFERENCE.md,
// 3.6). It returns the user and a generated password of 130 random bits, which they must change
// first. It ends their sessions and API tokens, turns off their second factor, removes the limit to
// locations, and makes reset codes void. The audit log entry has the action admin_reset and the name "command line". The error is of kind records.NotFound if there is no user of
// this name.
func ResetAdmin(ctx context.Context, engine *records.Engine, hasher *auth.Hasher, username string) (*inventory.User, string, error) {
	s, err := New(engine, hasher, nil)
	if err != nil {
		return nil, "", err
	}
	u, err := s.findName(ctx, username)
	if err != nil {
		return nil, "", err
	}
	if u == nil {
		return nil, "", &records.Error{Kind: records.NotFound, Message: fmt.Sprintf("there is no user with the name %q", username)}
	}
	password := rand.Text()
	hash, err := hasher.Hash(ctx, password)
	if err != nil {
		return nil, "", err
	}
	v := engine.BeforeCommit(func(ctx context.Context, tx records.Tx) error { // somebody else may have them
		all, err := tokensOf(ctx, tx, u.ID)
		for _, token := range all {
			err = cmp.Or(err, tx.Delete(ctx, records.Of[inventory.APIToken](tx.Schema()), token.ID, token.Version, nil))
		}
		return err
	})
	done, err := v.Update(ctx, records.Caller{Name: "command line"}, s.users(), records.Edit{
		ID: u.ID, Action: "admin_reset",
		Apply: func(rec records.Record) error {
			u := rec.(*inventory.User)
			s.SetPassword(u, hash) // which ends the sessions and voids a reset code
			u.Role, u.InactiveStatus, u.MustChangePassword = inventory.Admin, false, true
			u.LocationIDs, u.TOTP = []string{}, false
			return nil
		},
	})
	if err != nil {
		return nil, "", fmt.Errorf("reset the admin: %w", err)
	}
	return done[0].(*inventory.User), password, nil
}

// claimFirstAdmin makes concurrent transactions that create a first admin fail with Conflict
// or Stale, except for one. Searching for other users is not enough, because transactions
// may not see those of each other.
func claimFirstAdmin(ctx context.Context, v *records.Engine, tx records.Tx, id string) error {
	users, err := records.Select[inventory.User](ctx, tx, &records.Query{Limit: 2})
	if err != nil {
		return err
	}
	if len(users) > 1 {
		return &records.Error{Kind: records.Conflict, Message: "A user already exists"}
	}
	secret, err := findSecret(ctx, tx, firstAdmin)
	if err != nil {
		return err
	}
	if secret != nil { // all users have been deleted since
		secret.Value = id
		secret.Version++
		return tx.Update(ctx, secret, secret.Version-1)
	}
	return v.Insert(ctx, tx, &inventory.Secret{Name: firstAdmin, Value: id})
}

func newAdmin(ctx context.Context, schema *records.Schema, hasher *auth.Hasher, username, password string) (*inventory.User, error) {
	u := &inventory.User{Username: username, Email: username, Role: inventory.Admin}
	if records.Of[inventory.User](schema).Check(u) != nil {
		u.Email = username + "@localhost"
	}
	if err := auth.CheckPassword(password, about(u)...); err != nil {
		return nil, err
	}
	var err error
	u.PasswordHash, err = hasher.Hash(ctx, password)
	return u, err
}

// The names of secrets.
const (
	signingKey = "token signing key"
	firstAdmin = "first admin"
)

// ErrNoSigningKey is returned if no key that signs tokens is stored.
var ErrNoSigningKey = errors.New("no key that signs tokens is stored")

// SigningKeys returns the stored keys for jwt.NewTokens and jwt.Tokens.SetKeys at a time.
// [CreateSigningKey] stores the first one, and [RotateSigningKey] adds others: call SigningKeys every few
// seconds to notice. It creates none, because a new key ends all sessions: the error is
// [ErrNoSigningKey], also if a stored one was deleted.
func SigningKeys(ctx context.Context, store records.Store, now time.Time) ([][]byte, error) {
	secret, err := findSecret(ctx, records.Fresh(store), signingKey)
	if err != nil {
		return nil, err
	}
	set, err := parseKeys(secret)
	if err != nil {
		return nil, err
	}
	return set.At(now), nil
}

// CreateSigningKey stores a random key that signs tokens, unless there is one, and reports whether it
// did. So tokens survive a restart, and processes with the same store share the key, even if they start
// at the same time.
func CreateSigningKey(ctx context.Context, store records.Store) (created bool, err error) {
	secret, err := findSecret(ctx, records.Fresh(store), signingKey)
	if err != nil || secret != nil {
		return false, err
	}
	random := make([]byte, auth.MinKeyBytes)
	_, _ = rand.Read(random) // never fails
	err = store.Change(ctx, func(tx records.Tx) error {
		secret := &inventory.Secret{Name: signingKey, Value: base64.RawStdEncoding.EncodeToString(random)}
		return records.New(store, nil).Insert(ctx, tx, secret)
	})
	switch {
	case records.KindOf(err) == records.Conflict:
		return false, nil // another process was first
	case err != nil:
		return false, fmt.Errorf("store the key that signs tokens: %w", err)
	}
	return true, nil
}

// parseKeys returns the keys in a secret: an auth.KeySet, or a single key before the first
// rotation. The error for nil is ErrNoSigningKey.
func parseKeys(secret *inventory.Secret) (*auth.KeySet, error) {
	if secret == nil {
		return nil, ErrNoSigningKey
	}
	if strings.HasPrefix(secret.Value, "{") {
		return auth.ParseKeySet([]byte(secret.Value))
	}
	key, err := base64.RawStdEncoding.DecodeString(secret.Value)
	if err != nil || len(key) < auth.MinKeyBytes {
		return nil, errors.New("the stored key that signs tokens is damaged")
	}
	return auth.NewKeySet(key)
}

// RotateSigningKey changes the stored keys, usually with auth.KeySet.Rotate. Concurrent calls take turns,
// also in several processes, so that none undoes another. The error is [ErrNoSigningKey], or that of
// change.
func RotateSigningKey(ctx context.Context, store records.Store, change func(*auth.KeySet) error) error {
	if err := records.CheckStore(store, &inventory.Secret{}); err != nil {
		return err
	}
	return store.Change(ctx, func(tx records.Tx) error {
		if err := records.Serialize(ctx, tx, signingKey); err != nil {
			return err
		}
		secret, err := findSecret(ctx, tx, signingKey)
		if err != nil {
			return err
		}
		set, err := parseKeys(secret)
		if err != nil {
			return err
		}
		if err := change(set); err != nil {
			return err
		}
		secret.Value, secret.UpdatedAt = string(set.Encode()), time.Now().UTC()
		secret.Version++
		return tx.Update(ctx, secret, secret.Version-1)
	})
}

// findSecret returns the secret with a name, nil if there is none.
func findSecret(ctx context.Context, from records.Reader, name string) (*inventory.Secret, error) {
	secret, err := records.First[inventory.Secret](ctx, from, "name", name)
	if err != nil {
		return nil, fmt.Errorf("read the %s: %w", name, err)
	}
	return secret, nil
}
