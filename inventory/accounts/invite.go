package accounts

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// inviteLifetime is the lifetime of an invitation (REFERENCE.md, 3.4).
const inviteLifetime = 48 * time.Hour

// ErrNoMail is the error of Options.Notify for an invitation that nothing can send.
var ErrNoMail = errors.New("accounts: no mail is sent")

// Invitation is that of a user who has no password yet.
type Invitation struct {
	User      *inventory.User
	Code      string    // to be passed on, for [Service.ResetPassword]; empty if it was sent by email
	ExpiresAt time.Time // UTC
}

// Invite creates a user without a password, who chooses one with the code of the invitation, once and within 48
// hours. The role and the other fields are those of u. The errors are those of new users and of changes. The caller
// has checked that the sender may create users.
func (s *Service) Invite(ctx context.Context, q *Request, u *inventory.User) (*Invitation, error) {
	u.Role, u.Email, u.External = inventory.Role(strings.ToLower(string(u.Role))), strings.ToLower(u.Email), inventory.Invited
	if err := s.CheckRoles(q, u); err != nil {
		return nil, err
	}
	return s.invite(ctx, q, u, func(v *records.Engine) error { return v.Create(ctx, q.Caller(), u) })
}

// InviteAgain makes the invitations of a user void and returns another one. The error is [records.Conflict] for a user
// who was not invited or has accepted, or one of changes. The caller has checked that the sender may change the user.
func (s *Service) InviteAgain(ctx context.Context, q *Request, id string) (*Invitation, error) {
	if q.isSender(id) { // who has no password logs in through an identity provider
		return nil, auth.Denied()
	}
	return s.invite(ctx, q, &inventory.User{Base: records.Base{ID: id}}, func(v *records.Engine) error {
		_, err := v.BeforeChange(func(ctx context.Context, tx records.Tx) error {
			if err := s.endResets(ctx, tx, id); err != nil {
				return err
			}
			return s.noteIn(ctx, tx, q.Caller(), "invited", id)
		}).Update(ctx, q.Caller(), s.users(), records.Edit{ID: id, Apply: func(rec records.Record) error {
			u := rec.(*inventory.User)
			if u.External != inventory.Invited || u.PasswordHash != "" || u.InactiveStatus {
				return &records.Error{Kind: records.Conflict, Message: "Only an active user who was invited and has no password yet can be invited again"}
			}
			return s.Edited(q, records.Clone(u), u)
		}})
		return err
	})
}

// invite makes a change of a user, who has an id after it, together with a code, and sends that.
func (s *Service) invite(ctx context.Context, q *Request, u *inventory.User, change func(v *records.Engine) error) (*Invitation, error) {
	i := &Invitation{ExpiresAt: s.engine.Now().UTC().Add(inviteLifetime)}
	err := change(s.UserChanges(q).BeforeCommit(func(ctx context.Context, tx records.Tx) (err error) {
		i.User, i.Code, err = s.addReset(ctx, tx, u.ID, inviteLifetime)
		return err
	}))
	if q.Preview != nil {
		i.Code = ""
	}
	if err != nil || q.Preview != nil || s.opts.Notify == nil {
		return i, err
	}
	err = s.notify(ctx, &Notice{Kind: Invited, To: i.User.Email, User: records.Clone(i.User), At: s.engine.Now(), Address: q.Address, Code: i.Code, Valid: inviteLifetime})
	if err == nil {
		i.Code = ""
	} else if !errors.Is(err, ErrNoMail) {
		s.opts.Log.ErrorContext(ctx, "invitation not sent", "user", i.User.ID, "request_id", q.RequestID, "error", err)
	}
	return i, nil
}
