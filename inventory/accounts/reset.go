package accounts

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// A user may have several reset codes, so that a stranger who requests another one does not make theirs
// invalid. Their number is bounded by what requests are limited to, and by maxCodes.
const (
	maxCodes      = 50 // of one user; the oldest are deleted first
	expiredAtOnce = 20 // expired codes that a new one deletes, of all users
)

// sendReset stores a new code for the user with an email address, and sends it. Nothing happens if there
// is no such active user.
func (s *Service) sendReset(ctx context.Context, q *Request, email string) error {
	u, err := s.find(ctx, "email", email)
	if err != nil || u == nil || u.InactiveStatus || u.PasswordHash == "" && u.External != "" {
		return err
	}
	code := ""
	err = s.engine.BeforeCommit(func(ctx context.Context, tx records.Tx) error {
		u, code, err = s.addReset(ctx, tx, u.ID, auth.ResetLifetime)
		return err
	}).Log(ctx, q.unverified(u.Username), "password_forgotten", s.users().Kind(), u.ID, nil)
	if err != nil {
		return err
	}
	return s.notify(ctx, &Notice{
		Kind: ResetRequested, To: u.Email, User: records.Clone(u), At: s.engine.Now(), Address: q.Address,
		Code: code, Valid: auth.ResetLifetime,
	})
}

// addReset stores a new code for a user, whom it returns with the code.
func (s *Service) addReset(ctx context.Context, tx records.Tx, userID string, lifetime time.Duration) (u *inventory.User, code string, err error) {
	if u, err = records.Get[inventory.User](ctx, tx, userID); err != nil {
		return nil, "", err
	}
	if err := s.pruneResets(ctx, tx, u.ID); err != nil {
		return nil, "", err
	}
	code, reset := auth.NewReset(u.ID, resetBasis(u), s.engine.Now())
	reset.ExpiresAt = s.engine.Now().UTC().Add(lifetime)
	return u, code, s.engine.Insert(ctx, tx, &inventory.Reset{UserID: u.ID, CodeHash: reset.CodeHash, Account: reset.Password, ExpiresAt: &reset.ExpiresAt})
}

// resetBasis returns what a reset code replaces and where it was sent: a change of either ends it.
func resetBasis(u *inventory.User) string { return u.PasswordHash + "\x00" + u.Email }

// pruneResets deletes some codes that have expired, whose ids are in order of age, and the oldest ones of
// a user with too many.
func (s *Service) pruneResets(ctx context.Context, tx records.Tx, userID string) error {
	oldest, err := records.Select[inventory.Reset](ctx, tx, &records.Query{Limit: expiredAtOnce})
	if err != nil {
		return err
	}
	own, err := records.Select[inventory.Reset](ctx, tx, &records.Query{Limit: maxCodes}, "user_id", userID)
	if err != nil {
		return err
	}
	gone := map[string]bool{}
	for i, reset := range slices.Concat(oldest, own) {
		tooMany := i == len(oldest) && len(own) == maxCodes
		if gone[reset.ID] || !tooMany && reset.ExpiresAt != nil && s.engine.Now().Before(*reset.ExpiresAt) {
			continue
		}
		gone[reset.ID] = true
		if err := deleteReset(ctx, tx, reset); err != nil && records.KindOf(err) != records.NotFound && records.KindOf(err) != records.Stale {
			return err
		}
	}
	return nil
}

// endResets deletes the codes of a user.
func (s *Service) endResets(ctx context.Context, tx records.Tx, userID string) error {
	all, err := records.Select[inventory.Reset](ctx, tx, &records.Query{Limit: maxCodes}, "user_id", userID)
	for _, reset := range all {
		err = cmp.Or(err, deleteReset(ctx, tx, reset))
	}
	return err
}

func deleteReset(ctx context.Context, tx records.Tx, reset *inventory.Reset) error {
	return tx.Delete(ctx, records.Of[inventory.Reset](tx.Schema()), reset.ID, reset.Version, nil)
}

// CheckResets returns a [*TooManyError] if too many wrong codes came from the network of the request.
func (s *Service) CheckResets(ctx context.Context, q *Request) error {
	return s.peek(ctx, q, s.throttle.network, q.Network)
}

// ResetPassword changes a forgotten password with a code, and returns the user. The error is an
// [*auth.Error] of the kind ResetInvalid for a wrong code.
func (s *Service) ResetPassword(ctx context.Context, q *Request, code, password string) (*inventory.User, error) {
	u, reset, err := s.findReset(ctx, code)
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
	v := s.unchecked(q).BeforeCommit(func(ctx context.Context, tx records.Tx) error { return useReset(ctx, tx, reset) })
	done, err := v.Update(ctx, q.as(u), s.users(), records.Edit{
		ID: u.ID, Action: "password_reset",
		Apply: func(rec records.Record) error {
			now := rec.(*inventory.User)
			if err := s.checkReset(now, reset); err != nil { // again, in the transaction
				return err
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

// useReset deletes a code: it works once.
func useReset(ctx context.Context, tx records.Tx, reset *inventory.Reset) error {
	err := deleteReset(ctx, tx, reset)
	if kind := records.KindOf(err); kind == records.NotFound || kind == records.Stale {
		return auth.ResetNotFound()
	}
	return err
}

// findReset returns the user with a valid reset code, and the code.
func (s *Service) findReset(ctx context.Context, code string) (*inventory.User, *inventory.Reset, error) {
	codeHash, err := auth.LookupReset(code)
	if err != nil {
		return nil, nil, err
	}
	fresh := records.Fresh(s.store)
	reset, err := records.First[inventory.Reset](ctx, fresh, "code_hash", codeHash)
	if err != nil {
		return nil, nil, err
	}
	if reset == nil {
		return nil, nil, auth.ResetNotFound()
	}
	u, err := records.Get[inventory.User](ctx, fresh, reset.UserID)
	switch {
	case records.KindOf(err) == records.NotFound:
		return nil, nil, auth.ResetNotFound()
	case err != nil:
		return nil, nil, err
	}
	return u, reset, s.checkReset(u, reset)
}

// checkReset returns an error of the kind ResetInvalid unless a stored code is valid for a user now.
func (s *Service) checkReset(u *inventory.User, reset *inventory.Reset) error {
	if u.InactiveStatus || reset.ExpiresAt == nil {
		return auth.ResetNotFound()
	}
	r := auth.Reset{CodeHash: reset.CodeHash, UserID: reset.UserID, Password: reset.Account, ExpiresAt: *reset.ExpiresAt}
	return r.Check(u.ID, resetBasis(u), s.engine.Now())
}

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
