package httpapi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
)

// maxPasswords is how many new passwords one request may bring: each takes some 30 ms
// of a processor.
const maxPasswords = 20

// fewPasswords refuses items that bring too many.
func fewPasswords(items []inventory.Patch) error {
	n := 0
	for _, item := range items {
		if _, there := item["password"]; there {
			n++
		}
	}
	if n > maxPasswords {
		return badField("password", fmt.Sprintf("is there %d times: send at most %d new passwords at once", n, maxPasswords))
	}
	return nil
}

// newUser makes the password of a user who is to be created a hash. What else is wrong is
// said first, as it costs nothing.
func (c *call) newUser(u *inventory.User) error {
	if err := inventory.CheckNew(inventory.Clone(u)); err != nil {
		return err
	}
	hash, err := c.hash(c.r.Context(), u.Password, u)
	if err != nil {
		return err
	}
	now := c.opts.Now()
	u.Password, u.PasswordHash, u.PasswordChangedAt = "", hash, &now
	return nil
}

// hash is that of a new password, if it will do for a user.
func (c *call) hash(ctx context.Context, password string, u *inventory.User) (string, error) {
	if err := auth.CheckPassword(password, u.Username, u.Email); err != nil {
		return "", weakPassword("password", err)
	}
	return c.accounts.Hasher.Hash(ctx, password)
}

// weakPassword names the field that a weak password came in.
func weakPassword(field string, err error) error {
	if auth.KindOf(err) != auth.WeakPassword {
		return err
	}
	return &inventory.Error{
		Kind: inventory.Invalid, Message: err.Error(),
		Fields: []inventory.FieldError{{Field: field, Reason: err.Error()}},
	}
}

// passwordIn takes a new password out of the fields to change of a user, and makes it a
// hash, which is empty if there is none.
func (c *call) passwordIn(id string, p inventory.Patch) (hash string, err error) {
	password, there, err := take[string](p, "password", "must be a string")
	if err != nil || !there || !inventory.ValidID(id) {
		return "", err
	}
	id = strings.ToLower(id)
	if c.mine(id) && c.accounts.RequireCurrentPassword {
		return "", badValue("password", "is changed with the current one: use PUT /users/{id}/password")
	}
	u, err := c.userNow(id)
	if err != nil {
		return "", err
	}
	return c.hash(c.r.Context(), password, u)
}

// userReplacement is PUT of a user. What is for admins, and the password, stay as they are
// if they are left out: an owner can't send the one, and nobody has read the other.
func (c *call) userReplacement(id string, p inventory.Patch) (apply, error) {
	hash, err := c.passwordIn(id, p)
	if err != nil {
		return nil, err
	}
	sent := make(map[string]bool, len(p))
	for name := range p {
		sent[name] = true
	}
	rec, err := draft(inventory.Of[inventory.User](), p)
	if err != nil {
		return nil, err
	}
	return c.userRules(func(rec2 inventory.Record) error {
		u, to := rec2.(*inventory.User), inventory.Clone(rec.(*inventory.User))
		if !sent["role"] {
			to.Role = u.Role
		}
		if !sent["inactive_status"] {
			to.InactiveStatus = u.InactiveStatus
		}
		return inventory.Replacement(to)(u)
	}, hash), nil
}

// userRules is a change of a user by the rules for that (reference, ruling 11): nobody
// changes what is for admins in their own record, and a change of standing or password
// ends the user's sessions.
func (c *call) userRules(change apply, hash string) apply {
	return func(rec inventory.Record) error {
		u := rec.(*inventory.User)
		before := inventory.Clone(u)
		if err := change(u); err != nil {
			return err
		}
		u.Role = inventory.Role(strings.ToLower(string(u.Role))) // as it will be kept
		if c.mine(before.ID) || !c.admin() {
			if err := inventory.CheckOwnerChange(before, u); err != nil {
				return err
			}
		}
		if hash != "" {
			c.setPassword(u, hash)
		}
		if u.Email != before.Email {
			forgetReset(u) // the code went to the other address
		}
		if u.Role != before.Role || u.InactiveStatus != before.InactiveStatus {
			u.Epoch++
		}
		return nil
	}
}

// setPassword gives a user another password, which ends their sessions.
func (c *call) setPassword(u *inventory.User, hash string) {
	now := c.opts.Now()
	u.PasswordHash, u.PasswordChangedAt = hash, &now
	u.Epoch++
	forgetReset(u)
}

// forgetReset makes a reset code void.
func forgetReset(u *inventory.User) { u.ResetHash, u.ResetExpiresAt = "", nil }

// actionOf is what the audit log calls a change (reference, ruling 18).
func actionOf(before, after inventory.Record) string {
	from, ok := before.(*inventory.User)
	if !ok {
		return ""
	}
	switch to := after.(*inventory.User); {
	case to.Role != from.Role:
		return "role_change"
	case to.PasswordHash != from.PasswordHash:
		return "password_change"
	}
	return ""
}

// mayDelete refuses to delete oneself: like one's own role, so that there is always an
// admin left.
func (c *call) mayDelete(rec inventory.Record) error {
	if _, ok := rec.(*inventory.User); !ok || !c.mine(rec.Meta().ID) {
		return nil
	}
	e := inventory.PermissionDenied()
	e.Fields = []inventory.FieldError{{Field: "id", Reason: "is your own: another admin can delete it"}}
	return e
}

// forget has the gate look anew at users who have been changed.
func (c *call) forget(records ...inventory.Record) {
	for _, rec := range records {
		if u, ok := rec.(*inventory.User); ok && !c.dry {
			c.accounts.Forget(u.ID)
		}
	}
}

// forgetIDs is the same for users who have been deleted.
func (c *call) forgetIDs(r *inventory.Resource, ids ...string) {
	if r != inventory.Of[inventory.User]() || c.dry {
		return
	}
	for _, id := range ids {
		c.accounts.Forget(strings.ToLower(id))
	}
}

// userNow is the user with an id, not as a replica may still know them.
func (c *call) userNow(id string) (*inventory.User, error) {
	return inventory.Get[inventory.User](c.r.Context(), inventory.Fresh(c.store), id)
}

// userBy finds the user with a value of a field, as they are now. Nil is nobody.
func (c *call) userBy(f *inventory.Field, value string) (*inventory.User, error) {
	if strings.ContainsRune(value, 0) {
		return nil, nil // no database has it in a text, and some refuse to look for it
	}
	page, err := inventory.Fresh(c.store).List(c.r.Context(), &inventory.Query{
		Resource: inventory.Of[inventory.User](), Limit: 1,
		Filters: []inventory.Filter{{Field: f, Op: inventory.Eq, Value: value}},
	})
	if err != nil || len(page.Records) == 0 {
		return nil, err
	}
	return page.Records[0].(*inventory.User), nil
}

// userField is a field of users, by its name or, for a hidden one, its column.
func userField(column string) *inventory.Field {
	fields := inventory.Of[inventory.User]().Fields()
	return fields[slices.IndexFunc(fields, func(f *inventory.Field) bool { return f.Column == column })]
}
