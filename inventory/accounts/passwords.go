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
	return &records.Error{
		Kind: records.Invalid, Message: err.Error(), Fields: []records.FieldError{{Field: field, Reason: err.Error()}},
	}
}

// HashPasswordOf is HashPassword for the user with an id, after [Service.Confirmed].
func (s *Service) HashPasswordOf(ctx context.Context, q *Request, field, password, id string) (string, error) {
	u, err := s.user(ctx, id)
	if err != nil {
		return "", err
	}
	if err := s.Confirmed(q, u); err != nil {
		return "", cmp.Or(checkPassword(field, password, u), err)
	}
	return s.HashPassword(ctx, q, field, password, u)
}

// SetPassword sets the password of a user and invalidates their tokens and reset code. It is for the
// Apply of a records.Edit.
func (s *Service) SetPassword(u *inventory.User, hash string) {
	u.PasswordHash, u.PasswordChangedAt = hash, new(s.engine.Now())
	u.Epoch++
	forgetReset(u)
}

// forgetReset makes a requested reset code invalid.
func forgetReset(u *inventory.User) { u.ResetHash, u.ResetPassword, u.ResetExpiresAt = "", "", nil }

// ChangePassword changes the password of the user with an id. If that is the sender, current is
// verified, and required unless the options say otherwise. The errors are [records.Invalid] with the
// field, and those of changes. The caller has checked that the sender may change the user.
func (s *Service) ChangePassword(ctx context.Context, q *Request, id, password string, current *string) error {
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

// sendReset stores a new code for the user with an email address, which replaces an earlier one, and
// sends it. Nothing happens if there is no such active user.
func (s *Service) sendReset(ctx context.Context, q *Request, email string) error {
	u, err := s.find(ctx, "email", email)
	if err != nil || u == nil || u.InactiveStatus {
		return err
	}
	code, reset := auth.NewReset(u.ID, u.PasswordHash, s.engine.Now())
	_, err = s.engine.Update(ctx, q.unverified(u.Username), s.users(), records.Edit{
		ID: u.ID, Action: "password_forgotten",
		Apply: func(rec records.Record) error {
			u := rec.(*inventory.User)
			u.ResetHash, u.ResetPassword, u.ResetExpiresAt = reset.CodeHash, reset.Password, &reset.ExpiresAt
			return nil
		},
	})
	if err != nil {
		return err
	}
	return s.notify(ctx, &Notice{
		Kind: ResetRequested, To: u.Email, User: records.Clone(u), At: s.engine.Now(), Address: q.Address,
		Code: code, Valid: auth.ResetLifetime,
	})
}

// CheckResets returns a [*TooManyError] if too many wrong codes came from the network of the request.
func (s *Service) CheckResets(ctx context.Context, q *Request) error {
	return s.peek(ctx, q, s.throttle.network, q.Network)
}

// ResetPassword changes a forgotten password with a code, and returns the user. The error is an
// [*auth.Error] of the kind ResetInvalid for a wrong code.
func (s *Service) ResetPassword(ctx context.Context, q *Request, code, password string) (*inventory.User, error) {
	u, codeHash, err := s.findReset(ctx, code)
	if auth.KindOf(err) == auth.ResetInvalid {
		if err := s.count(ctx, q, s.throttle.network, q.Network); err != nil {
			return nil, err
		}
		if err := s.note(ctx, q.unverified(""), "reset_failed", "", nil); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	hash, err := s.HashPassword(ctx, q, "new_password", password, u)
	if err != nil {
		return nil, err
	}
	done, err := s.unchecked(q).Update(ctx, q.as(u), s.users(), records.Edit{
		ID: u.ID, Action: "password_reset",
		Apply: func(rec records.Record) error {
			now := rec.(*inventory.User)
			if !s.resetValid(now, codeHash) { // again, in the transaction: a code works once
				return auth.ResetNotFound()
			}
			before := records.Clone(now)
			s.SetPassword(now, hash)
			now.MustChangePassword = false
			q.notices = nil
			s.notice(q, ByCode, before, now)
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	s.SendNotices(ctx, q)
	return done[0].(*inventory.User), nil
}

// findReset returns the user with a valid reset code.
func (s *Service) findReset(ctx context.Context, code string) (*inventory.User, string, error) {
	codeHash, err := auth.LookupReset(code)
	if err != nil {
		return nil, "", err
	}
	u, err := s.find(ctx, "reset_hash", codeHash)
	if err != nil {
		return nil, "", err
	}
	if u == nil || !s.resetValid(u, codeHash) {
		return nil, "", auth.ResetNotFound()
	}
	return u, codeHash, nil
}

func (s *Service) resetValid(u *inventory.User, codeHash string) bool {
	if u.InactiveStatus || u.ResetHash != codeHash || u.ResetExpiresAt == nil {
		return false
	}
	reset := auth.Reset{CodeHash: u.ResetHash, UserID: u.ID, Password: u.ResetPassword, ExpiresAt: *u.ResetExpiresAt}
	return reset.Check(u.ID, u.PasswordHash, s.engine.Now()) == nil
}
