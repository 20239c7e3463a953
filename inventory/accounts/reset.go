package accounts

import (
	"cmp"
	"context"
	"slices"
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
