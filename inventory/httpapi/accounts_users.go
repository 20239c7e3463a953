package httpapi

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxPasswords is the maximum number of new passwords, and of current ones, in one request: each takes
// about 30 ms of processor time.
const maxPasswords = 20

// checkPasswordCount refuses users with too many passwords.
func checkPasswordCount(r *records.Resource, items []records.Patch) error {
	if !isUsers(r) {
		return nil
	}
	for _, name := range []string{"password", "current_password"} {
		n := 0
		for _, item := range items {
			if _, present := item[name]; present {
				n++
			}
		}
		if n > maxPasswords {
			return badField(name, records.TooMany(maxPasswords, "new passwords in one request"))
		}
	}
	return nil
}

// hash is that of a new password, empty if none was sent, or why there is none. To make one takes long and reads the
// account, so it is made before the transaction of the change.
type hash struct {
	text string
	err  error
}

// hashNew returns the hashes of the passwords of new users, nil for other records. Users whose other fields are wrong
// get none, which is cheaper.
func (c *call) hashNew(r *records.Resource, items []records.Patch) ([]hash, error) {
	if !isUsers(r) {
		return nil, nil
	}
	if err := checkPasswordCount(r, items); err != nil {
		return nil, err
	}
	hashes := make([]hash, len(items))
	for i, item := range items {
		own := maps.Clone(item)
		maps.DeleteFunc(own, func(name string, _ json.RawMessage) bool {
			_, key := r.ByMember(name) // its id is found in the transaction
			return key
		})
		rec, err := r.Draft(own)
		if err == nil && !r.HasNaturalKeys(item) {
			err = r.CheckNew(records.Clone(rec))
		}
		if u := rec.(*inventory.User); err == nil && c.accounts.Service.CheckRoles(c.request(), u) == nil {
			hashes[i].text, hashes[i].err = c.accounts.Service.HashPassword(c.r.Context(), c.request(), "password", u.Password, u)
		}
		if err := hashes[i].err; err != nil && records.KindOf(err) == 0 {
			return nil, err
		}
	}
	return hashes, nil
}

// setHash replaces the password of a new user by its hash, after validating the other fields.
func (c *call) setHash(u *inventory.User, h hash) error {
	if err := records.Of[inventory.User](c.schema).CheckNew(records.Clone(u)); err != nil {
		return err
	}
	if err := cmp.Or(c.accounts.Service.CheckRoles(c.request(), u), h.err); err != nil {
		return err
	}
	u.Password, u.PasswordHash, u.PasswordChangedAt = "", h.text, new(c.now())
	return nil
}

// hashOf removes a new password from an update of a user and returns its hash. It removes and verifies the current
// password too.
func (c *call) hashOf(r *records.Resource, id string, p records.Patch) (h hash) {
	if !isUsers(r) {
		return hash{}
	}
	current, confirms, err := pop[string](p, "current_password", records.WrongKind(records.Text))
	if err != nil {
		return hash{err: err}
	}
	if confirms && records.ValidID(id) {
		if err := c.accounts.Service.ConfirmPassword(c.r.Context(), c.request(), strings.ToLower(id), current); err != nil {
			return hash{err: err}
		}
	}
	password, present, err := pop[string](p, "password", records.WrongKind(records.Text))
	if err != nil || !present || !records.ValidID(id) {
		return hash{err: err}
	}
	if c.identity.Token != "" {
		return hash{err: auth.Denied()}
	}
	h.text, h.err = c.accounts.Service.HashPasswordOf(c.r.Context(), c.request(), "password", password, strings.ToLower(id))
	return h
}

// replaceUser returns the change of a PUT. The password and the fields for admins stay
// unchanged if they are omitted: clients can't read the password, and owners may not set
// these fields.
func (c *call) replaceUser(p records.Patch, h hash) (editFunc, error) {
	_, hasRole := p["role"]
	_, hasStatus := p["inactive_status"]
	_, hasLocations := p["location_ids"]
	_, hasMust := p["must_change_password"]
	users := records.Of[inventory.User](c.schema)
	rec, err := users.Draft(p)
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
		if !hasLocations {
			draft.LocationIDs = u.LocationIDs
		}
		if !hasMust {
			draft.MustChangePassword = u.MustChangePassword
		}
		return users.Replacement(draft)(u)
	}, h), nil
}

// userEdit adds a new password and the rules of accounts to a change of a user.
func (c *call) userEdit(change editFunc, h hash) editFunc {
	return func(rec records.Record) error {
		u := rec.(*inventory.User)
		before := records.Clone(u)
		c.before = append(c.before, before)
		if err := change(u); err != nil {
			return err
		}
		if h.text != "" {
			c.accounts.Service.SetPassword(u, h.text)
		}
		return c.accounts.Service.Edited(c.request(), before, u)
	}
}

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

// checkDelete applies the rules of accounts to the deletion of a user.
func (c *call) checkDelete(rec records.Record) error {
	if u, ok := rec.(*inventory.User); ok {
		return c.accounts.Service.Deleted(c.request(), u)
	}
	return nil
}

// usersChanged makes the authenticator reload changed users, and tells them. The response to a change
// without an effect is a read.
func (c *call) usersChanged(r *records.Resource, recs ...records.Record) error {
	if !isUsers(r) {
		return nil
	}
	read := false
	for _, rec := range recs {
		c.accounts.Forget(rec.Meta().ID)
		read = read || slices.ContainsFunc(c.before, func(u *inventory.User) bool { return u.ID == rec.Meta().ID && u.Version == rec.Meta().Version })
	}
	c.accounts.Service.SendNotices(c.r.Context(), c.request())
	if read {
		return c.noteRead(r)
	}
	return nil
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

// confirming returns the property of a change of a user that is no field of the record.
func confirming(r *records.Resource) []openapi.Property {
	if !isUsers(r) {
		return nil
	}
	current := openapi.String("Required from users who change their own password or email address, unless the server is configured otherwise.")
	current.WriteOnly = true
	return []openapi.Property{openapi.Optional("current_password", current)}
}

// isUsers reports whether a resource is that of users, which has rules of its own.
func isUsers(r *records.Resource) bool {
	_, ok := r.New().(*inventory.User)
	return ok
}
