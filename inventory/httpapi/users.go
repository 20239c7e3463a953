package httpapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxPasswords is the maximum number of new passwords in one request: each takes about 30 ms
// of processor time.
const maxPasswords = 20

// checkPasswordCount refuses users with too many new passwords.
func checkPasswordCount(r *records.Resource, items []records.Patch) error {
	n := 0
	for _, item := range items {
		if _, present := item["password"]; present {
			n++
		}
	}
	if !isUsers(r) || n <= maxPasswords {
		return nil
	}
	return badField("password", fmt.Sprintf("is in %d items: send at most %d new passwords in one request", n, maxPasswords))
}

// prepareUser replaces the password of a new user by its hash, after validating the other
// fields, which is cheaper.
func (c *call) prepareUser(u *inventory.User) error {
	if err := records.Of[inventory.User](c.schema).CheckNew(records.Clone(u)); err != nil {
		return err
	}
	hash, err := c.hashPassword("password", u.Password, u)
	if err != nil {
		return err
	}
	u.Password, u.PasswordHash, u.PasswordChangedAt = "", hash, new(c.now())
	return nil
}

// hashPassword returns the hash of a new password of a user, if it is strong enough. The
// error names the field that it was sent in.
func (c *call) hashPassword(field, password string, u *inventory.User) (string, error) {
	if err := auth.CheckPassword(password, u.Username, u.Email); auth.KindOf(err) == auth.WeakPassword {
		return "", &records.Error{
			Kind: records.Invalid, Message: err.Error(),
			Fields: []records.FieldError{{Field: field, Reason: err.Error()}},
		}
	} else if err != nil {
		return "", err
	}
	return c.accounts.Hasher.Hash(c.hashing(c.r.Context(), u.Username), password)
}

// popPassword removes a new password from an update of a user and returns its hash, empty if
// there is none.
func (c *call) popPassword(id string, p records.Patch) (hash string, err error) {
	password, present, err := pop[string](p, "password", "must be a string")
	if err != nil || !present || !records.ValidID(id) {
		return "", err
	}
	id = strings.ToLower(id)
	if c.isSender(id) && c.accounts.RequireCurrentPassword {
		return "", invalidField("password", "requires the current one: use PUT /users/{id}/password")
	}
	u, err := c.freshUser(id)
	if err != nil {
		return "", err
	}
	return c.hashPassword("password", password, u)
}

// replaceUser returns the change of a PUT. The password and the fields for admins stay
// unchanged if they are omitted: clients can't read the password, and owners may not set
// these fields.
func (c *call) replaceUser(id string, p records.Patch) (editFunc, error) {
	hash, err := c.popPassword(id, p)
	if err != nil {
		return nil, err
	}
	_, hasRole := p["role"]
	_, hasStatus := p["inactive_status"]
	users := records.Of[inventory.User](c.schema)
	rec, err := decodeDraft(users, p)
	if err != nil {
		return nil, err
	}
	return c.userEdit(func(current records.Record) error {
		u, draft := current.(*inventory.User), records.Clone(rec.(*inventory.User))
		if !hasRole {
			draft.Role = u.Role
		}
		if !hasStatus {
			draft.InactiveStatus = u.InactiveStatus
		}
		return users.Replacement(draft)(u)
	}, hash), nil
}

// userEdit wraps a change of a user with the rules of REFERENCE.md, 3.2: nobody changes the
// fields for admins in their own record, and a new password, role or status invalidates the
// tokens of the user.
func (c *call) userEdit(change editFunc, hash string) editFunc {
	return func(rec records.Record) error {
		u := rec.(*inventory.User)
		before := records.Clone(u)
		if err := change(u); err != nil {
			return err
		}
		u.Role = inventory.Role(strings.ToLower(string(u.Role))) // its stored form
		if c.isSender(before.ID) || c.identity.Role != auth.Admin {
			if err := records.Of[inventory.User](c.schema).CheckOwnerChange(before, u); err != nil {
				return err
			}
		}
		if hash != "" {
			c.setPassword(u, hash)
		}
		if u.Email != before.Email {
			forgetReset(u) // the code was sent to the old address
		}
		c.adminRemoved = c.adminRemoved || isActiveAdmin(before) && !isActiveAdmin(u)
		if u.Role != before.Role || u.InactiveStatus != before.InactiveStatus {
			u.Epoch++
		}
		return nil
	}
}

// setPassword sets the password of a user and invalidates their tokens and reset code.
func (c *call) setPassword(u *inventory.User, hash string) {
	u.PasswordHash, u.PasswordChangedAt = hash, new(c.now())
	u.Epoch++
	forgetReset(u)
}

// forgetReset makes a requested reset code invalid.
func forgetReset(u *inventory.User) { u.ResetHash, u.ResetPassword, u.ResetExpiresAt = "", "", nil }

// actionOf returns the audit log action of a change of a user, if it is a special one
// (REFERENCE.md, 4).
func actionOf(before, after records.Record) string {
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

// checkDelete refuses users who delete themselves.
func (c *call) checkDelete(rec records.Record) error {
	u, ok := rec.(*inventory.User)
	if !ok {
		return nil
	}
	c.adminRemoved = c.adminRemoved || isActiveAdmin(u)
	if !c.isSender(u.ID) {
		return nil
	}
	e := records.PermissionDenied()
	e.Fields = []records.FieldError{{Field: "id", Reason: "is your own: ask another admin to delete it"}}
	return e
}

// forgetUsers makes the authenticator reload changed users.
func (c *call) forgetUsers(recs ...records.Record) {
	for _, rec := range recs {
		if u, ok := rec.(*inventory.User); ok {
			c.accounts.Forget(u.ID)
		}
	}
}

// forgetIDs does the same for deleted users.
func (c *call) forgetIDs(r *records.Resource, ids ...string) {
	if !isUsers(r) {
		return
	}
	for _, id := range ids {
		c.accounts.Forget(strings.ToLower(id))
	}
}

// freshUser returns the current state of a user, bypassing replicas.
func (c *call) freshUser(id string) (*inventory.User, error) {
	return records.Get[inventory.User](c.r.Context(), records.Fresh(c.store), id)
}

// findUser returns the user with a value of a field, bypassing replicas; nil if there is
// none.
func (c *call) findUser(f *records.Field, value string) (*inventory.User, error) {
	if strings.ContainsRune(value, 0) {
		return nil, nil // no database stores it, and some refuse to search for it
	}
	page, err := records.Fresh(c.store).List(c.r.Context(), &records.Query{
		Resource: records.Of[inventory.User](c.schema), Limit: 1,
		Filters: []records.Filter{{Field: f, Op: records.Eq, Value: value}},
	})
	if err != nil || len(page.Records) == 0 {
		return nil, err
	}
	return page.Records[0].(*inventory.User), nil
}

// isUsers reports whether a resource is that of users, which has rules of its own.
func isUsers(r *records.Resource) bool {
	_, ok := r.New().(*inventory.User)
	return ok
}

// userField returns a field of users by its column, which hidden fields have too.
func (c *call) userField(column string) *records.Field {
	fields := records.Of[inventory.User](c.schema).Fields()
	return fields[slices.IndexFunc(fields, func(f *records.Field) bool { return f.Column == column })]
}
