package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
)

// FirstAdmin makes an admin in a store that has no user yet, and reports whether it did
// (reference, ruling 10). With an empty password it makes up one of 130 random bits and
// returns it: show it to whoever starts the program, once. A password that is given comes
// back as it is. The user's address is username@localhost unless the name is one itself.
//
// It is safe when several processes start at once: one of them makes the admin. The error
// is of kind auth.WeakPassword or inventory.Invalid for what can't be an admin's, or a
// failure.
func FirstAdmin(ctx context.Context, store inventory.Store, hasher *auth.Hasher, username, password string) (created bool, used string, err error) {
	if none, err := noUsers(ctx, store); err != nil || !none {
		return false, "", err
	}
	if password == "" {
		password = rand.Text()
	}
	admin, err := newAdmin(ctx, hasher, username, password)
	if err != nil {
		return false, "", err
	}
	v := inventory.New(store, nil)
	v = v.BeforeCommit(func(ctx context.Context, tx inventory.Tx) error { return claim(ctx, v, tx, admin.ID) })
	err = v.Create(ctx, inventory.Caller{Name: "first start"}, admin)
	switch kind := inventory.KindOf(err); {
	case err == nil:
		return true, password, nil
	case kind == inventory.Conflict || kind == inventory.Stale:
		return false, "", nil // another process was first
	}
	return false, "", fmt.Errorf("make the first admin: %w", err)
}

// claim makes a transaction the only one of its time that makes a first admin: whoever
// comes second fails with Conflict or Stale. Looking for other users is not enough, as two
// transactions may not see each other's.
func claim(ctx context.Context, v *inventory.Inventory, tx inventory.Tx, id string) error {
	page, err := tx.List(ctx, &inventory.Query{Resource: inventory.Of[inventory.User](), Limit: 2})
	if err != nil {
		return err
	}
	if len(page.Records) > 1 {
		return &inventory.Error{Kind: inventory.Conflict, Message: "There is a user already"}
	}
	secret, err := findSecret(ctx, tx, firstAdmin)
	if err != nil {
		return err
	}
	if secret != nil { // from before all users were deleted
		secret.Value = id
		secret.Version++
		return tx.Update(ctx, secret, secret.Version-1)
	}
	return keep(ctx, v, tx, &inventory.Secret{Name: firstAdmin, Value: id})
}

func noUsers(ctx context.Context, store inventory.Store) (bool, error) {
	page, err := inventory.Fresh(store).List(ctx, &inventory.Query{Resource: inventory.Of[inventory.User](), Limit: 1})
	if err != nil {
		return false, fmt.Errorf("look for users: %w", err)
	}
	return len(page.Records) == 0, nil
}

func newAdmin(ctx context.Context, hasher *auth.Hasher, username, password string) (*inventory.User, error) {
	u := &inventory.User{Username: username, Email: username, Role: inventory.Admin}
	if inventory.Check(u) != nil {
		u.Email = username + "@localhost"
	}
	if err := auth.CheckPassword(password, u.Username, u.Email); err != nil {
		return nil, err
	}
	var err error
	u.PasswordHash, err = hasher.Hash(ctx, password)
	return u, err
}

// The names of the secrets.
const (
	signingKey = "token signing key"
	firstAdmin = "first admin"
)

// SigningKey is a key for auth.NewTokens of 256 random bits. It is made once and kept in
// the store, so that tokens survive a restart, and processes that share a store share it,
// also if they start at once (reference, ruling 10).
func SigningKey(ctx context.Context, store inventory.Store) ([]byte, error) {
	key, err := findKey(ctx, store)
	if key != nil || err != nil {
		return key, err
	}
	random := make([]byte, auth.MinKeyBytes)
	rand.Read(random) // never fails
	err = store.Change(ctx, func(tx inventory.Tx) error {
		made := &inventory.Secret{Name: signingKey, Value: base64.RawStdEncoding.EncodeToString(random)}
		return keep(ctx, inventory.New(store, nil), tx, made)
	})
	if err != nil && inventory.KindOf(err) != inventory.Conflict {
		return nil, fmt.Errorf("keep the key that signs tokens: %w", err)
	}
	// Not the one just made: another process may have been first.
	key, err = findKey(ctx, store)
	if key == nil && err == nil {
		err = errors.New("the key that signs tokens was kept and is not there")
	}
	return key, err
}

// keep adds a secret. There is no entry for it in the audit log.
func keep(ctx context.Context, v *inventory.Inventory, tx inventory.Tx, secret *inventory.Secret) error {
	if err := v.Init(secret); err != nil {
		return err
	}
	return tx.Create(ctx, secret)
}

// findKey is nil if there is no key.
func findKey(ctx context.Context, store inventory.Store) ([]byte, error) {
	secret, err := findSecret(ctx, inventory.Fresh(store), signingKey)
	if secret == nil || err != nil {
		return nil, err
	}
	key, err := base64.RawStdEncoding.DecodeString(secret.Value)
	if err != nil || len(key) < auth.MinKeyBytes {
		return nil, errors.New("the key that signs tokens is damaged in the store")
	}
	return key, nil
}

// findSecret is nil if there is none of that name.
func findSecret(ctx context.Context, from inventory.Reader, name string) (*inventory.Secret, error) {
	q := (&inventory.Query{Resource: inventory.Of[inventory.Secret](), Limit: 1}).Where("name", name)
	page, err := from.List(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("look for the %s: %w", name, err)
	}
	if len(page.Records) == 0 {
		return nil, nil
	}
	return page.Records[0].(*inventory.Secret), nil
}
