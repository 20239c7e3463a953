package accounts

import (
	"cmp"
	"context"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

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
