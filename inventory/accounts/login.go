package accounts

import (
	"cmp"
	"context"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// Login verifies a password, records the login and begins a session. It returns the identity of the
// user, for whom the caller issues a token. Failures have the same error and take the same time
// whether the user exists or not: [records.Unauthenticated], or [records.Forbidden] for an inactive
// user with the right password. It is a [*TooManyError] if too many attempts have failed. A user with
// a second factor needs Request.Code; the error that it is missing or wrong, which only somebody with
// the right password gets, has the field code.
func (s *Service) Login(ctx context.Context, q *Request, username, password string) (who *auth.Identity, err error) {
	defer func() { s.countLogin(err) }()
	g, err := s.beginGuess(ctx, q, username)
	if err != nil {
		return nil, err
	}
	defer g.end()
	u, err := s.findName(ctx, username)
	if err != nil {
		return nil, err
	}
	stored := ""
	if u != nil {
		stored, g.codeFollows = u.PasswordHash, u.TOTP
	}
	ok, err := g.verify(ctx, stored, password)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, s.refuseLogin(ctx, q, username, u, invalidCredentials())
	case u.InactiveStatus:
		return nil, s.refuseLogin(ctx, q, username, u, inactive())
	case !s.hasRole(u):
		return nil, s.refuseLogin(ctx, q, username, u, &records.Error{Kind: records.Forbidden, Message: "The role of this account no longer exists"})
	}
	if auth.Role(u.Role) == auth.Admin {
		ctx = records.Essential(ctx)
	}
	return s.acceptLogin(ctx, q, u, password, g)
}

func inactive() *records.Error {
	return &records.Error{Kind: records.Forbidden, Code: "account_inactive", Message: "Account is inactive"}
}

func invalidCredentials() *records.Error {
	return &records.Error{Kind: records.Unauthenticated, Message: "Invalid credentials"}
}

// refuseLogin writes an audit log entry for a failed login, which names the user if there is one but
// is not attributed to them, and returns the refusal.
func (s *Service) refuseLogin(ctx context.Context, q *Request, username string, u *inventory.User, refusal error) error {
	by, id := s.claimed(q, username, u)
	return cmp.Or(s.note(ctx, by, "login_failed", id, nil), refusal)
}

// acceptLogin records the login, if the code of the user's second factor is right.
func (s *Service) acceptLogin(ctx context.Context, q *Request, u *inventory.User, password string, g *guess) (*auth.Identity, error) {
	p, err := s.proofOfLogin(ctx, q, u)
	if err != nil {
		return nil, err
	}
	rehashed := ""
	if s.hasher.NeedsRehash(u.PasswordHash) {
		var err error
		if rehashed, err = s.hasher.Hash(s.hashing(ctx, q, u.Username), password); err != nil {
			return nil, err
		}
	}
	session, err := s.newSession(q, u)
	if err != nil {
		return nil, err
	}
	v := p.of(s.engine).BeforeCommit(func(ctx context.Context, tx records.Tx) error {
		if !p.ok() {
			return nil
		}
		return s.addSession(ctx, tx, session)
	})
	done, err := v.Update(ctx, q.as(u), s.users(), records.Edit{
		ID: u.ID, Action: "login",
		Apply: func(rec records.Record) error {
			if !p.ok() {
				return nil
			}
			return s.recordLogin(rec.(*inventory.User), u, rehashed)
		},
	})
	if err == nil && !p.ok() {
		err = p.refusal(ctx, g)
	}
	if err != nil {
		return nil, err
	}
	g.throttle.remember(g.pair)
	method := methodPassword
	if p != nil {
		method = p.method
	}
	return identityOf(done[0].(*inventory.User), session.ID, method), nil
}

// identityOf returns the identity of a user who has logged in.
func identityOf(u *inventory.User, session, method string) *auth.Identity {
	return &auth.Identity{
		UserID: u.ID, Username: u.Username, Role: auth.Role(u.Role), Epoch: u.Epoch, Session: session, Method: method,
		MustChangePassword: u.MustChangePassword,
	}
}

// recordLogin updates a user at a login. The password must still be the one that was verified, though
// a concurrent login may have rehashed it.
func (s *Service) recordLogin(u, verified *inventory.User, rehashed string) error {
	if u.InactiveStatus || !sameTime(u.PasswordChangedAt, verified.PasswordChangedAt) {
		return invalidCredentials()
	}
	if u.TOTP && !verified.TOTP { // turned on meanwhile
		return codeRequired()
	}
	if rehashed != "" && u.PasswordHash == verified.PasswordHash {
		u.PasswordHash = rehashed
	}
	now := s.engine.Now()
	if u.LastLogin != nil && !now.After(*u.LastLogin) {
		now = u.LastLogin.Add(time.Microsecond) // two logins are two changes, whatever the clock
	}
	u.LastLogin = &now
	return nil
}

// sameTime reports whether two optional times are equal.
func sameTime(a, b *time.Time) bool {
	return a == b || a != nil && b != nil && a.Equal(*b)
}

// Logout ends the session of the sender, or all sessions of the user: with everywhere, and if the
// sender has no session, such as one who logged in before there were any.
func (s *Service) Logout(ctx context.Context, q *Request, everywhere bool) error {
	if !everywhere && q.Identity.Session != "" {
		err := s.endSession(ctx, s.unchecked(q), q, "logout", q.Identity.UserID, q.Identity.Session)
		if records.KindOf(err) == records.NotFound { // it has ended meanwhile
			return nil
		}
		return err
	}
	_, err := s.unchecked(q).Update(ctx, q.Caller(), s.users(), records.Edit{
		ID: q.Identity.UserID, Action: "logout",
		Apply: func(rec records.Record) error {
			rec.(*inventory.User).Epoch++
			return nil
		},
	})
	return err
}
