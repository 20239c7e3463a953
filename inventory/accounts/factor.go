package accounts

import (
	"cmp"
	"context"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// The bound of wrong codes of an account, over all networks and processes (REFERENCE.md, 3.9). It
// counts codes of the app only: recovery codes can't be guessed, so their owner is never locked out.
const (
	maxWrongCodes = 20
	codeWindow    = 24 * time.Hour
)

// How an identity signed in ([auth.Identity.Method]).
const (
	methodPassword = "password"
	methodTOTP     = "password+totp"
	methodRecovery = "password+recovery"
)

// store updates a second factor in a transaction.
func store(ctx context.Context, tx records.Tx, f *inventory.SecondFactor) error {
	f.Version++
	return tx.Update(ctx, f, f.Version-1)
}

// proof checks a code of a second factor as a step of a transaction, and stores there that it was used
// or wrong. So a code works once, and no attempt is missed, also in several processes. A wrong code
// does not fail the transaction, which counts it; the caller changes nothing else then, and returns
// the error of refusal.
type proof struct {
	*Service
	q      *Request
	user   *inventory.User
	by     records.Caller // of the entry for a wrong code
	factor *inventory.SecondFactor
	method string // of a right code
	wait   uint32 // seconds until codes are accepted again, if too many were wrong
}

// ok reports whether the code was right; no proof was needed for a nil one.
func (p *proof) ok() bool { return p == nil || p.method != "" }

// in returns an engine that checks the code after what v does first. Transactions with codes run in
// turn (records.Serialize).
func (p *proof) in(v *records.Engine) *records.Engine {
	return v.BeforeChange(func(ctx context.Context, tx records.Tx) error {
		p.method, p.wait = "", 0
		var err error
		p.factor, err = records.First[inventory.SecondFactor](ctx, tx, "user_id", p.user.ID)
		switch {
		case err != nil:
			return err
		case p.factor == nil && !p.user.TOTP:
			return &records.Error{Kind: records.Conflict, Message: "No second factor was set up: begin with a POST of the current password"}
		case p.factor == nil: // nothing can check the code
			return p.noteIn(ctx, tx, p.by, "code_wrong", p.user.ID)
		case auth.IsTOTPCode(p.q.Code):
			return p.checkCode(ctx, tx)
		}
		return p.checkRecovery(ctx, tx)
	})
}

// of returns an engine that checks the code of a login first.
func (p *proof) of(v *records.Engine) *records.Engine {
	if p == nil {
		return v
	}
	// In turn, and before anything is locked, as for changes of users.
	return p.in(v.BeforeChange(func(ctx context.Context, tx records.Tx) error { return records.Serialize(ctx, tx, "users") }))
}

// noteIn adds an audit log entry about a user in a transaction.
func (s *Service) noteIn(ctx context.Context, tx records.Tx, by records.Caller, action, userID string) error {
	entry, err := s.engine.AuditEntry(by, action, s.users().Kind(), userID, nil)
	if err != nil {
		return err
	}
	return tx.Create(ctx, entry)
}

// checkRecovery checks a recovery code.
func (p *proof) checkRecovery(ctx context.Context, tx records.Tx) error {
	left, ok := auth.UseRecoveryCode(p.factor.Recovery, p.user.ID, p.q.Code)
	if !ok {
		return p.noteIn(ctx, tx, p.by, "code_wrong", p.user.ID)
	}
	p.method, p.factor.Recovery = methodRecovery, left
	if err := p.noteIn(ctx, tx, p.q.as(p.user), "recovery_code_used", p.user.ID); err != nil {
		return err
	}
	return store(ctx, tx, p.factor)
}

// checkCode checks a code of the app, and counts a wrong one.
func (p *proof) checkCode(ctx context.Context, tx records.Tx) error {
	f, now := p.factor, p.engine.Now().UTC().Truncate(time.Microsecond)
	changed := p.user.PasswordChangedAt // who guessed codes before does not know the password
	if f.WrongSince == nil || now.Sub(*f.WrongSince) >= codeWindow || changed != nil && changed.After(*f.WrongSince) {
		f.Wrong, f.WrongSince = 0, &now
	}
	if f.Wrong >= maxWrongCodes {
		p.wait = uint32(f.WrongSince.Add(codeWindow).Sub(now)/time.Second) + 1
		return nil
	}
	if step, ok := auth.CheckTOTP(f.Secret, p.q.Code, now, f.Step); ok {
		p.method, f.Step = methodTOTP, step
		return store(ctx, tx, f)
	}
	f.Wrong++
	if err := p.noteIn(ctx, tx, p.by, "code_wrong", p.user.ID); err != nil {
		return err
	}
	return store(ctx, tx, f)
}

// refusal returns the error for a code that was not accepted, and counts it as a failed attempt.
func (p *proof) refusal(ctx context.Context, g *guess) error {
	if p.wait > 0 {
		return p.tooMany(ctx, p.q, &counter{name: "code"}, p.user.ID, ratelimit.Status{ResetSeconds: p.wait})
	}
	if err := g.failed(ctx); err != nil {
		return err
	}
	const reason = "is wrong, expired or used: send the current code of the app, or a recovery code"
	e := records.Refuse("code", records.Wrong("wrong", reason))
	if p.q.Identity == nil {
		e.Kind, e.Code, e.Message = records.Unauthenticated, "second_factor_wrong", "The code of the second factor is wrong"
	}
	return e
}

// proofOfLogin returns what checks the code of a login, nil for a user without a second factor. The
// error is that the code is missing, which is said only to somebody with the right password.
func (s *Service) proofOfLogin(ctx context.Context, q *Request, u *inventory.User) (*proof, error) {
	if !u.TOTP {
		return nil, nil
	}
	by, id := s.claimed(q, u.Username, u)
	if q.Code == "" {
		return nil, cmp.Or[error](s.note(ctx, by, "code_required", id, nil), codeRequired())
	}
	return &proof{Service: s, q: q, user: u, by: by}, nil
}

func codeRequired() error {
	e := records.Refuse("code", records.Missing(""))
	e.Kind, e.Code, e.Message = records.Unauthenticated, "second_factor_required", "A code of the second factor is required"
	return e
}

// StartTOTP begins to set up the second factor of the sender, whose current password it verifies. It
// returns a secret in base32 for an authenticator app, and its otpauth:// URL. The factor is not in use
// until [Service.EnableTOTP]; an earlier secret that is not in use is replaced. The errors are
// [records.Conflict] if a factor is in use, those of the password, and those of changes.
func (s *Service) StartTOTP(ctx context.Context, q *Request, password string) (secret, url string, err error) {
	u, err := s.confirmedSender(ctx, q, password)
	if err != nil {
		return "", "", err
	}
	secret = auth.NewTOTPSecret()
	err = s.UserChanges(q).BeforeChange(s.factorIs(u.ID, false)).BeforeCommit(func(ctx context.Context, tx records.Tx) error {
		f, err := records.First[inventory.SecondFactor](ctx, tx, "user_id", u.ID)
		if err != nil {
			return err
		}
		if f != nil {
			f.Secret, f.Step, f.Recovery, f.Wrong, f.WrongSince = secret, 0, "", 0, nil
			return store(ctx, tx, f)
		}
		return s.engine.Insert(ctx, tx, &inventory.SecondFactor{UserID: u.ID, Secret: secret})
	}).Log(ctx, q.Caller(), "totp_setup", s.users().Kind(), u.ID, nil)
	return secret, auth.TOTPURL(secret, s.opts.Issuer, u.Username), err
}

// EnableTOTP turns on the second factor of the sender with the first code of the app, Request.Code. It
// returns the recovery codes, to be shown once. The errors are [records.Conflict] if a factor is in use
// or none was set up, [records.Invalid] for a wrong code, [*TooManyError], and those of changes.
func (s *Service) EnableTOTP(ctx context.Context, q *Request) (recovery []string, err error) {
	u, err := s.User(ctx, q.Identity.UserID)
	if err != nil {
		return nil, err
	}
	recovery, stored := auth.NewRecoveryCodes(u.ID)
	err = s.changeFactor(ctx, q, u, false, "totp_enabled",
		func(u *inventory.User) { u.TOTP = true },
		func(ctx context.Context, tx records.Tx, f *inventory.SecondFactor) error {
			f.Recovery = stored
			return store(ctx, tx, f)
		})
	if err != nil {
		return nil, err
	}
	return recovery, nil
}

// ReplaceRecoveryCodes returns new recovery codes of the sender, to be shown once, and invalidates the
// old ones. It verifies the current password and Request.Code. The errors are those of EnableTOTP and
// those of the password.
func (s *Service) ReplaceRecoveryCodes(ctx context.Context, q *Request, password string) (recovery []string, err error) {
	u, err := s.confirmedSender(ctx, q, password)
	if err != nil {
		return nil, err
	}
	recovery, stored := auth.NewRecoveryCodes(u.ID)
	err = s.changeFactor(ctx, q, u, true, "", func(*inventory.User) {}, func(ctx context.Context, tx records.Tx, f *inventory.SecondFactor) error {
		if err := s.noteIn(ctx, tx, q.Caller(), "recovery_codes_replaced", u.ID); err != nil {
			return err
		}
		f.Recovery = stored
		return store(ctx, tx, f)
	})
	if err != nil {
		return nil, err
	}
	return recovery, nil
}

// DisableTOTP turns off the second factor of a user. For the sender it verifies the current password
// and Request.Code. For another user it ends their sessions, since they may have lost the device. The
// errors are those of EnableTOTP and those of the password. The caller has checked that the sender may
// change the user.
func (s *Service) DisableTOTP(ctx context.Context, q *Request, id, password string) error {
	forget := func(ctx context.Context, tx records.Tx, f *inventory.SecondFactor) error {
		return tx.Delete(ctx, records.Of[inventory.SecondFactor](tx.Schema()), f.ID, f.Version, nil)
	}
	if q.isSender(id) {
		u, err := s.confirmedSender(ctx, q, password)
		if err != nil {
			return err
		}
		return s.changeFactor(ctx, q, u, true, "totp_disabled", func(u *inventory.User) { u.TOTP = false }, forget)
	}
	v := s.UserChanges(q).BeforeChange(s.factorIs(id, true)).BeforeCommit(func(ctx context.Context, tx records.Tx) error {
		f, err := records.First[inventory.SecondFactor](ctx, tx, "user_id", id)
		if err != nil || f == nil {
			return err
		}
		return forget(ctx, tx, f)
	})
	_, err := v.Update(ctx, q.Caller(), s.users(), records.Edit{ID: id, Action: "totp_disabled", Apply: func(rec records.Record) error {
		u := rec.(*inventory.User)
		u.TOTP = false
		u.Epoch++
		return nil
	}})
	return err
}

// confirmedSender returns the sender after verifying their current password.
func (s *Service) confirmedSender(ctx context.Context, q *Request, password string) (*inventory.User, error) {
	u, err := s.User(ctx, q.Identity.UserID)
	if err != nil {
		return nil, err
	}
	return u, s.checkCurrentPassword(ctx, q, u, &password)
}

// factorIs returns a step of a transaction that refuses a change unless the second factor of a user is
// on, or else off.
func (s *Service) factorIs(userID string, on bool) func(ctx context.Context, tx records.Tx) error {
	return func(ctx context.Context, tx records.Tx) error {
		u, err := records.Get[inventory.User](ctx, tx, userID)
		switch {
		case err != nil:
			return err
		case u.TOTP && !on:
			return &records.Error{Kind: records.Conflict, Message: "The second factor is on: turn it off first"}
		case !u.TOTP && on:
			return &records.Error{Kind: records.Conflict, Message: "The second factor is off"}
		}
		return nil
	}
}

// changeFactor changes the second factor of the sender, which is on or off before, in a transaction
// that checks Request.Code: set changes the user, and then commit what is stored of the factor.
func (s *Service) changeFactor(
	ctx context.Context, q *Request, u *inventory.User, on bool, action string,
	set func(u *inventory.User), commit func(ctx context.Context, tx records.Tx, f *inventory.SecondFactor) error,
) error {
	g, err := s.beginGuess(ctx, q, u.Username)
	if err != nil {
		return err
	}
	defer g.end()
	p := &proof{Service: s, q: q, user: u, by: q.Caller()}
	v := p.in(s.UserChanges(q).BeforeChange(s.factorIs(u.ID, on))).BeforeCommit(func(ctx context.Context, tx records.Tx) error {
		if !p.ok() {
			return nil
		}
		return commit(ctx, tx, p.factor)
	})
	_, err = v.Update(ctx, q.Caller(), s.users(), records.Edit{ID: u.ID, Action: action, Apply: func(rec records.Record) error {
		if p.ok() {
			set(rec.(*inventory.User))
		}
		return nil
	}})
	if err == nil && !p.ok() {
		err = p.refusal(ctx, g)
	}
	return err
}
