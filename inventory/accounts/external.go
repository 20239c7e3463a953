package accounts

import (
	"cmp"
	"context"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// ExternalOptions decide which users of an identity provider may log in ([Service.LoginExternal]).
type ExternalOptions struct {
	// CreateUsers creates users at their first login. Default: only known users may log in.
	CreateUsers bool
	// LinkByEmail makes a first login that of the existing user with the same email address, if the
	// provider says that it has verified the address. Who controls the provider then controls these
	// users, admins included. Default: such a login is refused.
	LinkByEmail bool
}

// The refusals of a login through an identity provider.
const (
	noAccount     = "You have no account here: ask an administrator for one"
	noRole        = "The identity provider gives you no role here: ask an administrator for one"
	noEmail       = "The identity provider sends no verified email address, which an account needs"
	otherUser     = "Another user has your user name or email address: ask an administrator"
	otherIdentity = "The user with your email address belongs to another user of the identity provider: ask an administrator"
	lastAdmin     = "Your role at the identity provider would leave no active admin: make another user an admin first"
)

// CheckExternal returns a [*TooManyError] if too many logins from the network of the request have failed.
func (s *Service) CheckExternal(ctx context.Context, q *Request) error {
	return s.peek(ctx, q, s.throttle.network, q.Network)
}

// RefuseExternal counts a login that failed before the identity provider has named the user, if err is
// an [*auth.Error] of the kind LoginRefused, and writes an audit log entry. It returns err, or a
// [*TooManyError], or a failure.
func (s *Service) RefuseExternal(ctx context.Context, q *Request, method string, err error) error {
	if auth.KindOf(err) != auth.LoginRefused {
		return err
	}
	if many := s.count(ctx, q, s.throttle.network, q.Network); many != nil {
		return many
	}
	reason := records.Changes{"method": {After: method}, "reason": {After: err.Error()}}
	return cmp.Or(s.note(ctx, q.unverified(""), "login_failed", "", reason), err)
}

// LoginExternal records the login of a user whom an identity provider has authenticated, and begins a
// session, like [Service.Login]. Users are those with this issuer and subject; others are linked or
// created as [ExternalOptions] say. A role that the provider decides is stored first, which ends other
// sessions of the user if it changes. The error is of kind [records.Forbidden] for a user who is
// inactive or has no account or no role, whose sessions end then, and [records.Conflict] if another
// user has the name or the email address, or if no active admin would be left.
func (s *Service) LoginExternal(ctx context.Context, q *Request, who *auth.External) (identity *auth.Identity, err error) {
	defer func() { s.countLogin(err) }()
	u, err := s.externalUser(ctx, q, who)
	switch {
	case err != nil:
	case u.InactiveStatus:
		err = inactive()
	case who.RoleManaged:
		err = s.setExternalRole(ctx, q, u, who)
	}
	switch kind := records.KindOf(err); {
	case kind == records.Forbidden || kind == records.Conflict:
		return nil, s.refuseExternal(ctx, q, u, who, err)
	case err != nil:
		return nil, err
	}
	return s.acceptExternal(ctx, q, u, who)
}

func forbidden(message string) error {
	return &records.Error{Kind: records.Forbidden, Message: message}
}

// refuseExternal writes an audit log entry for a refused login of a user whom the provider has named; u
// is nil if there is no such user.
func (s *Service) refuseExternal(ctx context.Context, q *Request, u *inventory.User, who *auth.External, refusal error) error {
	by, id := q.unverified(who.Username), ""
	if u != nil {
		by, id = q.unverified(u.Username), u.ID
	}
	reason := records.Changes{"method": {After: who.Method}, "subject": {After: who.Subject}, "reason": {After: refusal.Error()}}
	return cmp.Or(s.note(ctx, by, "login_failed", id, reason), refusal)
}

// externalUser returns the user of an external identity, whom it links or creates at the first login.
func (s *Service) externalUser(ctx context.Context, q *Request, who *auth.External) (*inventory.User, error) {
	u, err := s.findExternal(ctx, who)
	if u != nil || err != nil {
		return u, err
	}
	u, err = s.firstExternal(ctx, q, who)
	if records.KindOf(err) == records.Conflict {
		if other, failed := s.findExternal(ctx, who); other != nil || failed != nil { // a concurrent first login
			return other, failed
		}
	}
	return u, err
}

// findExternal returns the user with an external identity, nil if there is none.
func (s *Service) findExternal(ctx context.Context, who *auth.External) (*inventory.User, error) {
	identity, err := records.First[inventory.ExternalIdentity](ctx, records.Fresh(s.store), "issuer", who.Issuer, "subject", who.Subject)
	if err != nil || identity == nil {
		return nil, err
	}
	u, err := s.User(ctx, identity.UserID)
	if records.KindOf(err) == records.NotFound { // deleted meanwhile
		return nil, nil
	}
	return u, err
}

// firstExternal links or creates the user of an external identity. A returned user may be inactive, and
// is not linked then.
func (s *Service) firstExternal(ctx context.Context, q *Request, who *auth.External) (*inventory.User, error) {
	if who.RoleManaged && who.Role == "" {
		return nil, forbidden(noRole)
	}
	if s.opts.External.LinkByEmail && who.EmailVerified && who.Email != "" {
		u, err := s.find(ctx, "email", strings.ToLower(who.Email))
		switch {
		case err != nil || u != nil && u.InactiveStatus:
			return u, err
		case u != nil:
			return u, s.linkExternal(ctx, q, u, who)
		}
	}
	switch {
	case !s.opts.External.CreateUsers:
		return nil, forbidden(noAccount)
	case who.Role == "":
		return nil, forbidden(noRole)
	case who.Email == "":
		return nil, forbidden(noEmail)
	}
	u := &inventory.User{Username: who.Username, Email: who.Email, Role: inventory.Role(who.Role), External: who.Method}
	v := s.unchecked(q).BeforeCommit(func(ctx context.Context, tx records.Tx) error { return s.addExternal(ctx, tx, u.ID, who) })
	err := v.Create(ctx, q.unverified(who.Username), u)
	switch kind := records.KindOf(err); {
	case kind == records.Conflict:
		return nil, &records.Error{Kind: records.Conflict, Message: otherUser, Err: err}
	case kind == records.Invalid:
		return nil, forbidden("What the identity provider says of you does not suit a user: " + err.Error())
	case err != nil:
		return nil, err
	}
	return u, nil
}

// linkExternal makes an existing user that of an external identity, unless they have another one of the
// provider.
func (s *Service) linkExternal(ctx context.Context, q *Request, u *inventory.User, who *auth.External) error {
	v := s.unchecked(q).BeforeChange(func(ctx context.Context, tx records.Tx) error {
		return records.Serialize(ctx, tx, "users")
	}).BeforeCommit(func(ctx context.Context, tx records.Tx) error {
		own, err := records.First[inventory.ExternalIdentity](ctx, tx, "user_id", u.ID, "issuer", who.Issuer)
		if err != nil {
			return err
		}
		if own != nil {
			return &records.Error{Kind: records.Conflict, Message: otherIdentity}
		}
		return s.addExternal(ctx, tx, u.ID, who)
	})
	linked := records.Changes{"method": {After: who.Method}, "issuer": {After: who.Issuer}, "subject": {After: who.Subject}}
	err := v.Log(ctx, q.as(u), "identity_linked", s.users().Kind(), u.ID, linked)
	if records.KindOf(err) == records.Conflict {
		return &records.Error{Kind: records.Conflict, Message: otherIdentity, Err: err}
	}
	return err
}

// addExternal stores an external identity of a user.
func (s *Service) addExternal(ctx context.Context, tx records.Tx, userID string, who *auth.External) error {
	return s.engine.Insert(ctx, tx, &inventory.ExternalIdentity{UserID: userID, Issuer: who.Issuer, Subject: who.Subject})
}

// setExternalRole stores the role that the provider gives a user. Without one it ends the sessions of
// the user, and refuses.
func (s *Service) setExternalRole(ctx context.Context, q *Request, u *inventory.User, who *auth.External) error {
	by, note := q.unverified("identity provider"), records.Changes{"method": {After: who.Method}}
	if who.Role == "" {
		_, err := s.unchecked(q).Update(ctx, by, s.users(), records.Edit{
			ID: u.ID, Action: "session_ended", Note: note,
			Apply: func(rec records.Record) error {
				rec.(*inventory.User).Epoch++
				return nil
			},
		})
		return cmp.Or(err, forbidden(noRole))
	}
	if u.Role == inventory.Role(who.Role) {
		return nil
	}
	v := s.unchecked(q).BeforeChange(func(ctx context.Context, tx records.Tx) error {
		q.adminRemoved = false
		return records.Serialize(ctx, tx, "users") // as in UserChanges
	}).BeforeCommit(func(ctx context.Context, tx records.Tx) error { return keepAdmin(ctx, tx, q) })
	_, err := v.Update(ctx, by, s.users(), records.Edit{
		ID: u.ID, Action: "role_change", Note: note,
		Apply: func(rec records.Record) error {
			now := rec.(*inventory.User)
			before := *now
			if now.Role = inventory.Role(who.Role); now.Role != before.Role {
				now.Epoch++
			}
			q.adminRemoved = q.adminRemoved || isActiveAdmin(&before) && !isActiveAdmin(now)
			return nil
		},
	})
	if records.KindOf(err) == records.Conflict {
		s.opts.Log.WarnContext(ctx, "a login was refused: the role of the identity provider would leave no active admin", "user", u.ID, "role", who.Role)
		return &records.Error{Kind: records.Conflict, Message: lastAdmin}
	}
	return err
}

// acceptExternal records the login.
func (s *Service) acceptExternal(ctx context.Context, q *Request, u *inventory.User, who *auth.External) (*auth.Identity, error) {
	session, err := s.newSession(q, u)
	if err != nil {
		return nil, err
	}
	v := s.engine.BeforeCommit(func(ctx context.Context, tx records.Tx) error { return s.addSession(ctx, tx, session) })
	done, err := v.Update(ctx, q.as(u), s.users(), records.Edit{
		ID: u.ID, Action: "login", Note: records.Changes{"method": {After: who.Method}},
		Apply: func(rec records.Record) error { return s.recordLogin(rec.(*inventory.User), u, "") },
	})
	if err != nil {
		return nil, err
	}
	return identityOf(done[0].(*inventory.User), session.ID, who.Method), nil
}

// checkOwnPassword refuses users without a password who set one for themselves: they log in through an
// identity provider, which may have ended their account.
func checkOwnPassword(q *Request, field string, u *inventory.User) error {
	if u.External != "" && u.PasswordHash == "" && q.isSender(u.ID) {
		return records.Refuse(field, records.Wrong("forbidden", "can't be set: you log in through an identity provider; an admin may set one"))
	}
	return nil
}
