package accounts

import (
	"cmp"
	"context"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// HashPassword returns the hash of a new password of a user, if it is strong enough. The error names
// the field that it was sent in.
func (s *Service) HashPassword(ctx context.Context, q *Request, field, password string, u *inventory.User) (string, error) {
	if err := checkOwnPassword(q, field, u); err != nil {
		return "", err
	}
	if err := checkPassword(field, password, u); err != nil {
		return "", err
	}
	return s.hasher.Hash(s.hashing(ctx, q, u.Username), password)
}

// checkPassword refuses a new password that is too weak.
func checkPassword(field, password string, u *inventory.User) error {
	err := auth.CheckPassword(password, about(u)...)
	if auth.KindOf(err) != auth.WeakPassword {
		return err
	}
	e := records.Refuse(field, records.Wrong("weak_password", "%v", err))
	e.Message = err.Error()
	return e
}

// HashPasswordOf is HashPassword for the user with an id, after [Service.Confirmed].
func (s *Service) HashPasswordOf(ctx context.Context, q *Request, field, password, id string) (string, error) {
	u, err := s.User(ctx, id)
	if err != nil {
		return "", err
	}
	if err := checkOwnPassword(q, field, u); err != nil {
		return "", err
	}
	if err := s.Confirmed(q, u); err != nil {
		return "", cmp.Or(checkPassword(field, password, u), err)
	}
	return s.HashPassword(ctx, q, field, password, u)
}

// SetPassword sets the password of a user and invalidates their tokens and reset codes. It is for the
// Apply of a records.Edit.
func (s *Service) SetPassword(u *inventory.User, hash string) {
	u.PasswordHash, u.PasswordChangedAt = hash, new(s.engine.Now())
	u.Epoch++
}

// ChangePassword changes the password of the user with an id. If that is the sender, current is
// verified, and required unless the options say otherwise. The errors are [records.Invalid] with the
// field, and those of changes. The caller has checked that the sender may change the user.
func (s *Service) ChangePassword(ctx context.Context, q *Request, id, password string, current *string) error {
	u, err := s.User(ctx, id)
	if err != nil {
		return err
	}
	if err := checkOwnPassword(q, "new_password", u); err != nil {
		return err
	}
	if current != nil {
		if err := s.ConfirmPassword(ctx, q, id, *current); err != nil {
			return err
		}
	}
	hash, err := s.HashPasswordOf(ctx, q, "new_password", password, id)
	if err != nil {
		return err
	}
	q.ownPassword = q.isSender(id)
	_, err = s.UserChanges(q).Update(ctx, q.Caller(), s.users(), records.Edit{
		ID: id, Action: "password_change",
		Apply: func(rec records.Record) error {
			u := rec.(*inventory.User)
			before := records.Clone(u)
			s.SetPassword(u, hash)
			if err := s.Edited(q, before, u); err != nil {
				return err
			}
			u.MustChangePassword = u.MustChangePassword && !q.ownPassword
			return nil
		},
	})
	if err == nil {
		s.SendNotices(ctx, q)
	}
	return err
}

// confirmed holds the proofs by a current password.
type confirmed struct{ passwordChangedAt *time.Time }

// ConfirmPassword verifies the current password of a sender who changes their own record, for
// [Service.Confirmed]; for the records of others it does nothing. Failures count as those of a login,
// because the token may be stolen. A right password has an entry in the audit log too: the change may
// be refused for another reason, or be a dry run. The error is [records.Invalid] with the field
// current_password, or a [*TooManyError].
func (s *Service) ConfirmPassword(ctx context.Context, q *Request, id, current string) error {
	if !q.isSender(id) {
		return nil
	}
	u, err := s.User(ctx, id)
	if err != nil {
		return err
	}
	g, err := s.beginGuess(ctx, q, u.Username)
	if err != nil {
		return err
	}
	defer g.end()
	ok, err := g.verify(ctx, u.PasswordHash, current)
	switch {
	case err != nil:
		return err
	case !ok:
		return cmp.Or(s.note(ctx, q.Caller(), "password_wrong", u.ID, nil), wrongCurrentPassword())
	}
	q.confirmed = &confirmed{u.PasswordChangedAt}
	return s.note(ctx, q.Caller(), "password_confirmed", u.ID, nil)
}

// Confirmed refuses a change of the password or of the email address of a user who is the sender and
// has not confirmed their current password, unless the options allow that (REFERENCE.md, 3.3). It is
// for the Apply of a records.Edit: u is the user before the change.
func (s *Service) Confirmed(q *Request, u *inventory.User) error {
	switch {
	case !q.isSender(u.ID):
		return nil
	case q.confirmed != nil && !sameTime(q.confirmed.passwordChangedAt, u.PasswordChangedAt):
		return wrongCurrentPassword() // changed since it was verified
	case q.confirmed == nil && !s.opts.AllowWithoutCurrentPassword:
		return records.Refuse("current_password", records.Missing(""))
	}
	return nil
}

// checkCurrentPassword is ConfirmPassword, unless none was sent, and Confirmed.
func (s *Service) checkCurrentPassword(ctx context.Context, q *Request, u *inventory.User, current *string) error {
	if current != nil {
		if err := s.ConfirmPassword(ctx, q, u.ID, *current); err != nil {
			return err
		}
	}
	return s.Confirmed(q, u)
}

func wrongCurrentPassword() error {
	return records.Refuse("current_password", records.Wrong("wrong", "is not the current password"))
}
