package logins

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// rules returns those of the records of users. To hash a password takes long and reads the account, so it is done before
// the transaction of the change.
func (l *logins) rules() feature.Rules {
	current := openapi.String("Required from users who change their own password or email address, unless the server is configured otherwise.")
	current.WriteOnly = true
	return feature.Rules{
		Resource: "users",
		Input:    []openapi.Property{openapi.Optional("current_password", current)},
		Secrets:  []string{"password"},
		// The fields for admins, which owners may not set.
		Keep:  []string{"role", "inactive_status", "location_ids", "must_change_password"},
		Check: checkPasswords, New: l.newUser, Edit: l.editUser, Action: actionOf,
		Delete: func(r *feature.Request, rec records.Record) error {
			return l.Deleted(r.Inventory.Account(), rec.(*inventory.User))
		},
		Done: func(ctx context.Context, r *feature.Request, ids ...string) {
			for _, id := range ids {
				r.Inventory.Forget(strings.ToLower(id))
			}
			l.SendNotices(ctx, r.Inventory.Account())
		},
	}
}

// maxPasswords is the maximum number of new passwords, and of current ones, in one request: each takes
// about 30 ms of processor time.
const maxPasswords = 20

// checkPasswords refuses users with too many passwords.
func checkPasswords(sent []records.Patch) error {
	for _, name := range []string{"password", "current_password"} {
		n := 0
		for _, item := range sent {
			if _, present := item[name]; present {
				n++
			}
		}
		if n > maxPasswords {
			return records.Refuse(name, records.TooMany(maxPasswords, "new passwords in one request"))
		}
	}
	return nil
}

// newUser hashes the password of a new user. A user whose other fields are wrong gets no hash, which is cheaper.
func (l *logins) newUser(ctx context.Context, r *feature.Request, sent records.Patch) (finish func(records.Record) error, err error) {
	users := records.Of[inventory.User](r.Inventory.Records().Schema())
	own := maps.Clone(sent)
	maps.DeleteFunc(own, func(name string, _ json.RawMessage) bool {
		_, key := users.ByMember(name) // its id is found in the transaction
		return key
	})
	rec, err := users.Draft(own)
	if err == nil && !users.HasNaturalKeys(sent) {
		err = users.CheckNew(records.Clone(rec))
	}
	var hash string
	var refusal error
	if u := rec.(*inventory.User); err == nil && l.CheckRoles(r.Inventory.Account(), u) == nil {
		hash, refusal = l.HashPassword(ctx, r.Inventory.Account(), "password", u.Password, u)
	}
	if refusal != nil && records.KindOf(refusal) == 0 {
		return nil, refusal
	}
	return func(rec records.Record) error {
		u := rec.(*inventory.User)
		if err := users.CheckNew(records.Clone(u)); err != nil {
			return err
		}
		if err := cmp.Or(l.CheckRoles(r.Inventory.Account(), u), refusal); err != nil {
			return err
		}
		u.Password, u.PasswordHash, u.PasswordChangedAt = "", hash, new(r.Inventory.Engine().Now())
		return nil
	}, nil
}

// editUser verifies the current password of a change of a user, and hashes a new one.
func (l *logins) editUser(ctx context.Context, r *feature.Request, id string, sent records.Patch) (finish func(before, after records.Record) error, err error) {
	current, confirms, err := records.Pop[string](sent, "current_password", records.WrongKind(records.Text))
	if err != nil {
		return nil, err
	}
	known := records.ValidID(id)
	id = strings.ToLower(id)
	if confirms && known {
		if err := l.ConfirmPassword(ctx, r.Inventory.Account(), id, current); err != nil {
			return nil, err
		}
	}
	password, present, err := records.Pop[string](sent, "password", records.WrongKind(records.Text))
	if err != nil {
		return nil, err
	}
	var hash string
	if present && known {
		if r.Inventory.Account().Identity.Token != "" {
			return nil, auth.Denied()
		}
		if hash, err = l.HashPasswordOf(ctx, r.Inventory.Account(), "password", password, id); err != nil {
			return nil, err
		}
	}
	return func(before, after records.Record) error {
		u := after.(*inventory.User)
		if hash != "" {
			l.SetPassword(u, hash)
		}
		return l.Edited(r.Inventory.Account(), before.(*inventory.User), u)
	}, nil
}

// actionOf returns the action of a special change of a user (REFERENCE.md, 4).
func actionOf(before, after records.Record) string {
	from, to := before.(*inventory.User), after.(*inventory.User)
	switch {
	case to.Role != from.Role:
		return "role_change"
	case to.PasswordHash != from.PasswordHash:
		return "password_change"
	}
	return ""
}
