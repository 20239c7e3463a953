package accounts

import (
	"cmp"
	"context"

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
